//! Plugins in Python and JavaScript, whose interpreters want memories, stack and time of their own: held like any other.
//!
//! `scripts/guest-languages.sh` makes them; where its tools are not there, these tests say that they are skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use airlock::host::{Explanation, Loading};
use airlock_tests::skip::skip;
use airlock_tests::world::{self, World, body, code};
use insta::{allow_duplicates, assert_json_snapshot};
use serde_json::{Value, json};

use super::Open;
use crate::source::root;

/// Time enough for everything but an endless loop, and fuel enough that its time is over first.
const LIMITS: &str = "[limits]\nattempt = \"4s\"\nfuel = 1_000_000_000_000";

/// Deeper than the stack of any interpreter here.
const TOO_DEEP: u64 = 1_000_000;

/// The component of a language; none, and it is said, where its tool was not brought.
fn component(language: &str) -> Option<PathBuf> {
    let folder = root().join("target/guest-languages");
    if !folder.join(format!("{language}.installed")).exists() {
        skip(&format!(
            "what makes components of {language} is not there; scripts/guest-languages.sh brings it"
        ));
        return None;
    }
    let made = Command::new(root().join("scripts/guest-languages.sh")).arg(language).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(folder.join(format!("{language}.wasm")))
}

/// A host that has compiled this plugin alone, and told meanwhile that it does.
async fn compiled(component: &Path) -> Open {
    let world = World::new().with_plugins(&[component.to_str().unwrap()]).with_config(LIMITS);
    let host = world::open(world.config()).await.unwrap();
    let mut loading = host.loading();
    let told = async {
        let of_this = |loading: &Loading| {
            loading.compiling.as_ref().is_some_and(|file| file.file_name() == component.file_name())
        };
        // What is seen is held, and loading waits for whoever holds it.
        loading.wait_for(of_this).await.unwrap().clone()
    };
    let (told, ()) = tokio::join!(told, host.load());
    assert_eq!((told.done, host.faults()), (0, Vec::new()));
    Open { host, world }
}

/// A plugin of this language, and what its tools are called.
struct Reckoner {
    open: Open,
    primes: String,
    strain: String,
}

impl Reckoner {
    async fn of(language: &str) -> Option<Self> {
        let open = compiled(&component(language)?).await;
        Some(Self { open, primes: format!("{language}.primes"), strain: format!("{language}.strain") })
    }

    async fn strained(&self, how: &str, amount: u64) -> airlock::model::reply::Reply {
        self.open.call(&self.strain, json!({ "how": how, "amount": amount })).await
    }

    /// The host lives, and so does the plugin: its next instance knows nothing of the last.
    async fn reckons(&self) {
        assert_eq!(self.open.data(&self.primes, json!({ "below": 1000 })).await, json!({ "count": 168 }));
    }

    async fn is_audited_without_doubts(&self, file: &str) {
        let told: Vec<String> = self.open.host.doubts().into_iter().flat_map(|one| one.doubts).collect();
        assert_eq!(told, Vec::<String>::new());
        let checked = self.open.host.check(&self.open.world.plugins().join(file)).await;
        let unexplained = checked.imports.iter().filter(|one| one.by == Explanation::Nothing);
        assert_eq!((unexplained.count(), checked.faults), (0, Vec::new()));
        assert!(checked.imports.len() > 20, "the language brings WASI: {:?}", checked.imports);
    }

