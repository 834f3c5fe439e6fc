//! Looking ahead of a call and back at one, and taking one back: what a plugin may do then, and what the host writes down.

mod again;
mod folders;
mod gone;
mod looks;
mod rollback;
mod told;
mod untouched;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use airlock::host::{Host, Seams};
use airlock::model::clock::{Clock, SystemClock, Timestamp};
use airlock::model::reply::Reply;
use airlock::model::run::Record;
use airlock_tests::backend::Backend;
use airlock_tests::guests;
use airlock_tests::world::{World, body, request};
use serde_json::{Value, json};

/// A host with the plugin that meddles, granted all that it declares.
struct Meddling {
    host: Host,
    backend: Backend,
    outbox: tempfile::TempDir,
    world: World,
}

impl Meddling {
    async fn begin() -> Self {
        Self::with("").await
    }

    /// The same, with these lines of configuration beside.
    async fn with(lines: &str) -> Self {
        Self::made(lines, None).await
    }

    /// The same, by this clock.
    async fn at(clock: Arc<dyn Clock>) -> Self {
        Self::made("", Some(clock)).await
    }

    async fn made(lines: &str, clock: Option<Arc<dyn Clock>>) -> Self {
        let backend = Backend::start().await;
        let outbox = tempfile::tempdir().unwrap();
        let world = World::in_memory()
            .with_plugins(&[guests::MEDDLER])
            .with_config(lines)
            .with_config("[retries]\nmost = 0\n[probe]\ntries = 0\n[plugin.meddler]\nkey_value = true")
            .with_config(&format!(
                "[plugin.meddler.directories]\noutbox = {{ path = {:?}, access = \"write\" }}",
                outbox.path()
            ))
            .with_grant("meddler", &backend.url, &["127.0.0.1"]);
        let seams = Seams::system(&world.config()).unwrap();
        let clock = clock.unwrap_or_else(|| Arc::clone(&seams.clock));
        let host = world.open_with(Seams { clock, ..seams }).await;
        assert_eq!(host.faults(), [], "every plugin loads");
        Self { host, backend, outbox, world }
    }

    fn place(&self, and: &str) -> Value {
        json!({ "url": self.backend.url, "and": and })
    }

    /// Meddles, and gives the run.
    async fn meddle(&self, and: &str) -> String {
        self.meddle_so(self.place(and)).await
    }

    /// The same, with this input.
    async fn meddle_so(&self, input: Value) -> String {
        let reply = self.host.call(request("meddler.meddle", &input)).await;
        assert!(reply.ok(), "{}", body(&reply));
        reply.meta.run.unwrap().to_string()
    }

    async fn preview(&self) -> Reply {
        self.host.preview(request("meddler.meddle", &self.place("nothing"))).await
    }

    /// The setting that is changed and changed back.
    fn meddled(&self) -> Value {
        self.backend.counts().settings["meddled"].value.clone()
    }

    /// Asserts that nothing was changed but by the call itself.
    fn untouched(&self) {
        let counts = self.backend.counts();
        assert_eq!(counts.under("POST /things").requests, 0);
        assert!(!counts.settings.contains_key("looked"), "{:?}", counts.settings);
        assert_eq!(fs::read_dir(self.outbox.path()).unwrap().count(), 0);
    }

    fn record(&self, run: &str) -> Record {
        self.host.run(run).unwrap()
    }
}

/// A clock that is a second later each time that it is looked at.
#[derive(Debug)]
struct Ticking(AtomicI64, SystemClock);

impl Default for Ticking {
    fn default() -> Self {
        Self(AtomicI64::new(crate::call::NOON.0), SystemClock::start())
    }
}

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1000, Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        self.1.steady()
    }
}

/// What became of each event of a run, in words.
fn events(record: &Record) -> Vec<String> {
    let by = |by: &Option<String>| by.as_ref().map(|who| format!(", by {who}")).unwrap_or_default();
    record.events.iter().map(|event| format!("{}{}", event.event, by(&event.by))).collect()
}
