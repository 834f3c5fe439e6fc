//! The books of many who call at once: exactly what fits is granted, and sums are what was spent.

use std::collections::BTreeMap;
use std::path::Path;

use airlock::model::budget::{Budget, Day, Hold};
use airlock::model::id::{CallerName, RunId};
use airlock::model::key::Key;
use airlock::model::state::Event;
use airlock::store::{Journal as _, Ledger as _, NewRun, Reserved};
use airlock_tests::crowd::{Call, Crowd, Task};
use airlock_tests::world::compiler;
use serde_json::{Value, json};

use super::super::call::NOON;
use super::runs::{end, in_memory, run, store};
use super::{DAY, sums, sums_of, world};

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_who_hold_at_once_exactly_those_are_granted_that_fit() {
    let folder = in_memory();
    let stores = [store(&folder.path().join("state"), 1), store(&folder.path().join("state"), 2)];
    let hold = Some(Hold { micros: 7, days: [Some(1000), None, None] });
    let asked = (0..1000).map(|n| stores[n as usize % 2].reserve(run(n, ("bot", None), hold, NOON)));
    let (mut won, mut left) = (Vec::new(), None);
    for ended in futures_of(asked).await {
        match ended {
            Reserved::Won(lease) => won.push(lease),
            Reserved::Short(short) => left = Some((short.sums, short.limit)),
            Reserved::Lost => panic!("each has a key of its own"),
        }
    }
    assert_eq!((won.len(), left), (142, Some((sums_of(0, 994), 1000))));
    let today = || stores[0].budgets(Day::of(NOON)).unwrap();
    assert!(today().iter().all(|(_, sums)| *sums == sums_of(0, 994)), "{:?}", today());
    for (place, lease) in won.into_iter().enumerate() {
        let ended = end(1, Event::Completed, place as u64 % 8, NOON);
        assert!(stores[place % 2].settle(lease, ended).await.unwrap());
    }
    let spent = (0..142).map(|place| place % 8).sum();
    assert_eq!(
        today(),
        [(Budget::All, sums_of(spent, 0)), (Budget::Caller(CallerName("bot".into())), sums_of(spent, 0))]
    );
}

async fn futures_of(asked: impl Iterator<Item = airlock::store::Pending<Reserved>>) -> Vec<Reserved> {
    // All are submitted before the first is waited for.
    let asked: Vec<_> = asked.collect();
    let mut ended = Vec::new();
    for one in asked {
        ended.push(one.await.unwrap());
    }
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_call_at_once_are_granted_together_what_fits() {
    let world = world("[budgets]\nday = \"0.0103\"\n");
    world.open().await.close().await;
    let config = world.write_config();
    let task = |process: u32| Task {
        config: config.clone(),
        environment: BTreeMap::new(),
        compiler: Some(compiler()),
        calls: (0..20)
            .map(|n| Call {
                tool: "notebook.priced".to_owned(),
                input: json!({ "lines": ["spend 500 tea"] }),
                key: format!("{process}-{n}"),
            })
            .collect(),
    };
    let replies = Crowd::gather(Path::new(env!("CARGO_BIN_EXE_call-at-once")), &[task(1), task(2)]).go();
    let replies: Vec<Value> =
        replies.iter().flatten().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ok = replies.iter().filter(|reply| reply["ok"] == true).count();
    let refused = replies.iter().filter(|reply| reply["error"]["code"] == "BUDGET_EXCEEDED").count();
    assert_eq!((ok, refused), (20, 20), "10300 hold 500 twenty times");
    let host = world.open().await;
    assert_eq!(sums(&host, "all callers"), sums_of(10_000, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_the_key_is_told_so_before_anything_of_budgets() {
    let folder = in_memory();
    let store = store(&folder.path().join("state"), 1);
    let hold = |limit| Some(Hold { micros: 5, days: [Some(limit), None, None] });
    let first = run(1, ("bot", None), hold(5), NOON);
    assert!(matches!(store.reserve(first).await, Ok(Reserved::Won(_))));
    let same = NewRun { key: Key::parse("k1").ok(), ..run(2, ("bot", None), hold(5), NOON) };
    assert_eq!(store.reserve(same).await, Ok(Reserved::Lost));
    let other = run(3, ("bot", None), hold(5), NOON);
    assert!(matches!(store.reserve(other).await, Ok(Reserved::Short(_))));
    assert_eq!(store.run(RunId::from_bytes([0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_of_days_long_over_go_but_for_those_of_which_something_is_held() {
    let folder = in_memory();
    let store = store(&folder.path().join("state"), 1);
    let hold = Some(Hold { micros: 5, days: [Some(50), None, None] });
    let begin = async |number, caller, at| match store.reserve(run(number, (caller, None), hold, at)).await {
        Ok(Reserved::Won(lease)) => lease,
        other => panic!("{other:?}"),
    };
    let ended = begin(1, "bot", NOON).await;
    begin(2, "other", NOON).await;
    assert!(store.settle(ended, end(1, Event::Failed, 3, NOON)).await.unwrap());
    let (month, later) = (30 * DAY, NOON.plus(31 * DAY));
    store.sweep(NOON.plus(29 * DAY), month, 100).await.unwrap();
    assert_eq!(store.budgets(Day::of(NOON)).unwrap().len(), 3);
    store.sweep(later, month, 100).await.unwrap();
    let other = CallerName("other".to_owned());
    let left = [(Budget::All, sums_of(3, 5)), (Budget::Caller(other), sums_of(0, 5))];
    assert_eq!(store.budgets(Day::of(NOON)).unwrap(), left);
}
