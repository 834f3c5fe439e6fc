//! Sending a mail.

use airlock_sdk::{Cleanup, Context, Declaration, Origin, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DESK_TOKEN, DESK_URL, accepted, desk};

/// Sends one mail.
pub struct SendMail;

/// What is sent to whom.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct NewMail {
    /// The address of one person.
    #[schemars(email, extend("x-message" = "give one mail address: ada@example.com"))]
    to: String,
    #[schemars(length(min = 1, max = 200))]
    subject: String,
    /// Plain text.
    #[schemars(length(min = 1, max = 10_000))]
    body: String,
}

/// A mail on its way.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Mail {
    mail_id: String,
    /// `queued`.
    status: String,
}

impl Tool for SendMail {
    const NAME: &'static str = "send_mail";
    type Input = NewMail;
    type Output = Mail;

    fn declare() -> Declaration {
        Declaration::new("Send a mail")
            .description("Sends a mail to a customer in the desk's name. It cannot be taken back.")
            .risk(Risk::HighRiskWrite)
            .repeat(Repeat::Once)
            .cleanup(Cleanup::Manual)
            .permission("mail:send")
            .private(["/to", "/body"])
            .same_action(["to", "subject"])
            .config(DESK_URL)
            .secret(DESK_TOKEN, [Origin::configured(DESK_URL)])
            .http(Origin::configured(DESK_URL).post(["/mails"]))
    }

    fn call(mail: NewMail, _context: &Context) -> Result<Mail, ToolError> {
        let response = desk("POST", "/mails")?.json(&mail)?.send()?;
        Ok(accepted(response, "MAIL_REFUSED")?.json()?)
    }
}
