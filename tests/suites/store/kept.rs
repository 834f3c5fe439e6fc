//! How long what was said in a run is kept, and what stays of it; and runs listed by where they stand.

use std::path::Path;
use std::time::Duration;

use airlock::model::clock::Timestamp;
use airlock::model::effect::EffectState;
use airlock::model::id::{CallerName, Digest, ProcessId, RunId, TraceId};
use airlock::model::key::{Answer, Key};
use airlock::model::manifest::Repeat;
use airlock::model::pointer::Unshown;
use airlock::model::reply::{Stored, Usage};
use airlock::model::run::{Does, Lease, Removed, Told};
use airlock::model::staged::Staged;
use airlock::model::state::{Event, Reason, RunState, Standing};
use airlock::store::sqlite::Durability;
use airlock::store::{
    Charge, Decided, End, Journal as _, Kept, KeyLife, Ledger as _, NewAttempt, NewRun, Reserved, SqliteStore,
};
use rusqlite::Connection;

use super::integrity;
use crate::call::NOON;

const PROCESS: ProcessId = ProcessId([7; 16]);
const INPUT: &str = r#"{"to":"ada@example.com"}"#;
const RESULT: &str = r#"{"mail_id":"M-1"}"#;
const MOMENT: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(24 * 3600);
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
const A_DAY: KeyLife = KeyLife { keep: DAY, guard: Duration::ZERO };

/// The first schema, as databases of the first version have it.
const FIRST_SCHEMA: &str = include_str!("../../../host/src/store/sqlite/migrations/0001.sql");

fn opened() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("state"), PROCESS, Durability::Full).unwrap();
    (folder, store)
}

fn id(number: u8) -> RunId {
    RunId::from_bytes([number; 16])
}

/// What the agent says of itself, its reason apart.
fn said(reason: Option<&str>) -> Told {
    Told { model: Some("a-model-1".to_owned()), reason: reason.map(str::to_owned) }
}

fn all() -> (RunId, RunId) {
    (id(0), id(0xff))
}

/// A run that is under way since noon; its key is its number, where it has one.
async fn begun(store: &SqliteStore, number: u8, keyed: bool) -> Lease {
    let new = NewRun {
        run: id(number),
        key: Key::parse(&number.to_string()).ok().filter(|_| keyed),
        caller: CallerName("local".to_owned()),
        user: None,
        tool: "desk.send_mail".parse().unwrap(),
        repeat: Repeat::Once,
        action: Digest([1; 32]),
        input: INPUT.to_owned(),
        attachments: Vec::new(),
        unshown: Unshown::default(),
        trace: TraceId::new([3; 16]),
        told: said(Some("the customer asked")),
        guard: None,
        owner: PROCESS,
        background: None,
        attempt: NewAttempt { attempt: 1, does: Does::Call, plugin: Digest([2; 32]), at: NOON },
        charge: Charge::default(),
    };
    match store.reserve(new).await.unwrap() {
        Reserved::Won(lease) => lease,
        Reserved::Lost | Reserved::Short(_) => panic!("the key was free"),
    }
}

/// The same, ended at noon.
async fn ended(store: &SqliteStore, number: u8, event: Event, life: KeyLife) -> Lease {
    let lease = begun(store, number, true).await;
    let end = End {
        event,
        state: RunState::Running.apply(event).unwrap(),
        attempt: 1,
        stored: Stored::new(event == Event::Completed, RESULT.to_owned()),
        kept: Kept::default(),
        word: "ok".to_owned(),
        rearms: false,
        usage: Usage::default(),
        log: "out: sent to ada\n".to_owned(),
        outcomes: Vec::new(),
        past: Vec::new(),
        reports: None,
        staged: Staged::default(),
        fingerprint: None,
        cleanup: None,
        life,
        at: NOON,
    };
    assert!(store.settle(lease, end).await.unwrap());
    Lease { run: lease.run, number: lease.number + 1 }
}

/// Sweeps until nothing goes any more, as a host does; gives how much went.
async fn sweep(store: &SqliteStore, at: Timestamp) -> u32 {
    let mut gone = 0;
    loop {
        match store.sweep(at, MONTH, 100).await.unwrap() {
            0 => return gone,
            some => gone += some,
        }
    }
}

fn removed(store: &SqliteStore, number: u8) -> Option<Removed> {
    store.run(id(number)).unwrap().unwrap().removed
}

