//! `airlock explain`: what a code means, and what to do about it.

use clap::Args;
use serde_json::{Value, json};

use super::layout::table;
use super::output::Output;
use super::problem::{Exit, Problem};
use crate::model::code::{PAGES, Page, page};
use crate::model::nearest::nearest;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The code, such as OUTCOME_UNKNOWN; all of them where it is left out
    code: Option<String>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Exit, Problem> {
    let Some(code) = &arguments.code else {
        let rows = || PAGES.iter().map(|page| [page.code.to_owned(), page.meaning.to_owned()]).collect();
        output.data(
            || table(["CODE", "MEANING"], rows()),
            || json!({ "codes": PAGES.iter().map(document).collect::<Value>() }),
        )?;
        return Ok(Exit::Done);
    };
    let page = page(code).ok_or_else(|| unknown(code))?;
    let text = || {
        let Page { code, meaning, remedy, .. } = page;
        format!("{code} ({})\n\n{meaning}\n\nWhat to do: {remedy}", kinds(page).join(" or "))
    };
    output.data(text, || document(page))?;
    Ok(Exit::Done)
}

fn document(page: &Page) -> Value {
    json!({ "code": page.code, "kinds": kinds(page), "meaning": page.meaning, "remedy": page.remedy })
}

fn kinds(page: &Page) -> Vec<&'static str> {
    page.kinds.iter().map(|kind| kind.word()).collect()
}

fn unknown(code: &str) -> Problem {
    let near = nearest(code, PAGES.iter().map(|page| page.code));
    let hint = match near.as_slice() {
        [] => "`airlock explain` lists the codes of the host and of the SDK; tools add codes of their own, which `airlock runs RUN` shows with what the tool said".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Problem::not_there(format!("there is no page for the code {code}"), hint)
}
