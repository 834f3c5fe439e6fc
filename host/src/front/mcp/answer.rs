//! Replies as a client gets them: data as it is, an error as the text that a model acts on.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde::Serialize;
use serde_json::Value;

use super::listing::Listing;
use crate::front::settling::deciding;
use crate::model::attachment::Attachment;
use crate::model::code;
use crate::model::failure::Failure;
use crate::model::reply::{Page, Reply};

/// Under which names results bear what is no part of them.
const META: &str = "airlock/meta";
const ERROR: &str = "airlock/error";
const ATTACHMENTS: &str = "airlock/attachments";

/// The result of a call, which names tools as they are listed. `structured` where the tool says what its output looks like.
pub(super) fn result(reply: &Reply, structured: bool, listing: &Listing) -> CallToolResult {
    let mut result = match &reply.body {
        Ok(data) => done(reply, data.get(), structured),
        Err(error) => {
            let mut error: Value = serde_json::from_str(error.get()).unwrap_or_default();
            if let Some(named) = error["details"]["fallback"].as_str().and_then(|tool| listing.called(tool)) {
                error["details"]["fallback"] = named.into();
            }
            refused(error, reply.meta.run.map(|run| run.to_string()).as_deref())
        }
    };
    // What refuses a circle says so itself.
    if let Some(rounds) = reply.meta.rounds.filter(|_| reply.code().as_deref() != Some(code::LOOP_DETECTED)) {
        result.content.push(ContentBlock::text(rounds.to_string()));
    }
    beside(&mut result, META, &reply.meta);
    result
}

/// A failure that is no reply of the host's.
pub(super) fn failed(failure: &Failure) -> CallToolResult {
    refused(failure.to_json(), None)
}

/// A part of a whole result.
pub(super) fn page(run: &str, page: &Page) -> CallToolResult {
    let rest = match &page.next {
        Some(next) => format!("It goes on with airlock__page {{\"run\": \"{run}\", \"cursor\": \"{next}\"}}"),
        None => "This was the last part.".to_owned(),
    };
    CallToolResult::success(vec![ContentBlock::text(&page.text), ContentBlock::text(rest)])
}

fn done(reply: &Reply, data: &str, structured: bool) -> CallToolResult {
    let mut content = vec![ContentBlock::text(data)];
    if let (Some(trimmed), Some(run)) = (&reply.meta.trimmed, reply.meta.run) {
        content.push(ContentBlock::text(format!(
            "{trimmed}. The whole is given in parts by airlock__page {{\"run\": \"{run}\"}}"
        )));
    }
    content.extend(reply.attachments.iter().map(|attachment| block(attachment, reply)));
    let mut result = CallToolResult::success(content);
    result.structured_content = structured.then(|| serde_json::from_str(data).ok()).flatten();
    if !reply.attachments.is_empty() {
        beside(&mut result, ATTACHMENTS, &reply.attachments);
    }
    result
}

/// An error is no structured content: clients hold that against the output schema of the tool.
fn refused(error: Value, run: Option<&str>) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(text(&error, run))]);
    beside(&mut result, ERROR, &error);
    result
}

/// Puts something beside a result, where models do not see it.
fn beside(result: &mut CallToolResult, name: &str, what: &impl Serialize) {
    if let Ok(told) = serde_json::to_value(what) {
        result.meta.get_or_insert_with(MetaObject::new).insert(name.to_owned(), told);
    }
}

/// An attachment as clients show it: a picture, a sound, or a file of whatever kind.
fn block(attachment: &Attachment, reply: &Reply) -> ContentBlock {
    let Attachment { name, media_type, bytes } = attachment;
    match media_type.split('/').next().unwrap_or_default() {
        "image" => ContentBlock::image(STANDARD.encode(bytes), media_type),
        "audio" => ContentBlock::audio(STANDARD.encode(bytes), media_type),
        kind => {
            let run = reply.meta.run.map(|run| run.to_string()).unwrap_or_default();
            let place = format!("airlock://runs/{run}/attachments/{}", encoded(name));
            let resource = match std::str::from_utf8(bytes) {
                Ok(text) if kind == "text" => ResourceContents::text(text, place),
                Ok(_) | Err(_) => ResourceContents::blob(STANDARD.encode(bytes), place),
            };
            ContentBlock::resource(resource.with_mime_type(media_type))
        }
    }
}

