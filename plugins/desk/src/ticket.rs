//! Tickets: what the desk says of one, and opening one. What was opened is taken back by cancelling it.

use airlock_sdk::http::{Response, encode};
use airlock_sdk::{
    Cleanup, Context, Declaration, Origin, PastCall, Planned, Probed, Repeat, Reply, Risk, Tool, ToolError,
    Undone,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DESK_TOKEN, DESK_URL, accepted, desk};

/// By which the desk says that it is too busy, and that it did nothing.
const BUSY: u16 = 503;

/// Opens one ticket.
pub struct CreateTicket;

/// What a ticket is opened with.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct NewTicket {
    /// The number of the order that the ticket is about.
    #[schemars(length(min = 1, max = 64), example = "A-1003")]
    order_id: String,
    /// What it is about, in one line.
    #[schemars(length(min = 1, max = 200))]
    subject: String,
    /// What the customer said, and what should be done.
    #[schemars(length(min = 1, max = 10_000))]
    body: String,
    #[serde(default)]
    priority: Priority,
}

/// How soon somebody should look.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

impl Priority {
    fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// A ticket.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    pub(crate) ticket_id: String,
    /// Where people read it.
    url: String,
    /// `open`, `cancelled`.
    pub(crate) status: String,
}

/// A ticket as the desk has it now.
#[derive(Debug, Deserialize)]
pub(crate) struct Found {
    #[serde(flatten)]
    pub(crate) ticket: Ticket,
    pub(crate) subject: Option<String>,
    pub(crate) assignee: Option<String>,
    /// Another text after each change.
    #[serde(skip)]
    pub(crate) state: Option<String>,
}

/// The ticket with this number; none where the desk has none.
pub(crate) fn find(id: &str) -> Result<Option<Found>, ToolError> {
    let response = desk("GET", &format!("/tickets/{}", encode(id)))?.send()?;
    if response.status == 404 {
        return Ok(None);
    }
    let response = response.ok()?;
    let state = response.header("etag").map(str::to_owned);
    Ok(Some(Found { state, ..response.json()? }))
}

/// The ticket with this number.
pub(crate) fn known(id: &str) -> Result<Found, ToolError> {
    find(id)?.ok_or_else(missing)
}

pub(crate) fn missing() -> ToolError {
    ToolError::rejected("TICKET_NOT_FOUND", "no ticket has this number; look at the number, or open a ticket")
}

/// Cancels a ticket, where it is still in this state.
pub(crate) fn cancel(id: &str, state: Option<&str>) -> Result<Response, ToolError> {
    let mut request = desk("POST", &format!("/tickets/{}/cancel", encode(id)))?;
    if let Some(state) = state {
        request = request.header("if-match", state);
    }
    Ok(request.send()?)
}

/// The ticket that a past call opened, as the desk has it now: by its number where that is known, else by the key that
/// the host sent.
fn opened(past: &PastCall<NewTicket>) -> Result<Option<Found>, ToolError> {
    #[derive(Deserialize)]
    struct Listed {
        tickets: Vec<Ticket>,
    }
    if let Some(id) = past.output.as_ref().and_then(|output| output["ticket_id"].as_str()) {
        return find(id);
    }
    let sent = past.effects.iter().rev().find(|effect| effect.method == "POST");
    let Some(key) = sent.and_then(|effect| effect.idempotency_key.as_ref()) else { return Ok(None) };
    let listed: Listed = desk("GET", "/tickets")?.query("key", key).send()?.ok()?.json()?;
    listed.tickets.first().map_or(Ok(None), |ticket| find(&ticket.ticket_id))
}

/// How the state is told where no ticket was opened.
const NONE: &str = "no ticket";

impl Tool for CreateTicket {
    const NAME: &'static str = "create_ticket";
    type Input = NewTicket;
    type Output = Reply<Ticket>;

