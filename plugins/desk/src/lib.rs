//! The support desk as a plugin: looks up orders, opens, assigns and cancels tickets, sends mail.

mod assign;
mod cancel;
mod mail;
mod order;
mod ticket;

pub use assign::AssignTicket;
pub use cancel::CancelTicket;
pub use mail::SendMail;
pub use order::FindOrder;
pub use ticket::CreateTicket;

use airlock_sdk::http::{Request, Response};
use airlock_sdk::{ToolError, config, secrets};
use serde::Deserialize;

airlock_sdk::export!(writer desk: FindOrder, CreateTicket, AssignTicket, CancelTicket, SendMail);

/// The configuration key under which the operator says where the desk is.
const DESK_URL: &str = "desk_url";
/// The secret that the desk knows its clients by.
const DESK_TOKEN: &str = "desk_token";

/// A request to the desk, not sent yet.
fn desk(method: &str, path: &str) -> Result<Request, ToolError> {
    let url = format!("{}{path}", config::require(DESK_URL)?.trim_end_matches('/'));
    Ok(Request::new(method, url).header("authorization", secrets::bearer(DESK_TOKEN)?))
}

/// The answer, if it is one of success; where the desk says why it refuses, its words with this code.
fn accepted(response: Response, code: &str) -> Result<Response, ToolError> {
    #[derive(Deserialize)]
    struct Refusal {
        error: Reason,
    }
    #[derive(Deserialize)]
    struct Reason {
        message: String,
    }
    if matches!(response.status, 400 | 422)
        && let Ok(refusal) = response.json::<Refusal>()
    {
        return Err(ToolError::rejected(code, refusal.error.message));
    }
    response.ok()
}
