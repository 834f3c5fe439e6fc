//! The host's own tools, there for every caller: they ask after what was called before.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::answer;
use super::listing::Listing;
use super::wire::Delivery;
use crate::host::Host;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, UserName};

/// A tool of the host's own. No plugin is called `airlock`, and no name of the operator's begins so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// A result that was cut, in parts.
    Page,
    /// The result of a run.
    Result,
}

/// What `airlock__page` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    run: String,
    cursor: Option<String>,
}

/// What `airlock__result` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    run: String,
    wait_s: Option<u64>,
}

impl Own {
    const ALL: [Self; 2] = [Self::Page, Self::Result];

    /// The tool of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Page => "airlock__page",
            Self::Result => "airlock__result",
        }
    }

    /// The tool as it is listed.
    fn tool(self, wait: Duration) -> Tool {
        let wait = wait.as_secs();
        let run = json!({ "type": "string", "description": "The run, as the answer named it." });
        let (title, description, properties) = match self {
            Self::Page => (
                "The rest of a long result",
                "Gives the whole of a result that was cut, part by part, as the text of its JSON. Each part ends with \
                 the cursor of the next. Reads what is stored; calls nothing."
                    .to_owned(),
                json!({
                    "run": run,
                    "cursor": { "type": "string", "description": "Where to go on; the beginning where it is left out." }
                }),
            ),
            Self::Result => (
                "The result of a call that takes long",
                format!(
                    "Gives the result of a call that answered STILL_RUNNING, by its run. Waits up to wait_s seconds \
                     ({wait} at most) for it to end. Calling the tool itself again would do its work again."
                ),
                json!({
                    "run": run,
                    "wait_s": { "type": "integer", "minimum": 0, "maximum": wait, "default": wait }
                }),
            ),
        };
        let schema = JsonObject::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), properties),
            ("required".to_owned(), json!(["run"])),
            ("additionalProperties".to_owned(), json!(false)),
        ]);
        let hints =
            ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Tool::new(self.name(), description, Arc::new(schema)).with_title(title).with_annotations(hints)
    }

    /// Asks the host, for a caller and its user.
    ///
    /// # Errors
    /// Where the input is none that the tool takes, or the run is none of theirs.
    pub(super) async fn ask(
        self,
        host: &Host,
        (caller, user): (&CallerName, Option<&UserName>),
        input: &str,
        listing: &Listing,
        delivery: &Delivery,
    ) -> Result<CallToolResult, Failure> {
        match self {
            Self::Page => {
                let part: Part = self.read(input, r#"{"run": "…", "cursor": "…"}"#)?;
                host.page(caller, user, &part.run, part.cursor.as_deref())
                    .map(|page| answer::page(&part.run, &page))
            }
            Self::Result => {
                let wanted: Wanted = self.read(input, r#"{"run": "…", "wait_s": 20}"#)?;
                let wait = wanted.wait_s.map(Duration::from_secs);
                let reply = host.result(caller, user, &wanted.run, wait).await;
                delivery.of(&reply);
                Ok(answer::result(&reply, false, listing))
            }
        }
    }

    fn read<T: DeserializeOwned>(self, input: &str, looks: &str) -> Result<T, Failure> {
        serde_json::from_str(input).map_err(|error| {
            let text = format!("the input of {} cannot be used; {error}; it is {looks}", self.name());
            Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text)
        })
    }
}

/// The host's own tools, as they are listed.
pub(super) fn tools(wait: Duration) -> Vec<Tool> {
    Own::ALL.into_iter().map(|own| own.tool(wait)).collect()
}
