//! What keeps an agent that asks again from doing one thing twice: which calls of a conversation are the same action.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::attachment::Attachment;
use super::canonical::action_hash;
use super::id::{CallerName, Digest, ToolName, TraceId, UserName};
use super::manifest::Repeat;

/// The field by which the same call is asked for once more, on purpose: it names the run of the first.
pub const REPEAT_OF: &str = "airlock_repeat_of";

/// A writing call as its conversation sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// Whose call it is: caller, user, conversation and plugin.
    pub scope: Digest,
    /// What makes it the same action as another.
    pub same: Digest,
    /// Whether it is held against the calls before it, and how long after their end; none where it is another by its
    /// key, or by how its tool repeats.
    pub held: Option<Duration>,
}

/// Whether a call of such a tool does its work anew, so that one asked for again is held against the first.
pub fn held_against(repeat: Repeat) -> bool {
    match repeat {
        Repeat::Keyed | Repeat::Once => true,
        Repeat::Reads | Repeat::Idempotent => false,
    }
}

/// Whose calls are held against each other.
pub fn scope(caller: &CallerName, user: Option<&UserName>, conversation: &TraceId, plugin: &str) -> Digest {
    let mut parts: Vec<&[u8]> =
        vec![b"guard", caller.0.as_bytes(), conversation.0.as_bytes(), plugin.as_bytes()];
    parts.extend(user.map(|user| user.as_str().as_bytes()));
    Digest::of_parts(&parts)
}

/// What makes two calls the same action: the fields that the tool names, or all that was said.
pub fn same(tool: &ToolName, named: &[String], input: &Value, attachments: &[Attachment]) -> Digest {
    if named.is_empty() {
        return action_hash(tool, input, attachments);
    }
    let field = |name: &String| Some((name.clone(), input.get(name)?.clone()));
    let fields: Map<String, Value> = named.iter().filter_map(field).collect();
    action_hash(tool, &Value::Object(fields), &[])
}

/// Takes the field out of the input of a tool that has it; what else has such a field is none of the host's.
pub fn take_out(repeat: Repeat, input: &mut Value) -> Option<Value> {
    let fields = input.as_object_mut().filter(|_| held_against(repeat))?;
    fields.shift_remove(REPEAT_OF)
}

/// Adds the field to the input schema of a tool, as callers are shown it.
pub fn add_field(schema: &mut Value) {
    let text = "Leave it out. To do the same once more on purpose, give the run that an ALREADY_DONE or \
                ALREADY_RUNNING answer names.";
    let field = json!({ "type": "string", "description": text });
    let properties = schema.as_object_mut().map(|root| root.entry("properties").or_insert_with(|| json!({})));
    if let Some(Value::Object(properties)) = properties {
        properties.insert(REPEAT_OF.to_owned(), field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_that_a_tool_names_make_two_calls_the_same_action_and_else_all_of_them() {
        let tool: ToolName = "desk.send_mail".parse().unwrap();
        let same = |named: &[&str], input: &Value| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            super::same(&tool, &named, input, &[])
        };
        let (first, other) = (json!({ "to": "a", "body": "x" }), json!({ "body": "y", "to": "a" }));
        assert_eq!(same(&["to"], &first), same(&["to"], &other));
        assert_ne!(same(&["to", "body"], &first), same(&["to", "body"], &other));
        assert_ne!(same(&[], &first), same(&[], &other));
        assert_ne!(same(&["to"], &first), same(&["to"], &json!({ "to": "b" })));
        assert_ne!(same(&["to"], &json!({})), same(&["to"], &json!({ "to": null })));
    }

    #[test]
    fn the_hosts_field_is_taken_out_where_it_is_the_hosts() {
        let mut input = json!({ "to": "a", REPEAT_OF: "01RUN" });
        assert_eq!(take_out(Repeat::Idempotent, &mut input), None);
        assert_eq!(take_out(Repeat::Once, &mut input), Some(json!("01RUN")));
        assert_eq!(input, json!({ "to": "a" }));
        assert_eq!(take_out(Repeat::Once, &mut input), None);
    }
}
