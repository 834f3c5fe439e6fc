//! Processes are killed while they take a call back; the backend's counts are the judge.

use std::path::Path;

use airlock::model::id::{ProcessId, RunId};
use airlock::model::run::Record;
use airlock::store::sqlite::Durability;
use airlock::store::{Ledger as _, SqliteStore};
use airlock_tests::backend::{Backend, Fault, Moment, Options};
use airlock_tests::crash::{Commit, Disk, Job, Order, Point, Process, Said};
use airlock_tests::guests;
use airlock_tests::world::World;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::matrix::{in_order, sweeps};
use super::scenario::Kill;
use super::trial::CHILD;

/// The number of the process that only looks.
const WHO_LOOKS: u8 = 0xEE;

/// By what a call is undone, and what it leaves.
#[derive(Debug, Clone, Copy)]
struct Undo {
    word: &'static str,
    request: &'static str,
    file: bool,
}

const PUT: Undo = Undo { word: "put", request: "PUT /settings/meddled", file: false };
const TICKET: Undo = Undo { word: "ticket", request: "POST /tickets", file: false };
const MAIL: Undo = Undo { word: "mail", request: "POST /mails", file: false };
const PUT_AND_FILE: Undo = Undo { file: true, ..PUT };

/// A call that was made, and processes that take it back one after another.
struct Trial {
    undo: Undo,
    backend: Backend,
    outbox: tempfile::TempDir,
    world: World,
    processes: u8,
    run: String,
}

impl Trial {
    fn begin(undo: Undo) -> Self {
        let backend = Options::default().start().unwrap();
        let outbox = tempfile::tempdir().unwrap();
        let lent = format!("outbox = {{ path = {:?}, access = \"write\" }}", outbox.path());
        let world = World::in_memory()
            .with_plugins(&[guests::MEDDLER])
            .with_config(&format!("[plugin.meddler]\nkey_value = true\n[plugin.meddler.directories]\n{lent}"))
            .with_grant("meddler", &backend.url, &["127.0.0.1"]);
        world.write_config();
        let mut trial = Self { undo, backend, outbox, world, processes: 0, run: String::new() };
        let input = json!({ "url": trial.backend.url, "undo": undo.word, "file": undo.file });
        let call = Job::Call { tool: "meddler.meddle".to_owned(), input, key: None, background: false };
        let said = trial.process(&[call], None);
        let reply: Value = serde_json::from_str(&said.replies[0]).unwrap();
        assert_eq!(reply["ok"], true, "{reply}");
        trial.run = reply["meta"]["run"].as_str().unwrap().to_owned();
        trial
    }

    /// A process takes the call back so many times, and is killed where that is said.
    fn takes_back(&mut self, times: usize, kill: Option<Kill>) -> Said {
        self.process(&vec![Job::Rollback { run: self.run.clone() }; times], kill)
    }

    fn process(&mut self, jobs: &[Job], kill: Option<Kill>) -> Said {
        self.processes += 1;
        let halt = match kill {
            Some(Kill::At(point)) => Some(point.to_string()),
            Some(Kill::ByBackend(..) | Kill::AroundSync { .. }) | None => None,
        };
        let (config, process) = (self.world.folder().join("airlock.toml"), self.processes);
        let order = Order { ahead: 0, config, process, disk: Disk::Synced, halt, jobs: jobs.to_vec() };
        let mut process = Process::start(Path::new(CHILD), &order, |_| ());
        if let Some(Kill::ByBackend(request, moment)) = kill {
            self.backend.fault(request, Fault::kill(moment, process.id()), 1);
        }
        process.go();
        let said = process.end();
        self.backend.wait_idle();
        assert_eq!(said.killed, kill.is_some(), "{kill:?}");
        said
    }

    fn record(&self) -> Record {
        let who = ProcessId([WHO_LOOKS; 16]);
        let store = SqliteStore::open(&self.world.state(), who, Durability::Full).unwrap();
        store.run(self.run.parse::<RunId>().unwrap()).unwrap().unwrap()
    }

    /// How often the call was undone: beside what it did itself.
    fn undone(&self) -> u64 {
        let works = self.backend.counts().of(self.undo.request).works;
        if self.undo.word == "put" { works - 1 } else { works }
    }
}

