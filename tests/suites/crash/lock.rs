//! Whose run it is: a process that lives is never taken over, and one that died is taken over at once.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use airlock::host::{Decision, Host, Request, Seams};
use airlock::model::clock::{Clock, SystemClock, Timestamp};
use airlock::model::reply::Reply;
use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::crash::{Disk, Job, Order, Process};
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::late::{Holder, Late};
use super::scenario::{KEY, KEYED, ONCE, Scenario};

/// A process whose call hangs in the backend, and a world in which others ask for the same.
struct Hanging {
    scenario: Scenario,
    world: World,
    backend: Backend,
    process: Process,
}

impl Hanging {
    /// Hangs before the backend does its work.
    async fn with(scenario: Scenario, limits: &str) -> Self {
        let backend = Backend::start().await;
        backend.fault(scenario.requests[0], Fault::hang(Moment::BeforeWork), 1);
        let world = World::in_memory()
            .with_plugins(&[guests::ERRAND])
            .with_grant("errand", &backend.url, &["127.0.0.1"])
            .with_config(limits);
        let (tool, input) = (scenario.tool.to_owned(), input(scenario, &backend));
        let order = Order {
            ahead: 0,
            config: world.write_config(),
            process: 1,
            disk: Disk::Synced,
            halt: None,
            jobs: vec![Job::Call { tool, input, key: Some(KEY.to_owned()), background: false }],
        };
        let mut process = Process::start(Path::new(super::trial::CHILD), &order, |_| {});
        process.go();
        backend.wait_until(|counts| counts.of(scenario.requests[0]).requests == 1);
        Self { scenario, world, backend, process }
    }

    fn request(&self) -> Request {
        keyed(self.scenario.tool, &input(self.scenario, &self.backend), KEY)
    }

    /// A host that reads its first run only once it is let.
    async fn late(&self) -> (Host, Holder) {
        let seams = Seams::system(&self.world.config()).unwrap();
        let (store, holder) = Late::over(Arc::clone(&seams.store));
        (self.world.open_with(Seams { store, ..seams }).await, holder)
    }

    async fn asked(&self, host: &Host) -> Reply {
        host.call(self.request()).await
    }

    /// Requests that came, and works that were done.
    fn counts(&self) -> (u64, u64) {
        let count = self.backend.counts().of(self.scenario.requests[0]);
        (count.requests, count.works)
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.process.id())).status();
        assert!(sent.unwrap().success());
    }

    /// Kills the process, and comes back when it is gone.
    fn kill(&mut self) {
        self.process.kill();
        self.process.wait_until_gone();
    }
}

fn input(scenario: Scenario, backend: &Backend) -> Value {
    json!({ "to": backend.url, "requests": scenario.requests.join(",") })
}

/// A clock that tells how often it was looked at: whoever waits looks again and again.
struct WatchedClock {
    clock: SystemClock,
    looks: AtomicU32,
}

impl Clock for WatchedClock {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn steady(&self) -> Duration {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.clock.steady()
    }
}