#[tokio::test]
async fn a_month_after_its_end_a_run_keeps_hashes_of_what_was_said() {
    let (folder, store) = opened();
    ended(&store, 1, Event::Completed, A_DAY).await;
    assert_eq!(sweep(&store, NOON.plus(MONTH)).await, 1, "the key alone");
    let before = store.run(id(1)).unwrap().unwrap();
    assert_eq!((before.input.as_deref(), before.removed), (Some(INPUT), None));
    let after_that = NOON.plus(MONTH + MOMENT);
    assert_eq!(sweep(&store, after_that).await, 1);
    let after = store.run(id(1)).unwrap().unwrap();
    let (input, result) = (Digest::of(INPUT.as_bytes()), Some(Digest::of(RESULT.as_bytes())));
    assert_eq!(after.removed, Some(Removed { at: after_that, input, result }));
    assert_eq!((after.input, after.stored, after.attempts[0].log.as_str()), (None, None, ""));
    assert_eq!((before.told, after.told), (said(Some("the customer asked")), said(None)));
    assert_eq!((after.summary, after.events), (before.summary, before.events), "what was done stays");
    assert_eq!(sweep(&store, after_that.plus(MONTH)).await, 0, "once is enough");
    assert_eq!(removed(&store, 1).unwrap().at, after_that);

    drop(store);
    let database = std::fs::read(folder.path().join("state/airlock.db")).unwrap();
    assert!(!String::from_utf8_lossy(&database).contains("sent to ada"), "nothing of it is read any more");
    assert_eq!(integrity(&folder.path().join("state")), "ok");
}

#[tokio::test]
async fn who_is_at_work_or_waits_for_a_person_keeps_what_was_said() {
    let (_folder, store) = opened();
    begun(&store, 1, true).await;
    let lease = ended(&store, 2, Event::Suspended(Reason::Unknown), A_DAY).await;
    let later = NOON.plus(400 * DAY);
    assert_eq!(sweep(&store, later).await, 0);
    assert!(removed(&store, 1).is_none() && removed(&store, 2).is_none());
    // Once a person has decided, its time runs from there.
    let decided = Decided {
        lease,
        event: Event::DecidedHappened,
        state: RunState::Completed,
        open_effects: EffectState::Done,
        stored: Stored::new(true, RESULT.to_owned()),
        kept: Kept::default(),
        word: "ok".to_owned(),
        rearms: false,
        life: A_DAY,
        by: Some("ada".to_owned()),
        at: later,
    };
    assert!(store.decide(decided).await.unwrap());
    assert_eq!(sweep(&store, later.plus(MONTH)).await, 1, "its key");
    assert_eq!(sweep(&store, later.plus(MONTH + MOMENT)).await, 1);
    assert!(removed(&store, 2).is_some() && removed(&store, 1).is_none());
}

#[tokio::test]
async fn a_result_that_its_key_still_gives_is_kept_whatever_was_configured_since() {
    let (_folder, store) = opened();
    ended(&store, 1, Event::Completed, KeyLife { keep: 2 * MONTH, guard: DAY }).await;
    let scope = Key::parse("1").unwrap().scope(&CallerName("local".to_owned()), None);
    let last = NOON.plus(2 * MONTH);
    assert_eq!(sweep(&store, last).await, 0);
    assert_eq!(store.key(scope, last).unwrap().unwrap().stored.unwrap().body, RESULT);
    let guarded = last.plus(MOMENT);
    assert_eq!(sweep(&store, guarded).await, 1, "what the key gives no more goes, and the key stays");
    let answer = |at| store.key(scope, at).unwrap().unwrap().known.answer(Digest([1; 32]));
    assert_eq!(answer(guarded), Answer::Expired);
    assert_eq!(answer(NOON), Answer::Expired, "nor does a clock that goes back bring a result back");
}

#[tokio::test]
async fn what_goes_goes_in_groups_of_a_bounded_size() {
    let (_folder, store) = opened();
    for number in 1..=5 {
        ended(&store, number, Event::Failed, A_DAY).await;
    }
    // A run without a key is kept as long.
    let lease = begun(&store, 6, false).await;
    assert_eq!(store.sweep(NOON.plus(MONTH), MONTH, 100).await, Ok(5));
    let later = NOON.plus(MONTH + MOMENT);
    let mut gone = Vec::new();
    for _ in 0..4 {
        gone.push(store.sweep(later, MONTH, 2).await.unwrap());
    }
    assert_eq!(gone, [2, 2, 1, 0]);
    assert!((1..=5).all(|number| removed(&store, number).is_some()));
    assert_eq!(store.run(lease.run).unwrap().unwrap().input.as_deref(), Some(INPUT));
}

