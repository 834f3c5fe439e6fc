//! One trial: a world, a backend that counts, and processes that die in it one after another.

use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use airlock::model::id::{ProcessId, RunId};
use airlock::model::run::Record;
use airlock::store::sqlite::Durability;
use airlock::store::{Ledger as _, SqliteStore};
use airlock_tests::backend::{Backend, Counts, Fault, Moment, Options};
use airlock_tests::crash::{Disk, Job, Order, Process, Said};
use airlock_tests::world::World;
use airlock_tests::{guests, power_loss};
use rusqlite::Connection;
use serde_json::json;

use super::scenario::{KEY, Key, Kill, Scenario};

/// The child's program.
pub(super) const CHILD: &str = env!("CARGO_BIN_EXE_crash-child");

/// The number of the process that only looks.
const WHO_LOOKS: u8 = 0xEE;

/// A world in which processes die.
pub(super) struct Trial {
    pub(super) scenario: Scenario,
    pub(super) power: Power,
    pub(super) backend: Backend,
    /// Replies that were acknowledged, in order, each as JSON.
    pub(super) acknowledged: Vec<String>,
    pub(super) crashes: u32,
    /// What was found wrong on the way.
    pub(super) faults: Vec<String>,
    world: World,
    processes: RefCell<u8>,
}

/// Whether the power goes with each process, and whether commits are synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    Stays,
    Goes(Disk),
}

impl Trial {
    /// An empty world. Where a person is to decide, a call was made and cut before.
    pub(super) fn begin(scenario: Scenario, power: Power) -> Self {
        let backend = Options::default().start().unwrap();
        let retries = if scenario.failures == 0 { "most = 0" } else { "base = \"1ms\"" };
        let world = World::in_memory()
            .with_plugins(&[guests::ERRAND])
            .with_grant("errand", &backend.url, &["127.0.0.1"])
            .with_config(&format!("[retries]\n{retries}\n[retries.background]\n{retries}"))
            .with_config(if scenario.bounded { "[budgets]\nday = \"1\"\ncall = \"0.000006\"" } else { "" });
        world.write_config();
        backend.fault(scenario.requests[0], Fault::status(Moment::BeforeWork, 503), scenario.failures);
        let mut trial = Self {
            scenario,
            power,
            backend,
            acknowledged: Vec::new(),
            crashes: 0,
            faults: Vec::new(),
            world,
            processes: RefCell::new(0),
        };
        if matches!(power, Power::Goes(_)) {
            // The database was there before, and its secret with it.
            trial.order(Vec::new(), Disk::Synced).run();
        }
        if let Some(decision) = scenario.decision {
            trial.backend.fault(scenario.requests[0], Fault::cut(decision.cut), 1);
            let said = trial.start(vec![trial.call()], None).end();
            trial.acknowledged.extend(said.replies);
        }
        trial
    }

    /// The first process does what the scenario says, and is killed.
    pub(super) fn first(&mut self, kill: Option<Kill>) -> Said {
        let job = match self.scenario.decision {
            Some(decision) => self.decide(decision.word),
            None => self.call(),
        };
        let process = self.start(vec![job], kill);
        self.end(process, kill)
    }

    /// A process that is to go on after the next crash asks for the same twice.
    pub(super) fn stand_by(&self, kill: Option<Kill>) -> Process {
        let mut process = self.start(vec![self.call(), Job::Repeat], kill);
        process.wait_until_ready();
        process
    }

    /// The process that stood by goes on, else the next: it asks for the same twice.
    pub(super) fn goes_on(&mut self, standby: Option<Process>, kill: Option<Kill>) -> Said {
        let start = || self.start(vec![self.call(), Job::Repeat], kill);
        let process = standby.unwrap_or_else(start);
        self.end(process, kill)
    }

    /// Waits for the end of a process, and looks at what it left.
    fn end(&mut self, mut process: Process, kill: Option<Kill>) -> Said {
        if let Some(Kill::ByBackend(request, moment)) = kill {
            self.backend.fault(request, Fault::kill(moment, process.id()), 1);
        }
        process.go();
        let said = process.end();
        self.backend.wait_idle();
        self.acknowledged.extend(said.replies.iter().cloned());
        if said.killed {
            self.crashes += 1;
            if let Power::Goes(_) = self.power {
                power_loss::restore(&self.world.state(), &self.shadow()).unwrap();
            }
            self.look_at_the_database();
        }
        if let Some(kill) = kill
            && !reached(&said, kill, &self.backend)
        {
            let points: Vec<String> = said.points.iter().map(ToString::to_string).collect();
            self.faults.push(format!("{kill} was never reached: {}", points.join(", ")));
        }
        said
    }