/// A name as one part of an address.
fn encoded(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

/// What happened, what to do now, and what helps with it; `run` is the run that ended so, where there is one.
pub(super) fn text(error: &Value, run: Option<&str>) -> String {
    let field = |name: &str| error[name].as_str().unwrap_or_default();
    let mut text = format!("{}: {}\nWhat to do: {}", field("code"), field("message"), todo(error, run));
    if let Some(words) = error["user_message"].as_str() {
        let _ = write!(text, "\nFor the user: {words}");
    }
    // Faults stand in the message already; keys are for the program that calls.
    if let Some(details) = error["details"].as_object() {
        let told = details
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "faults" | "key" | "closest" | "fallback"));
        for (name, value) in told {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(text, "\n{name}: {value}");
        }
    }
    text
}

fn todo(error: &Value, ended: Option<&str>) -> String {
    let run = error["details"]["run"].as_str();
    let after = Duration::from_millis(error["retry_after_ms"].as_u64().unwrap_or(0));
    match (error["action"].as_str().unwrap_or_default(), error["code"].as_str().unwrap_or_default()) {
        ("fix_input", code::KEY_REUSED | code::INVALID_KEY | code::KEY_EXPIRED) => {
            "this is for the program that makes the calls, not for you; tell the user".to_owned()
        }
        ("fix_input", _) => "mend the input and call again".to_owned(),
        ("clarify", _) => "find out which one is meant, and call again with it".to_owned(),
        ("tell_user", _) => "tell the user; the same call will not succeed".to_owned(),
        ("ask_permission", _) => {
            "do not call again; tell the user that whoever runs this host must allow it".to_owned()
        }
        ("stop", code::NOT_OFFERED) => {
            "do not ask again: this tool cannot do that. Nothing was done; the tool itself can still be called"
                .to_owned()
        }
        ("stop", code::LOOP_DETECTED) => {
            "do not make these calls again; do something else, or tell the user what is missing".to_owned()
        }
        ("retry_later", _) if after.is_zero() => "nothing was left behind; call again later".to_owned(),
        ("retry_later", _) => {
            format!("nothing was left behind; call again in {}", humantime::format_duration(after))
        }
        ("use_fallback", _) => {
            let other = error["details"]["fallback"].as_str().unwrap_or_default();
            let again = if after.is_zero() {
                "later".to_owned()
            } else {
                format!("in {}", humantime::format_duration(after))
            };
            format!("nothing was left behind; call {other}, which may do instead, or call this again {again}")
        }
        ("wait", _) => match run {
            Some(run) => format!(
                "do not call again, it goes on; ask for its result with airlock__result {{\"run\": \"{run}\"}}"
            ),
            None => "do not call again, it goes on".to_owned(),
        },
        ("confirm_repeat", code::ALREADY_RUNNING) => match run {
            Some(run) => format!(
                "do not call again, the first goes on; ask for its result with airlock__result {{\"run\": \"{run}\"}}"
            ),
            None => "do not call again, the first goes on".to_owned(),
        },
        ("confirm_repeat", _) => {
            "use the first result, and do not call again unless the user wants it done once more".to_owned()
        }
        ("do_not_repeat" | "repeat_with_key", code) => settled(error, code, ended.or(run)),
        _ => "do not call again; other input will not help. Tell the user".to_owned(),
    }
}

