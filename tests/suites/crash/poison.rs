//! A call that takes its process down each time is not run for ever.

use airlock::model::state::{Reason, RunState};
use airlock_tests::crash::{Commit, Point};
use serde_json::Value;

use super::scenario::{KEYED, Kill};
use super::trial::{Power, Trial};

#[test]
fn a_call_that_took_its_process_down_three_times_waits_for_a_person() {
    let mut trial = Trial::begin(KEYED, Power::Stays);
    trial.first(Some(Kill::At(Point::After(Commit::Reserve, 1))));
    // Whoever starts next takes the run to close it, and takes it again to go on.
    for _ in 0..2 {
        trial.goes_on(None, Some(Kill::At(Point::After(Commit::Take, 2))));
    }
    assert_eq!(trial.crashes, 3);
    let said = trial.goes_on(None, None);
    assert_eq!(trial.faults, [""; 0]);
    let record = trial.record().unwrap();
    assert_eq!((record.summary.state, record.attempts.len()), (RunState::Suspended(Reason::Poison), 3));
    assert!(!record.rearms && trial.counts().tickets.is_empty());
    for reply in &said.replies {
        let error = serde_json::from_str::<Value>(reply).unwrap()["error"].clone();
        assert_eq!((error["code"].as_str(), error["action"].as_str()), (Some("INTERNAL"), Some("stop")));
        assert!(error["message"].as_str().unwrap().contains("ended 3 times before the call did"), "{error}");
    }
}
