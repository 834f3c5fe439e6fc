//! Who is asked for a yes: the risk says, the operator says otherwise for a tool, and otherwise again for a caller.

use airlock::model::id::CallerName;
use airlock_tests::world::{code, request};
use insta::assert_snapshot;

use super::{mail, order};
use crate::call::{Scene, as_caller};

const CALLERS: &str = "
[callers.plain]
permissions = [\"order:read\", \"mail:send\"]
max_risk = \"L4\"
[callers.trusted]
permissions = [\"order:read\", \"mail:send\"]
max_risk = \"L4\"
confirm = { \"desk.send_mail\" = \"none\" }
[callers.watched]
permissions = [\"order:read\", \"mail:send\"]
max_risk = \"L4\"
confirm = { \"desk.send_mail\" = \"person\", \"desk.find_order\" = \"person\" }
";

async fn ends(lines: &str) -> String {
    let scene = Scene::desk(&format!("{CALLERS}{lines}")).await;
    let host = scene.open().await;
    let mut ends = Vec::new();
    for caller in ["local", "plain", "trusted", "watched"] {
        let mails = scene.mails();
        let found = host.call(as_caller(caller, request("desk.find_order", &order()))).await;
        let sent = host.call(as_caller(caller, request("desk.send_mail", &mail()))).await;
        assert_eq!(scene.mails() > mails, sent.ok(), "{caller}");
        let tools = host.tools(&CallerName(caller.to_owned()), None).unwrap();
        let asks = tools.iter().filter(|tool| tool.confirm).map(|tool| tool.name.tool.as_str());
        let asks = asks.collect::<Vec<_>>().join(" ");
        ends.push(format!("{caller}: {}, {}; asks for [{asks}]", code(&found), code(&sent)));
    }
    ends.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_word_for_a_caller_goes_before_the_word_for_a_tool_and_that_before_the_risk() {
    assert_snapshot!(ends("").await, @"
    local: ok, NEEDS_PERSON; asks for [cancel_ticket send_mail]
    plain: ok, NEEDS_PERSON; asks for [cancel_ticket send_mail]
    trusted: ok, ok; asks for [cancel_ticket]
    watched: NEEDS_PERSON, NEEDS_PERSON; asks for [cancel_ticket find_order send_mail]
    ");
    assert_snapshot!(ends("[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n").await, @"
    local: ok, ok; asks for [cancel_ticket]
    plain: ok, ok; asks for [cancel_ticket]
    trusted: ok, ok; asks for [cancel_ticket]
    watched: NEEDS_PERSON, NEEDS_PERSON; asks for [cancel_ticket find_order send_mail]
    ");
    assert_snapshot!(ends("[tools.\"desk.find_order\"]\nconfirm = \"person\"\n").await, @"
    local: NEEDS_PERSON, NEEDS_PERSON; asks for [cancel_ticket find_order send_mail]
    plain: NEEDS_PERSON, NEEDS_PERSON; asks for [cancel_ticket find_order send_mail]
    trusted: NEEDS_PERSON, ok; asks for [cancel_ticket find_order]
    watched: NEEDS_PERSON, NEEDS_PERSON; asks for [cancel_ticket find_order send_mail]
    ");
}
