//! The desk's tools as a caller and a person meet them, judged by what the backend counted.

mod back;

use airlock::host::Host;
use airlock::model::past::Probed;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::call::Scene;

/// A desk where nobody need confirm anything, and a host.
struct Desk {
    scene: Scene,
    host: Host,
}

impl Desk {
    async fn open() -> Self {
        let confirmed = "[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n[tools.\"desk.cancel_ticket\"]\nconfirm = \"none\"";
        let scene = Scene::desk(confirmed).await;
        let host = scene.open().await;
        assert_eq!(host.faults(), [], "every plugin loads");
        Self { scene, host }
    }

    async fn call(&self, tool: &str, input: Value) -> Reply {
        self.host.call(request(tool, &input)).await
    }

    /// Does it, and gives the run and the output.
    async fn done(&self, tool: &str, input: Value) -> (String, Value) {
        let reply = self.call(tool, input).await;
        assert!(reply.ok(), "{tool}: {}", body(&reply));
        (reply.meta.run.unwrap().to_string(), body(&reply))
    }

    /// Opens a ticket, and gives the run and the number.
    async fn ticket(&self) -> (String, String) {
        let (run, ticket) = self.done("desk.create_ticket", a_ticket()).await;
        (run, ticket["ticket_id"].as_str().unwrap().to_owned())
    }

    async fn assign(&self, ticket: &str, who: &str) -> (String, Value) {
        self.done("desk.assign_ticket", json!({ "ticket_id": ticket, "assignee": who })).await
    }

    /// What a preview says, as text.
    async fn preview(&self, tool: &str, input: Value) -> String {
        let reply = self.host.preview(request(tool, &input)).await;
        serde_json::to_string_pretty(&body(&reply)).unwrap()
    }

    /// The tickets' fields of this name, in their order.
    fn field(&self, name: &str) -> Vec<Value> {
        self.scene.backend.counts().tickets.iter().map(|ticket| ticket[name].clone()).collect()
    }

    fn works(&self, route: &str) -> u64 {
        self.scene.backend.counts().of(route).works
    }
}

fn a_ticket() -> Value {
    json!({ "order_id": "A-1003", "subject": "The lamp broke", "body": "She wants another one." })
}