/// Takes a call back, is killed, and takes it back twice more, for every place where that can be; gives the end of each.
fn killed_everywhere(undo: Undo) -> String {
    let said = Trial::begin(undo).takes_back(1, None);
    let points = in_order(&said.points[said.before_ready..]);
    for point in [Point::Before(Commit::RollBack, 1), Point::After(Commit::RollBack, 1)] {
        assert!(points.contains(&point), "{point}");
    }
    let moments = [Moment::BeforeWork, Moment::AfterWork, Moment::AfterHead];
    let by_backend = moments.map(|moment| Kill::ByBackend(undo.request, moment));
    let kills = points.into_iter().filter(|point| !sweeps(point)).map(Kill::At).chain(by_backend);
    kills.map(|kill| killed(undo, kill)).collect::<Vec<_>>().join("\n")
}

fn killed(undo: Undo, kill: Kill) -> String {
    let mut trial = Trial::begin(undo);
    trial.takes_back(1, Some(kill));
    let said = trial.takes_back(2, None);
    assert_eq!(said.refusals, Vec::<String>::new(), "{kill}");
    let told: Vec<Value> = said.replies.iter().map(|reply| serde_json::from_str(reply).unwrap()).collect();
    let endings: Vec<&str> = told.iter().map(|told| told["ending"].as_str().unwrap()).collect();
    let (record, works, file) =
        (trial.record(), trial.undone(), trial.outbox.path().join("left.txt").exists());
    assert!(!endings.contains(&"conflict"), "{kill}: nobody else has changed anything: {endings:?}");
    if undo.word != "put" {
        assert!(works <= 1, "{kill}: it was done {works} times");
    }
    if record.summary.state.word() == "rolled_back" {
        assert!(works >= 1 && !file, "{kill}: it is not undone, and told so");
    } else {
        assert!(told.iter().all(|told| told["left"] != json!([])), "{kill}: nothing is told to be left");
    }
    let sent = trial.backend.counts().of(undo.request).requests;
    let journaled = record.effects.iter().filter(|effect| {
        undo.request
            .split_once(' ')
            .is_some_and(|(method, path)| effect.method == method && effect.target.ends_with(path))
    });
    assert!(sent <= journaled.count() as u64, "{kill}: what was sent is journaled");
    format!("{:<32} {}; undone {works}x", kill.to_string(), endings.join(", "))
}

