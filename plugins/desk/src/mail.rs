//! Sending a mail.

use airlock_sdk::{
    Cleanup, Context, Declaration, Origin, PastCall, Planned, Probed, Repeat, Risk, Tool, ToolError,
};
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

/// A mail as the desk takes it.
#[derive(Serialize)]
struct Outgoing<'a> {
    #[serde(flatten)]
    mail: &'a NewMail,
    /// By which it is found again.
    reference: &'a str,
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
            .http(Origin::configured(DESK_URL).get(["/mails"]))
    }

    fn call(mail: NewMail, context: &Context) -> Result<Mail, ToolError> {
        let outgoing = Outgoing { mail: &mail, reference: &context.idempotency_key };
        let response = desk("POST", "/mails")?.json(&outgoing)?.send()?;
        Ok(accepted(response, "MAIL_REFUSED")?.json()?)
    }

    fn preview(mail: NewMail, _context: &Context) -> Result<Planned, ToolError> {
        Ok(Planned {
            summary: format!("Sends a mail to {}. It cannot be taken back.", mail.to),
            changes: vec![format!("a mail to {}: {}", mail.to, mail.subject)],
            fingerprint: None,
            risk: Some(Risk::HighRiskWrite),
        })
    }

    fn probe(past: PastCall<NewMail>, _context: &Context) -> Result<Probed<Mail>, ToolError> {
        #[derive(Deserialize)]
        struct Sent {
            mails: Vec<Mail>,
        }
        let sent = desk("GET", "/mails")?.query("reference", &past.idempotency_key).send()?;
        let sent: Sent = sent.ok()?.json()?;
        Ok(sent.mails.into_iter().next().map_or(Probed::No, |mail| Probed::Yes(Some(mail))))
    }
}
