//! The judge: holds what was acknowledged and what is recorded against what the backend counted.

use airlock::model::effect::{Effect, EffectState};
use airlock::model::manifest::Repeat;
use airlock::model::run::Record;
use airlock::model::state::{Reason, RunState};
use airlock_tests::backend::Counts;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::scenario::{Class, Key};
use super::trial::Trial;

/// A reply as a caller reads it.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    data: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
    meta: Value,
}

impl Told {
    fn read(reply: &str) -> Self {
        serde_json::from_str(reply).unwrap()
    }

    fn ok(&self) -> bool {
        self.data.is_some()
    }

    /// `data` or `error`, byte for byte.
    fn body(&self) -> &str {
        self.data.as_ref().or(self.error.as_ref()).map_or("", |body| body.get())
    }

    fn error(&self) -> Value {
        self.error.as_ref().map_or(Value::Null, |error| serde_json::from_str(error.get()).unwrap())
    }

    /// `ok` or the code.
    pub(super) fn code(&self) -> String {
        self.error()["code"].as_str().unwrap_or("ok").to_owned()
    }

    /// Whether the same key runs it again.
    fn rearms(&self) -> bool {
        self.error()["details"]["key"].is_string()
    }
}

/// What a trial came to.
pub(super) struct Verdict {
    /// The outcome of each attempt, the end, and what was done.
    pub(super) line: String,
    /// What must not be.
    pub(super) faults: Vec<String>,
}

/// Judges a trial whose last process was not disturbed and asked for the same twice.
pub(super) fn judge(trial: &Trial) -> Verdict {
    let counts = trial.counts();
    let record = trial.record();
    let told: Vec<Told> = trial.acknowledged.iter().map(|reply| Told::read(reply)).collect();
    let mut faults = trial.faults.clone();
    let [earlier @ .., first, second] = told.as_slice() else {
        faults.push("whoever came last was not answered".to_owned());
        return Verdict { line: String::new(), faults };
    };
    faults.extend(of_counts(trial, &counts));
    faults.extend(of_books(trial));
    if trial.scenario.key != Key::Nobodys {
        faults.extend(of_replies(earlier, first, second, record.as_ref()));
    }
    match &record {
        Some(record) => faults.extend(of_record(trial, record, &counts, second)),
        None => faults.push("nothing is recorded".to_owned()),
    }
    Verdict { line: line(trial, record.as_ref(), second, &counts), faults }
}

fn line(trial: &Trial, record: Option<&Record>, last: &Told, counts: &Counts) -> String {
    let attempts = record.map(|record| record.attempts.as_slice()).unwrap_or_default();
    let outcomes = attempts.iter().map(|attempt| attempt.outcome.as_deref().unwrap_or("-"));
    let outcomes: Vec<_> = outcomes.collect();
    format!("{} = {}; {}", outcomes.join(", "), last.code(), trial.scenario.done(counts))
}

/// Nothing happens twice that must not.
fn of_counts(trial: &Trial, counts: &Counts) -> Vec<String> {
    let mut faults = Vec::new();
    for (request, class) in trial.scenario.written() {
        let works = counts.of(request).works;
        match class {
            Class::Once if works > 1 => faults.push(format!("{request} was done {works} times")),
            Class::Keyed if works > 1 => faults.push(format!("{request} counts {works} times")),
            Class::Reads | Class::Idempotent | Class::Keyed | Class::Once => {}
        }
    }
    if counts.keys.len() > 1 || counts.keys.values().any(|count| count.works > 1) {
        faults.push(format!("more than one key, or work: {:?}", counts.keys));
    }
    faults
}

/// Nothing is held that nobody drives, and budgets know what was spent.
fn of_books(trial: &Trial) -> Vec<String> {
    match trial.books() {
        (0, spent, costs) if spent == costs => Vec::new(),
        (held, spent, costs) => {
            vec![format!("{held} are held, {spent} are spent of budgets, and costs come to {costs}")]
        }
    }
}

