//! A person settles what the host cannot know: it happened, it did not, or it may be tried again.

use std::sync::Arc;

use super::shape::Call;
use super::shape::result::{self, Shaped};
use super::{Parts, Request, execute, recover, settle};
use crate::model::code;
use crate::model::effect::{Effect, EffectState, Left};
use crate::model::failure::{Failure, Kind};
use crate::model::late::turned_out_otherwise;
use crate::model::reply::{Output, Reply, Stored};
use crate::model::run::Record;
use crate::model::state::{Event, NotAllowed, Reason, RunState};
use crate::store::{Decided, Kept};

/// What a person found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It happened, with this result: JSON text of an object.
    Happened {
        /// The result; an empty object where absent. It is one that the tool could have given, as far as the tool is there.
        data: Option<String>,
    },
    /// It did not happen.
    DidNot,
    /// It is tried again, whatever happened.
    Again,
}

/// Writes the decision down, and carries it out where it asks for another attempt. Of what is decided already the first answer
/// is given again, marked as such.
///
/// # Errors
/// Where the run does not wait for a decision, or not for this one.
pub async fn decide(
    parts: &Arc<Parts>,
    record: &Record,
    decision: Decision,
    person: &str,
) -> Result<Reply, Failure> {
    let record = &closed(parts, record).await?;
    let (event, open_effects) = match &decision {
        Decision::Happened { .. } => (Event::DecidedHappened, EffectState::Done),
        Decision::DidNot => (Event::DecidedDidNot, EffectState::NotDone),
        Decision::Again => (Event::DecidedAgain, EffectState::SetAside),
    };
    let state = match allowed(record, event, open_effects) {
        Ok(state) => state,
        Err(refusal) => return first(parts, record).unwrap_or(Err(refusal)),
    };
    if decision == Decision::Again {
        super::possible(parts, &again(parts, record)?)?;
    }
    let (Shaped { stored, kept }, word) = answer(parts, record, &decision)?;
    let decided = Decided {
        lease: record.lease,
        event,
        state,
        open_effects,
        stored,
        kept,
        word,
        rearms: matches!(decision, Decision::DidNot | Decision::Again) && record.key.is_some(),
        life: settle::key_life(&parts.setting().config.limits, record.repeat),
        by: Some(person.to_owned()),
        at: parts.clock.now(),
    };
    match parts.store.decide(decided).await {
        Ok(true) if decision == Decision::Again => {
            let request = again(parts, record)?;
            Ok(execute(parts, &request, &Call::begin(parts, &request)).await)
        }
        Ok(true) => reply(parts, record),
        Ok(false) => meanwhile(parts, record),
        Err(failure) => Err(refusal(&failure)),
    }
}

/// The answer of a run that somebody else has decided since it was looked at.
fn meanwhile(parts: &Parts, record: &Record) -> Result<Reply, Failure> {
    let run = record.summary.run;
    let fresh = parts.store.run(run).map_err(|failure| refusal(&failure))?;
    fresh.and_then(|fresh| first(parts, &fresh)).unwrap_or_else(|| {
        Err(already(&format!("the run {run} was decided by somebody else in the meantime"), record))
    })
}

/// What the run answers from then on, and its word.
fn answer(parts: &Parts, record: &Record, decision: &Decision) -> Result<(Shaped, String), Failure> {
    match decision {
        // What is left of a rollback stays, and so does what was told of the call.
        Decision::Happened { data: None }
            if record.summary.state == RunState::Suspended(Reason::NotUndone) =>
        {
            told(parts, record)
        }
        Decision::Happened { data } => Ok((happened(parts, record, data.as_deref())?, "ok".to_owned())),
        Decision::DidNot => {
            let failure = undone(record);
            Ok((alone(Stored::error(&failure)), failure.code.into_owned()))
        }
        // What was told stays told until the next attempt has ended.
        Decision::Again => told(parts, record),
    }
}

/// The run as it stands once its process, if that died, is out of the way.
pub(super) async fn closed(parts: &Arc<Parts>, record: &Record) -> Result<Record, Failure> {
    let run = record.summary.run;
    if record.summary.state.under_way() && parts.abandoned(run, record.owner) {
        recover::close(parts, run).await.map_err(|failure| refusal(&failure))?;
        let fresh = parts.store.run(run).map_err(|failure| refusal(&failure))?;
        return Ok(fresh.unwrap_or_else(|| record.clone()));
    }
    Ok(record.clone())
}

