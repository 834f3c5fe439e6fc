//! What helps a person on after an error, derived from its action and details.

use std::time::Duration;

use serde_json::Value;

use crate::front::settling;
use crate::model::code::{self, Whose};

/// What was asked, and for whom: what leads on from an error must be asked for the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The tool.
    pub(super) tool: &'a str,
    /// Its input, where that came from whoever reads the answer.
    pub(super) input: Option<&'a str>,
    /// Who asked; `local` where nobody else did.
    pub(super) caller: &'a str,
    /// For whom, where the caller said so.
    pub(super) user: Option<&'a str>,
    /// In which scene, where one was chosen.
    pub(super) scene: Option<&'a str>,
}

impl Asked<'_> {
    /// What the command line needs to see the same tools.
    fn sees(&self) -> String {
        let caller = Some(self.caller).filter(|caller| *caller != "local");
        let words = [("--as", caller), ("--scene", self.scene)];
        let words = words.into_iter().filter_map(|(name, value)| Some(format!(" {name} {}", quoted(value?))));
        words.collect()
    }

    /// The call that gives a key again.
    pub(super) fn again(&self, key: &str) -> String {
        let user = self.user.map(|user| format!(" --user {}", quoted(user))).unwrap_or_default();
        format!("`airlock call {} …{}{user} --key {}`", self.tool, self.sees(), quoted(key))
    }
}

/// What the details list, a line each: faults, candidates, effects, names that were perhaps meant.
pub(super) fn listed(error: &Value) -> Vec<String> {
    let details = &error["details"];
    let lists = ["faults", "candidates", "done", "open"].map(|name| details[name].as_array());
    lists.into_iter().flatten().flatten().map(line).collect()
}

/// One entry of a list: a text as it is, a fault with its path, an effect, the fields of an object, else JSON.
fn line(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str();
    match (entry, text("path"), text("text").or(text("message"))) {
        (Value::String(text), _, _) => text.clone(),
        (_, Some(path), Some(text)) if !path.is_empty() => format!("{path}: {text}"),
        (_, _, Some(text)) => text.to_owned(),
        (_, _, None) => match (text("effect"), entry["status"].as_u64()) {
            (Some(effect), Some(status)) => format!("{effect} (answered {status})"),
            (Some(effect), None) => format!("{effect} (no answer)"),
            (None, _) => fields(entry).unwrap_or_else(|| entry.to_string()),
        },
    }
}

/// An object without depth, as people read it: `order_id A-1001, city Hamburg`.
fn fields(entry: &Value) -> Option<String> {
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some(format!("{name} {text}")),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(format!("{name} {value}")),
        Value::Array(_) | Value::Object(_) => None,
    };
    let fields: Option<Vec<String>> = entry.as_object()?.iter().map(field).collect();
    fields.map(|fields| fields.join(", ")).filter(|fields| !fields.is_empty())
}

/// What to do next; `run` is the run, where there is one.
pub(super) fn hints(error: &Value, run: Option<&str>, asked: Option<&Asked<'_>>) -> Vec<String> {
    let code = error["code"].as_str().unwrap_or_default();
    let key = error["details"]["key"].as_str();
    let page = code::page(code);
    let said_by_plugin = page.is_none_or(|page| page.whose == Whose::Sdk);
    let log = || run.map(|run| format!("`airlock runs {run}` shows the log"));
    let explained = || page.map(|_| explained(code));
    match error["action"].as_str().unwrap_or_default() {
        "fix_input" => mending(error, code, asked),
        "retry_later" if code == code::CIRCUIT_OPEN => left_alone(error, key, asked),
        "retry_later" => {
            std::iter::once(again(error, key, asked)).chain(log().filter(|_| said_by_plugin)).collect()
        }
        "use_fallback" => {
            let other = error["details"]["fallback"].as_str().map(|other| instead(other, asked));
            let later = if code == code::CIRCUIT_OPEN {
                left_alone(error, key, asked)
            } else {
                vec![again(error, key, asked)]
            };
            other.into_iter().chain(later).collect()
        }
        "wait" => run.map(|run| format!("`airlock runs {run}` shows how far it is")).into_iter().collect(),
        "do_not_repeat" | "repeat_with_key" => {
            let same = key.zip(asked).map(|(key, asked)| asked.again(key));
            let same = same.map(|call| format!("the same key is safe, and no other: {call}"));
            let shown = run.map(|run| format!("`airlock runs {run}` shows what was done"));
            let decided = run.map(|run| deciding(code, run));
            [same, shown, decided].into_iter().flatten().collect()
        }
        "ask_permission" if code == code::NEEDS_PERSON => {
            asked.map(|asked| unasked(asked.tool)).into_iter().collect()
        }
        // Its log is empty: what is missing is seen before anything is done.
        "stop" if code == code::NOT_CONFIGURED && asked.is_some() => asked.map(lacking).into_iter().collect(),
        // Nothing was done, so there is no log: the answer is to do without.
        "stop" if code == code::NOT_OFFERED => asked.map(without).into_iter().chain(explained()).collect(),
        "stop" if matches!(code, code::REQUEST_REFUSED | code::SECRET_REFUSED | code::FILE_REFUSED) => {
            let line = run.map(|run| {
                format!(
                    "`airlock runs {run}` shows the rule, and the line that would allow it where one would"
                )
            });
            line.into_iter().chain(explained()).collect()
        }
        "stop" => log().into_iter().chain(explained()).collect(),
        "ask_permission" | "tell_user" => explained().into_iter().collect(),
        _ => Vec::new(),
    }
}

