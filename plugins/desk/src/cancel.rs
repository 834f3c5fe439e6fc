//! Cancelling a ticket.

use airlock_sdk::{
    Cleanup, Context, Declaration, Origin, PastCall, Planned, Probed, Repeat, Reply, Risk, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ticket::{self, Found, Ticket, known};
use crate::{DESK_TOKEN, DESK_URL, accepted};

/// How the desk calls a ticket that was cancelled.
const CANCELLED: &str = "cancelled";

/// Cancels one ticket.
pub struct CancelTicket;

/// Which ticket is cancelled.
#[derive(Deserialize, JsonSchema)]
pub struct Unwanted {
    /// The ticket's number.
    #[schemars(length(min = 1, max = 64), example = "T-1001")]
    ticket_id: String,
}

impl Tool for CancelTicket {
    const NAME: &'static str = "cancel_ticket";
    type Input = Unwanted;
    type Output = Reply<Ticket>;

    fn declare() -> Declaration {
        Declaration::new("Cancel a ticket")
            .description(
                "Cancels a ticket that nobody need work on any more. Only a person at the desk can open it again.",
            )
            .risk(Risk::HighRiskWrite)
            .repeat(Repeat::Idempotent)
            .cleanup(Cleanup::Manual)
            .permission("ticket:write")
            .config(DESK_URL)
            .secret(DESK_TOKEN, [Origin::configured(DESK_URL)])
            .http(Origin::configured(DESK_URL).post(["/tickets/*/cancel"]).idempotent())
            .http(Origin::configured(DESK_URL).get(["/tickets/*"]))
    }

    fn call(unwanted: Unwanted, _context: &Context) -> Result<Reply<Ticket>, ToolError> {
        let response = ticket::cancel(&unwanted.ticket_id, None)?;
        if response.status == 404 {
            return Err(ticket::missing());
        }
        let response = accepted(response, "TICKET_REFUSED")?;
        let reply = Reply::new(response.json()?);
        Ok(match response.header("etag") {
            Some(state) => reply.fingerprint(state),
            None => reply,
        })
    }

    fn preview(unwanted: Unwanted, _context: &Context) -> Result<Planned, ToolError> {
        let Found { ticket, subject, assignee, state } = known(&unwanted.ticket_id)?;
        let id = &ticket.ticket_id;
        let changes = match (ticket.status.as_str(), assignee) {
            (CANCELLED, _) => Vec::new(),
            (was, None) => vec![format!("the ticket {id}: {was} becomes {CANCELLED}")],
            (was, Some(who)) => {
                vec![format!("the ticket {id}: {was} becomes {CANCELLED}"), format!("{who} is told")]
            }
        };
        let about = subject.map(|subject| format!(": {subject}")).unwrap_or_default();
        let summary = match changes.is_empty() {
            true => format!("The ticket {id} is cancelled already."),
            false => format!("Cancels the ticket {id}{about}."),
        };
        Ok(Planned { summary, changes, fingerprint: state, risk: None })
    }

    fn fingerprint(past: PastCall<Unwanted>, _context: &Context) -> Result<Option<String>, ToolError> {
        Ok(ticket::find(&past.input.ticket_id)?.and_then(|found| found.state))
    }

    fn probe(past: PastCall<Unwanted>, _context: &Context) -> Result<Probed<Reply<Ticket>>, ToolError> {
        Ok(match ticket::find(&past.input.ticket_id)? {
            // By this call or by another: it is as this one wanted it.
            Some(Found { ticket, state, .. }) if ticket.status == CANCELLED => {
                let reply = Reply::new(ticket);
                Probed::Yes(Some(match state {
                    Some(state) => reply.fingerprint(state),
                    None => reply,
                }))
            }
            // A person may have opened it again since.
            Some(_) | None => Probed::Unknown,
        })
    }
}
