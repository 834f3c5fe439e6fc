//! Calls that were refused before they had a run: kept by their trace for as long as what is said in runs.

use std::time::Duration;

use airlock::model::clock::Timestamp;
use airlock::model::id::{CallerName, ProcessId, TraceId};
use airlock::model::refused::Refused;
use airlock::store::sqlite::Durability;
use airlock::store::{Journal as _, Ledger as _, SqliteStore};

use crate::call::NOON;

const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

fn refused(trace: &str, at: Timestamp) -> Refused {
    Refused {
        at,
        trace: TraceId(trace.to_owned()),
        tool: "desk.find_order".to_owned(),
        caller: CallerName("agent".to_owned()),
        user: Some("ada@example.com".parse().unwrap()),
        code: "PERMISSION_DENIED".to_owned(),
    }
}

#[tokio::test]
async fn what_was_refused_is_kept_by_its_trace_and_goes_when_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        SqliteStore::open(&folder.path().join("state"), ProcessId([7; 16]), Durability::None).unwrap();
    let later = NOON.plus(Duration::from_secs(1));
    for one in [refused("a", NOON), refused("b", NOON), refused("a", later)] {
        store.refuse(one).await.unwrap();
    }
    let of = |trace: &str, most| store.refused(&TraceId(trace.to_owned()), most).unwrap();
    assert_eq!(of("a", 10), [refused("a", NOON), refused("a", later)]);
    assert_eq!((of("a", 1).len(), of("b", 10).len(), of("c", 10).len()), (1, 1, 0));
    assert_eq!(store.sweep(later.plus(MONTH), MONTH, 1).await.unwrap(), 1, "no more than was asked for");
    assert_eq!(store.sweep(later.plus(MONTH), MONTH, 100).await.unwrap(), 1);
    assert_eq!((of("a", 10), of("b", 10).len()), (vec![refused("a", later)], 0));
}
