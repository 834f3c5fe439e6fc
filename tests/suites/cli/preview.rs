//! What a call would do, and what taking one back did, as people read it.

use std::fs;

use airlock::config::Config;
use airlock_tests::world;
use insta::assert_snapshot;

use super::{MAIL, Place, TICKET};

#[test]
fn a_preview_says_what_would_be_done_and_does_nothing() {
    let (place, desk) = Place::with_desk("");
    assert_snapshot!(place.airlock(&["call", "desk.create_ticket", TICKET, "--preview"]), @"
    exit 0
    -- out
    Opens a ticket about the order A-1003.
      - a new ticket of normal priority: Lamp
    risk: L3
    -- err
    nothing was done; without --preview it is
    ");
    // Whoever must be asked before the call need not be before a look.
    assert_snapshot!(place.airlock(&["call", "desk.send_mail", MAIL, "--preview"]), @"
    exit 0
    -- out
    Sends a mail to ada@example.com. It cannot be taken back.
      - a mail to ada@example.com: Lamp
    risk: L4
    -- err
    nothing was done; without --preview it is
    ");
    let document = place.airlock(&["call", "desk.create_ticket", TICKET, "--preview", "--json"]).document();
    assert_snapshot!(serde_json::to_string_pretty(&document["data"]).unwrap(), @r#"
    {
      "summary": "Opens a ticket about the order A-1003.",
      "changes": [
        "a new ticket of normal priority: Lamp"
      ],
      "fingerprint": null,
      "risk": "L3"
    }
    "#);
    assert_eq!(desk.counts().under("POST").requests, 0);
    assert_eq!(place.airlock(&["runs", "--json"]).document()["data"]["runs"].as_array().unwrap().len(), 0);
}

#[test]
fn a_tool_that_cannot_say_ahead_what_it_does_says_so() {
    let (place, _desk) = Place::with_desk("");
    let input = r#"{"order_id":"A-1003"}"#;
    assert_snapshot!(place.airlock(&["call", "desk.find_order", input, "--preview"]), @"
    exit 1
    -- out
    -- err
    error[NOT_OFFERED]: desk.find_order does not say ahead what a call of it would do
    hint: what desk.find_order does stands in `airlock tools desk.find_order`; the call itself is made without --preview
    hint: `airlock explain NOT_OFFERED` says what to do
    ");
    assert_snapshot!(place.airlock(&["call", "desk.find_order", input, "--preview", "--key", "k"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: a preview does nothing, so it takes no key
    hint: leave --key out, and give it with the call itself
    ");
    assert_snapshot!(place.airlock(&["call", "desk.find_order", input, "--preview", "--out", "x"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: a preview gives nothing that could be saved
    hint: leave --out out, and give it with the call itself
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_taken_back_shows_how() {
    let (place, _desk) = Place::with_desk("");
    assert_eq!(place.airlock(&["call", "desk.create_ticket", TICKET]).exit, Some(0));
    let file = place.path().join("airlock.toml");
    let read = |_: &str| Some("desk-token".to_owned());
    let config = Config::parse(&fs::read_to_string(&file).unwrap(), &file, &read).unwrap();
    let host = world::open(config).await.unwrap();
    let run = host.runs(None, 1).unwrap()[0].run.to_string();
    host.rollback(&run, "ada").await.unwrap();
    host.close().await;
    let shown = place.airlock(&["runs", &run]).out;
    // Without moments, digests and durations.
    let told = |line: &str| {
        let word = line.split_once("Z  ").map_or(line, |(_, word)| word);
        word.split(" after ").next().unwrap_or_default().to_owned()
    };
    let of_rollback = shown.lines().skip_while(|line| !line.starts_with("2. ")).take(2);
    let events = shown.lines().skip_while(|line| *line != "events");
    let lines: Vec<String> = of_rollback.chain(events).map(told).collect();
    assert_snapshot!(lines.join("\n"), @"
    rollback  ok
       The ticket T-1001 was cancelled.
    events
    began
    completed
    to be taken back, by ada
    rolled_back
    ");
    assert_eq!(
        place.airlock(&["runs", "--state", "rolled-back", "--json"]).document()["data"]["runs"][0]["run"],
        run
    );
}
