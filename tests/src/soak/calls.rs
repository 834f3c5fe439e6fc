//! The calls of a storm: which come, which come again, and what was acknowledged of them.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::choices::Choices;

/// What a call does, and how it repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Does {
    /// Looks up an order: reads.
    FindsOrder,
    /// Opens a ticket: keyed.
    OpensTicket,
    /// Sends a mail: once.
    SendsMail,
    /// Gives a ticket to somebody: idempotent, and saves what was before.
    Assigns,
    /// Cancels a ticket: idempotent.
    Cancels,
    /// Writes a file that must not be there.
    WritesFile,
    /// Keeps a value.
    KeepsValue,
    /// Spends money.
    Spends,
}

/// One call; whoever makes it a second time makes the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: u64,
    pub(super) does: Does,
    pub(super) tool: String,
    pub(super) input: Value,
    /// Without one, the call is alone in a conversation.
    pub(super) key: Option<String>,
    pub(super) background: bool,
}

impl Call {
    /// By which what it did is found.
    pub(super) fn mark(&self) -> String {
        format!("mark-{}", self.id)
    }

    /// The ticket that it is about, where it is about one.
    pub(super) fn ticket(&self) -> &str {
        self.input["ticket_id"].as_str().unwrap_or_default()
    }

    /// What it spends, in millionths.
    pub(super) fn spends(&self) -> u64 {
        if self.does == Does::Spends { 100 + self.id % 400 } else { 0 }
    }
}

/// A reply as a caller reads it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Told {
    data: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) error: Value,
    pub(super) meta: Value,
}

impl Told {
    pub(super) fn read(reply: &str) -> Option<Self> {
        serde_json::from_str(reply).ok()
    }

    /// The output byte for byte, where the call did what was asked.
    pub(super) fn output(&self) -> Option<&str> {
        self.data.as_deref().map(RawValue::get)
    }

    /// The output, read.
    pub(super) fn data(&self) -> Value {
        self.output().and_then(|output| serde_json::from_str(output).ok()).unwrap_or_default()
    }

    /// `ok` or the code.
    pub(super) fn code(&self) -> &str {
        if self.data.is_some() { "ok" } else { self.error["code"].as_str().unwrap_or("no code") }
    }

    /// The run that it came from.
    pub(super) fn run(&self) -> &str {
        self.meta["run"].as_str().unwrap_or_default()
    }

    /// Whether the same key goes on with it.
    pub(super) fn rearms(&self) -> bool {
        self.error["details"]["key"].is_string()
    }
}

/// All calls, and what came of them.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) calls: Vec<Call>,
    /// Replies that were printed whole, with the call that each is of.
    pub(super) acknowledged: Vec<(u64, Told)>,
    /// Calls whose process died before it answered.
    lost: VecDeque<u64>,
    /// How often a call was made again.
    pub(super) again: u64,
    opened: VecDeque<String>,
    assigned: VecDeque<String>,
    known: BTreeSet<String>,
}

impl Book {
    /// The call that is made next.
    pub(super) fn next(&mut self, choices: &mut Choices) -> Call {
        if !self.lost.is_empty() && choices.below(4) > 0 {
            let id = self.lost.pop_front().unwrap_or_default();
            return self.once_more(id);
        }
        if choices.one_in(12) && !self.calls.is_empty() {
            let id = choices.below(self.calls.len());
            if self.calls[id].key.is_some() {
                return self.once_more(u64::try_from(id).unwrap_or_default());
            }
        }
        let call = self.fresh(choices);
        self.calls.push(call.clone());
        call
    }

    fn once_more(&mut self, id: u64) -> Call {
        self.again += 1;
        self.calls[usize::try_from(id).unwrap_or_default()].clone()
    }

    fn fresh(&mut self, choices: &mut Choices) -> Call {
        const ALL: [Does; 10] = [
            Does::FindsOrder,
            Does::OpensTicket,
            Does::OpensTicket,
            Does::SendsMail,
            Does::SendsMail,
            Does::Assigns,
            Does::Cancels,
            Does::WritesFile,
            Does::KeepsValue,
            Does::Spends,
        ];
        let id = u64::try_from(self.calls.len()).unwrap_or_default();
        let mark = format!("mark-{id}");
        let ticket = json!({ "order_id": "A-1003", "subject": mark, "body": "a lamp" });
        let opens = (Does::OpensTicket, "desk.create_ticket", ticket);
        let (does, tool, input) = match choices.one_of(&ALL) {
            Does::FindsOrder => (Does::FindsOrder, "desk.find_order", json!({ "order_id": "A-1003" })),
            Does::OpensTicket => opens,
            Does::SendsMail => {
                let mail = json!({ "to": "ada@example.com", "subject": mark, "body": "a lamp" });
                (Does::SendsMail, "desk.send_mail", mail)
            }
            Does::Assigns => match self.opened.pop_front() {
                Some(ticket) => {
                    let input = json!({ "ticket_id": ticket, "assignee": mark });
                    (Does::Assigns, "desk.assign_ticket", input)
                }
                None => opens,
            },
            Does::Cancels => match self.assigned.pop_front() {
                Some(ticket) => (Does::Cancels, "desk.cancel_ticket", json!({ "ticket_id": ticket })),
                None => opens,
            },
            Does::WritesFile => {
                (Does::WritesFile, "files.write", json!({ "path": format!("{mark}.txt"), "text": mark }))
            }
            Does::KeepsValue => {
                (Does::KeepsValue, "notebook.write", json!({ "lines": [format!("set {mark} {mark}")] }))
            }
            Does::Spends => {
                let line = format!("spend {} {mark}", 100 + id % 400);
                (Does::Spends, "notebook.priced", json!({ "lines": [line] }))
            }
        };
        let key = (choices.below(3) > 0).then(|| format!("key-{id}"));
        let background = does != Does::FindsOrder && choices.one_in(5);
        Call { id, does, tool: tool.to_owned(), input, key, background }
    }

    /// Takes note of a reply that was printed whole.
    pub(super) fn acknowledge(&mut self, id: u64, told: Told) {
        let call = &self.calls[usize::try_from(id).unwrap_or_default()];
        if told.output().is_some() {
            let waiting = match call.does {
                Does::OpensTicket => Some(&mut self.opened),
                Does::Assigns => Some(&mut self.assigned),
                Does::FindsOrder
                | Does::SendsMail
                | Does::Cancels
                | Does::WritesFile
                | Does::KeepsValue
                | Does::Spends => None,
            };
            let ticket = told.data()["ticket_id"].as_str().unwrap_or_default().to_owned();
            // A reply that is given again names the same ticket.
            if let Some(waiting) = waiting
                && self.known.insert(format!("{:?} {ticket}", call.does))
            {
                waiting.push_back(ticket);
            }
        }
        self.acknowledged.push((id, told));
    }

    /// Takes note of calls whose process died.
    pub(super) fn lose(&mut self, open: impl IntoIterator<Item = u64>) {
        self.lost.extend(open);
    }
}
