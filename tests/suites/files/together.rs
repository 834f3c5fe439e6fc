//! Several that change the same files: calls among each other, in one process and in two, and somebody outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use airlock::model::reply::Reply;
use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::crowd::{Call, Crowd, Task};
use airlock_tests::world::{body, code, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Lent, fill, scribes};

const PROGRAM: &str = env!("CARGO_BIN_EXE_call-at-once");

/// Calls that are made at once.
const MANY: usize = 40;

/// The line that one of them appends.
fn line(number: usize) -> Value {
    json!({ "do": "append", "path": "log.txt", "text": format!("{number}\n") })
}

/// The numbers of the lines that are there, of which none is there twice.
fn lines(log: &Path) -> BTreeSet<usize> {
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    let different: BTreeSet<usize> = lines.iter().copied().collect();
    assert_eq!(different.len(), lines.len(), "{text}");
    different
}

/// Calls the scribe with all of these at once.
async fn at_once(lent: &Lent, inputs: Vec<Value>) -> Vec<Reply> {
    let calls: Vec<_> = inputs
        .into_iter()
        .map(|input| {
            let host = lent.host.clone();
            tokio::spawn(async move { host.call(request("scribe.change", &input)).await })
        })
        .collect();
    let mut replies = Vec::new();
    for call in calls {
        replies.push(call.await.unwrap());
    }
    replies
}

#[tokio::test(flavor = "multi_thread")]
async fn of_calls_that_append_to_one_file_at_once_none_is_lost() {
    let lent = Lent::to_scribe("").await;
    let replies = at_once(&lent, (0..MANY).map(|number| json!({ "steps": [line(number)] })).collect()).await;
    for reply in &replies {
        assert_eq!(body(reply)["said"], json!(["done"]));
    }
    assert_eq!(lines(&lent.path("outbox/log.txt")), (0..MANY).collect());
}