/// The answer of a run that a person has decided, and that has ended by that; none where it has not.
fn first(parts: &Parts, record: &Record) -> Option<Result<Reply, Failure>> {
    let words = [Event::DecidedHappened, Event::DecidedDidNot, Event::DecidedAgain].map(Event::word);
    let decided = record.events.iter().any(|one| one.by.is_some() && words.contains(&one.event.as_str()));
    let over = matches!(record.summary.state, RunState::Completed | RunState::Failed | RunState::TimedOut);
    (decided && over).then(|| {
        reply(parts, record).map(|mut reply| {
            reply.meta.replayed = true;
            reply
        })
    })
}

fn allowed(record: &Record, event: Event, open_effects: EffectState) -> Result<RunState, Failure> {
    let state = record.summary.state;
    if matches!(state, RunState::Failed | RunState::TimedOut) && !turned_out_otherwise(record) {
        return Err(already(&NotAllowed { state, event }.to_string(), record));
    }
    let state = state.apply(event).map_err(|not_allowed| already(&not_allowed.to_string(), record))?;
    if event == Event::DecidedAgain && record.input.is_none() {
        return Err(already(
            "its input is no longer kept, so it cannot be tried again; say `happened`",
            record,
        ));
    }
    let after: Vec<Effect> = record
        .effects
        .iter()
        .cloned()
        .map(|mut effect| {
            if effect.state == EffectState::Open {
                effect.state = open_effects;
            }
            effect
        })
        .collect();
    if event == Event::DecidedDidNot && Left::by(&after).done {
        let text = "part of it was done, as the run shows, so it cannot be said that it did not happen; say `happened`, or `again`";
        return Err(already(text, record));
    }
    Ok(state)
}

fn happened(parts: &Parts, record: &Record, data: Option<&str>) -> Result<Shaped, Failure> {
    let text = data.unwrap_or("{}");
    let wrong = |text: String| Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text);
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| wrong(format!("--data is no JSON: {error}")))?;
    if !value.is_object() {
        return Err(wrong("--data must be a JSON object, as the tool's output is".to_owned()));
    }
    let setting = parts.setting();
    let entry = setting.registry.get(&record.summary.tool);
    if let Some(schema) = entry.and_then(|entry| entry.output.as_ref()) {
        schema.check_output(&value).map_err(|faults| {
            let tool = &record.summary.tool;
            let why = match data {
                Some(_) => format!("--data is not what {tool} gives"),
                None => format!(
                    "without --data the answer is {{}}, which is not what {tool} gives; say what it gave, as in --data '{}'",
                    schema.sample()
                ),
            };
            wrong(format!("{why}; {}", faults.join("; "))).with_detail("faults", faults)
        })?;
    }
    let output = Output { data: text.to_owned(), ..Output::default() };
    Ok(result::output(entry, &setting, output))
}

/// What was told of the run, as it stands, and its word.
fn told(parts: &Parts, record: &Record) -> Result<(Shaped, String), Failure> {
    let stored = record.stored.clone().unwrap_or_else(|| Stored::error(&undone(record)));
    let kept = parts.store.kept(record.summary.run).map_err(|failure| refusal(&failure))?;
    let word = record
        .summary
        .code
        .clone()
        .unwrap_or_else(|| if stored.ok { "ok".to_owned() } else { String::new() });
    Ok((Shaped { stored, kept }, word))
}

fn alone(stored: Stored) -> Shaped {
    Shaped { stored, kept: Kept::default() }
}

fn undone(record: &Record) -> Failure {
    let text = "a person found that nothing was done; ask again with the same key";
    let failure = Failure::new(Kind::Transient, code::INTERRUPTED, text);
    match &record.key {
        Some(key) => failure.with_detail("key", key.as_str()),
        None => failure,
    }
}

fn again(parts: &Parts, record: &Record) -> Result<Request, Failure> {
    Request::of(parts, record).map_err(|failure| refusal(&failure))
}

fn reply(parts: &Parts, record: &Record) -> Result<Reply, Failure> {
    let run = record.summary.run;
    let fresh = parts.store.run(run).map_err(|failure| refusal(&failure))?;
    let stored = fresh.and_then(|record| record.stored);
    let stored =
        stored.ok_or_else(|| Failure::internal(format!("the run {run} has no result after its decision")))?;
    Ok(super::shape::decided(parts, record, &stored))
}

fn already(text: &str, record: &Record) -> Failure {
    Failure::new(
        Kind::InvalidInput,
        code::INVALID_INPUT,
        format!("{text}; `airlock runs {}` shows it", record.summary.run),
    )
    .with_detail("run", record.summary.run.to_string())
    .with_detail("state", record.summary.state.word())
}

/// The failure of a store that a run was to be read from or decided in; the cause goes to the log.
pub fn refusal(failure: &crate::store::StoreFailure) -> Failure {
    tracing::error!("{failure}; {}", failure.hint());
    let text = "the store cannot be used, so nothing was read and nothing changed; the log says why";
    Failure::new(Kind::Transient, code::STORE_UNAVAILABLE, text)
}
