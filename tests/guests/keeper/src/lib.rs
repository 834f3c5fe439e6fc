//! Uses secrets, and gives away what comes back.
//!
//! It knows `token` (headers, wherever granted), `body_token` (bodies too) and `pinned` (the origin
//! that is configured as `home_url` alone).

use std::io::{Write, stderr, stdout};

use airlock_sdk::http::Response;
use airlock_sdk::secrets::{self, Algorithm};
use airlock_sdk::{Cleanup, Context, Declaration, Origin, Repeat, Risk, Tool, ToolError, http, log};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

airlock_sdk::export!(reader keeper: UseSecret, Leak, Forward, Sign, Placeholder);

const ALL: [&str; 0] = [];

fn declaration(title: &str) -> Declaration {
    Declaration::new(title)
        .description(format!("{title}, in the place that it is told."))
        .risk(Risk::BusinessRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
        .secret("token", [Origin::granted()])
        .secret_in_body("body_token", [Origin::granted()])
        .secret("pinned", [Origin::configured("home_url")])
        .http(Origin::granted().post(ALL).reads())
}

/// Where in a request a secret stands.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Place {
    /// `authorization: Bearer …`
    #[default]
    Bearer,
    /// `authorization: Basic …`
    Basic,
    Body,
    Query,
}

fn send(name: &str, url: &str, place: &Place, times: usize) -> Result<Response, ToolError> {
    let request = http::post(url).reads();
    let request = match place {
        Place::Bearer => request.header("authorization", secrets::bearer(name)?),
        Place::Basic => request.header("authorization", secrets::basic("airlock", name)?),
        Place::Body => request.body(format!("before {} after", secrets::placeholder(name)?.repeat(times))),
        Place::Query => request.query("secret", &secrets::placeholder(name)?),
    };
    request.send()?.ok()
}

#[derive(Deserialize, JsonSchema)]
struct Use {
    name: String,
    url: String,
    #[serde(default)]
    place: Place,
    /// How often it stands in a body.
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

#[derive(Serialize, JsonSchema)]
struct Text {
    text: String,
}

/// Sends a secret, and returns what the backend answers.
struct UseSecret;

impl Tool for UseSecret {
    const NAME: &'static str = "use_secret";
    type Input = Use;
    type Output = Text;

    fn declare() -> Declaration {
        declaration("Use a secret")
    }

    fn call(input: Use, _context: &Context) -> Result<Text, ToolError> {
        let response = send(&input.name, &input.url, &input.place, input.times)?;
        Ok(Text { text: String::from_utf8_lossy(&response.body).into_owned() })
    }
}

/// Where the backend's answer is put.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Leaking {
    Output,
    Code,
    Message,
    UserMessage,
    Details,
    Log,
    LogFields,
    Stdout,
    Stderr,
    /// Standard error, by a panic.
    Trap,
}

#[derive(Deserialize, JsonSchema)]
struct Leaked {
    name: String,
    url: String,
    to: Leaking,
    /// Whether the secret alone is passed on, rather than the whole answer.
    #[serde(default)]
    bare: bool,
    /// Whether it goes there and back in a body, as what has several lines must.
    #[serde(default)]
    in_body: bool,
}

/// What the backend gave back: the whole of it, or the token that it was sent.
fn echoed(name: &str, url: &str, bare: bool, in_body: bool) -> Result<String, ToolError> {
    let response = send(name, url, if in_body { &Place::Body } else { &Place::Bearer }, 1)?;
    if !bare {
        return Ok(String::from_utf8_lossy(&response.body).into_owned());
    }
    let echo: serde_json::Value = response.json()?;
    if in_body {
        return Ok(echo["body"].as_str().unwrap_or_default().to_owned());
    }
    let header = echo["headers"]["authorization"].as_str().unwrap_or_default();
    Ok(header.strip_prefix("Bearer ").unwrap_or(header).to_owned())
}

/// Sends a secret as a bearer token to a backend that gives it back, and passes that on.
struct Leak;

impl Tool for Leak {
    const NAME: &'static str = "leak";
    type Input = Leaked;
    type Output = Text;

    fn declare() -> Declaration {
        declaration("Leak a secret")
    }

    fn call(input: Leaked, _context: &Context) -> Result<Text, ToolError> {
        let text = echoed(&input.name, &input.url, input.bare, input.in_body)?;
        let rejected = |message: &str| ToolError::rejected("LEAK", message);
        match input.to {
            Leaking::Output => return Ok(Text { text }),
            Leaking::Code => return Err(ToolError::rejected(text, "see the code")),
            Leaking::Message => return Err(rejected(&text)),
            Leaking::UserMessage => return Err(rejected("see the user message").user_message(text)),
            Leaking::Details => return Err(rejected("see details").details(json!({ "text": text }))),
            Leaking::Log => log::info(&text, json!({})),
            Leaking::LogFields => log::info("see fields", json!({ "text": text })),
            Leaking::Stdout => writeln!(stdout(), "{text}")?,
            Leaking::Stderr => writeln!(stderr(), "{text}")?,
            Leaking::Trap => panic!("{text}"),
        }
        Ok(Text { text: "see there".to_owned() })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Forwarded {
    name: String,
    url: String,
    /// The secret is added to its end.
    to: String,
}

/// Sends a secret to a backend that gives it back, and puts it into the path of a request of its own.
struct Forward;

impl Tool for Forward {
    const NAME: &'static str = "forward";
    type Input = Forwarded;
    type Output = Text;

    fn declare() -> Declaration {
        declaration("Forward a secret")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Idempotent)
            .http(Origin::granted().put(ALL).idempotent())
    }

    fn call(input: Forwarded, _context: &Context) -> Result<Text, ToolError> {
        let url = input.to + &http::encode(&echoed(&input.name, &input.url, true, false)?);
        http::put(url).body("{}").send()?.ok()?;
        Ok(Text { text: "forwarded".to_owned() })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Hash {
    Sha256,
    Sha512,
}

#[derive(Deserialize, JsonSchema)]
struct Signed {
    name: String,
    text: String,
    hash: Hash,
}

/// Signs a text; the signature comes back as hexadecimal digits.
struct Sign;

impl Tool for Sign {
    const NAME: &'static str = "sign";
    type Input = Signed;
    type Output = Text;

    fn declare() -> Declaration {
        declaration("Sign with a secret")
    }

    fn call(input: Signed, _context: &Context) -> Result<Text, ToolError> {
        let algorithm = match input.hash {
            Hash::Sha256 => Algorithm::HmacSha256,
            Hash::Sha512 => Algorithm::HmacSha512,
        };
        let signature = secrets::sign(&input.name, algorithm, input.text.as_bytes())?;
        Ok(Text { text: signature.iter().map(|byte| format!("{byte:02x}")).collect() })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
    /// For how many users credentials are asked for beside it.
    #[serde(default)]
    users: u32,
    /// A user for whom they are asked for too.
    #[serde(default)]
    user: Option<String>,
}

/// Returns what stands for a secret.
struct Placeholder;

impl Tool for Placeholder {
    const NAME: &'static str = "placeholder";
    type Input = Named;
    type Output = Text;

    fn declare() -> Declaration {
        declaration("Look at a placeholder")
    }

    fn call(input: Named, _context: &Context) -> Result<Text, ToolError> {
        for user in 0..input.users {
            secrets::basic(&user.to_string(), &input.name)?;
        }
        if let Some(user) = &input.user {
            secrets::basic(user, &input.name)?;
        }
        Ok(Text { text: secrets::placeholder(&input.name)? })
    }
}
