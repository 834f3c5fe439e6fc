//! What is kept of backends: bounded, and what an operator said is not forgotten.

use airlock::model::breaker::{Forced, Policy, Told};
use airlock::model::clock::Timestamp;
use airlock::model::health::{Budget, Report, Reports};
use airlock::model::id::{ProcessId, ToolName};
use airlock::store::sqlite::Durability;
use airlock::store::{Force, Journal as _, Ledger as _, SqliteStore};

fn place(number: usize) -> String {
    format!("http://{number}.desk.test")
}

/// One failure at an origin, so many seconds after the beginning.
fn failed(tool: &ToolName, number: usize, second: i64) -> Reports {
    let report = Report { origin: place(number), told: Told::Ill, before: Vec::new(), budget: Budget::Stays };
    let at = Timestamp(1_800_000_000_000 + second * 1_000);
    Reports { tool: tool.clone(), by: 1, policy: Policy::default(), list: vec![report], at }
}

#[tokio::test]
async fn of_more_origins_than_are_kept_the_one_goes_that_was_not_heard_of_for_longest() {
    const MOST: usize = 256;
    let folder = tempfile::tempdir().unwrap();
    let store =
        SqliteStore::open(&folder.path().join("state"), ProcessId([7; 16]), Durability::None).unwrap();
    let (tool, other): (ToolName, ToolName) = ("web.fetch".parse().unwrap(), "web.find".parse().unwrap());
    let known = |number: usize| !store.health(&tool, &[place(number)]).unwrap().is_empty();
    store.hear(failed(&other, 0, 0)).await.unwrap().unwrap();
    let force = Force { tool: tool.clone(), origins: vec![place(0)], forced: Some(Forced::Open) };
    store.force(force).await.unwrap();
    for number in 0..MOST {
        store.hear(failed(&tool, number, i64::try_from(number).unwrap())).await.unwrap().unwrap();
    }
    assert!((0..MOST).all(known));
    // The second is heard of again, and then there is one too many.
    store.hear(failed(&tool, 1, 1_000)).await.unwrap().unwrap();
    store.hear(failed(&tool, MOST, 1_001)).await.unwrap().unwrap();
    assert_eq!((0..=MOST).filter(|number| !known(*number)).collect::<Vec<_>>(), [2]);
    assert_eq!(store.ill().unwrap().len(), MOST + 1, "other tools have room of their own");
}
