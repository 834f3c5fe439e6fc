//! What a client says beside the input of a call: its key, its user, and what its agent says of itself.

use rmcp::model::{ErrorData, RequestMetaObject};
use serde::Deserialize;
use serde_json::Value;

use crate::host::Told;
use crate::model::id::{NotAUser, TraceId, UserName};
use crate::model::price::{MOST_TOKENS, ModelUsage};

/// Where the names of this host begin.
const OWN: &str = "airlock/";

/// Says what a call brings.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// For whom the call is made.
    pub(super) user: Option<UserName>,
    /// One key, one action.
    pub(super) key: Option<String>,
    /// What the agent says of itself.
    pub(super) told: Told,
    /// What its model was used for the call.
    pub(super) usage: Option<ModelUsage>,
    /// The trace that the call belongs to.
    pub(super) trace: Option<TraceId>,
    /// Whether nobody waits for it.
    pub(super) background: bool,
}

impl Asked {
    /// Reads what is said.
    ///
    /// # Errors
    /// Where a name of this host is none, or its value no text: a key that is not understood must not be left out.
    pub(super) fn read(meta: &RequestMetaObject) -> Result<Self, ErrorData> {
        let mut asked = Self { trace: meta.get("traceparent").and_then(trace), ..Self::default() };
        for (name, value) in meta.iter() {
            let Some(own) = name.strip_prefix(OWN) else { continue };
            let text = || value.as_str().ok_or_else(|| no_text(name));
            let place = match own {
                "user" => {
                    asked.user = Some(text()?.parse().map_err(|none| no_user(name, none))?);
                    continue;
                }
                "usage" => {
                    asked.usage = Some(usage(value).ok_or_else(|| no_usage(name))?);
                    continue;
                }
                "background" => {
                    asked.background = value.as_bool().ok_or_else(|| no_choice(name))?;
                    continue;
                }
                "idempotencyKey" => &mut asked.key,
                "model" => &mut asked.told.model,
                "reason" => &mut asked.told.reason,
                _ => return Err(unknown(name)),
            };
            *place = Some(text()?.to_owned());
        }
        Ok(asked)
    }
}

/// What a model was used: nothing else may stand there, or it would be left out of the sum.
fn usage(value: &Value) -> Option<ModelUsage> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        model: String,
        input_tokens: u64,
        output_tokens: u64,
    }
    let Written { model, input_tokens, output_tokens } = Written::deserialize(value).ok()?;
    let named = (1..=200).contains(&model.chars().count()) && !model.contains(char::is_control);
    let counted = input_tokens.max(output_tokens) <= MOST_TOKENS;
    (named && counted).then_some(ModelUsage { model, input_tokens, output_tokens })
}

/// The trace of a `traceparent`, as W3C Trace Context has it; none where it is malformed, which is then started anew.
fn trace(value: &Value) -> Option<TraceId> {
    let mut parts = value.as_str()?.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let whole = version.len() == 2 && version != "ff" && hex(version) && trace.len() == 32 && hex(trace);
    (whole && trace.bytes().any(|byte| byte != b'0')).then(|| TraceId(trace.to_owned()))
}

fn unknown(name: &str) -> ErrorData {
    let text = format!(
        "`_meta` has a name that this host does not know: {}; it knows airlock/idempotencyKey, airlock/user, \
         airlock/background, airlock/model, airlock/reason and airlock/usage",
        name.escape_debug()
    );
    ErrorData::invalid_params(text, None)
}

fn no_user(name: &str, none: NotAUser) -> ErrorData {
    ErrorData::invalid_params(format!("`_meta[\"{name}\"]` names no user: {none}"), None)
}

fn no_usage(name: &str) -> ErrorData {
    let text = format!(
        "`_meta[\"{name}\"]` must be {{\"model\": TEXT, \"input_tokens\": NUMBER, \"output_tokens\": NUMBER}}, in whole \
         numbers of at most {MOST_TOKENS}"
    );
    ErrorData::invalid_params(text, None)
}

fn no_choice(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("`_meta[\"{name}\"]` must be true or false"), None)
}

fn no_text(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("`_meta[\"{name}\"]` must be a text"), None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trace_is_taken_from_its_parent() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        let parent = |text: &str| trace(&json!(text));
        assert_eq!(parent(&format!("00-{id}-b7ad6b7169203331-01")), Some(TraceId(id.to_owned())));
        for bad in
            ["", "00", &format!("ff-{id}-x-01"), &format!("00-{}-x-01", "0".repeat(32)), "00-short-x-01"]
        {
            assert_eq!(parent(bad), None, "{bad}");
        }
    }
}
