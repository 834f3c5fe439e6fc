//! What is told of an end and what is kept beside it: hidden taken out, secrets masked, the rest cut to size.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::show;
use super::trim::trim;
use crate::call::Setting;
use crate::model::attachment::{ANY_BYTES, Attachment, is_media_type};
use crate::model::failure::Failure;
use crate::model::pointer::Unshown;
use crate::model::reply::{Output, Stored};
use crate::model::secret::Mask;
use crate::plugin::Entry;
use crate::plugin::schema::Schema;
use crate::store::Kept;

/// A result as it is told, and what is kept beside it.
#[derive(Debug)]
pub struct Shaped {
    /// What is told.
    pub stored: Stored,
    /// What is kept beside it.
    pub kept: Kept,
}

/// Shapes an output; that of a tool which is gone has no schema.
pub fn output(entry: Option<&Arc<Entry>>, setting: &Setting, output: Output) -> Shaped {
    let Output { data, attachments, fingerprint: _, cleanup: _ } = output;
    let mask = &setting.mask;
    let attachments: Vec<Attachment> = attachments.into_iter().map(|one| masked(one, mask)).collect();
    let Ok(mut value) = serde_json::from_str::<Value>(&data) else {
        // It was read before it came here.
        return Shaped {
            stored: Stored::error(&Failure::internal("an output is no JSON")),
            kept: Kept::default(),
        };
    };
    let schema = entry.and_then(|entry| entry.output.as_ref());
    let guide = schema.map(|schema| schema.guide());
    let mut lost = entry.is_some_and(|entry| entry.tool.unshown.hide(&mut value));
    let mut other = lost;
    if let Some(guide) = &guide {
        let shown = show::show(&mut value, guide, mask);
        lost |= shown.lost;
        other |= shown.lost | shown.masked;
    } else {
        other |= mask.json(&mut value);
    }
    let given = lost.then(|| text_masked(&data, mask));
    let body = if other { value.to_string() } else { data };
    let (mut stored, whole) = cut(true, body, value, setting.config.limits.reply, guide.as_ref());
    stored.attached = u32::try_from(attachments.len()).unwrap_or(u32::MAX);
    Shaped { stored, kept: Kept { whole, output: given, attachments } }
}

/// Shapes an error: what is hidden is taken out of its details.
pub fn error(failure: &Failure, unshown: &Unshown, setting: &Setting) -> Shaped {
    let mut error = failure.to_json();
    let given = error.get_mut("details").and_then(|details| {
        let given = details.clone();
        unshown.hide(details).then_some(given)
    });
    let given = given.map(|given| text_masked(&given.to_string(), &setting.mask));
    setting.mask.json(&mut error);
    let body = error.to_string();
    let guide = error_schema().map(Schema::guide);
    let (stored, whole) = cut(false, body, error, setting.config.limits.reply, guide.as_ref());
    Shaped { stored, kept: Kept { whole, output: given, attachments: Vec::new() } }
}

/// A result that has at most so many bytes, and the whole where that is more.
fn cut(
    ok: bool,
    body: String,
    mut value: Value,
    reply: u64,
    guide: Option<&crate::plugin::schema::Guide<'_>>,
) -> (Stored, Option<String>) {
    let most = usize::try_from(reply).unwrap_or(usize::MAX);
    if body.len() <= most {
        return (Stored::new(ok, body), None);
    }
    match trim(&mut value, most, guide) {
        // It was the spaces in it.
        None => (Stored::new(ok, value.to_string()), None),
        trimmed => (Stored { trimmed, ..Stored::new(ok, value.to_string()) }, Some(body)),
    }
}

/// What must not be cut of an error.
fn error_schema() -> Option<&'static Schema> {
    static SCHEMA: OnceLock<Option<Schema>> = OnceLock::new();
    let compile = || {
        let schema = json!({
            "type": "object",
            "properties": { "details": { "required": ["key", "run"] } },
            "required": ["code", "kind", "message", "retryable", "action", "retry_after_ms"],
        });
        Schema::compile(&schema).ok()
    };
    SCHEMA.get_or_init(compile).as_ref()
}

fn masked(attachment: Attachment, mask: &Mask) -> Attachment {
    let name = mask.text(&attachment.name).unwrap_or(attachment.name);
    let media_type = match mask.text(&attachment.media_type) {
        Some(masked) if is_media_type(&masked) => masked,
        // What is left of it is no type.
        Some(_) => ANY_BYTES.to_owned(),
        None => attachment.media_type,
    };
    Attachment { name, media_type, bytes: attachment.bytes }
}

/// JSON text, masked.
fn text_masked(text: &str, mask: &Mask) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    if mask.json(&mut value) { value.to_string() } else { text.to_owned() }
}
