//! Processes are killed while a plugin is asked what became of a call: what is unknown stays so, or is found, and is never guessed.

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

/// A mail whose answer is cut at a moment, and processes that send it one after another.
struct Trial {
    backend: Backend,
    world: World,
    processes: u8,
}

impl Trial {
    fn begin(cut: Moment) -> Self {
        let backend = Options::default().start().unwrap();
        let url = &backend.url;
        let world = World::in_memory()
            .with_plugins(&[guests::DESK])
            .with_variable("DESK_TOKEN", "a token")
            .with_config(&format!(
                "[plugin.desk]\nconfig = {{ desk_url = \"{url}\" }}\nsecrets = [\"desk_token\"]\n\
                 [secrets]\ndesk_token = {{ env = \"DESK_TOKEN\" }}\n\
                 [tools.\"desk.send_mail\"]\nconfirm = \"none\"\n[retries]\nmost = 0\nbase = \"1ms\"\ncap = \"1ms\"\n"
            ))
            .with_grant("desk", url, &["127.0.0.1"]);
        world.write_config();
        backend.fault("POST /mails", Fault::cut(cut), 1);
        Self { backend, world, processes: 0 }
    }

    /// A process sends the mail so many times under one key, and is killed where that is said.
    fn sends(&mut self, times: usize, kill: Option<Kill>) -> Said {
        self.sends_at(0, times, kill)
    }

    /// The same, so many seconds later.
    fn sends_at(&mut self, ahead: u64, times: usize, kill: Option<Kill>) -> Said {
        self.processes += 1;
        let halt = match kill {
            Some(Kill::At(point)) => Some(point.to_string()),
            Some(Kill::ByBackend(..) | Kill::AroundSync { .. }) | None => None,
        };
        let input = json!({ "to": "ada@example.com", "subject": "Lamp", "body": "It is on its way." });
        let call = Job::Call {
            tool: "desk.send_mail".to_owned(),
            input,
            key: Some("k1".to_owned()),
            background: false,
        };
        let config = self.world.folder().join("airlock.toml");
        let order = Order {
            config,
            process: self.processes,
            ahead,
            disk: Disk::Synced,
            halt,
            jobs: vec![call; times],
        };
        let environment = self.world.environment().clone();
        let mut process = Process::start(Path::new(CHILD), &order, |command| {
            command.envs(environment);
        });
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
        let all = (RunId::from_bytes([0; 16]), RunId::from_bytes([0xff; 16]));
        let runs = store.runs(all, None, 9).unwrap();
        assert_eq!(runs.len(), 1, "one key is one run");
        store.run(runs[0].run).unwrap().unwrap()
    }
}

/// Sends a mail, is killed, and sends it once more at once and twice when a backend is done with it, for every place where that can be; gives the end of each.
fn killed_everywhere(cut: Moment) -> String {
    let said = Trial::begin(cut).sends(1, None);
    let points = in_order(&said.points[said.before_ready..]);
    for point in [Point::Before(Commit::Note, 1), Point::After(Commit::Note, 1)] {
        assert!(points.contains(&point), "{point}");
    }
    let moments = [Moment::BeforeWork, Moment::AfterWork, Moment::AfterHead];
    let by_backend = moments.map(|moment| Kill::ByBackend("GET /mails", moment));
    let kills = points.into_iter().filter(|point| !sweeps(point)).map(Kill::At).chain(by_backend);
    kills.map(|kill| killed(cut, kill)).collect::<Vec<_>>().join("\n")
}

fn killed(cut: Moment, kill: Kill) -> String {
    let mut trial = Trial::begin(cut);
    trial.sends(1, Some(kill));
    let (at_once, later) = (trial.sends(1, None), trial.sends_at(120, 2, None));
    let told: Vec<Value> = at_once
        .replies
        .iter()
        .chain(&later.replies)
        .map(|reply| serde_json::from_str(reply).unwrap())
        .collect();
    let codes: Vec<&str> = told.iter().map(|told| told["error"]["code"].as_str().unwrap_or("ok")).collect();
    let (record, works) = (trial.record(), trial.backend.counts().of("POST /mails").works);
    assert!(works <= 1, "{kill}: it was sent {works} times");
    if codes.last() == Some(&"ok") {
        assert_eq!(works, 1, "{kill}: it was not sent, and told so");
    }
    let sent = trial.backend.counts().of("POST /mails").requests;
    assert!(sent <= record.effects.len() as u64, "{kill}: what was sent is journaled");
    format!("{:<24} {}; {}; mails {works}", kill.to_string(), codes.join(", "), record.summary.state.word())
}

#[test]
fn finding_out_that_it_happened_survives_every_crash() {
    assert_snapshot!(killed_everywhere(Moment::AfterWork), @"
    before reserve 1         ok, ok, ok; completed; mails 1
    after reserve 1          ok, ok, ok; completed; mails 1
    before intend 1          ok, ok, ok; completed; mails 1
    after intend 1           OUTCOME_UNKNOWN, ok, ok; completed; mails 1
    before note 1            ok, ok, ok; completed; mails 1
    after note 1             ok, ok, ok; completed; mails 1
    before settle 1          ok, ok, ok; completed; mails 1
    after settle 1           ok, ok, ok; completed; mails 1
    after reply 1            ok, ok, ok; completed; mails 1
    before GET /mails        ok, ok, ok; completed; mails 1
    after GET /mails         ok, ok, ok; completed; mails 1
    answering GET /mails     ok, ok, ok; completed; mails 1
    ");
}

#[test]
fn finding_out_that_it_did_not_happen_survives_every_crash() {
    assert_snapshot!(killed_everywhere(Moment::BeforeWork), @"
    before reserve 1         ANSWER_BROKEN, ok, ok; completed; mails 1
    after reserve 1          ANSWER_BROKEN, ok, ok; completed; mails 1
    before intend 1          ANSWER_BROKEN, ok, ok; completed; mails 1
    after intend 1           OUTCOME_UNKNOWN, ANSWER_BROKEN, ok; completed; mails 1
    before note 1            OUTCOME_UNKNOWN, ok, ok; completed; mails 1
    after note 1             OUTCOME_UNKNOWN, ok, ok; completed; mails 1
    before settle 1          OUTCOME_UNKNOWN, ok, ok; completed; mails 1
    after settle 1           ok, ok, ok; completed; mails 1
    after reply 1            ok, ok, ok; completed; mails 1
    before GET /mails        OUTCOME_UNKNOWN, ok, ok; completed; mails 1
    after GET /mails         OUTCOME_UNKNOWN, ok, ok; completed; mails 1
    answering GET /mails     OUTCOME_UNKNOWN, ok, ok; completed; mails 1
    ");
}
