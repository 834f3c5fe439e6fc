//! Giving a ticket to somebody. It is taken back by giving it to whoever had it before.

use airlock_sdk::http::{Response, encode};
use airlock_sdk::{
    Cleanup, Context, Declaration, Origin, PastCall, Planned, Probed, Repeat, Reply, Risk, Tool, ToolError,
    Undone, saved,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ticket::{self, Found, known};
use crate::{DESK_TOKEN, DESK_URL, accepted, desk};

/// Assigns one ticket.
pub struct AssignTicket;

/// Which ticket goes to whom.
#[derive(Deserialize, JsonSchema)]
pub struct Assignment {
    /// The ticket's number.
    #[schemars(length(min = 1, max = 64), example = "T-1001")]
    ticket_id: String,
    /// Who works on it from now on, by the name that the desk knows.
    #[schemars(length(min = 1, max = 100), example = &"ada")]
    assignee: String,
}

/// A ticket and who works on it.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Assigned {
    ticket_id: String,
    assignee: String,
    /// Who had it before; nobody where this is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
}

/// Gives a ticket to somebody, or to nobody, where it is still in this state.
fn give(id: &str, to: Option<&str>, state: Option<&str>) -> Result<Response, ToolError> {
    #[derive(Serialize)]
    struct To<'a> {
        assignee: Option<&'a str>,
    }
    let mut request =
        desk("PUT", &format!("/tickets/{}/assignee", encode(id)))?.json(&To { assignee: to })?;
    if let Some(state) = state {
        request = request.header("if-match", state);
    }
    Ok(request.send()?)
}

/// A ticket before the call, as its first attempt saved it.
#[derive(Serialize, Deserialize)]
struct Before {
    /// Who had it.
    assignee: Option<String>,
    /// Another text after each change.
    state: Option<String>,
}

impl Before {
    fn read(saved: &[u8]) -> Result<Self, ToolError> {
        Ok(serde_json::from_slice(saved)?)
    }
}

impl Tool for AssignTicket {
    const NAME: &'static str = "assign_ticket";
    type Input = Assignment;
    type Output = Reply<Assigned>;

    fn declare() -> Declaration {
        Declaration::new("Assign a ticket")
            .description("Gives a ticket to a person at the desk, whoever has it now.")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Idempotent)
            .cleanup(Cleanup::Automatic)
            .permission("ticket:write")
            .config(DESK_URL)
            .secret(DESK_TOKEN, [Origin::configured(DESK_URL)])
            .http(Origin::configured(DESK_URL).put(["/tickets/*/assignee"]).idempotent())
            .http(Origin::configured(DESK_URL).get(["/tickets/*"]))
    }

    fn call(assignment: Assignment, context: &Context) -> Result<Reply<Assigned>, ToolError> {
        let Assignment { ticket_id, assignee } = assignment;
        // Before the first attempt changes it: a later one would find what the first one made of it.
        let earlier = match &context.saved {
            Some(saved) => Before::read(saved)?.assignee,
            None => {
                let Found { assignee, state, .. } = known(&ticket_id)?;
                let before = Before { assignee, state };
                saved::save(serde_json::to_vec(&before)?)?;
                before.assignee
            }
        };
        let response = give(&ticket_id, Some(&assignee), None)?;
        if response.status == 404 {
            return Err(ticket::missing());
        }
        let response = accepted(response, "ASSIGNMENT_REFUSED")?;
        let reply = Reply::new(Assigned { ticket_id, assignee, earlier });
        Ok(match response.header("etag") {
            Some(state) => reply.fingerprint(state),
            None => reply,
        })
    }

    fn preview(assignment: Assignment, _context: &Context) -> Result<Planned, ToolError> {
        let Assignment { ticket_id, assignee } = assignment;
        let Found { assignee: now, state, .. } = known(&ticket_id)?;
        let who = now.as_deref().unwrap_or("nobody");
        let changes = if who == assignee {
            Vec::new()
        } else {
            vec![format!("the ticket {ticket_id}: {assignee} in the place of {who}")]
        };
        let summary = format!("Gives the ticket {ticket_id} to {assignee}.");
        Ok(Planned { summary, changes, fingerprint: state, risk: None })
    }

    fn rollback(past: PastCall<Assignment>, _context: &Context) -> Result<Undone, ToolError> {
        let id = &past.input.ticket_id;
        let Some(saved) = &past.saved else {
            return Ok(Undone { summary: format!("The ticket {id} was not assigned."), left: Vec::new() });
        };
        let earlier = Before::read(saved)?.assignee;
        let who = earlier.as_deref().unwrap_or("nobody");
        let response = give(id, earlier.as_deref(), past.fingerprint.as_deref())?;
        let (summary, left) = match response.status {
            404 => (format!("The ticket {id} is gone."), Vec::new()),
            412 => (
                format!("The ticket {id} was left as it is."),
                vec![format!("the ticket {id}: somebody has changed it since")],
            ),
            _ => {
                response.ok()?;
                (format!("The ticket {id} went back to {who}."), Vec::new())
            }
        };
        Ok(Undone { summary, left })
    }

    fn fingerprint(past: PastCall<Assignment>, _context: &Context) -> Result<Option<String>, ToolError> {
        Ok(ticket::find(&past.input.ticket_id)?.and_then(|found| found.state))
    }

    fn probe(past: PastCall<Assignment>, _context: &Context) -> Result<Probed<Reply<Assigned>>, ToolError> {
        let Assignment { ticket_id, assignee } = past.input;
        // It is saved before anything is sent.
        let Some(saved) = &past.saved else { return Ok(Probed::No) };
        let before = Before::read(saved)?;
        let Some(Found { assignee: now, state, .. }) = ticket::find(&ticket_id)? else {
            return Ok(Probed::Unknown);
        };
        Ok(match now {
            // By this call or by another: it is as this one wanted it.
            Some(now) if now == assignee => {
                let reply = Reply::new(Assigned { ticket_id, assignee, earlier: before.assignee });
                Probed::Yes(Some(match state {
                    Some(state) => reply.fingerprint(state),
                    None => reply,
                }))
            }
            Some(_) | None if state.is_some() && state == before.state => Probed::No,
            // Somebody has changed it since, and may have changed what this call did.
            Some(_) | None => Probed::Unknown,
        })
    }
}
