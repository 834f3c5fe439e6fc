//! `airlock doctor`: whether everything here is as it should be, and what would mend it.

use std::path::Path;

use serde_json::{Value, json};

use super::clean::clean;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::watched;
use super::toolchain;
use crate::host::{Found, Health, doctor};
use crate::model::code;
use crate::model::failure::{Failure, Kind};

pub(super) async fn run(config: Option<&Path>, output: Output) -> Result<Exit, Problem> {
    let mut all = toolchain::examine();
    all.extend(watched("looking at everything", doctor(config)).await);
    let count = |health: Health| all.iter().filter(|found| found.health == health).count();
    let (faults, doubts) = (count(Health::Faulty), count(Health::Doubtful));
    let lines = || all.iter().map(line).collect::<Vec<_>>().join("\n");
    let documents = all.iter().map(document).collect::<Value>();
    let summary = summary(faults, doubts);
    let failure = (faults > 0).then(|| Failure::new(Kind::InvalidInput, code(&all), summary.clone()));
    let exit = output.found(lines, json!({ "found": documents }), failure)?;
    output.note(&summary);
    Ok(exit)
}

/// What ends every command that runs a tool ends this one alike.
fn code(all: &[Found]) -> &'static str {
    let configured = |found: &Found| matches!(found.about, "configuration" | "secrets");
    if all.iter().any(|found| found.health == Health::Faulty && configured(found)) {
        code::INVALID_CONFIGURATION
    } else {
        code::FAULTS_FOUND
    }
}

fn summary(faults: usize, doubts: usize) -> String {
    let counted = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{more} {many}")),
    };
    let parts = [counted(faults, "fault", "faults"), counted(doubts, "warning", "warnings")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "everything is as it should be".to_owned() } else { parts.join(" and ") }
}

fn line(found: &Found) -> String {
    let Found { about, health, text, mend } = found;
    let indented = |mend: &String| {
        let lines = mend.lines().enumerate().map(|(at, line)| match (at, line) {
            (0, line) => format!("\n{:21}hint: {}", "", clean(line)),
            (_, "") => "\n".to_owned(),
            (_, line) => format!("\n{:23}{}", "", clean(line)),
        });
        lines.collect::<String>()
    };
    let mend = mend.as_ref().map(indented).unwrap_or_default();
    format!("{:5}  {about:13} {}{mend}", health.word(), clean(text))
}

fn document(found: &Found) -> Value {
    let Found { about, health, text, mend } = found;
    json!({ "about": about, "health": health.word(), "text": text, "mend": mend })
}
