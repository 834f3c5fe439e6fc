//! A process that was asleep for longer than its lease lasts, while another took its run: it finds out, and does nothing.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use airlock::host::{Host, Seams};
use airlock::model::clock::{Clock as _, SystemClock};
use airlock_tests::backend::{Backend, Moment};
use airlock_tests::crash::{Disk, Job, Order, Process};
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, code, keyed};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::super::call::{hold, text};
use super::story;

/// A process that is put to sleep while it waits for an answer.
struct Sleeper {
    world: World,
    backend: Backend,
    process: Process,
    release: Sender<()>,
    input: Value,
}

impl Sleeper {
    /// Sends these requests, and falls asleep while the answer to one of them is held.
    async fn at(requests: &str, held: &str, background: bool) -> Self {
        let backend = Backend::start().await;
        let world = World::new()
            .with_plugins(&[guests::ERRAND])
            .with_grant("errand", &backend.url, &["127.0.0.1"])
            .with_config("[retries]\nmost = 0\n");
        let release = hold(&backend, held, Moment::AfterWork, 1);
        let input = json!({ "to": backend.url, "requests": requests });
        let call = Job::Call {
            tool: "errand.sequence".to_owned(),
            input: input.clone(),
            key: Some("k".to_owned()),
            background,
        };
        let order = Order {
            ahead: 0,
            config: world.write_config(),
            process: 1,
            disk: Disk::Synced,
            halt: None,
            jobs: vec![call],
        };
        let program = Path::new(env!("CARGO_BIN_EXE_crash-child"));
        let mut process = Process::start(program, &order, |_| {});
        process.go();
        backend.wait_until(|counts| counts.of(held).works == 1);
        let sleeper = Self { world, backend, process, release, input };
        sleeper.signal("STOP");
        sleeper
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.process.id())).status();
        assert!(sent.unwrap().success());
    }

    /// A host that looks at the run for longer than its lease lasts, and takes it over.
    async fn taken_over(&self) -> (Host, String) {
        // What was left to the background by the other process is not to be over.
        let clock = SetClock::at(SystemClock::start().now());
        let seams = Seams::system(&self.world.config()).unwrap();
        let host = self.world.open_with(Seams { clock: Arc::clone(&clock) as _, ..seams }).await;
        host.renew_leases().await.unwrap();
        clock.pass(Duration::from_secs(20));
        host.renew_leases().await.unwrap();
        assert_eq!(host.close_abandoned().await, Ok(0), "its lease lasts");
        clock.pass(Duration::from_secs(11));
        host.renew_leases().await.unwrap();
        assert_eq!(host.close_abandoned().await, Ok(1));
        let run = host.runs(None, 1).unwrap().remove(0).run.to_string();
        (host, run)
    }

    /// Lets the sleeper wake and come to its end; gives what it replies.
    fn wakes(self) -> (Backend, String) {
        let Self { backend, process, release, world: _, input: _ } = self;
        drop(release);
        let sent = Command::new("sh").arg("-c").arg(format!("kill -CONT {}", process.id())).status();
        assert!(sent.unwrap().success());
        let said = process.end();
        backend.wait_idle();
        (backend, said.replies.concat())
    }
}

const READ_THEN_MAIL: &str = "GET /orders/A-1001,POST /mails";

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_slept_longer_than_its_lease_sends_nothing_more() {
    let sleeper = Sleeper::at(READ_THEN_MAIL, "GET /orders/A-1001", false).await;
    let (host, run) = sleeper.taken_over().await;
    assert_snapshot!(story(&host, &run), @"[INTERRUPTED] failed []: began, adopted, failed");
    let (backend, reply) = sleeper.wakes();
    assert_eq!(backend.counts().mails.len(), 0);
    assert!(reply.contains("INTERRUPTED"), "{reply}");
    assert_snapshot!(story(&host, &run), @"[INTERRUPTED] failed []: began, adopted, failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_slept_longer_than_its_lease_does_not_repeat_what_another_did() {
    let sleeper = Sleeper::at(READ_THEN_MAIL, "GET /orders/A-1001", false).await;
    let (host, run) = sleeper.taken_over().await;
    let reply = host.call(keyed("errand.sequence", &sleeper.input, "k")).await;
    assert!(reply.ok(), "{}", text(&reply));
    let (backend, told) = sleeper.wakes();
    assert_eq!(backend.counts().mails.len(), 1);
    assert!(told.contains(text(&reply)), "{told}");
    assert_snapshot!(story(&host, &run), @"[INTERRUPTED, ok] completed [done 202]: began, adopted, failed, rearmed, completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_slept_longer_than_its_lease_does_not_write_its_end() {
    let sleeper = Sleeper::at("POST /mails", "POST /mails", false).await;
    let (host, run) = sleeper.taken_over().await;
    let suspended = story(&host, &run);
    assert_snapshot!(suspended, @"[OUTCOME_UNKNOWN] suspended: unknown [open]: began, adopted, suspended: unknown");
    let (backend, told) = sleeper.wakes();
    assert_eq!(backend.counts().mails.len(), 1);
    assert!(told.contains("OUTCOME_UNKNOWN"), "{told}");
    // What it learns of its request is kept as evidence; where the run stands is another's to say.
    let events = |story: &str| story.rsplit_once("]: ").unwrap().1.to_owned();
    assert_eq!(events(&story(&host, &run)), events(&suspended));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_slept_longer_than_its_lease_leaves_its_call_to_another() {
    let sleeper = Sleeper::at(READ_THEN_MAIL, "GET /orders/A-1001", true).await;
    let (host, run) = sleeper.taken_over().await;
    assert_snapshot!(story(&host, &run), @"[INTERRUPTED] backing_off []: queued, driven, adopted, backed_off");
    while host.run(&run).unwrap().summary.state.under_way() {
        host.drive_due().await.unwrap();
    }
    let (backend, told) = sleeper.wakes();
    assert_eq!(backend.counts().mails.len(), 1);
    assert!(told.contains("\"data\""), "{told}");
    assert_snapshot!(story(&host, &run), @"[INTERRUPTED, ok] completed [done 202]: queued, driven, adopted, backed_off, driven, completed");
    let again = host.call(keyed("errand.sequence", &json!({}), "k")).await;
    assert_eq!(code(&again), "KEY_REUSED");
}
