//! What helps a person on after an error, derived from its action and details.

use std::time::Duration;

use serde_json::Value;

use crate::model::code;

/// What the details list, a line each: faults, candidates, effects, names that were perhaps meant.
pub(super) fn listed(error: &Value) -> Vec<String> {
    let details = &error["details"];
    let lists = ["faults", "candidates", "done", "open"].map(|name| details[name].as_array());
    lists.into_iter().flatten().flatten().map(line).collect()
}

/// One entry of a list: a text as it is, a fault with its path, an effect, else JSON.
fn line(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str();
    match (entry, text("path"), text("text").or(text("message"))) {
        (Value::String(text), _, _) => text.clone(),
        (_, Some(path), Some(text)) if !path.is_empty() => format!("{path}: {text}"),
        (_, _, Some(text)) => text.to_owned(),
        (_, _, None) => match (text("effect"), entry["status"].as_u64()) {
            (Some(effect), Some(status)) => format!("{effect} (answered {status})"),
            (Some(effect), None) => format!("{effect} (no answer)"),
            (None, _) => entry.to_string(),
        },
    }
}

/// What to do next; `run` is the run, where there is one, and `asked` the tool that was called.
pub(super) fn hints(error: &Value, run: Option<&str>, asked: Option<&str>) -> Vec<String> {
    let code = error["code"].as_str().unwrap_or_default();
    let key = error["details"]["key"].as_str();
    let mut hints = Vec::new();
    match error["action"].as_str().unwrap_or_default() {
        "fix_input" => hints.extend(mending(error, code, asked)),
        "retry_later" => hints.push(again(error, key, asked)),
        "wait" => hints.extend(run.map(|run| format!("`airlock runs {run}` shows how far it is"))),
        "do_not_repeat" => {
            if let Some(key) = key {
                hints.push(format!("only the same key is safe: {}", call(asked, key)));
            }
            if let Some(run) = run {
                hints.push(format!("`airlock runs {run}` shows what was done"));
                hints.push(deciding(code, run));
            }
        }
        _ if code == code::INTERNAL || code == code::INVALID_OUTPUT => {
            hints.extend(run.map(|run| format!("`airlock runs {run}` shows the log")));
        }
        _ => {}
    }
    if hints.is_empty() && code::page(code).is_some() && !matches!(code, code::INVALID_USAGE | code::INTERNAL)
    {
        hints.push(format!("`airlock explain {code}` says what to do"));
    }
    hints
}

fn mending(error: &Value, code: &str, asked: Option<&str>) -> Vec<String> {
    let near = ["closest", "nearest", "did_you_mean"].map(|name| error["details"][name].as_array());
    let near: Vec<&str> = near.into_iter().flatten().flatten().filter_map(Value::as_str).collect();
    match (code, asked) {
        (code::UNKNOWN_TOOL, _) if near.is_empty() => vec!["`airlock tools` lists the tools".to_owned()],
        (code::UNKNOWN_TOOL, _) => vec![format!("did you mean {}?", near.join(" or "))],
        (code::INVALID_INPUT, Some(tool)) => vec![format!("`airlock tools {tool}` shows the schema")],
        _ => Vec::new(),
    }
}

fn again(error: &Value, key: Option<&str>, asked: Option<&str>) -> String {
    let when = match error["retry_after_ms"].as_u64() {
        None | Some(0) => "later".to_owned(),
        Some(after) => format!("in {}", humantime::format_duration(Duration::from_millis(after))),
    };
    match key {
        Some(key) => format!("ask again {when}: {}", call(asked, key)),
        None => format!("ask again {when}"),
    }
}

fn call(tool: Option<&str>, key: &str) -> String {
    format!("`airlock call {} … --key {}`", tool.unwrap_or("TOOL"), quoted(key))
}

/// As a shell reads it as one word, whatever a tool put there.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    if word.bytes().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// How a person settles a run that waits for one.
pub(super) fn deciding(code: &str, run: &str) -> String {
    let words =
        if code == code::PARTLY_DONE { "happened` or `again" } else { "happened`, `did-not` or `again" };
    format!("when you know what became of it: `airlock decide {run} {words}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(error: Value) -> Vec<String> {
        [listed(&error), hints(&error, Some("01RUN"), Some("desk.send_mail"))].concat()
    }

    #[test]
    fn input_that_does_not_fit_is_told_fault_by_fault() {
        let faults = json!(["/to: is required", { "path": "/cc", "text": "is no address" }]);
        assert_eq!(
            told(json!({ "code": "INVALID_INPUT", "action": "fix_input", "details": { "faults": faults } })),
            ["/to: is required", "/cc: is no address", "`airlock tools desk.send_mail` shows the schema"]
        );
    }

    #[test]
    fn what_may_have_happened_is_for_a_person_to_settle() {
        let open = json!([{ "attempt": 1, "effect": "POST /mails", "status": null }]);
        assert_eq!(
            told(
                json!({ "code": "OUTCOME_UNKNOWN", "action": "do_not_repeat", "details": { "open": open, "key": "k1" } })
            ),
            [
                "POST /mails (no answer)",
                "only the same key is safe: `airlock call desk.send_mail … --key k1`",
                "`airlock runs 01RUN` shows what was done",
                "when you know what became of it: `airlock decide 01RUN happened`, `did-not` or `again`",
            ]
        );
    }

    #[test]
    fn what_was_partly_done_cannot_be_said_not_to_have_happened() {
        let hints = told(json!({ "code": "PARTLY_DONE", "action": "do_not_repeat" }));
        assert_eq!(hints[1], "when you know what became of it: `airlock decide 01RUN happened` or `again`");
    }

    #[test]
    fn who_may_ask_again_is_told_when_and_with_which_key() {
        assert_eq!(
            told(
                json!({ "code": "INTERRUPTED", "action": "retry_later", "retry_after_ms": 0, "details": { "key": "k" } })
            ),
            ["ask again later: `airlock call desk.send_mail … --key k`"]
        );
        assert_eq!(
            told(json!({ "code": "OVERLOADED", "action": "retry_later", "retry_after_ms": 2500 })),
            ["ask again in 2s 500ms"]
        );
    }

    #[test]
    fn a_key_is_one_word_of_the_shell() {
        assert_eq!(quoted("order:7/a"), "order:7/a");
        assert_eq!(quoted("x;rm$'y"), r"'x;rm$'\''y'");
    }

    #[test]
    fn a_tools_own_code_needs_no_explanation_of_ours() {
        assert!(told(json!({ "code": "ORDER_NOT_FOUND", "action": "tell_user" })).is_empty());
        assert_eq!(
            told(json!({ "code": "NEEDS_PERSON", "action": "ask_permission" })),
            ["`airlock explain NEEDS_PERSON` says what to do"]
        );
    }
}