/// Waits hardly at all for a call that another began, so that an answer is one that was there at once.
const AT_ONCE: &str = "[limits]\nwait = \"1ms\"";

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_lives_is_not_taken_over_while_its_lease_lasts() {
    let hanging = Hanging::with(ONCE, AT_ONCE).await;
    let host = hanging.world.open().await;
    let run = host.runs(None, 1).unwrap().remove(0).run.to_string();
    let reply = body(&hanging.asked(&host).await);
    assert_snapshot!(serde_json::to_string_pretty(&reply).unwrap().replace(&run, "RUN"), @r#"
    {
      "code": "STILL_RUNNING",
      "kind": "waiting",
      "message": "the call with this key is still running, in run RUN; ask again with the same key",
      "retryable": false,
      "action": "wait",
      "retry_after_ms": 0,
      "details": {
        "key": "parcel-7",
        "run": "RUN"
      }
    }
    "#);
    // One that is only asleep lives as well.
    hanging.signal("STOP");
    let next = hanging.world.open().await;
    for host in [&host, &next] {
        assert_eq!(code(&hanging.asked(host).await), "STILL_RUNNING");
    }
    let refused = host.decide(&run, Decision::DidNot, "Li").await.unwrap_err();
    assert_eq!(refused.code, "INVALID_INPUT");
    assert_eq!(host.run(&run).unwrap().attempts.len(), 1);
    assert_eq!(hanging.counts(), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_died_is_taken_over_at_once_and_what_it_may_have_done_is_not_repeated() {
    let mut hanging = Hanging::with(ONCE, AT_ONCE).await;
    let host = hanging.world.open().await;
    assert_eq!(code(&hanging.asked(&host).await), "STILL_RUNNING");
    hanging.kill();
    let reply = hanging.asked(&host).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("OUTCOME_UNKNOWN", 1));
    assert_eq!(hanging.counts(), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_died_is_taken_over_at_once_and_what_has_a_key_is_done_under_it() {
    let mut hanging = Hanging::with(KEYED, AT_ONCE).await;
    let host = hanging.world.open().await;
    assert_eq!(code(&hanging.asked(&host).await), "STILL_RUNNING");
    hanging.kill();
    let reply = hanging.asked(&host).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("ok", 2));
    assert_eq!(hanging.counts(), (2, 1));
    assert_eq!(hanging.backend.counts().keys.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_process_takes_over_when_it_dies() {
    let mut hanging = Hanging::with(KEYED, "").await;
    let config = hanging.world.config();
    let clock = Arc::new(WatchedClock { clock: SystemClock::start(), looks: AtomicU32::new(0) });
    let seams = Seams { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Seams::system(&config).unwrap() };
    let host = hanging.world.open_with(seams).await;
    let (asking, request) = (host.clone(), hanging.request());
    let waits = tokio::spawn(async move { asking.call(request).await });
    let before = clock.looks.load(Ordering::SeqCst);
    while clock.looks.load(Ordering::SeqCst) < before + 5 {
        tokio::task::yield_now().await;
    }
    assert!(!waits.is_finished());
    hanging.kill();
    let reply = waits.await.unwrap();
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("ok", 2));
    assert_eq!(hanging.counts(), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_meet_what_a_dead_process_left_one_takes_it() {
    for (scenario, expected, counts) in [(KEYED, "ok", (2, 1)), (ONCE, "OUTCOME_UNKNOWN", (1, 0))] {
        let mut hanging = Hanging::with(scenario, "").await;
        let (one, other) = (hanging.world.open().await, hanging.world.open().await);
        hanging.kill();
        let (first, second) = tokio::join!(hanging.asked(&one), hanging.asked(&other));
        let ends = [&first, &second].map(code);
        assert!(ends.contains(&expected.to_owned()), "{ends:?}");
        // Who waited while the other closed the run may be told to ask again, and then nothing more is done.
        let (first, second) = (hanging.asked(&one).await, hanging.asked(&other).await);
        assert_eq!([code(&first).as_str(), code(&second).as_str()], [expected, expected]);
        assert_eq!(body(&first), body(&second));
        assert_eq!(hanging.counts(), counts);
        assert_eq!(adoptions(&one), 1);
    }
}

/// One that is late asks, another asks and hangs, and then the late one goes on: it finds that the other lives.
async fn comes_late(hanging: &Hanging, late: Host, holder: Holder, first: Host) {
    let (asking, request) = (late.clone(), hanging.request());
    let asks_late = tokio::spawn(async move { asking.call(request).await });
    holder.wait();
    hanging.backend.fault(KEYED.requests[0], Fault::hang(Moment::BeforeWork), 1);
    let (asking, request) = (first.clone(), hanging.request());
    let asks_first = tokio::spawn(async move { asking.call(request).await });
    hanging.backend.wait_until(|counts| counts.of(KEYED.requests[0]).requests == 2);
    holder.let_go();
    assert_eq!(code(&asks_late.await.unwrap()), "STILL_RUNNING");
    assert!(!asks_first.is_finished());
    assert_eq!(adoptions(&first), 1);
    assert_eq!(hanging.counts(), (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_met_a_dead_process_and_comes_late_does_not_take_over_who_came_first() {
    let mut hanging = Hanging::with(KEYED, AT_ONCE).await;
    let first = hanging.world.open().await;
    let (late, holder) = hanging.late().await;
    hanging.kill();
    comes_late(&hanging, late, holder, first).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_arm_a_key_again_in_one_process_the_late_one_does_not_take_over_the_other() {
    let mut hanging = Hanging::with(KEYED, AT_ONCE).await;
    hanging.kill();
    // The next start closes the run, and its key arms it again.
    let closes = hanging.world.open().await;
    let (late, holder) = hanging.late().await;
    drop(closes);
    comes_late(&hanging, late.clone(), holder, late).await;
}

/// How often the one run was taken from a process that died.
fn adoptions(host: &Host) -> usize {
    let runs = host.runs(None, 2).unwrap();
    assert_eq!(runs.len(), 1);
    let run = host.run(&runs[0].run.to_string()).unwrap();
    run.events.iter().filter(|event| event.event == "adopted").count()
}