#[tokio::test]
async fn the_writer_is_not_held_by_long_texts() {
    let (_folder, store) = opened();
    for number in 1..=4 {
        let lease = begun(&store, number, false).await;
        let end = End {
            event: Event::Completed,
            state: RunState::Completed,
            attempt: 1,
            stored: Stored::new(true, format!("\"{}\"", "x".repeat(700 << 10))),
            kept: Kept::default(),
            word: "ok".to_owned(),
            rearms: false,
            usage: Usage::default(),
            log: String::new(),
            outcomes: Vec::new(),
            past: Vec::new(),
            reports: None,
            staged: Staged::default(),
            fingerprint: None,
            cleanup: None,
            life: A_DAY,
            at: NOON,
        };
        assert!(store.settle(lease, end).await.unwrap());
    }
    let later = NOON.plus(MONTH + MOMENT);
    let mut gone = Vec::new();
    for _ in 0..3 {
        gone.push(store.sweep(later, MONTH, 500).await.unwrap());
    }
    assert_eq!(gone, [2, 2, 0], "a go ends with the text that makes it a mebibyte");
}

#[test]
fn a_database_of_the_first_version_is_brought_to_this_one_with_all_that_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    drop(SqliteStore::open(&state, PROCESS, Durability::Full).unwrap());
    std::fs::remove_file(state.join("airlock.db")).unwrap();
    let first = Connection::open(state.join("airlock.db")).unwrap();
    first.execute_batch(FIRST_SCHEMA).unwrap();
    first
        .execute_batch(&format!(
            "INSERT INTO run (id, state, lease, owner, caller, trace, began, ended)
             VALUES (x'{run}', 'completed', 2, x'{run}', 'local', 'ab', 1, 2);
             INSERT INTO payload (id, input, ok, body) VALUES (1, '{INPUT}', 1, '{RESULT}');
             INSERT INTO step (run, step, tool, action, repeat, state, attempts, word, payload)
             VALUES (x'{run}', 1, 'desk.send_mail', x'{action}', 'once', 'completed', 1, 'ok', 1);
             PRAGMA user_version = 1;",
            run = "01".repeat(16),
            action = "02".repeat(32),
        ))
        .unwrap();
    drop(first);
    let store = SqliteStore::open(&state, PROCESS, Durability::Full).unwrap();
    let record = store.run(id(1)).unwrap().unwrap();
    assert_eq!((record.input.as_deref(), record.stored.unwrap().body.as_str()), (Some(INPUT), RESULT));
    assert_eq!(record.removed, None);
    drop(store);
    let version = |state: &Path| -> i64 {
        let database = Connection::open(state.join("airlock.db")).unwrap();
        database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    };
    let (fresh, _store) = opened();
    assert_eq!(version(&state), version(&fresh.path().join("state")));
    assert_eq!(integrity(&state), "ok");
}

#[tokio::test]
async fn runs_are_listed_by_where_they_stand_and_the_limit_is_of_those() {
    let (_folder, store) = opened();
    for (number, event) in [
        (1, Event::Suspended(Reason::Unknown)),
        (2, Event::Failed),
        (3, Event::Suspended(Reason::HalfDone)),
        (4, Event::Suspended(Reason::Unknown)),
        (6, Event::Completed),
        (7, Event::Failed),
        (8, Event::Completed),
    ] {
        ended(&store, number, event, A_DAY).await;
    }
    begun(&store, 5, true).await;
    begun(&store, 9, false).await;
    let listed = |standing, most| -> Vec<u8> {
        let runs = store.runs(all(), standing, most).unwrap();
        runs.iter().map(|summary| summary.run.bytes()[0]).collect()
    };
    assert_eq!(listed(None, 3), [9, 8, 7]);
    // Whoever waits longest comes first.
    assert_eq!(listed(Some(Standing::Suspended), 10), [1, 3, 4]);
    assert_eq!(listed(Some(Standing::Suspended), 2), [1, 3]);
    assert_eq!(listed(Some(Standing::Failed), 10), [7, 2]);
    assert_eq!(listed(Some(Standing::Completed), 1), [8]);
    assert_eq!(listed(Some(Standing::Running), 10), [9, 5]);
}