    /// Checks a copy, since opening a database mends it.
    fn look_at_the_database(&mut self) {
        let copy = self.copy();
        let database = Connection::open(copy.path().join("airlock.db")).unwrap();
        let sound: String = database.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
        if sound != "ok" {
            self.faults.push(format!("the database is damaged: {sound}"));
        }
    }

    /// What happened at the backend.
    pub(super) fn counts(&self) -> Counts {
        self.backend.counts()
    }

    /// The one run that there is, where there is one.
    pub(super) fn record(&self) -> Option<Record> {
        let copy = self.copy();
        let store = SqliteStore::open(copy.path(), ProcessId([WHO_LOOKS; 16]), Durability::Full).unwrap();
        let all = (RunId::from_bytes([0; 16]), RunId::from_bytes([0xff; 16]));
        let runs = store.runs(all, None, 2).unwrap();
        // The latest comes first; what was begun first is the one that was killed.
        runs.last().and_then(|summary| store.run(summary.run).unwrap())
    }

    /// What is held of budgets, what is spent of them, and what costs come to.
    pub(super) fn books(&self) -> (i64, i64, i64) {
        let copy = self.copy();
        let database = Connection::open(copy.path().join("airlock.db")).unwrap();
        let sum = |query: &str| database.query_row(query, (), |row| row.get(0)).unwrap();
        (
            sum("SELECT coalesce(sum(held), 0) + (SELECT coalesce(sum(held), 0) FROM run) FROM budget"),
            sum("SELECT coalesce(sum(spent), 0) FROM budget WHERE caller = ''"),
            sum("SELECT coalesce(sum(micros), 0) FROM cost"),
        )
    }

    fn call(&self) -> Job {
        let key = match self.scenario.key {
            Key::Callers => Some(KEY.to_owned()),
            Key::Nobodys => None,
            // Its caller does not know it; who goes on looks it up.
            Key::Hosts => self.record().and_then(|record| record.key),
        };
        let input = json!({ "to": self.backend.url, "requests": self.scenario.requests.join(",") });
        Job::Call { tool: self.scenario.tool.to_owned(), input, key, background: self.scenario.background }
    }

    fn decide(&self, word: &str) -> Job {
        let run = self.record().map(|record| record.summary.run.to_string());
        let data = (word == "happened").then(|| r#"{"answers":["seen at the desk"]}"#.to_owned());
        Job::Decide { run: run.unwrap_or_default(), word: word.to_owned(), data }
    }

    pub(super) fn start(&self, jobs: Vec<Job>, kill: Option<Kill>) -> Process {
        let disk = match self.power {
            Power::Stays => Disk::Synced,
            Power::Goes(disk) => disk,
        };
        let mut prepared = self.order(jobs, disk);
        if let Some(Kill::At(point)) = kill {
            prepared.order.halt = Some(point.to_string());
        }
        prepared.start(kill)
    }

    fn order(&self, jobs: Vec<Job>, disk: Disk) -> Prepared<'_> {
        *self.processes.borrow_mut() += 1;
        let (config, process) = (self.world.folder().join("airlock.toml"), *self.processes.borrow());
        Prepared { trial: self, order: Order { ahead: 0, config, process, disk, halt: None, jobs } }
    }

    fn shadow(&self) -> PathBuf {
        self.world.folder().join("shadow")
    }

    fn copy(&self) -> tempfile::TempDir {
        // A store wants a folder that is its owner's alone.
        let mode = std::fs::Permissions::from_mode(0o700);
        let copy = tempfile::Builder::new().permissions(mode).tempdir_in(self.world.folder()).unwrap();
        for name in ["airlock.db", "airlock.db-wal"] {
            let file = self.world.state().join(name);
            if file.exists() {
                std::fs::copy(file, copy.path().join(name)).unwrap();
            }
        }
        copy
    }
}

/// A process that is about to start.
struct Prepared<'a> {
    trial: &'a Trial,
    order: Order,
}

impl Prepared<'_> {
    fn start(self, kill: Option<Kill>) -> Process {
        Process::start(Path::new(CHILD), &self.order, |command| {
            if self.trial.power == Power::Stays {
                return;
            }
            power_loss::preload(command, &self.trial.world.state(), &self.trial.shadow()).unwrap();
            if let Some(Kill::AroundSync { before, n }) = kill {
                let setting = if before { power_loss::KILL_BEFORE } else { power_loss::KILL_AT };
                command.env(setting, n.to_string());
            }
        })
    }

    fn run(self) {
        let said = self.start(None).end();
        assert!(!said.killed);
    }
}

/// Whether a process was killed where it was to be.
fn reached(said: &Said, kill: Kill, backend: &Backend) -> bool {
    match kill {
        Kill::At(point) => said.killed && said.points.contains(&point),
        Kill::ByBackend(..) => said.killed && backend.faults().is_empty(),
        // How many there are, nobody knows before.
        Kill::AroundSync { .. } => true,
    }
}
