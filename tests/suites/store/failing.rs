//! A store that fails at its n-th write, for every n of a call, and what is found when it works again.

use std::sync::Arc;

use airlock::host::{Host, OpenFailure, Seams};
use airlock::model::reply::Reply;
use airlock::model::state::RunState;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::flaky::{Flaky, Way, When};
use airlock_tests::guests;
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{integrity, left_alone};
use crate::call::{Scene, happened, hold, record, spawn, standing, text};

const TOOLS: [&str; 5] =
    ["courier.post_once", "courier.post_keyed", "courier.put", "courier.fetch", "echo.echo_write"];

/// A host over a store that fails when it is told to.
struct Bench {
    scene: Scene,
    store: Arc<Flaky>,
    host: Host,
}

/// What a call whose store failed was answered, and how often its work was done by then.
struct Failed {
    tool: &'static str,
    key: String,
    reply: Reply,
    line: String,
}

impl Bench {
    async fn new() -> Self {
        let Scene { world, backend } = Scene::courier("").await;
        let scene = Scene { world: world.with_plugins(&[guests::ECHO]), backend };
        let (store, host) = open(&scene).await;
        Self { scene, store, host }
    }

    /// The input of a tool by which its work can be told from that of others.
    fn input(&self, tool: &str, key: &str) -> Value {
        match tool {
            "courier.post_once" => self.scene.mail(key),
            "courier.post_keyed" => self.scene.ticket(key),
            "courier.put" => self.scene.setting(key),
            "courier.fetch" => self.scene.job("GET", "/orders/A-1001"),
            _ => json!({ "text": key }),
        }
    }

    /// How often the work of a call was done; what reads has none.
    fn works(&self, key: &str) -> u64 {
        let counts = self.scene.backend.counts();
        let of_this = |all: &[Value]| all.iter().filter(|one| one["subject"] == key).count() as u64;
        of_this(&counts.mails)
            + of_this(&counts.tickets)
            + counts.settings.get(key).map_or(0, |setting| setting.writes)
    }

    /// Lets every write of every tool fail once, each in a call of its own.
    async fn fail(&self, when: impl Fn(usize) -> When, way: Way) -> Vec<Failed> {
        let mut failed = Vec::new();
        for tool in TOOLS {
            self.store.heal();
            let good = format!("good-{tool}");
            assert!(self.host.call(keyed(tool, &self.input(tool, &good), &good)).await.ok());
            for (number, write) in self.store.writes().into_iter().enumerate() {
                let key = format!("{tool}-{write}");
                self.store.fail(when(number + 1), way);
                let reply = self.host.call(keyed(tool, &self.input(tool, &key), &key)).await;
                let line = format!("{key}: {} {}x", code(&reply), self.works(&key));
                failed.push(Failed { tool, key, reply, line });
            }
            self.store.heal();
        }
        failed
    }

    /// What the same keys get from a host whose store works.
    async fn again(&self, host: &Host, failed: Vec<Failed>) -> String {
        let mut lines = Vec::new();
        for Failed { tool, key, reply, line } in failed {
            let again = host.call(keyed(tool, &self.input(tool, &key), &key)).await;
            let stands = standing(&record(host, &again));
            let stored = match again.meta.replayed {
                true if text(&again) == text(&reply) => "the same ",
                true => "stored ",
                false => "",
            };
            lines.push(format!("{line}; again: {stored}{}, {stands} {}x", code(&again), self.works(&key)));
        }
        lines.join("\n")
    }

    /// The lines of all tools and writes: once asked again in the same process, and once after a new start.
    async fn both(when: impl Fn(usize) -> When, way: Way) -> (String, String) {
        let bench = Self::new().await;
        let failed = bench.fail(&when, way).await;
        let here = bench.again(&bench.host, failed).await;
        let bench = Self::new().await;
        let failed = bench.fail(&when, way).await;
        let (bench, host) = bench.restart().await;
        let running = |host: &Host| {
            host.runs(None, 1000).unwrap().into_iter().filter(|run| run.state == RunState::Running).count()
        };
        assert_eq!(running(&host), 0, "the next start closes what was left");
        let anew = bench.again(&host, failed).await;
        assert_eq!((running(&host), integrity(&bench.scene.world.state()).as_str()), (0, "ok"));
        (here, anew)
    }

    /// Ends the host, waits until its store is gone as with a process, and opens another.
    async fn restart(self) -> (Self, Host) {
        let Self { scene, store, host } = self;
        drop((store, host));
        left_alone(&scene.world.state()).await;
        let (store, host) = open(&scene).await;
        (Self { scene, store, host: host.clone() }, host)
    }
}