#[test]
fn of_two_processes_that_append_to_one_file_at_once_none_is_lost() {
    let (world, folder) = scribes();
    let config = world.write_config();
    let task = |numbers: std::ops::Range<usize>| Task {
        config: config.clone(),
        environment: BTreeMap::new(),
        compiler: None,
        calls: numbers
            .map(|number| Call {
                tool: "scribe.change".to_owned(),
                input: json!({ "steps": [line(number)] }),
                key: number.to_string(),
            })
            .collect(),
    };
    let told = Crowd::gather(Path::new(PROGRAM), &[task(0..MANY / 2), task(MANY / 2..MANY)]).go();
    for reply in told.iter().flatten() {
        let reply: Value = serde_json::from_str(reply).unwrap();
        assert_eq!(reply["data"]["said"], json!(["done"]), "{reply}");
    }
    assert_eq!(lines(&folder.path().join("outbox/log.txt")), (0..MANY).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_call_wrote_is_not_put_back_over_what_others_wrote_since() {
    let lent = Lent::to_scribe("").await;
    fs::write(lent.path("outbox/log.txt"), "").unwrap();
    let fails = |number: usize| number % 2 == 1;
    let input = |number| {
        let then = if fails(number) { json!("rejected") } else { Value::Null };
        json!({ "steps": [line(number)], "then": then })
    };
    let replies = at_once(&lent, (0..MANY).map(input).collect()).await;
    let there = lines(&lent.path("outbox/log.txt"));
    for (number, reply) in replies.iter().enumerate() {
        let told = code(reply);
        match (fails(number), told.as_str()) {
            (false, "ok") | (true, "PARTLY_DONE") => assert!(there.contains(&number), "{number}: {told}"),
            (true, "TOLD_REJECTED") => assert!(!there.contains(&number), "{number}: {told}"),
            (_, told) => panic!("{number}: {told}"),
        }
    }
}

/// The scribe, and a backend that lets somebody else come in between.
struct Between {
    lent: Lent,
    backend: Backend,
}

impl Between {
    async fn begin() -> Self {
        let backend = Backend::start().await;
        let line = format!(
            "[[plugin.scribe.http]]\norigin = \"{}\"\nmethods = [\"POST\"]\naddresses = [\"127.0.0.1\"]",
            backend.url
        );
        Self { lent: Lent::to_scribe(&line).await, backend }
    }

    /// What the scribe says of a look, and of a change after somebody's doing; and what is in the plan then.
    async fn said(
        &self,
        look: &Value,
        theirs: impl Fn(&Path) + Send + Sync + 'static,
        change: &Value,
    ) -> [String; 3] {
        let outbox = self.lent.path("outbox");
        fill(&outbox);
        self.backend.fault("POST /mails", Fault::call(Moment::AfterWork, move || theirs(&outbox)), 1);
        let post = json!({ "do": "post", "to": format!("{}/mails", self.backend.url), "text": "{}" });
        let said = self.lent.steps(json!([look, post, change])).await;
        assert_eq!(self.backend.faults().len(), 0, "somebody came in between");
        let plan = self.lent.tree("outbox").get("plan.txt").cloned();
        [said[0].clone(), said[2].clone(), plan.unwrap_or_default()]
    }
}

fn every_change() -> [Value; 4] {
    [
        json!({ "do": "write", "path": "plan.txt", "text": "by the guest" }),
        json!({ "do": "append", "path": "plan.txt", "text": ", and the guest" }),
        json!({ "do": "move", "path": "plan.txt", "to": "moved.txt" }),
        json!({ "do": "remove", "path": "plan.txt" }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_since_it_was_read_is_kept_and_the_guest_is_told() {
    let between = Between::begin().await;
    for look in ["read", "std"] {
        let look = json!({ "do": look, "path": "plan.txt" });
        for change in every_change() {
            let theirs = |outbox: &Path| fs::write(outbox.join("plan.txt"), "by somebody else").unwrap();
            let said = between.said(&look, theirs, &change).await;
            let told = "Changed(\"it was changed by somebody else since it was read, and nothing was done\")";
            assert_eq!(said, ["a plan", told, "by somebody else"], "{look} {change}");
            // The twin: nobody came in between.
            let [_, said, plan] = between.said(&look, |_| (), &change).await;
            assert_eq!(said, "done", "{look} {change}");
            assert_ne!(plan, "a plan", "{look} {change}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_file_of_the_same_length_and_one_that_is_gone_are_changes_too() {
    let between = Between::begin().await;
    let read = json!({ "do": "read", "path": "plan.txt" });
    let write = &every_change()[0];
    let another = |outbox: &Path| {
        fs::write(outbox.join("aside"), "a scar").unwrap();
        fs::rename(outbox.join("aside"), outbox.join("plan.txt")).unwrap();
    };
    let [_, said, plan] = between.said(&read, another, write).await;
    assert!(said.starts_with("Changed("), "{said}");
    assert_eq!(plan, "a scar");
    let gone = |outbox: &Path| fs::remove_file(outbox.join("plan.txt")).unwrap();
    let [_, said, plan] = between.said(&read, gone, write).await;
    assert!(said.starts_with("Changed(") && plan.is_empty(), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_come_since_nothing_was_found_is_kept() {
    let between = Between::begin().await;
    let write = json!({ "do": "write", "path": "fresh.txt", "text": "by the guest" });
    for (look, nothing) in [("look", "NotFound"), ("read", "NotFound"), ("std", "Other(\"NotFound\")")] {
        let look = json!({ "do": look, "path": "fresh.txt" });
        let theirs = |outbox: &Path| fs::write(outbox.join("fresh.txt"), "theirs").unwrap();
        let [found, said, _] = between.said(&look, theirs, &write).await;
        assert_eq!(found, nothing);
        assert!(said.starts_with("Changed("), "{said}");
        assert_eq!(between.lent.tree("outbox")["fresh.txt"], "theirs");
        assert_eq!(between.said(&look, |_| (), &write).await[1], "done");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_changes_again_what_it_has_changed_or_read_anew() {
    let lent = Lent::to_scribe("").await;
    let said = lent
        .steps(json!([
            { "do": "read", "path": "plan.txt" },
            { "do": "append", "path": "plan.txt", "text": ", longer" },
            { "do": "write", "path": "plan.txt", "text": "another" },
            { "do": "look", "path": "sent/plan.txt" },
            { "do": "move", "path": "plan.txt", "to": "sent/plan.txt" },
            { "do": "append", "path": "sent/plan.txt", "text": " plan" },
            { "do": "move", "path": "sent", "to": "gone" },
            { "do": "append", "path": "gone/plan.txt", "text": "!" },
            { "do": "read", "path": "gone/plan.txt" },
            { "do": "remove", "path": "gone/plan.txt" },
            { "do": "write", "path": "plan.txt", "text": "the next" },
        ]))
        .await;
    assert_snapshot!(said.join("\n"), @"
    a plan
    done
    done
    NotFound
    done
    done
    done
    done
    another plan!
    done
    done
    ");
}