    async fn tells_its_errors_by_their_kinds(&self) {
        let reply = self.open.call(&self.primes, json!({ "below": 100_001 })).await;
        allow_duplicates! {
            assert_json_snapshot!(body(&reply), @r#"
            {
              "code": "TOO_MANY",
              "kind": "rejected",
              "message": "primes are counted below 100000, and 100001 is more",
              "retryable": false,
              "action": "tell_user",
              "retry_after_ms": 0
            }
            "#);
        }
        let own = self.strained("dance", 0).await;
        assert_eq!((code(&own).as_str(), &body(&own)["kind"]), ("INVALID_INPUT", &json!("invalid_input")));
        assert_eq!(body(&own)["message"], "there is no way `dance`");
        let schema = self.open.call(&self.primes, json!({ "below": "many" })).await;
        assert_eq!((code(&schema).as_str(), schema.meta.run), ("INVALID_INPUT", None));
    }

    /// The words of an accident go to the log, with their place in the source, and not to the caller.
    async fn keeps_what_it_did_not_catch_to_the_log(&self, place: &str) {
        let reply = self.strained("fail", 0).await;
        let shown = body(&reply);
        assert_eq!((code(&reply).as_str(), &shown["kind"]), ("INTERNAL", &json!("internal")));
        for word in ["10.0.0.7", "database", "reckoner", "Error", "line"] {
            assert!(!shown.to_string().contains(word), "{word}: {shown}");
        }
        let log = self.open.log(&reply).await;
        for words in ["the database at 10.0.0.7 is gone", place, "host: trap: "] {
            assert!(log.contains(words), "{words}: {log}");
        }
        self.reckons().await;
    }

    async fn recurses_as_far_as_it_may(&self) {
        for how in ["recurse", "parse"] {
            assert_eq!(body(&self.strained(how, 500).await), json!({ "done": 500 }), "{how}");
            let reply = self.strained(how, TOO_DEEP).await;
            assert_eq!(code(&reply), "INTERNAL", "{how}");
            let log = self.open.log(&reply).await;
            assert!(log.contains("call stack exhausted") || log.contains("recursion depth"), "{how}: {log}");
            self.reckons().await;
        }
    }

    async fn holds_no_more_memory_than_it_may(&self) {
        let most = 64 << 20;
        let modest = self.strained("grow", 16).await;
        assert_eq!(body(&modest), json!({ "done": 16 }));
        assert!((16 << 20..most).contains(&modest.meta.memory_bytes), "{}", modest.meta.memory_bytes);
        let careful = self.strained("grow", 1000).await;
        assert_eq!((code(&careful).as_str(), &body(&careful)["kind"]), ("OUT_OF_MEMORY", &json!("rejected")));
        let careless = self.strained("hoard", 0).await;
        allow_duplicates! {
            assert_json_snapshot!(body(&careless), @r#"
            {
              "code": "MEMORY_LIMIT",
              "kind": "limit",
              "message": "the tool asked for more than 67108864 bytes of memory ([limits] memory)",
              "retryable": false,
              "action": "stop",
              "retry_after_ms": 0
            }
            "#);
        }
        for reply in [careful, careless] {
            assert!((32 << 20..=most).contains(&reply.meta.memory_bytes), "{}", reply.meta.memory_bytes);
        }
        self.reckons().await;
    }

    async fn runs_no_longer_than_it_may(&self) {
        let reply = self.strained("spin", 0).await;
        assert_eq!(code(&reply), "TIME_LIMIT");
        assert_eq!(body(&reply)["message"], "the attempt took longer than 4s ([limits] attempt)");
        self.reckons().await;
    }

    /// What two calls draw.
    async fn drawn(&self) -> [Value; 2] {
        let draw = async || body(&self.strained("lucky", 0).await);
        let [one, other] = [draw().await, draw().await];
        assert!(one["key"].is_string() && one["key"] != other["key"], "keys are the host's: {one} {other}");
        [one, other]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_in_python_is_held_like_any_other() {
    let Some(python) = Reckoner::of("python").await else { return };
    python.reckons().await;
    python.is_audited_without_doubts("python.wasm").await;
    python.tells_its_errors_by_their_kinds().await;
    python.keeps_what_it_did_not_catch_to_the_log("reckoner.py\", line ").await;
    let said = python.strained("say", 3).await;
    assert_eq!(body(&said), json!({ "done": 3 }));
    assert_eq!(python.open.log(&said).await, "out: to standard output\nwarn: to the log {\"amount\": 3}\n");
    python.recurses_as_far_as_it_may().await;
    python.holds_no_more_memory_than_it_may().await;
    python.runs_no_longer_than_it_may().await;
    let [one, other] = python.drawn().await;
    assert!(one["own"] != other["own"] && one["system"] != other["system"], "{one} {other}");
    assert_eq!(one["hash"], other["hash"], "Python's seed of hashes is baked in when the component is made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_in_javascript_is_held_like_any_other() {
    let Some(quickjs) = Reckoner::of("quickjs").await else { return };
    quickjs.reckons().await;
    quickjs.is_audited_without_doubts("quickjs.wasm").await;
    quickjs.tells_its_errors_by_their_kinds().await;
    quickjs.keeps_what_it_did_not_catch_to_the_log("reckoner.js:").await;
    let said = quickjs.strained("say", 3).await;
    assert_eq!(body(&said), json!({ "done": 3 }));
    assert_eq!(quickjs.open.log(&said).await, "warn: to the log {\"amount\":3}\n");
    quickjs.recurses_as_far_as_it_may().await;
    quickjs.holds_no_more_memory_than_it_may().await;
    quickjs.runs_no_longer_than_it_may().await;
    let [one, other] = quickjs.drawn().await;
    assert_eq!(one["own"], other["own"], "the seed of Math.random is baked in when the component is made");
}