async fn open(scene: &Scene) -> (Arc<Flaky>, Host) {
    let seams = Seams::system(&scene.world.config()).unwrap();
    let store = Flaky::over(Arc::clone(&seams.store));
    let host = scene.world.open_with(Seams { store: Arc::clone(&store) as _, ..seams }).await;
    (store, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_write_is_refused() {
    let (here, anew) = Bench::both(When::Only, Way::Refused).await;
    assert_snapshot!(anew, @r"
    courier.post_once-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 202] 1x
    courier.post_once-intend: STORE_UNAVAILABLE 0x; again: ok, completed [done 202] 1x
    courier.post_once-outcome: ok 1x; again: the same ok, completed [done 202] 1x
    courier.post_once-settle: OUTCOME_UNKNOWN 1x; again: stored PARTLY_DONE, suspended: half_done [done 202] 1x
    courier.post_keyed-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 201] 1x
    courier.post_keyed-intend: STORE_UNAVAILABLE 0x; again: ok, completed [done 201] 1x
    courier.post_keyed-outcome: ok 1x; again: the same ok, completed [done 201] 1x
    courier.post_keyed-settle: OUTCOME_UNKNOWN 1x; again: ok, completed [done 201, done 201] 1x
    courier.put-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 200] 1x
    courier.put-intend: STORE_UNAVAILABLE 0x; again: ok, completed [done 200] 1x
    courier.put-outcome: ok 1x; again: the same ok, completed [done 200] 1x
    courier.put-settle: OUTCOME_UNKNOWN 1x; again: ok, completed [done 200, done 200] 2x
    courier.fetch-record: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    echo.echo_write-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    echo.echo_write-settle: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    ");
    assert_eq!(here, anew, "it makes no difference who finds it");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_writes_from_one_on_are_refused() {
    let (here, anew) = Bench::both(When::From, Way::Refused).await;
    assert_snapshot!(anew, @r"
    courier.post_once-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 202] 1x
    courier.post_once-intend: STORE_UNAVAILABLE 0x; again: ok, completed [done 202] 1x
    courier.post_once-outcome: OUTCOME_UNKNOWN 1x; again: stored OUTCOME_UNKNOWN, suspended: unknown [open] 1x
    courier.post_once-settle: OUTCOME_UNKNOWN 1x; again: stored PARTLY_DONE, suspended: half_done [done 202] 1x
    courier.post_keyed-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 201] 1x
    courier.post_keyed-intend: STORE_UNAVAILABLE 0x; again: ok, completed [done 201] 1x
    courier.post_keyed-outcome: OUTCOME_UNKNOWN 1x; again: ok, completed [open, done 201] 1x
    courier.post_keyed-settle: OUTCOME_UNKNOWN 1x; again: ok, completed [done 201, done 201] 1x
    courier.put-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 200] 1x
    courier.put-intend: STORE_UNAVAILABLE 0x; again: ok, completed [done 200] 1x
    courier.put-outcome: OUTCOME_UNKNOWN 1x; again: ok, completed [open, done 200] 2x
    courier.put-settle: OUTCOME_UNKNOWN 1x; again: ok, completed [done 200, done 200] 2x
    courier.fetch-record: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    echo.echo_write-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    echo.echo_write-settle: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    ");
    assert_eq!(here, anew, "it makes no difference who finds it");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_write_is_done_and_nobody_hears_of_it() {
    let (here, anew) = Bench::both(When::Only, Way::Unheard).await;
    assert_snapshot!(anew, @r"
    courier.post_once-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 202] 1x
    courier.post_once-intend: STORE_UNAVAILABLE 0x; again: ok, completed [not_sent, done 202] 1x
    courier.post_once-outcome: ok 1x; again: the same ok, completed [done 202] 1x
    courier.post_once-settle: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 202] 1x
    courier.post_keyed-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 201] 1x
    courier.post_keyed-intend: STORE_UNAVAILABLE 0x; again: ok, completed [not_sent, done 201] 1x
    courier.post_keyed-outcome: ok 1x; again: the same ok, completed [done 201] 1x
    courier.post_keyed-settle: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 201] 1x
    courier.put-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 200] 1x
    courier.put-intend: STORE_UNAVAILABLE 0x; again: ok, completed [not_sent, done 200] 1x
    courier.put-outcome: ok 1x; again: the same ok, completed [done 200] 1x
    courier.put-settle: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 200] 1x
    courier.fetch-record: STORE_UNAVAILABLE 0x; again: stored ok, completed [] 0x
    echo.echo_write-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    echo.echo_write-settle: STORE_UNAVAILABLE 0x; again: stored ok, completed [] 0x
    ");
    assert_eq!(here, anew, "it makes no difference who finds it");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_writes_from_one_on_are_done_and_nobody_hears_of_them() {
    let (here, anew) = Bench::both(When::From, Way::Unheard).await;
    assert_snapshot!(anew, @r"
    courier.post_once-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 202] 1x
    courier.post_once-intend: STORE_UNAVAILABLE 0x; again: ok, completed [not_sent, done 202] 1x
    courier.post_once-outcome: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 202] 1x
    courier.post_once-settle: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 202] 1x
    courier.post_keyed-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 201] 1x
    courier.post_keyed-intend: STORE_UNAVAILABLE 0x; again: ok, completed [not_sent, done 201] 1x
    courier.post_keyed-outcome: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 201] 1x
    courier.post_keyed-settle: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 201] 1x
    courier.put-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [done 200] 1x
    courier.put-intend: STORE_UNAVAILABLE 0x; again: ok, completed [not_sent, done 200] 1x
    courier.put-outcome: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 200] 1x
    courier.put-settle: OUTCOME_UNKNOWN 1x; again: stored ok, completed [done 200] 1x
    courier.fetch-record: STORE_UNAVAILABLE 0x; again: stored ok, completed [] 0x
    echo.echo_write-reserve: STORE_UNAVAILABLE 0x; again: ok, completed [] 0x
    echo.echo_write-settle: STORE_UNAVAILABLE 0x; again: stored ok, completed [] 0x
    ");
    assert_eq!(here, anew, "it makes no difference who finds it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refusals_in_full() {
    let bench = Bench::new().await;
    bench.store.fail(When::From(1), Way::Refused);
    let before = bench.host.call(keyed("courier.post_once", &bench.scene.mail("a"), "k1")).await;
    bench.store.fail(When::From(3), Way::Refused);
    let after = bench.host.call(keyed("courier.post_once", &bench.scene.mail("a"), "k2")).await;
    bench.store.fail(When::From(2), Way::Refused);
    let pure = bench.host.call(request("echo.echo_write", &json!({ "text": "a" }))).await;
    let run = body(&after)["details"]["run"].as_str().unwrap().to_owned();
    let own = body(&pure)["details"]["key"].as_str().unwrap().to_owned();
    let told = [&before, &after, &pure].map(|reply| text(reply).replace(&run, "RUN").replace(&own, "OWN"));
    assert_snapshot!(told.join("\n"), @r#"
    {"code":"STORE_UNAVAILABLE","kind":"transient","message":"the host cannot write down what it is about to do, so it does not do it; nothing was run","retryable":true,"action":"retry_later","retry_after_ms":0}
    {"code":"OUTCOME_UNKNOWN","kind":"unknown_outcome","message":"what was done could not be written down; the action may have happened: do not repeat it","retryable":false,"action":"do_not_repeat","retry_after_ms":0,"details":{"run":"RUN"}}
    {"code":"STORE_UNAVAILABLE","kind":"transient","message":"the host cannot write the result down, so it gives none; nothing was changed outside","retryable":true,"action":"retry_later","retry_after_ms":0,"details":{"key":"OWN"}}
    "#);
    assert!(!told.concat().contains("airlock.db"), "no file's name leaves");
    assert_eq!(bench.scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_nobody_can_ask_for_again_needs_no_store() {
    let bench = Bench::new().await;
    bench.store.fail(When::From(1), Way::Refused);
    let reply = bench.host.call(request("courier.fetch", &bench.scene.job("GET", "/orders/A-1001"))).await;
    assert!(reply.ok());
    assert_eq!(bench.store.writes(), ["record"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_under_its_key_survives_the_same_failures() {
    let bench = Bench::new().await;
    let mut lines = Vec::new();
    for (number, write) in [(1, "take"), (2, "intend"), (3, "outcome"), (4, "settle")] {
        let input = bench.scene.ticket(write);
        bench.scene.backend.fault("/tickets", Fault::status(Moment::AfterWork, 500), 1);
        let first = bench.host.call(keyed("courier.post_keyed", &input, write)).await;
        assert_eq!(code(&first), "OUTCOME_UNKNOWN");
        bench.store.fail(When::From(number), Way::Refused);
        let second = bench.host.call(keyed("courier.post_keyed", &input, write)).await;
        assert_eq!(bench.store.writes()[number - 1], write);
        bench.store.heal();
        let third = bench.host.call(keyed("courier.post_keyed", &input, write)).await;
        let stands = standing(&record(&bench.host, &third));
        lines.push(format!("{write}: {}; {}, {stands} {}x", code(&second), code(&third), bench.works(write)));
    }
    assert_snapshot!(lines.join("\n"), @r"
    take: STORE_UNAVAILABLE; ok, completed [open 500, done 201] 1x
    intend: OUTCOME_UNKNOWN; ok, completed [open 500, done 201] 1x
    outcome: OUTCOME_UNKNOWN; ok, completed [open 500, open, done 201] 1x
    settle: OUTCOME_UNKNOWN; ok, completed [open 500, done 201, done 201] 1x
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_cannot_be_written_is_no_decision() {
    let bench = Bench::new().await;
    bench.scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 2);
    for (way, stands) in [(Way::Refused, "suspended: unknown [open]"), (Way::Unheard, "completed [done]")] {
        let key = format!("{way:?}");
        let unknown = bench.host.call(keyed("courier.post_once", &bench.scene.mail(&key), &key)).await;
        let run = unknown.meta.run.unwrap().to_string();
        bench.store.fail(When::Only(1), way);
        let failure = bench.host.decide(&run, happened(), "ada").await.unwrap_err();
        assert_eq!(failure.code, "STORE_UNAVAILABLE");
        bench.store.heal();
        assert_eq!(standing(&record(&bench.host, &unknown)), stands);
        let second = bench.host.decide(&run, happened(), "ada").await.unwrap();
        assert_eq!((second.ok(), second.meta.replayed), (true, way == Way::Unheard));
        assert_eq!(standing(&record(&bench.host, &unknown)), "completed [done]");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_cannot_write_what_it_finds_says_so_and_the_next_one_can() {
    let bench = Bench::new().await;
    bench.store.fail(When::From(3), Way::Refused);
    let unknown = bench.host.call(keyed("courier.post_once", &bench.scene.mail("a"), "k")).await;
    assert_eq!(code(&unknown), "OUTCOME_UNKNOWN");
    let Bench { scene, store, host } = bench;
    drop((store, host));
    left_alone(&scene.world.state()).await;
    for number in 1..=2 {
        let seams = Seams::system(&scene.world.config()).unwrap();
        let store = Flaky::over(Arc::clone(&seams.store));
        store.fail(When::Only(number), Way::Refused);
        let opened = Host::with(scene.world.config(), Seams { store: store as _, ..seams }).await;
        assert!(matches!(opened, Err(OpenFailure::Store(_))), "write {number} of the start was refused");
    }
    let host = scene.open().await;
    let again = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
    assert_eq!(code(&again), "OUTCOME_UNKNOWN");
    assert_eq!(standing(&record(&host, &again)), "suspended: unknown [open]");
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_end_could_not_be_written_is_closed_while_its_process_goes_on() {
    let bench = Bench::new().await;
    bench.store.fail(When::From(4), Way::Refused);
    let unknown = bench.host.call(keyed("courier.post_once", &bench.scene.mail("a"), "k")).await;
    assert_eq!((code(&unknown).as_str(), bench.store.writes()[3]), ("OUTCOME_UNKNOWN", "settle"));
    let run = body(&unknown)["details"]["run"].as_str().unwrap().to_owned();
    let elsewhere = bench.scene.open().await;
    let decide = || elsewhere.decide(&run, happened(), "ada");
    assert_eq!(bench.host.close_abandoned().await.unwrap_err().code, "STORE_UNAVAILABLE");
    bench.store.heal();
    assert_eq!(decide().await.unwrap_err().code, "INVALID_INPUT", "its process lives, and may be at it");
    assert_eq!(bench.host.close_abandoned().await, Ok(1));
    assert_eq!(standing(&elsewhere.run(&run).unwrap()), "suspended: half_done [done 202]");
    assert!(decide().await.unwrap().ok());
    assert_eq!((bench.host.close_abandoned().await, bench.scene.mails()), (Ok(0), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_under_way_is_not_taken_for_abandoned() {
    let scene = Scene::courier("").await;
    let (host, elsewhere) = (scene.open().await, scene.open().await);
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let call = spawn(&host, keyed("courier.post_once", &scene.mail("a"), "k"));
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    for looking in [&host, &elsewhere] {
        assert_eq!(looking.close_abandoned().await, Ok(0));
    }
    drop(release);
    assert!(call.await.unwrap().ok());
}
