//! Declares what is hidden and what is private, and tells it everywhere; and gives back what comes beside its input.

use airlock_sdk::{Attachment, Cleanup, Context, Declaration, Repeat, Reply, Risk, Tool, ToolError, log};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

airlock_sdk::export!(reader discreet: Customer, Return);

fn reads(title: &str) -> Declaration {
    Declaration::new(title)
        .description("Tells what it should not.")
        .risk(Risk::BusinessRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
}

#[derive(Deserialize, JsonSchema)]
struct Asked {
    email: String,
    /// What nobody but the tool sees.
    pin: String,
    #[serde(default)]
    fail: bool,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    name: String,
    email: String,
    token: String,
    orders: Vec<Order>,
    /// Fields that the schema does not name.
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
struct Order {
    id: u32,
    cost: u32,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

/// Looks a customer up, and says all of it in the log and in its error.
struct Customer;

impl Tool for Customer {
    const NAME: &'static str = "customer";
    type Input = Asked;
    type Output = Found;

    fn declare() -> Declaration {
        reads("A customer").hidden(["/token", "/pin", "/orders/*/cost"]).private(["/email"])
    }

    fn call(asked: Asked, _context: &Context) -> Result<Found, ToolError> {
        log::info(
            &format!("asked for {} with {}", asked.email, asked.pin),
            json!({ "token": "tok-1234567" }),
        );
        if asked.fail {
            let details =
                json!({ "email": asked.email, "token": "tok-1234567", "pin": asked.pin, "hint": "none" });
            let text = format!("there is no customer {}", asked.email);
            return Err(ToolError::rejected("NO_CUSTOMER", text).details(details));
        }
        let unnamed = |name: &str| Map::from_iter([(name.to_owned(), json!("unnamed"))]);
        Ok(Found {
            name: "Li".to_owned(),
            email: asked.email,
            token: "tok-1234567".to_owned(),
            orders: vec![Order { id: 7, cost: 12_345, rest: unnamed("margin") }],
            rest: unnamed("internal"),
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Wanted {
    /// Names of what is given beside what came.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default = "text")]
    media_type: String,
    #[serde(default)]
    bytes: usize,
}

fn text() -> String {
    "text/plain".to_owned()
}

#[derive(Serialize, JsonSchema)]
struct Came {
    came: Vec<String>,
}

/// Gives back what came, and files of these names.
struct Return;

impl Tool for Return {
    const NAME: &'static str = "give_back";
    type Input = Wanted;
    type Output = Reply<Came>;

    fn declare() -> Declaration {
        reads("What came")
    }

    fn call(wanted: Wanted, context: &Context) -> Result<Reply<Came>, ToolError> {
        let came = context.attachments.iter();
        let came = came.map(|one| format!("{} {} {}", one.name, one.media_type, one.bytes.len())).collect();
        let mut reply = Reply::new(Came { came });
        for attachment in &context.attachments {
            reply = reply.attach(attachment.clone());
        }
        for name in wanted.names {
            let bytes = vec![b'x'; wanted.bytes];
            reply = reply.attach(Attachment { name, media_type: wanted.media_type.clone(), bytes });
        }
        Ok(reply)
    }
}