fn lacking(asked: &Asked<'_>) -> String {
    format!("`airlock tools {}{}` shows what it lacks, and the lines to write", asked.tool, asked.sees())
}

fn without(asked: &Asked<'_>) -> String {
    let (tool, sees) = (asked.tool, asked.sees());
    format!(
        "what {tool} does stands in `airlock tools {tool}{sees}`; the call itself is made without --preview"
    )
}

fn instead(other: &str, asked: Option<&Asked<'_>>) -> String {
    let sees = asked.map(Asked::sees).unwrap_or_default();
    format!(
        "another tool may do instead: `airlock call {other} …{sees}`; `airlock tools {other}{sees}` shows what it takes"
    )
}

fn explained(code: &str) -> String {
    format!("`airlock explain {code}` says what to do")
}

fn unasked(tool: &str) -> String {
    format!(
        "where nobody needs to be asked: `confirm = \"none\"` under [tools.\"{tool}\"] of airlock.toml; where one caller \
         need not ask: `confirm = {{ \"{tool}\" = \"none\" }}` under [callers.NAME]"
    )
}

fn mending(error: &Value, code: &str, asked: Option<&Asked<'_>>) -> Vec<String> {
    let first = error["details"]["run"].as_str();
    match (code, asked, first) {
        (code::UNKNOWN_TOOL, asked, _) => {
            vec![format!("`airlock tools{}` lists the tools", asked.map(Asked::sees).unwrap_or_default())]
        }
        (code::INVALID_INPUT, Some(asked), _) => {
            vec![format!("`airlock tools {}{}` shows the schema", asked.tool, asked.sees())]
        }
        (code::INVALID_INPUT | code::INVALID_USAGE, None, _) => Vec::new(),
        (code::KEY_REUSED | code::KEY_EXPIRED, _, Some(run)) => {
            vec![format!("`airlock runs {}` shows the call that has the key", quoted(run))]
        }
        (_, _, _) => code::page(code).map(|_| explained(code)).into_iter().collect(),
    }
}

fn again(error: &Value, key: Option<&str>, asked: Option<&Asked<'_>>) -> String {
    let when = match error["retry_after_ms"].as_u64() {
        None | Some(0) => "later".to_owned(),
        // Never before it is time, and no finer than people wait.
        Some(after) => {
            format!("in {}", humantime::format_duration(Duration::from_secs(after.div_ceil(1000))))
        }
    };
    match key.zip(asked) {
        Some((key, asked)) => format!("ask again {when}: {}", asked.again(key)),
        None => format!("ask again {when}"),
    }
}

/// What a person can do about a backend that is left alone: wait, or say otherwise.
fn left_alone(error: &Value, key: Option<&str>, asked: Option<&Asked<'_>>) -> Vec<String> {
    let tool = asked.map_or("TOOL", |asked| asked.tool);
    let (until, way) = match error["retry_after_ms"].as_u64() {
        None | Some(0) => (None, format!("`airlock breakers auto {tool}` leaves it to the host again")),
        Some(_) => (
            Some(again(error, key, asked)),
            format!("`airlock breakers close {tool}` lets calls through all the same"),
        ),
    };
    let shown = "`airlock breakers` shows which backend, since when and until when";
    until.into_iter().chain([format!("{shown}; {way}")]).collect()
}

