//! Tries to change things where it may only look, and takes back what it did.

use std::time::SystemTime;

use airlock_sdk::http::{self, Error};
use airlock_sdk::log;
use airlock_sdk::{
    Access, Cleanup, Context, Declaration, Origin, PastCall, Planned, Probed, Repeat, Risk, Tool, ToolError,
    Undone, cost, files, key_value, saved,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

airlock_sdk::export!(writer meddler: Meddle);

/// Where things are.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The backend.
    url: String,
    /// What the rollback does beside its requests.
    #[serde(default)]
    and: And,
    /// By which requests it is undone.
    #[serde(default)]
    undo: Undo,
    /// Whether the call leaves a file too.
    #[serde(default)]
    file: bool,
    /// Whether it changes one thing in its first attempt, and another in the next.
    #[serde(default)]
    halting: bool,
    /// What it tells when it is asked what became of it.
    #[serde(default)]
    found: Found,
}

#[derive(Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Found {
    /// That it happened, with what it tried.
    #[default]
    Tried,
    /// That it happened, and no more.
    Bare,
    /// That it happened, with more than the tool may give.
    TooMuch,
}

#[derive(Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum And {
    #[default]
    Nothing,
    /// Says that something is left.
    Leave,
    /// Fails after it.
    Fail,
    /// Fails before it.
    FailFirst,
}

#[derive(Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Undo {
    /// By the first two of these.
    #[default]
    Both,
    /// By one that may be repeated.
    Put,
    /// By one that has a key.
    Ticket,
    /// By one that does a second thing when it is repeated.
    Mail,
    /// By one that has a key and bears the time.
    Stamped,
}

/// What was said to each thing that was tried.
#[derive(Serialize, JsonSchema)]
struct Tried {
    #[schemars(length(max = 20))]
    said: Vec<String>,
}

struct Meddle;

/// Writes down what is told of the requests of a call.
fn tell(past: &PastCall<Place>) {
    for effect in &past.effects {
        let place = effect.target.rsplit('/').next().unwrap_or_default();
        let answer = if effect.body.is_some() { "an answer" } else { "no answer" };
        log::info(&format!("told of {} {place}, {:?}, {answer}", effect.method, effect.status), json!({}));
    }
}

/// Opens a ticket that bears the time.
#[expect(clippy::disallowed_methods, reason = "what a guest sees of the clock is what is tested")]
fn stamped(url: &str) -> Result<http::Response, Error> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    http::post(format!("{url}/tickets"))
        .header("authorization", "Bearer t")
        .body(format!("{{\"subject\":\"{now}\"}}"))
        .send()
}

fn sent(sent: Result<http::Response, Error>) -> String {
    match sent {
        Ok(response) => response.status.to_string(),
        Err(error) => ToolError::from(error).message().to_owned(),
    }
}

fn kept<T>(done: Result<T, ToolError>) -> String {
    done.map_or_else(|error| error.message().to_owned(), |_| "done".to_owned())
}

/// Everything that changes something, and what reads beside it.
fn try_all(url: &str) -> Vec<String> {
    let outbox = files::directory("outbox");
    let said = [
        ("post", sent(http::post(format!("{url}/things/looked")).send())),
        ("put", sent(http::put(format!("{url}/settings/looked")).body("1").send())),
        ("search", sent(http::post(format!("{url}/search")).body("{}").send())),
        ("get", sent(http::get(format!("{url}/orders")).send())),
        ("write", kept(outbox.write("meddled.txt", b"x").map_err(ToolError::from))),
        ("list", kept(outbox.entries("").map_err(ToolError::from))),
        ("set", kept(key_value::set("looked", b"1"))),
        ("delete", kept(key_value::delete("looked"))),
        ("value", kept(key_value::get("looked"))),
        ("save", kept(saved::save("looked"))),
        ("spend", kept(cost::spend(1, "looking"))),
    ];
    said.into_iter().map(|(what, said)| format!("{what}: {said}")).collect()
}

