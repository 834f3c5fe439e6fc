//! `airlock doctor`: whether everything here is as it should be, and what would mend it.

use std::path::Path;

use serde_json::{Value, json};

use super::clean::clean;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::toolchain;
use crate::host::{Found, Health, doctor};

pub(super) fn run(config: Option<&Path>, output: Output) -> Result<Exit, Problem> {
    let mut all = toolchain::examine();
    all.extend(doctor(config));
    let count = |health: Health| all.iter().filter(|found| found.health == health).count();
    let (faults, doubts) = (count(Health::Faulty), count(Health::Doubtful));
    let lines = || all.iter().map(line).collect::<Vec<_>>().join("\n");
    let documents = all.iter().map(document).collect::<Value>();
    let summary = summary(faults, doubts);
    let exit =
        output.found(lines, json!({ "found": documents }), (faults > 0).then_some(summary.as_str()))?;
    output.note(&summary);
    Ok(exit)
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
    let mend = mend.as_ref().map(|mend| format!("\n{:21}hint: {}", "", clean(mend))).unwrap_or_default();
    format!("{:5}  {about:13} {}{mend}", health.word(), clean(text))
}

fn document(found: &Found) -> Value {
    let Found { about, health, text, mend } = found;
    json!({ "about": about, "health": health.word(), "text": text, "mend": mend })
}
