//! What a storm was, as a table: calls, ends, kills and faults.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use airlock::model::state::{Reason, RunState};

use super::recover::Facts;
use super::storm::Met;

/// The table.
pub(super) fn of(facts: &Facts, met: &Met) -> String {
    let mut text = String::new();
    let told = facts.book.acknowledged.iter();
    section(&mut text, "replies", counted(told.map(|(_, told)| told.code().to_owned())));
    let given = facts.book.acknowledged.iter().filter(|(_, told)| told.meta["replayed"] == true).count();
    let repeated = |told: &serde_json::Value| !told["duplicate_of"].is_null();
    let duplicates = facts.book.acknowledged.iter().filter(|(_, told)| repeated(&told.meta)).count();
    let again =
        [("given again", given as u64), ("asked again", facts.book.again), ("duplicates", duplicates as u64)];
    section(&mut text, "repeats", again.map(|(name, count)| (name.to_owned(), count)).into());
    let runs = facts.runs.iter().map(|run| {
        let background = if run.background.is_some() { ", in the background" } else { "" };
        format!("{} {}{background}", run.summary.tool, run.summary.state.word())
    });
    section(&mut text, "runs", counted(runs));
    let outcomes = facts.runs.iter().flat_map(|run| &run.attempts);
    let outcomes = outcomes.map(|attempt| attempt.outcome.clone().unwrap_or_else(|| "unknown".to_owned()));
    section(&mut text, "attempts", counted(outcomes));
    section(&mut text, "kills", met.kills.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect());
    section(&mut text, "faults met", met.faults.clone());
    let unknown = facts.runs.iter().filter(|run| run.summary.state == RunState::Suspended(Reason::Unknown));
    for run in unknown {
        let events: Vec<&str> = run.events.iter().map(|happened| happened.event.as_str()).collect();
        let _ = writeln!(
            text,
            "left to a person: {} {}: {}",
            run.summary.run,
            run.summary.tool,
            events.join(", ")
        );
    }
    let spent: u64 = facts.books.costs;
    let _ = writeln!(text, "spent {spent} millionths");
    text
}

fn counted(words: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn section(text: &mut String, title: &str, counts: BTreeMap<String, u64>) {
    let _ = writeln!(text, "{title}: {}", counts.values().sum::<u64>());
    for (word, count) in counts {
        let _ = writeln!(text, "  {count:>7}  {word}");
    }
}
