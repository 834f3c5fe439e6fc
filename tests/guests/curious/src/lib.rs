//! Asks for everything while it describes itself, and says in its description what it got.

#![expect(clippy::disallowed_methods, reason = "what a guest sees of its environment is what is tested")]

use airlock_sdk::secrets::{self, Algorithm};
use airlock_sdk::{Cleanup, Context, Declaration, Origin, Repeat, Risk, Tool, ToolError, config, http};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

airlock_sdk::export!(reader curious: Look);

/// The one configuration key, the one secret and the one place that it declares.
const KEY: &str = "home_url";
const SECRET: &str = "token";
const PLACE: &str = "http://127.0.0.1:9/";

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Got {
    text: String,
}

/// Says what it gets when it is called.
struct Look;

impl Tool for Look {
    const NAME: &'static str = "look";
    type Input = Nothing;
    type Output = Got;

    fn declare() -> Declaration {
        Declaration::new("Look around")
            .description(got())
            .risk(Risk::PublicRead)
            .repeat(Repeat::Reads)
            .cleanup(Cleanup::Nothing)
            .config(KEY)
            .secret(SECRET, [Origin::granted()])
            .http(Origin::granted().get([""; 0]))
    }

    fn call(_input: Nothing, _context: &Context) -> Result<Got, ToolError> {
        Ok(Got { text: got() })
    }
}

fn got() -> String {
    let said = |error: ToolError| format!("{} {}", error.code(), error.message());
    let placeholder = secrets::placeholder(SECRET).map_or_else(said, |_| "given".to_owned());
    let signature =
        secrets::sign(SECRET, Algorithm::HmacSha256, b"x").map_or_else(said, |_| "given".to_owned());
    let answer = match http::get(PLACE).send() {
        Ok(response) => format!("status {}", response.status),
        Err(error) => format!("{error:?}"),
    };
    format!(
        "config: {:?}\nplaceholder: {placeholder}\nsignature: {signature}\nrequest: {answer}\nvariables: {}\narguments: {}\nfolder: {}",
        config::get(KEY),
        std::env::vars().count(),
        std::env::args().count(),
        std::fs::read_dir("/").map_or_else(|error| error.kind().to_string(), |_| "listed".to_owned()),
    )
}