fn a_mail() -> Value {
    json!({ "to": "ada@example.com", "subject": "Your lamp", "body": "Another one is on its way." })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_assigned_and_tells_who_had_it_before() {
    let desk = Desk::open().await;
    let (_, id) = desk.ticket().await;
    let (_, first) = desk.assign(&id, "ada").await;
    let (_, second) = desk.assign(&id, "bea").await;
    assert_eq!(first, json!({ "ticket_id": id, "assignee": "ada" }));
    assert_eq!(second, json!({ "ticket_id": id, "assignee": "bea", "earlier": "ada" }));
    assert_eq!(desk.field("assignee"), ["bea"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_cancelled_and_cancelling_it_again_is_no_work() {
    let desk = Desk::open().await;
    let (_, id) = desk.ticket().await;
    let (_, first) = desk.done("desk.cancel_ticket", json!({ "ticket_id": id })).await;
    let (_, second) = desk.done("desk.cancel_ticket", json!({ "ticket_id": id })).await;
    assert_eq!((&first, first["status"].as_str()), (&second, Some("cancelled")));
    assert_eq!(desk.works(&format!("POST /tickets/{id}/cancel")), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_that_is_not_there_is_told_so_and_nothing_is_left_behind() {
    let desk = Desk::open().await;
    for (tool, input) in [
        ("desk.assign_ticket", json!({ "ticket_id": "T-1", "assignee": "ada" })),
        ("desk.cancel_ticket", json!({ "ticket_id": "T-1" })),
    ] {
        assert_eq!(code(&desk.call(tool, input.clone()).await), "TICKET_NOT_FOUND");
        assert_eq!(code(&desk.host.preview(request(tool, &input)).await), "TICKET_NOT_FOUND");
    }
    assert_eq!(desk.scene.backend.counts().under("PUT ").requests, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tool_that_writes_says_ahead_what_it_would_do_and_does_nothing() {
    let desk = Desk::open().await;
    let (_, id) = desk.ticket().await;
    desk.assign(&id, "ada").await;
    let before = desk.scene.backend.counts();
    assert_snapshot!(desk.preview("desk.create_ticket", a_ticket()).await, @r#"
    {
      "summary": "Opens a ticket about the order A-1003.",
      "changes": [
        "a new ticket of normal priority: The lamp broke"
      ],
      "fingerprint": null,
      "risk": "L3"
    }
    "#);
    let mut urgent = a_ticket();
    urgent["priority"] = json!("high");
    assert_snapshot!(desk.preview("desk.create_ticket", urgent).await, @r#"
    {
      "summary": "Opens a ticket about the order A-1003.",
      "changes": [
        "a new ticket of high priority: The lamp broke",
        "whoever is on call is called at once"
      ],
      "fingerprint": null,
      "risk": "L4"
    }
    "#);
    let assignment = json!({ "ticket_id": id, "assignee": "bea" });
    assert_snapshot!(desk.preview("desk.assign_ticket", assignment).await, @r#"
    {
      "summary": "Gives the ticket T-1001 to bea.",
      "changes": [
        "the ticket T-1001: bea in the place of ada"
      ],
      "fingerprint": "\"T-1001-2\"",
      "risk": "L3"
    }
    "#);
    assert_snapshot!(desk.preview("desk.cancel_ticket", json!({ "ticket_id": id })).await, @r#"
    {
      "summary": "Cancels the ticket T-1001: The lamp broke.",
      "changes": [
        "the ticket T-1001: open becomes cancelled",
        "ada is told"
      ],
      "fingerprint": "\"T-1001-2\"",
      "risk": "L4"
    }
    "#);
    assert_snapshot!(desk.preview("desk.send_mail", a_mail()).await, @r#"
    {
      "summary": "Sends a mail to ada@example.com. It cannot be taken back.",
      "changes": [
        "a mail to ada@example.com: Your lamp"
      ],
      "fingerprint": null,
      "risk": "L4"
    }
    "#);
    let after = desk.scene.backend.counts();
    assert_eq!((&after.tickets, &after.mails), (&before.tickets, &before.mails));
    for method in ["POST ", "PUT "] {
        assert_eq!(after.under(method), before.under(method));
    }
    assert_eq!(desk.host.runs(None, 10).unwrap().len(), 2, "a preview is no run");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_must_be_asked_before_a_call_need_not_be_before_a_look() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    assert_eq!(code(&host.call(request("desk.send_mail", &a_mail())).await), "NEEDS_PERSON");
    assert_eq!(code(&host.preview(request("desk.send_mail", &a_mail())).await), "ok");
    assert_eq!(scene.mails(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_tells_whether_a_mail_went_out() {
    for (moment, went) in [(Moment::BeforeWork, false), (Moment::AfterWork, true)] {
        let desk = Desk::open().await;
        desk.scene.backend.fault("POST /mails", Fault::cut(moment), 1);
        let reply = desk.call("desk.send_mail", a_mail()).await;
        assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
        let run = body(&reply)["details"]["run"].as_str().map(str::to_owned);
        let run = run.unwrap_or_else(|| reply.meta.run.unwrap().to_string());
        let probed = desk.host.probe(&run).await.unwrap();
        let expected = went.then(|| r#"{"mail_id":"M-1001","status":"queued"}"#.to_owned());
        assert_eq!(probed, expected.map_or(Probed::No, |mail| Probed::Yes(Some(mail))));
        assert_eq!(desk.scene.mails(), usize::from(went));
        desk.scene.backend.fault("GET /mails", Fault::status(Moment::BeforeWork, 503), 1);
        assert_eq!(desk.host.probe(&run).await.unwrap_err().code, "BACKEND_FAILED");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_finds_a_ticket_by_the_key_that_the_host_sent() {
    for (moment, opened) in [(Moment::BeforeWork, false), (Moment::AfterWork, true)] {
        let desk = Desk::open().await;
        desk.scene.backend.fault("POST /tickets", Fault::cut(moment), 1);
        let reply = desk.call("desk.create_ticket", a_ticket()).await;
        assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
        let probed = desk.host.probe(&reply.meta.run.unwrap().to_string()).await.unwrap();
        let Probed::Yes(Some(ticket)) = probed else {
            assert_eq!((probed, opened), (Probed::No, false));
            continue;
        };
        assert!(opened, "{ticket}");
        assert_eq!(serde_json::from_str::<Value>(&ticket).unwrap()["ticket_id"], "T-1001");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_of_an_assignment_says_no_only_where_nothing_has_changed_since() {
    for (moment, then, found) in [
        (Moment::AfterWork, None, "yes"),
        (Moment::BeforeWork, None, "no"),
        (Moment::AfterWork, Some("bea"), "unknown"),
        (Moment::BeforeWork, Some("bea"), "unknown"),
    ] {
        let desk = Desk::open().await;
        let (_, id) = desk.ticket().await;
        desk.scene.backend.fault("PUT /tickets", Fault::cut(moment), 1);
        let lost = desk.call("desk.assign_ticket", json!({ "ticket_id": id, "assignee": "ada" })).await;
        assert_eq!(code(&lost), "OUTCOME_UNKNOWN");
        if let Some(who) = then {
            desk.assign(&id, who).await;
        }
        let probed = desk.host.probe(&lost.meta.run.unwrap().to_string()).await.unwrap();
        assert_eq!(word(&probed), found, "{moment:?} {then:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_of_a_cancelled_ticket_never_says_that_it_was_not() {
    for (moment, found) in [(Moment::AfterWork, "yes"), (Moment::BeforeWork, "unknown")] {
        let desk = Desk::open().await;
        let (_, id) = desk.ticket().await;
        desk.scene.backend.fault(&format!("POST /tickets/{id}"), Fault::cut(moment), 1);
        let lost = desk.call("desk.cancel_ticket", json!({ "ticket_id": id })).await;
        assert_eq!(code(&lost), "OUTCOME_UNKNOWN");
        let probed = desk.host.probe(&lost.meta.run.unwrap().to_string()).await.unwrap();
        assert_eq!(word(&probed), found, "{moment:?}");
    }
}

fn word<T>(probed: &Probed<T>) -> &'static str {
    match probed {
        Probed::Yes(_) => "yes",
        Probed::No => "no",
        Probed::Unknown => "unknown",
    }
}