/// What was acknowledged stays, and equal keys give equal bytes.
fn of_replies(earlier: &[Told], first: &Told, second: &Told, record: Option<&Record>) -> Vec<String> {
    let mut faults = Vec::new();
    let decided = record.is_some_and(|record| record.events.iter().any(|event| event.by.is_some()));
    for told in earlier.iter().chain([first]) {
        // What a person settles is replaced.
        let may_change = told.rearms() || (decided && told.code() == "OUTCOME_UNKNOWN");
        if !may_change && told.body() != second.body() {
            faults.push(format!("acknowledged and lost: {}, now {}", told.body(), second.body()));
        }
    }
    if first.rearms() {
        faults.push(format!("asked again, undisturbed, it came to no end: {}", first.body()));
    }
    if second.meta["replayed"] != true {
        faults.push(format!("what had ended was not given again: {}", second.meta));
    }
    faults
}

/// What is recorded is what happened, or says that it does not know.
fn of_record(trial: &Trial, record: &Record, counts: &Counts, last: &Told) -> Vec<String> {
    let mut faults = of_end(trial, record, counts, last);
    for (request, _) in trial.scenario.written() {
        let of_request = |effect: &&Effect| {
            request
                .split_once(' ')
                .is_some_and(|(method, path)| effect.method == method && effect.target.ends_with(path))
        };
        let effects: Vec<&Effect> = record.effects.iter().filter(of_request).collect();
        let is = |states: &[EffectState]| effects.iter().any(|effect| states.contains(&effect.state));
        let count = counts.of(request);
        if count.requests > effects.len() as u64 {
            faults.push(format!("{request} came {} times, {} in the journal", count.requests, effects.len()));
        }
        if is(&[EffectState::Done]) && count.works == 0 {
            faults.push(format!("{request} is done in the journal, and was not"));
        }
        if count.works > 0 && !is(&[EffectState::Done, EffectState::Open, EffectState::SetAside]) {
            faults.push(format!("{request} was done, and the journal says that it was not"));
        }
    }
    for attempt in record.attempts.iter().filter(|attempt| attempt.outcome.as_deref() == Some("INTERRUPTED"))
    {
        let left = |effect: &&Effect| {
            effect.attempt == attempt.attempt && matches!(effect.state, EffectState::Done | EffectState::Open)
        };
        if let Some(effect) = record.effects.iter().find(left) {
            faults
                .push(format!("attempt {} left something behind and denies it: {effect:?}", attempt.attempt));
        }
    }
    faults
}

/// The end is one that its effects allow, and is what the caller is told.
fn of_end(trial: &Trial, record: &Record, counts: &Counts, last: &Told) -> Vec<String> {
    let some = |state| record.effects.iter().any(|effect| effect.state == state && !repeated(effect, record));
    let undone = trial.scenario.written().find(|(request, _)| counts.of(request).works == 0);
    let (expected, stands) = match record.summary.state {
        RunState::Completed => ("ok", undone.is_none()),
        RunState::Suspended(Reason::Unknown) => ("OUTCOME_UNKNOWN", some(EffectState::Open)),
        RunState::Suspended(Reason::HalfDone) => {
            ("PARTLY_DONE", some(EffectState::Done) && !some(EffectState::Open))
        }
        RunState::Suspended(Reason::Poison) => ("no poison, for nothing dies three times", false),
        RunState::Suspended(Reason::Time) | RunState::TimedOut => {
            ("no end of its time, which is a day", false)
        }
        // Nobody takes anything back here.
        RunState::Suspended(Reason::NotUndone) | RunState::RollingBack | RunState::RolledBack => {
            ("an end", false)
        }
        RunState::Running | RunState::BackingOff | RunState::Failed => {
            ("an end", trial.scenario.key == Key::Nobodys)
        }
    };
    let mut faults = Vec::new();
    if !stands {
        let state = record.summary.state.word();
        faults.push(format!("the run is {state}, which does not stand: {:?}; {undone:?}", record.effects));
    }
    if trial.scenario.key != Key::Nobodys && (last.code() != expected || last.ok() != (expected == "ok")) {
        faults.push(format!(
            "the run is {}, and its caller is told {}",
            record.summary.state.word(),
            last.body()
        ));
    }
    faults
}

/// Whether an open effect was repeated, where repeating it changes nothing more, and was then done.
fn repeated(effect: &Effect, record: &Record) -> bool {
    let later = |later: &Effect| {
        later.attempt > effect.attempt && later.state == EffectState::Done && later.target == effect.target
    };
    effect.state == EffectState::Open && effect.repeat != Repeat::Once && record.effects.iter().any(later)
}
