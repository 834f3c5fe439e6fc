//! What a call would do, for people: a sentence, what would change, how risky it is.

use serde_json::Value;

use super::clean::clean;
use super::hints::Asked;
use super::output::Output;
use super::problem::{Exit, Problem};
use crate::model::reply::Reply;

/// Gives what a look ahead came to.
pub(super) fn preview(reply: &Reply, asked: &Asked<'_>, output: Output) -> Result<Exit, Problem> {
    match &reply.body {
        Ok(data) if !output.json => {
            let planned: Value = serde_json::from_str(data.get()).unwrap_or_default();
            output.data(|| text(&planned), || ())?;
            output.note("nothing was done; without --preview it is");
            Ok(Exit::Done)
        }
        Ok(_) | Err(_) => output.reply(reply, asked),
    }
}

fn text(planned: &Value) -> String {
    let field = |name: &str| planned[name].as_str().map(clean);
    let mut lines = vec![field("summary").unwrap_or_default()];
    let changes = planned["changes"].as_array().into_iter().flatten();
    // A change may be a text of several lines, such as a difference.
    lines.extend(changes.filter_map(Value::as_str).map(|change| format!("  - {}", indented(change))));
    if planned["changes"].as_array().is_none_or(Vec::is_empty) {
        lines.push("  nothing would change".to_owned());
    }
    lines.extend(field("risk").map(|risk| format!("risk: {risk}")));
    lines.extend(field("fingerprint").map(|state| format!("state now: {state}")));
    lines.join("\n")
}

fn indented(change: &str) -> String {
    change.lines().map(clean).collect::<Vec<_>>().join("\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_would_change_nothing_says_so() {
        let planned = serde_json::json!({ "summary": "Looks it up.", "changes": [], "risk": "L2" });
        assert_eq!(text(&planned), "Looks it up.\n  nothing would change\nrisk: L2");
    }
}