/// How what may have been done is settled: by the program that calls, where the key is safe, else by a person.
fn settled(error: &Value, code: &str, run: Option<&str>) -> String {
    let told = if error["action"] == "repeat_with_key" {
        "do not call again yourself, for that would be another action: the program that makes your calls can ask again with the \
         key of this one, and nothing is done twice. Else tell the user that a person must look at what became of"
    } else {
        "do not call again, in whatever form; tell the user that a person must look at what became of"
    };
    match run {
        Some(run) => format!(
            "{told} run {run}: `airlock runs {run}` shows what was done, and {} settles it",
            deciding(code, run)
        ),
        None => format!("{told} it"),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::model::failure::{Failure, Kind};

    fn told(failure: &Failure) -> String {
        text(&failure.to_json(), Some("01RUN"))
    }

    #[test]
    fn what_only_a_person_can_settle_is_told_with_the_run_and_how() {
        let lost = Failure::new(Kind::UnknownOutcome, code::OUTCOME_UNKNOWN, "no answer tells");
        let half = Failure::new(Kind::Partial, code::PARTLY_DONE, "one of two was done");
        assert_snapshot!([told(&lost), told(&half)].join("\n\n"), @"
        OUTCOME_UNKNOWN: no answer tells
        What to do: do not call again, in whatever form; tell the user that a person must look at what became of run 01RUN: `airlock runs 01RUN` shows what was done, and `airlock decide 01RUN happened`, `did-not` or `again` settles it

        PARTLY_DONE: one of two was done
        What to do: do not call again, in whatever form; tell the user that a person must look at what became of run 01RUN: `airlock runs 01RUN` shows what was done, and `airlock decide 01RUN happened` or `again` settles it
        ");
    }

    #[test]
    fn every_action_is_told_in_words() {
        let failures = [
            Failure::new(Kind::InvalidInput, code::INVALID_INPUT, "the input of a.b cannot be used"),
            Failure::new(Kind::InvalidInput, code::KEY_REUSED, "the key has another action"),
            Failure::new(Kind::Rejected, "ORDER_NOT_FOUND", "there is no such order"),
            Failure::new(Kind::Denied, code::PERMISSION_DENIED, "the permission a:b is missing"),
            Failure::new(Kind::Denied, code::LOOP_DETECTED, "the same again"),
            Failure::new(Kind::Transient, code::INTERRUPTED, "the process ended"),
            Failure::new(Kind::Limit, code::TIME_LIMIT, "it took longer than 30s"),
            Failure::new(Kind::Fatal, code::NOT_OFFERED, "a.b does not say ahead what a call of it would do"),
        ];
        assert_snapshot!(failures.iter().map(told).collect::<Vec<_>>().join("\n\n"), @"
        INVALID_INPUT: the input of a.b cannot be used
        What to do: mend the input and call again

        KEY_REUSED: the key has another action
        What to do: this is for the program that makes the calls, not for you; tell the user

        ORDER_NOT_FOUND: there is no such order
        What to do: tell the user; the same call will not succeed

        PERMISSION_DENIED: the permission a:b is missing
        What to do: do not call again; tell the user that whoever runs this host must allow it

        LOOP_DETECTED: the same again
        What to do: do not make these calls again; do something else, or tell the user what is missing

        INTERRUPTED: the process ended
        What to do: nothing was left behind; call again later

        TIME_LIMIT: it took longer than 30s
        What to do: do not call again; other input will not help. Tell the user

        NOT_OFFERED: a.b does not say ahead what a call of it would do
        What to do: do not ask again: this tool cannot do that. Nothing was done; the tool itself can still be called
        ");
    }

    #[test]
    fn a_model_reads_what_happened_and_what_to_do() {
        let mut ambiguous = Failure::new(Kind::Ambiguous, "SEVERAL_ORDERS", "two orders fit")
            .with_detail("candidates", serde_json::json!([{ "order_id": "A-1" }, { "order_id": "A-2" }]));
        ambiguous.user_message = Some("Which of your two orders do you mean?".to_owned());
        assert_snapshot!(told(&ambiguous), @r#"
        SEVERAL_ORDERS: two orders fit
        What to do: find out which one is meant, and call again with it
        For the user: Which of your two orders do you mean?
        candidates: [{"order_id":"A-1"},{"order_id":"A-2"}]
        "#);
    }

    #[test]
    fn another_tool_that_may_do_instead_is_named() {
        let shut = Failure::new(Kind::Transient, code::CIRCUIT_OPEN, "a backend is left alone")
            .after(Duration::from_secs(30))
            .with_fallback(&"mail.ticket".parse().unwrap());
        assert_snapshot!(told(&shut), @"
        CIRCUIT_OPEN: a backend is left alone
        What to do: nothing was left behind; call mail.ticket, which may do instead, or call this again in 30s
        ");
    }

    #[test]
    fn whoever_waits_is_told_where_to_ask() {
        let running = Failure::new(Kind::Waiting, code::STILL_RUNNING, "it is still running")
            .with_detail("run", "01RUN")
            .with_detail("key", "k1");
        assert_snapshot!(told(&running), @r#"
        STILL_RUNNING: it is still running
        What to do: do not call again, it goes on; ask for its result with airlock__result {"run": "01RUN"}
        run: 01RUN
        "#);
    }

    #[test]
    fn what_comes_back_is_told_when() {
        let busy = Failure::new(Kind::Throttled, code::OVERLOADED, "every place is taken")
            .after(Duration::from_millis(1500));
        assert_snapshot!(told(&busy), @r#"
        OVERLOADED: every place is taken
        What to do: nothing was left behind; call again in 1s 500ms
        "#);
    }
}