/// As a shell reads it as one word, whatever a tool put there.
pub(super) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    if word.bytes().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// How a person settles a run that waits for one.
pub(super) fn deciding(code: &str, run: &str) -> String {
    format!("when you know what became of it: {}", settling::deciding(code, run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LOCAL: Asked<'_> =
        Asked { tool: "desk.send_mail", input: None, caller: "local", user: None, scene: None };

    fn told(error: Value) -> Vec<String> {
        [listed(&error), hints(&error, Some("01RUN"), Some(&LOCAL))].concat()
    }

    #[test]
    fn what_leads_on_is_asked_for_whom_the_call_was() {
        let asked = Asked { caller: "bot", user: Some("ada@example.com"), scene: Some("refund"), ..LOCAL };
        let told = |error: Value| hints(&error, None, Some(&asked)).concat();
        assert_eq!(
            told(json!({ "code": "UNKNOWN_TOOL", "action": "fix_input" })),
            "`airlock tools --as bot --scene refund` lists the tools"
        );
        assert_eq!(
            told(json!({ "code": "INTERRUPTED", "action": "retry_later", "details": { "key": "k" } })),
            "ask again later: `airlock call desk.send_mail … --as bot --scene refund --user 'ada@example.com' --key k`"
        );
    }

    #[test]
    fn a_value_that_is_not_configured_leads_to_the_lines_that_are_to_be_written() {
        assert_eq!(
            told(json!({ "code": "NOT_CONFIGURED", "action": "stop" })),
            ["`airlock tools desk.send_mail` shows what it lacks, and the lines to write"]
        );
    }

    #[test]
    fn a_backend_that_is_not_reached_leads_to_the_log_that_says_why() {
        assert_eq!(
            told(json!({ "code": "BACKEND_UNREACHABLE", "action": "retry_later" })),
            ["ask again later", "`airlock runs 01RUN` shows the log"]
        );
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
                json!({ "code": "OUTCOME_UNKNOWN", "action": "repeat_with_key", "details": { "open": open, "key": "k1" } })
            ),
            [
                "POST /mails (no answer)",
                "the same key is safe, and no other: `airlock call desk.send_mail … --key k1`",
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
            ["ask again in 3s"]
        );
    }

    #[test]
    fn a_backend_that_is_left_alone_leads_to_who_leaves_it_alone() {
        assert_eq!(
            told(json!({ "code": "CIRCUIT_OPEN", "action": "retry_later", "retry_after_ms": 30000 })),
            [
                "ask again in 30s",
                "`airlock breakers` shows which backend, since when and until when; `airlock breakers close desk.send_mail` lets calls through all the same",
            ]
        );
        assert_eq!(
            told(json!({ "code": "CIRCUIT_OPEN", "action": "retry_later", "retry_after_ms": 0 })),
            [
                "`airlock breakers` shows which backend, since when and until when; `airlock breakers auto desk.send_mail` leaves it to the host again"
            ]
        );
    }

    #[test]
    fn what_a_plugin_does_not_offer_is_done_without() {
        assert_eq!(
            told(json!({ "code": "NOT_OFFERED", "action": "stop" })),
            [
                "what desk.send_mail does stands in `airlock tools desk.send_mail`; the call itself is made without --preview",
                "`airlock explain NOT_OFFERED` says what to do",
            ]
        );
    }

    #[test]
    fn another_tool_that_may_do_instead_is_told_first() {
        let asked = Asked { caller: "bot", ..LOCAL };
        let error = json!({
            "code": "CIRCUIT_OPEN", "action": "use_fallback", "retry_after_ms": 30000,
            "details": { "fallback": "mail.ticket" }
        });
        assert_eq!(
            hints(&error, None, Some(&asked)),
            [
                "another tool may do instead: `airlock call mail.ticket … --as bot`; `airlock tools mail.ticket --as bot` shows what it takes",
                "ask again in 30s",
                "`airlock breakers` shows which backend, since when and until when; `airlock breakers close desk.send_mail` lets calls through all the same",
            ]
        );
    }

    #[test]
    fn a_call_that_goes_on_leads_to_how_far_it_is() {
        assert_eq!(
            told(json!({ "code": "STILL_RUNNING", "action": "wait" })),
            ["`airlock runs 01RUN` shows how far it is"]
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
            told(json!({ "code": "BACKEND_REJECTED", "action": "tell_user" })),
            ["`airlock explain BACKEND_REJECTED` says what to do"]
        );
    }

    #[test]
    fn what_was_refused_is_told_with_the_way_to_allow_it() {
        assert_eq!(
            told(json!({ "code": "NEEDS_PERSON", "action": "ask_permission" })),
            [
                "where nobody needs to be asked: `confirm = \"none\"` under [tools.\"desk.send_mail\"] of airlock.toml; where one caller need not ask: `confirm = { \"desk.send_mail\" = \"none\" }` under [callers.NAME]"
            ]
        );
        assert_eq!(
            told(json!({ "code": "REQUEST_REFUSED", "action": "stop" })),
            [
                "`airlock runs 01RUN` shows the rule, and the line that would allow it where one would",
                "`airlock explain REQUEST_REFUSED` says what to do"
            ]
        );
        assert_eq!(
            told(json!({ "code": "FUEL_LIMIT", "action": "stop" })),
            ["`airlock runs 01RUN` shows the log", "`airlock explain FUEL_LIMIT` says what to do"]
        );
    }

    #[test]
    fn a_key_that_is_taken_leads_to_the_call_that_has_it() {
        assert_eq!(
            told(json!({ "code": "KEY_REUSED", "action": "fix_input", "details": { "run": "01FIRST" } })),
            ["`airlock runs 01FIRST` shows the call that has the key"]
        );
    }

    #[test]
    fn candidates_are_read_field_by_field() {
        let candidates = json!([{ "order_id": "A-1", "paid": true }, { "deep": [1] }]);
        assert_eq!(
            told(
                json!({ "code": "AMBIGUOUS_ORDER", "action": "clarify", "details": { "candidates": candidates } })
            ),
            ["order_id A-1, paid true", r#"{"deep":[1]}"#]
        );
    }
}