    fn declare() -> Declaration {
        Declaration::new("Open a ticket")
            .description(
                "Opens a ticket about an order, for a person at the desk to work on. \
                 Look the order up first; one ticket for one matter.",
            )
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Keyed)
            .cleanup(Cleanup::Automatic)
            .permission("ticket:write")
            .same_action(["order_id", "subject"])
            .config(DESK_URL)
            .secret(DESK_TOKEN, [Origin::configured(DESK_URL)])
            .http(
                Origin::configured(DESK_URL)
                    .post(["/tickets"])
                    .keyed("Idempotency-Key")
                    .clean_statuses([BUSY]),
            )
            .http(Origin::configured(DESK_URL).get(["/tickets", "/tickets/*"]))
            .http(Origin::configured(DESK_URL).post(["/tickets/*/cancel"]).idempotent())
    }

    fn call(ticket: NewTicket, _context: &Context) -> Result<Reply<Ticket>, ToolError> {
        let response = desk("POST", "/tickets")?.clean_statuses([BUSY]).json(&ticket)?.send()?;
        let response = accepted(response, "TICKET_REFUSED")?;
        let reply = Reply::new(response.json()?);
        Ok(match response.header("etag") {
            Some(state) => reply.fingerprint(state),
            None => reply,
        })
    }

    fn preview(ticket: NewTicket, _context: &Context) -> Result<Planned, ToolError> {
        let NewTicket { order_id, subject, priority, .. } = ticket;
        let mut changes = vec![format!("a new ticket of {} priority: {subject}", priority.word())];
        let urgent = priority == Priority::High;
        if urgent {
            changes.push("whoever is on call is called at once".to_owned());
        }
        Ok(Planned {
            summary: format!("Opens a ticket about the order {order_id}."),
            changes,
            fingerprint: None,
            risk: urgent.then_some(Risk::HighRiskWrite),
        })
    }

    fn rollback(past: PastCall<NewTicket>, _context: &Context) -> Result<Undone, ToolError> {
        let Some(Found { ticket, .. }) = opened(&past)? else {
            return Ok(Undone { summary: "No ticket was opened.".to_owned(), left: Vec::new() });
        };
        let id = ticket.ticket_id;
        let response = cancel(&id, past.fingerprint.as_deref())?;
        let (summary, left) = match response.status {
            404 => (format!("The ticket {id} is gone."), Vec::new()),
            412 => (
                format!("The ticket {id} was not cancelled."),
                vec![format!("the ticket {id}: somebody has changed it since")],
            ),
            _ => {
                response.ok()?;
                (format!("The ticket {id} was cancelled."), Vec::new())
            }
        };
        Ok(Undone { summary, left })
    }

    fn fingerprint(past: PastCall<NewTicket>, _context: &Context) -> Result<Option<String>, ToolError> {
        Ok(opened(&past)?.map_or_else(|| Some(NONE.to_owned()), |found| found.state))
    }

    fn probe(past: PastCall<NewTicket>, _context: &Context) -> Result<Probed<Reply<Ticket>>, ToolError> {
        Ok(match opened(&past)? {
            None => Probed::No,
            Some(Found { ticket, state, .. }) => {
                let reply = Reply::new(ticket);
                Probed::Yes(Some(match state {
                    Some(state) => reply.fingerprint(state),
                    None => reply,
                }))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use airlock_sdk::ErrorKind;
    use airlock_sdk::testing::{Answer, Host, Lost};
    use serde_json::{from_value, json, to_value};

    use super::*;

    /// How opening a ticket ends when the desk answers so.
    fn opened(answer: Answer) -> Result<serde_json::Value, ToolError> {
        let host = Host::new().config(DESK_URL, "https://desk.test").secret(DESK_TOKEN);
        let host = host.answer("POST", "https://desk.test/tickets", answer);
        host.call::<CreateTicket>(json!({ "order_id": "A-1", "subject": "late", "body": "where is it" }))
    }

    #[test]
    fn what_the_desk_answers_says_whether_a_ticket_was_opened() {
        let ticket = json!({ "ticket_id": "T-1", "url": "https://desk.test/tickets/T-1", "status": "open" });
        assert_eq!(opened(Answer::json(201, ticket.clone())).unwrap(), ticket);
        let kind = |answer| opened(answer).unwrap_err().kind();
        assert_eq!(kind(Answer::new(BUSY, "")), ErrorKind::Transient);
        assert_eq!(kind(Answer::new(500, "")), ErrorKind::UnknownOutcome);
        assert_eq!(kind(Answer::lost(Lost::Broken)), ErrorKind::UnknownOutcome);
        assert_eq!(kind(Answer::lost(Lost::NotSent)), ErrorKind::Transient);
        let refused = opened(Answer::json(422, json!({ "error": { "code": "NO", "message": "too long" } })));
        assert_eq!(refused.unwrap_err().message(), "too long");
    }

    #[test]
    fn a_ticket_is_of_normal_priority_unless_it_says_otherwise() {
        let given = json!({ "order_id": "A-1", "subject": "late", "body": "where is it" });
        let sent = to_value(from_value::<NewTicket>(given).unwrap()).unwrap();
        assert_eq!(sent["priority"], "normal");
    }

    #[test]
    fn a_number_that_no_ticket_has_is_told_with_what_to_do() {
        assert_eq!(missing().message(), "no ticket has this number; look at the number, or open a ticket");
    }
}
