//! Opening a ticket.

use airlock_sdk::{Cleanup, Context, Declaration, Origin, Repeat, Risk, Tool, ToolError};
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
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// A ticket.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    ticket_id: String,
    /// Where people read it.
    url: String,
    /// `open`.
    status: String,
}

impl Tool for CreateTicket {
    const NAME: &'static str = "create_ticket";
    type Input = NewTicket;
    type Output = Ticket;

    fn declare() -> Declaration {
        Declaration::new("Open a ticket")
            .description(
                "Opens a ticket about an order, for a person at the desk to work on. \
                 Look the order up first; one ticket for one matter.",
            )
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Keyed)
            .cleanup(Cleanup::Manual)
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
    }

    fn call(ticket: NewTicket, _context: &Context) -> Result<Ticket, ToolError> {
        let response = desk("POST", "/tickets")?.clean_statuses([BUSY]).json(&ticket)?.send()?;
        Ok(accepted(response, "TICKET_REFUSED")?.json()?)
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
}
