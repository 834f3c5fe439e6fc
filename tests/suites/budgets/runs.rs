//! Runs as the store takes them, for tests that need no guest.

use std::path::Path;
use std::time::Duration;

use airlock::model::budget::Hold;
use airlock::model::clock::Timestamp;
use airlock::model::id::{CallerName, Digest, ProcessId, RunId, TraceId};
use airlock::model::key::Key;
use airlock::model::manifest::Repeat;
use airlock::model::pointer::Unshown;
use airlock::model::reply::{Stored, Usage};
use airlock::model::run::{Does, Told};
use airlock::model::staged::{Category, Cost, Staged};
use airlock::model::state::{Event, RunState};
use airlock::store::sqlite::Durability;
use airlock::store::{Charge, End, Kept, KeyLife, NewAttempt, NewRun, SqliteStore};

const HOUR: Duration = Duration::from_secs(3600);

/// A store on no disk, for one of several processes.
pub(super) fn store(folder: &Path, process: u8) -> SqliteStore {
    SqliteStore::open(folder, ProcessId([process; 16]), Durability::None).unwrap()
}

pub(super) fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// A run that holds so much, of days that are bounded so.
pub(super) fn run(number: u32, who: (&str, Option<&str>), hold: Option<Hold>, at: Timestamp) -> NewRun {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.to_be_bytes());
    NewRun {
        run: RunId::from_bytes(id),
        key: Key::parse(&format!("k{number}")).ok(),
        caller: CallerName(who.0.to_owned()),
        user: who.1.map(|user| user.parse().unwrap()),
        tool: "notebook.priced".parse().unwrap(),
        repeat: Repeat::Idempotent,
        action: Digest([1; 32]),
        input: "{}".to_owned(),
        attachments: Vec::new(),
        unshown: Unshown::default(),
        trace: TraceId::new([3; 16]),
        told: Told::default(),
        guard: None,
        owner: ProcessId([1; 16]),
        background: None,
        attempt: attempt(1, at),
        charge: Charge { hold, model: None },
    }
}

pub(super) fn attempt(attempt: u32, at: Timestamp) -> NewAttempt {
    NewAttempt { attempt, does: Does::Call, plugin: Digest([2; 32]), at }
}

pub(super) fn spent(attempt: u32, micros: u64) -> Staged {
    let what = "tea".to_owned();
    let cost = Cost { attempt, category: Category::Tool, what, micros, tokens: None };
    Staged { costs: vec![cost], ..Staged::default() }
}

pub(super) fn end(attempt: u32, event: Event, micros: u64, at: Timestamp) -> End {
    End {
        event,
        state: RunState::Running.apply(event).unwrap(),
        attempt,
        stored: Stored::new(event == Event::Completed, "{}"),
        kept: Kept::default(),
        word: "ok".to_owned(),
        rearms: event != Event::Completed,
        usage: Usage::default(),
        log: String::new(),
        outcomes: Vec::new(),
        past: Vec::new(),
        reports: None,
        staged: spent(attempt, micros),
        fingerprint: None,
        cleanup: None,
        life: KeyLife { keep: HOUR, guard: Duration::ZERO },
        at,
    }
}
