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
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn a_ticket_is_of_normal_priority_unless_it_says_otherwise() {
        let given = json!({ "order_id": "A-1", "subject": "late", "body": "where is it" });
        let sent = to_value(from_value::<NewTicket>(given).unwrap()).unwrap();
        assert_eq!(sent["priority"], "normal");
    }
}