#[test]
fn a_rollback_whose_request_may_be_repeated_survives_every_crash() {
    assert_snapshot!(killed_everywhere(PUT), @"
    before take 1                    rolled_back, rolled_back; undone 1x
    after take 1                     rolled_back, rolled_back; undone 1x
    before intend 1                  rolled_back, rolled_back; undone 1x
    after intend 1                   rolled_back, rolled_back; undone 1x
    before outcome 1                 by_hand, by_hand; undone 1x
    after outcome 1                  by_hand, by_hand; undone 1x
    before outcome 2                 by_hand, by_hand; undone 1x
    after outcome 2                  rolled_back, rolled_back; undone 1x
    before roll_back 1               rolled_back, rolled_back; undone 1x
    after roll_back 1                rolled_back, rolled_back; undone 1x
    after reply 1                    rolled_back, rolled_back; undone 1x
    before PUT /settings/meddled     by_hand, by_hand; undone 1x
    after PUT /settings/meddled      by_hand, by_hand; undone 1x
    answering PUT /settings/meddled  by_hand, by_hand; undone 1x
    ");
}

#[test]
fn a_rollback_whose_request_has_a_key_survives_every_crash_and_counts_once() {
    assert_snapshot!(killed_everywhere(TICKET), @"
    before take 1                    rolled_back, rolled_back; undone 1x
    after take 1                     rolled_back, rolled_back; undone 1x
    before intend 1                  rolled_back, rolled_back; undone 1x
    after intend 1                   rolled_back, rolled_back; undone 1x
    before outcome 1                 rolled_back, rolled_back; undone 1x
    after outcome 1                  rolled_back, rolled_back; undone 1x
    before outcome 2                 rolled_back, rolled_back; undone 1x
    after outcome 2                  rolled_back, rolled_back; undone 1x
    before roll_back 1               rolled_back, rolled_back; undone 1x
    after roll_back 1                rolled_back, rolled_back; undone 1x
    after reply 1                    rolled_back, rolled_back; undone 1x
    before POST /tickets             rolled_back, rolled_back; undone 1x
    after POST /tickets              rolled_back, rolled_back; undone 1x
    answering POST /tickets          rolled_back, rolled_back; undone 1x
    ");
}

#[test]
fn a_rollback_whose_request_happens_each_time_survives_every_crash_and_happens_once() {
    assert_snapshot!(killed_everywhere(MAIL), @"
    before take 1                    rolled_back, rolled_back; undone 1x
    after take 1                     rolled_back, rolled_back; undone 1x
    before intend 1                  rolled_back, rolled_back; undone 1x
    after intend 1                   by_hand, by_hand; undone 0x
    before outcome 1                 by_hand, by_hand; undone 1x
    after outcome 1                  by_hand, by_hand; undone 1x
    before outcome 2                 by_hand, by_hand; undone 1x
    after outcome 2                  rolled_back, rolled_back; undone 1x
    before roll_back 1               rolled_back, rolled_back; undone 1x
    after roll_back 1                rolled_back, rolled_back; undone 1x
    after reply 1                    rolled_back, rolled_back; undone 1x
    before POST /mails               by_hand, by_hand; undone 1x
    after POST /mails                by_hand, by_hand; undone 1x
    answering POST /mails            by_hand, by_hand; undone 1x
    ");
}

#[test]
fn a_rollback_of_requests_and_folders_survives_every_crash() {
    assert_snapshot!(killed_everywhere(PUT_AND_FILE), @"
    before take 1                    rolled_back, rolled_back; undone 1x
    after take 1                     rolled_back, rolled_back; undone 1x
    before intend 1                  rolled_back, rolled_back; undone 1x
    after intend 1                   rolled_back, rolled_back; undone 1x
    before outcome 1                 by_hand, by_hand; undone 1x
    after outcome 1                  by_hand, by_hand; undone 1x
    before outcome 2                 by_hand, by_hand; undone 1x
    after outcome 2                  rolled_back, rolled_back; undone 1x
    before outcome 3                 rolled_back, rolled_back; undone 1x
    after outcome 3                  rolled_back, rolled_back; undone 1x
    before roll_back 1               rolled_back, rolled_back; undone 1x
    after roll_back 1                rolled_back, rolled_back; undone 1x
    after reply 1                    rolled_back, rolled_back; undone 1x
    before PUT /settings/meddled     by_hand, by_hand; undone 1x
    after PUT /settings/meddled      by_hand, by_hand; undone 1x
    answering PUT /settings/meddled  by_hand, by_hand; undone 1x
    ");
}

#[test]
fn a_process_that_dies_before_it_touched_anything_leaves_the_run_as_it_was() {
    let mut trial = Trial::begin(PUT);
    let before = trial.record();
    trial.takes_back(1, Some(Kill::At(Point::After(Commit::Take, 1))));
    // The next one closes what the dead one left, and takes nothing back.
    trial.process(&[], None);
    let record = trial.record();
    let events: Vec<_> = record.events.iter().map(|event| event.event.as_str()).collect();
    assert_eq!(events, ["began", "completed", "rolling_back", "adopted", "completed"]);
    assert_eq!((record.summary.state, record.summary.ended), (before.summary.state, before.summary.ended));
    assert_eq!(record.fingerprint, before.fingerprint);
    let undone = record.attempts.last().unwrap().undone.clone().unwrap();
    assert_eq!(undone.summary, "the process that took the call back ended before that was done");
    let said = trial.takes_back(1, None);
    let told: Value = serde_json::from_str(&said.replies[0]).unwrap();
    assert_eq!((told["ending"].as_str(), trial.undone()), (Some("rolled_back"), 1));
}

#[test]
fn who_takes_back_what_a_dead_process_was_at_is_told_how_far_that_came() {
    let told = |kill: Kill| {
        let mut trial = Trial::begin(PUT);
        trial.takes_back(1, Some(kill));
        let said = trial.takes_back(1, None);
        let told: Value = serde_json::from_str(&said.replies[0]).unwrap();
        format!("{}: {}", told["ending"].as_str().unwrap(), told["summary"].as_str().unwrap())
    };
    assert_snapshot!(told(Kill::ByBackend(PUT.request, Moment::AfterWork)), @"by_hand: the process that took it back ended in the midst of that, and nothing tells whether what has changed since is its work or somebody else's");
    assert_snapshot!(told(Kill::At(Point::After(Commit::Outcome, 2))), @"rolled_back: everything was undone when the process that did it ended");
}