impl Tool for Meddle {
    const NAME: &'static str = "meddle";
    type Input = Place;
    type Output = Tried;

    fn declare() -> Declaration {
        Declaration::new("Meddle")
            .description("Changes one thing, and looks at more than it may.")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Once)
            .cleanup(Cleanup::Automatic)
            .key_value()
            .directory("outbox", Access::Write)
            .cost_micros(10)
            .http(Origin::granted().post(["/search"]).reads())
            .http(Origin::granted().get(["/orders", "/settings/*"]))
            .http(Origin::granted().post(["/things/*", "/mails"]))
            .http(Origin::granted().post(["/tickets"]).keyed("Idempotency-Key"))
            .http(Origin::granted().put(["/settings/*"]).idempotent())
    }

    fn call(place: Place, context: &Context) -> Result<Tried, ToolError> {
        saved::save("as it was")?;
        let later = place.halting && context.attempt > 1;
        let name = if later { "other" } else { "meddled" };
        let sent = http::put(format!("{}/settings/{name}", place.url)).body("1").send();
        let said = sent.map_err(|_| ToolError::transient("NO_ANSWER", "no answer came"))?.status.to_string();
        if place.halting && !later {
            return Err(ToolError::transient("HALTED", "the rest follows"));
        }
        if place.file {
            files::directory("outbox").write("left.txt", b"left").map_err(ToolError::from)?;
        }
        Ok(Tried { said: vec![said, context.idempotency_key.clone()] })
    }

    fn preview(place: Place, _context: &Context) -> Result<Planned, ToolError> {
        let changes = try_all(&place.url);
        Ok(Planned { summary: "Meddles.".to_owned(), changes, fingerprint: None, risk: None })
    }

    fn rollback(past: PastCall<Place>, context: &Context) -> Result<Undone, ToolError> {
        let url = &past.input.url;
        let undo = &past.input.undo;
        tell(&past);
        if past.input.and == And::FailFirst {
            return Err(ToolError::transient("NOT_NOW", "not now"));
        }
        if *undo == Undo::Stamped {
            sent(stamped(url));
        }
        if matches!(undo, Undo::Both | Undo::Put) {
            sent(http::put(format!("{url}/settings/meddled")).body("0").send());
        }
        if matches!(undo, Undo::Both | Undo::Ticket) {
            sent(http::post(format!("{url}/tickets")).header("authorization", "Bearer t").body("{}").send());
        }
        if *undo == Undo::Mail {
            sent(http::post(format!("{url}/mails")).body("{}").send());
        }
        let save = kept(saved::save("as it is"));
        kept(key_value::set("undone", b"1"));
        if past.input.and == And::Fail {
            return Err(ToolError::transient("NOT_NOW", "not now"));
        }
        let saved = past.saved.map(|saved| String::from_utf8_lossy(&saved).into_owned());
        let summary = format!(
            "attempt {}, saved {saved:?}, save: {save}, key is the call's: {}",
            context.attempt,
            context.idempotency_key == past.idempotency_key
        );
        let left = if past.input.and == And::Leave { vec!["a crumb".to_owned()] } else { Vec::new() };
        Ok(Undone { summary, left })
    }

    fn fingerprint(past: PastCall<Place>, _context: &Context) -> Result<Option<String>, ToolError> {
        for said in try_all(&past.input.url) {
            log::info(&said, json!({}));
        }
        tell(&past);
        let response = http::get(format!("{}/settings/meddled", past.input.url)).send()?.ok()?;
        Ok(Some(String::from_utf8_lossy(&response.body).into_owned()))
    }

    fn probe(past: PastCall<Place>, _context: &Context) -> Result<Probed<Tried>, ToolError> {
        Ok(Probed::Yes(match past.input.found {
            Found::Tried => Some(Tried { said: try_all(&past.input.url) }),
            Found::Bare => None,
            Found::TooMuch => Some(Tried { said: vec![String::new(); 21] }),
        }))
    }
}
