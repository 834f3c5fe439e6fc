//! What conversations do again and again: remembered as long as the host lives, and bounded.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;

use super::resolve::Request;
use crate::model::attachment::Attachment;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, TraceId, UserName};
use crate::model::loops::{LoopLimits, REMEMBERED, Rounds, Turn, Turns};

/// Conversations that are remembered; beyond it the one that was not used for longest goes. Each takes some kilobytes.
const MOST: usize = 1024;

/// Input that is longer is compared letter by letter, and not by what it says: reading it takes long.
const LONG: usize = 64 << 10;

/// Every conversation.
#[derive(Debug, Default)]
pub struct Loops {
    /// Keys that nobody outside knows: no tool can give replies that only seem to be equal.
    hashes: RandomState,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    known: HashMap<Conversation, Known>,
    uses: u64,
}

/// Whose calls belong together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Conversation {
    caller: CallerName,
    user: Option<UserName>,
    trace: TraceId,
}

#[derive(Debug, Default)]
struct Known {
    turns: Turns,
    /// The tools of the latest turns, the latest last.
    tools: Vec<String>,
    used: u64,
}

/// A call of a conversation that has not been answered yet.
#[derive(Debug)]
pub struct Coming {
    conversation: Conversation,
    tool: String,
    action: u64,
    rounds: Rounds,
    limits: LoopLimits,
    /// The tools that go round, where this call would complete a round too many.
    refused: Option<Vec<String>>,
}

impl Loops {
    /// The call as a turn of its conversation; none where it has none, or nobody wants to know.
    pub fn coming(&self, request: &Request, limits: LoopLimits) -> Option<Coming> {
        let trace = request.of_conversation()?.clone();
        if limits.warn.is_none() && limits.refuse.is_none() {
            return None;
        }
        let conversation = Conversation { caller: request.caller.clone(), user: request.user.clone(), trace };
        let action = self.action(request);
        let mut table = self.lock();
        let known = table.used(&conversation);
        let rounds = known.turns.coming(action);
        let too_many = limits.refuse.is_some_and(|refuse| rounds.times >= refuse);
        let refused = too_many.then(|| known.circle(rounds, &request.tool));
        drop(table);
        Some(Coming { conversation, tool: request.tool.clone(), action, rounds, limits, refused })
    }

    /// Takes the reply down. Gives how often the same round was gone, from where on that is told.
    pub fn answered(
        &self,
        coming: &Coming,
        body: Result<&RawValue, &RawValue>,
        attachments: &[Attachment],
    ) -> Option<Rounds> {
        let reply = match body {
            Ok(data) => Some(self.hash(|hash| {
                data.get().hash(hash);
                for Attachment { name, media_type, bytes } in attachments {
                    (name, media_type, bytes).hash(hash);
                }
            })),
            Err(error) => self.error(error.get()),
        };
        // A call that goes on without its caller is asked after.
        let reply = reply?;
        let mut table = self.lock();
        let known = table.used(&coming.conversation);
        let rounds = if coming.refused.is_some() {
            known.turns.add_refused(coming.action, coming.rounds);
            coming.rounds
        } else {
            known.turns.add(Turn { action: coming.action, reply })
        };
        known.tools.push(coming.tool.clone());
        if known.tools.len() > REMEMBERED {
            known.tools.remove(0);
        }
        let told = coming.limits.warn.is_some_and(|warn| rounds.times >= warn);
        (told || coming.refused.is_some()).then_some(rounds)
    }

    /// Tool, input and what comes beside it. The order of fields and the spaces between them make no difference.
    fn action(&self, request: &Request) -> u64 {
        let short = request.input.len() <= LONG;
        let input = short.then(|| serde_json::from_str::<Value>(&request.input).ok()).flatten();
        self.hash(|hash| {
            request.tool.hash(hash);
            match &input {
                Some(input) => said(input, hash),
                None => request.input.hash(hash),
            }
            for Attachment { name, media_type, bytes } in &request.attachments {
                (name, media_type, bytes).hash(hash);
            }
        })
    }

    /// An error without what differs each time: runs and keys, and the words of what may pass. None for a call that
    /// goes on.
    fn error(&self, error: &str) -> Option<u64> {
        let mut error: Value = serde_json::from_str(error).unwrap_or_default();
        if error["kind"] == Kind::Waiting.word() {
            return None;
        }
        let differing: Vec<String> = ["run", "key"]
            .iter()
            .filter_map(|name| error.get_mut("details")?.as_object_mut()?.shift_remove(*name))
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect();
        let message = error["message"].as_str().unwrap_or_default();
        let message = differing.iter().fold(message.to_owned(), |text, part| text.replace(part.as_str(), ""));
        Some(self.hash(|hash| {
            said(&error["code"], hash);
            if error["retryable"] != true {
                message.hash(hash);
                said(&error["details"], hash);
            }
        }))
    }

    fn hash(&self, what: impl FnOnce(&mut DefaultHasher)) -> u64 {
        let mut hash = self.hashes.build_hasher();
        what(&mut hash);
        hash.finish()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coming {
    /// The refusal of a call that would complete a round too many.
    ///
    /// # Errors
    /// Where it would.
    pub fn allowed(&self) -> Result<(), Failure> {
        let Some(tools) = &self.refused else { return Ok(()) };
        let Rounds { times, calls } = self.rounds;
        let before = self.limits.refuse.unwrap_or(times) - 1;
        let what = match tools.as_slice() {
            [tool] => format!("{tool} was called with this input and gave the same reply"),
            tools => format!("the same {calls} calls gave the same replies ({})", tools.join(", then ")),
        };
        let text = format!(
            "{what} {before} times in a row, so calling once more gives nothing new; nothing was run. Do something \
             else: other input, another tool, or tell the user what is missing"
        );
        Err(Failure::new(Kind::Denied, code::LOOP_DETECTED, text).with_detail("rounds", times))
    }
}

impl Table {
    /// The conversation, as the one that was used last.
    fn used(&mut self, conversation: &Conversation) -> &mut Known {
        self.uses += 1;
        if !self.known.contains_key(conversation) && self.known.len() >= MOST {
            let longest = self.known.iter().min_by_key(|(_, known)| known.used);
            if let Some(longest) = longest.map(|(conversation, _)| conversation.clone()) {
                self.known.remove(&longest);
            }
        }
        let known = self.known.entry(conversation.clone()).or_default();
        known.used = self.uses;
        known
    }
}

impl Known {
    /// The tools of a circle that this one would complete, in their order.
    fn circle(&self, rounds: Rounds, tool: &str) -> Vec<String> {
        let before = self.tools.iter().rev().take(rounds.calls - 1).rev();
        before.cloned().chain([tool.to_owned()]).collect()
    }
}

/// What a value says: fields in whatever order.
fn said(value: &Value, hash: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            (0_u8, fields.len()).hash(hash);
            for (name, field) in fields {
                name.hash(hash);
                said(field, hash);
            }
        }
        Value::Array(items) => {
            (1_u8, items.len()).hash(hash);
            items.iter().for_each(|item| said(item, hash));
        }
        Value::String(text) => (2_u8, text).hash(hash),
        Value::Null | Value::Bool(_) | Value::Number(_) => (3_u8, value).hash(hash),
    }
}
