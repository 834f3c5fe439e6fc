//! What the child process does: it opens a host, says that it is ready, waits for the word, and does its jobs.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use airlock::host::{Decision, Host, Request, Seams, configuration};
use airlock::model::clock::{Clock, SystemClock, Timestamp};
use airlock::model::id::ProcessId;
use airlock::model::past::Rollback;
use airlock::model::reply::Reply;
use airlock::sandbox::capability::http::SystemResolver;
use airlock::store::SqliteStore;
use airlock::store::sqlite::Durability;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::halting::{Halting, Points, tell};
use crate::world;

/// Bounds the life of a child whose parent has forgotten it; no job takes nearly so long.
const LONGEST_LIFE: Duration = Duration::from_secs(60);

/// All that a child is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The configuration.
    pub config: PathBuf,
    /// What tells it from the other processes of its world.
    pub process: u8,
    /// How far its clock is ahead, in seconds.
    pub ahead: u64,
    /// How safe its commits are when the power fails.
    pub disk: Disk,
    /// The point at which it halts, where it does.
    pub halt: Option<String>,
    /// What it does, in order, once it is given the word.
    pub jobs: Vec<Job>,
}

/// How safe commits are when the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disk {
    /// Each is synced.
    Synced,
    /// None is.
    Unsynced,
}

/// One thing that a child does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Job {
    /// Calls a tool.
    Call {
        /// The tool.
        tool: String,
        /// Its input.
        input: Value,
        /// The caller's key.
        key: Option<String>,
        /// Whether it is left to the background, and made there by the process itself.
        #[serde(default)]
        background: bool,
    },
    /// Makes the call before it again, under the key that its run has.
    Repeat,
    /// Takes a run back.
    Rollback {
        /// The run.
        run: String,
    },
    /// Settles a suspended run.
    Decide {
        /// The run.
        run: String,
        /// `happened`, `did-not` or `again`.
        word: String,
        /// The result, where it happened.
        data: Option<String>,
    },
}

/// Runs a child: the one argument is its order, as JSON.
#[must_use]
pub fn main() -> ExitCode {
    let order = std::env::args().nth(1).unwrap_or_default();
    let order: Order = match serde_json::from_str(&order) {
        Ok(order) => order,
        Err(error) => {
            eprintln!("the one argument is an order, as JSON: {error}");
            return ExitCode::from(2);
        }
    };
    std::thread::spawn(|| {
        std::thread::park_timeout(LONGEST_LIFE);
        eprintln!("nobody has killed or released this process for {LONGEST_LIFE:?}");
        std::process::exit(3);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("the system gives threads").block_on(serve(order));
    ExitCode::SUCCESS
}

/// The system's clock, so many seconds later.
struct Ahead {
    clock: SystemClock,
    by: u64,
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        self.clock.now().plus(Duration::from_secs(self.by))
    }

    fn steady(&self) -> Duration {
        self.clock.steady()
    }
}

async fn serve(order: Order) {
    let halt = order.halt.map(|point| point.parse().expect("the point has a name"));
    let points = Points::until(halt);
    let config = match configuration(Some(&order.config)) {
        Ok(config) => config,
        Err(faults) => panic!("{faults}"),
    };
    let durability = match order.disk {
        Disk::Synced => Durability::Full,
        Disk::Unsynced => Durability::None,
    };
    let store = SqliteStore::open(&config.state, ProcessId([order.process; 16]), durability);
    let seams = Seams {
        clock: Arc::new(Ahead { clock: SystemClock::start(), by: order.ahead }),
        resolver: Arc::new(SystemResolver),
        store: Arc::new(Halting::over(store.expect("the store opens"), points.clone())),
        compiler: world::compiler(),
    };
    let host = Host::with(config, seams).await.expect("the host opens");
    if !order.jobs.is_empty() {
        host.load().await;
    }
    tell("ready");
    // The word is a byte; a parent that is gone gives it too.
    let word = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
    let _ = word.await;
    let mut last = None;
    for job in order.jobs {
        points.go_on().await;
        points.reply(&work(&host, job, &mut last).await).await;
    }
    host.close().await;
    points.quiet().await;
}

/// Does a job; what comes of it is one line.
async fn work(host: &Host, job: Job, last: &mut Option<Request>) -> String {
    let done = match job {
        Job::Call { tool, input, key, background } => {
            let request = Request { key, ..world::request(&tool, &input) };
            let reply = match background {
                true => made_in_background(host, &request).await,
                false => host.call(request.clone()).await,
            };
            let run = reply.meta.run.and_then(|run| host.run(&run.to_string()).ok());
            *last = Some(Request { key: run.and_then(|run| run.key), ..request });
            Ok(reply)
        }
        Job::Rollback { run } => return taken_back(host, &run).await,
        Job::Repeat => Ok(host.call(last.clone().expect("a call came before")).await),
        Job::Decide { run, word, data } => {
            let decision = match word.as_str() {
                "happened" => Decision::Happened { data },
                "did-not" => Decision::DidNot,
                "again" => Decision::Again,
                other => panic!("no decision is called so: {other}"),
            };
            host.decide(&run, decision, "Li").await
        }
    };
    match done {
        Ok(reply) => format!("reply {}", serde_json::to_string(&reply).expect("a reply is JSON")),
        Err(refusal) => format!("refused {}", refusal.to_json()),
    }
}

/// Leaves a call to the background, and is the worker that makes it; what comes of it is what its key then gives.
async fn made_in_background(host: &Host, request: &Request) -> Reply {
    let left = host.call(Request { background: true, ..request.clone() }).await;
    if left.code().as_deref() != Some("STILL_RUNNING") {
        return left;
    }
    let run = world::body(&left)["details"]["run"].as_str().unwrap_or_default().to_owned();
    while host.run(&run).is_ok_and(|record| record.summary.state.under_way()) {
        host.drive_due().await.expect("the store can be used");
        // It may wait for its next attempt, or another may be at it.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    host.result(&request.caller, None, &run, None).await
}

/// Takes a run back; what comes of it is one line.
async fn taken_back(host: &Host, run: &str) -> String {
    match host.rollback(run, "Li").await {
        Ok(Rollback { ending, undone }) => {
            format!(
                "reply {}",
                json!({ "ending": ending.word(), "summary": undone.summary, "left": undone.left })
            )
        }
        Err(refusal) => format!("refused {}", refusal.to_json()),
    }
}
