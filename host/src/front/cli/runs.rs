//! `airlock runs`: what was called, and everything that is known of one run.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::clean::clean;
use super::events;
use super::hints::deciding;
use super::late;
use super::layout::{age, moment, pretty, table};
use super::output::Output;
use super::problem::{Exit, Problem};
use crate::host::{Config, Host, Look};
use crate::model::amount::shown as amount;
use crate::model::clock::{Clock as _, SystemClock, Timestamp};
use crate::model::effect::Effect;
use crate::model::id::TraceId;
use crate::model::late::{Late, bars_its_key};
use crate::model::past::Undone;
use crate::model::reply::Stored;
use crate::model::run::{Attempt, Does, Happened, Record, Removed, Summary, Told};
use crate::model::staged::Cost;
use crate::model::state::{Reason, RunState, Standing};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run to show in full, or the beginning of its id
    run: Option<String>,

    /// Print its result alone, and the whole of it
    #[arg(long, requires = "run")]
    output: bool,

    /// Show what its tool declares as private, in the place of hashes
    #[arg(long, requires = "run")]
    private: bool,

    /// How many to list, the latest first; of those that wait for a person, the one that waits longest
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Only those in this state
    #[arg(long)]
    state: Option<State>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Running,
    Completed,
    Failed,
    Suspended,
    RolledBack,
}

impl State {
    fn standing(self) -> Standing {
        match self {
            Self::Running => Standing::Running,
            Self::Completed => Standing::Completed,
            Self::Failed => Standing::Failed,
            Self::Suspended => Standing::Suspended,
            Self::RolledBack => Standing::RolledBack,
        }
    }
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let host = Host::open(Config::load_to_look(config)?).await?;
    let look = if arguments.private { Look::Private } else { Look::Usual };
    let shown = match &arguments.run {
        Some(id) if arguments.output => {
            host.whole(id, look).map_err(Problem::from).and_then(|body| whole(&body, output))
        }
        Some(id) => host
            .look(id, look)
            .map_err(Problem::from)
            .and_then(|record| output.data(|| full(&record, now()), || document(&record))),
        None => host
            .runs(arguments.state.map(State::standing), arguments.limit)
            .map_err(Problem::from)
            .and_then(|runs| listed(&runs, arguments, output)),
    };
    host.close().await;
    shown.map(|()| Exit::Done)
}

fn listed(runs: &[Summary], arguments: &Arguments, output: Output) -> Result<(), Problem> {
    if runs.is_empty() && !output.json {
        output.note(match arguments.state {
            None => "no runs yet; `airlock call TOOL '{…}'` makes one",
            Some(State::Suspended) => "nothing waits for a person; `airlock runs` lists all",
            Some(State::Running | State::Completed | State::Failed | State::RolledBack) => {
                "no runs in this state; `airlock runs` lists all"
            }
        });
        return Ok(());
    }
    let text = || match arguments.state {
        Some(State::Suspended) => waiting(runs, now()),
        Some(State::Running | State::Completed | State::Failed | State::RolledBack) | None => {
            list(runs, now())
        }
    };
    output.data(text, || json!({ "runs": runs }))
}

fn whole(body: &str, output: Output) -> Result<(), Problem> {
    output.data(|| pretty(body), || RawValue::from_string(body.to_owned()).unwrap_or_default())
}

fn now() -> Timestamp {
    SystemClock::start().now()
}

fn list(runs: &[Summary], now: Timestamp) -> String {
    let row = |run: &Summary| {
        [
            run.run.to_string(),
            run.state.word().to_owned(),
            run.tool.to_string(),
            asked(run),
            run.attempts.to_string(),
            age(now.since(run.began)),
            run.code.clone().unwrap_or_default(),
        ]
    };
    let header = ["RUN", "STATE", "TOOL", "CALLER", "ATTEMPTS", "AGE", "CODE"];
    table(header, runs.iter().map(row).collect())
}

/// What waits for a person, why and for how long; the one first that waits longest.
fn waiting(runs: &[Summary], now: Timestamp) -> String {
    let row = |run: &Summary| {
        let word = run.state.word();
        [
            run.run.to_string(),
            word.split_once(": ").map_or(word, |(_, reason)| reason).to_owned(),
            run.tool.to_string(),
            asked(run),
            run.ended.map(moment).unwrap_or_default(),
            run.ended.map(|since| age(now.since(since))).unwrap_or_default(),
            run.code.clone().unwrap_or_default(),
        ]
    };
    table(["RUN", "REASON", "TOOL", "CALLER", "SINCE", "WAITS", "CODE"], runs.iter().map(row).collect())
}

/// Who asked, and for whom.
pub(super) fn asked(run: &Summary) -> String {
    match &run.user {
        Some(user) => format!("{} for {user}", run.caller),
        None => run.caller.to_string(),
    }
}

fn full(record: &Record, now: Timestamp) -> String {
    let Record { summary: run, key, trace, input, stored, attempts, effects, events, .. } = record;
    let mut lines = vec![
        format!("run       {}", run.run),
        format!("state     {}", run.state.word()),
        format!("tool      {}", run.tool),
        format!("caller    {}", clean(&asked(run))),
        format!("key       {}", key.as_deref().map_or("none".to_owned(), clean)),
        format!("trace     {}", clean(&trace.0)),
        format!("began     {}", ago(run.began, now)),
        match (run.state, run.ended) {
            (RunState::Suspended(_), Some(since)) => format!("waits     since {}", ago(since, now)),
            (RunState::BackingOff, _) => {
                format!("waits     until {}", record.wakes.map_or("its next attempt".to_owned(), moment))
            }
            (_, ended) => format!("ended     {}", ended.map_or("not yet".to_owned(), |at| ago(at, now))),
        },
    ];
    if let Some(background) = &record.background {
        lines.push(format!("time      in the background, until {}", moment(background.until)));
    }
    let said = [("model     ", &record.told.model), ("reason    ", &record.told.reason)];
    lines.extend(said.iter().filter_map(|(name, text)| Some(format!("{name}{}", clean(text.as_ref()?)))));
    if record.rearms && !bars_its_key(record) {
        lines.push("again     the same call with the same key runs it again".to_owned());
    }
    if let Some(input) = input {
        lines.push(format!("\ninput\n{}", pretty(input)));
    }
    if let Some(stored) = stored {
        lines.push(format!("\n{}\n{}", if stored.ok { "data" } else { "error" }, pretty(&stored.body)));
    }
    if let Some(trimmed) = stored.as_ref().and_then(|stored| stored.trimmed.as_ref()) {
        let whole = format!("`airlock runs {} --output` prints the whole", run.run);
        lines.push(format!("{}; {whole}", clean(&trimmed.to_string())));
    }
    if let Some(removed) = &record.removed {
        lines.push(hashes(removed, now));
    }
    lines.push(format!("\nattempts{}", none_or(attempts)));
    lines.extend(attempts.iter().map(attempt));
    lines.push(format!("\neffects{}", none_or(effects)));
    if !effects.is_empty() {
        lines.push(effect_table(effects));
    }
    if !record.costs.is_empty() {
        lines.push(format!("\ncosts, {} in all", amount(record.usage.cost, None)));
        lines.push(cost_table(&record.costs));
    }
    lines.push("\nevents".to_owned());
    lines.extend(events.iter().map(|event| {
        let by = event.by.as_ref().map(|who| format!(", by {}", clean(who))).unwrap_or_default();
        format!("{}  {}{by}", moment(event.at), clean(events::in_words(&event.event)))
    }));
    lines.extend(late::told(record));
    lines.extend(waits(run));
    lines.join("\n")
}

/// What a person can do about a run that waits for one.
fn waits(run: &Summary) -> Option<String> {
    match run.state {
        RunState::Suspended(Reason::NotUndone) => Some(format!(
            "\nwhat is left of it waits for a person; once that is seen to, or may stay: `airlock decide {} happened`",
            run.run
        )),
        RunState::Suspended(_) => {
            let code = run.code.as_deref().unwrap_or_default();
            Some(format!("\nit waits for a person; {}", deciding(code, &run.run.to_string())))
        }
        RunState::Running
        | RunState::BackingOff
        | RunState::Completed
        | RunState::Failed
        | RunState::TimedOut
        | RunState::RollingBack
        | RunState::RolledBack => None,
    }
}

/// What stays of input and result.
fn hashes(removed: &Removed, now: Timestamp) -> String {
    let result = removed.result.map_or("none".to_owned(), |result| result.to_string());
    format!(
        "\ninput, result and logs were removed {}; their SHA-256 stays\ninput   {}\nresult  {result}",
        ago(removed.at, now),
        removed.input
    )
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({} ago)", moment(at), age(now.since(at)))
}

fn none_or<T>(list: &[T]) -> &'static str {
    if list.is_empty() { "\nnone" } else { "" }
}

fn attempt(attempt: &Attempt) -> String {
    let outcome = attempt.outcome.as_deref().map_or("under way".to_owned(), clean);
    let took = attempt
        .ended
        .map(|ended| format!(" after {}", humantime::format_duration(ended.since(attempt.began))));
    let does = match attempt.does {
        Does::Call => "",
        Does::Rollback => "rollback  ",
    };
    let mut lines = vec![format!(
        "{}. {}  {does}{outcome}{}",
        attempt.attempt,
        moment(attempt.began),
        took.unwrap_or_default()
    )];
    if let Some(Undone { summary, left }) = &attempt.undone {
        lines.push(format!("   {}", clean(summary)));
        lines.extend(left.iter().map(|what| format!("   left: {}", clean(what))));
    }
    let digest = attempt.plugin_digest.to_string();
    lines.push(format!(
        "   plugin {}, fuel {}, memory {} bytes",
        &digest[..12],
        attempt.fuel,
        attempt.memory_bytes
    ));
    lines.extend(attempt.log.lines().map(|line| format!("   | {}", clean(line))));
    lines.join("\n")
}

fn effect_table(effects: &[Effect]) -> String {
    let row = |effect: &Effect| {
        [
            effect.attempt.to_string(),
            effect.ordinal.to_string(),
            format!("{} {}", effect.method, effect.target),
            effect.repeat.word().to_owned(),
            effect.state.word().to_owned(),
            effect.status.map(|status| status.to_string()).unwrap_or_default(),
            effect.key.clone().unwrap_or_default(),
        ]
    };
    table(["ATTEMPT", "NO", "REQUEST", "REPEAT", "STATE", "STATUS", "KEY"], effects.iter().map(row).collect())
}

fn cost_table(costs: &[Cost]) -> String {
    let row = |cost: &Cost| {
        let what = cost.what.clone();
        [cost.attempt.to_string(), cost.category.word().to_owned(), what, amount(cost.micros, None)]
    };
    table(["ATTEMPT", "BY", "WHAT", "COST"], costs.iter().map(row).collect())
}

/// A run as JSON; input and result keep every character.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    wakes: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    key: Option<&'a str>,
    trace_id: &'a TraceId,
    #[serde(flatten)]
    told: &'a Told,
    action: String,
    input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<Removed>,
    rearms: bool,
    journal: Journal<'a>,
}

#[derive(Serialize)]
struct Journal<'a> {
    attempts: &'a [Attempt],
    effects: &'a [Effect],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    late: &'a [Late],
    costs: &'a [Cost],
    events: &'a [Happened],
}

pub(super) fn document(record: &Record) -> Document<'_> {
    let (data, error) = match record.stored.as_ref().map(Stored::to_body) {
        Some(Ok(data)) => (Some(data), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    Document {
        summary: &record.summary,
        wakes: record.wakes,
        until: record.background.as_ref().map(|background| background.until),
        key: record.key.as_deref(),
        trace_id: &record.trace,
        told: &record.told,
        action: record.action.to_string(),
        input: record.input.clone().map(|input| RawValue::from_string(input).unwrap_or_default()),
        data,
        error,
        removed: record.removed,
        rearms: record.rearms,
        journal: Journal {
            attempts: &record.attempts,
            effects: &record.effects,
            late: &record.late,
            costs: &record.costs,
            events: &record.events,
        },
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::model::effect::EffectState;
    use crate::model::id::{CallerName, Digest, ProcessId, RunId};
    use crate::model::manifest::Repeat;
    use crate::model::pointer::Unshown;
    use crate::model::reply::Usage;
    use crate::model::run::Lease;

    const BEGAN: Timestamp = Timestamp(1_700_000_000_000);

    /// A run that may have sent a mail.
    fn record() -> Record {
        let run = RunId::new(BEGAN, [7; 10]);
        let summary = Summary {
            run,
            state: RunState::Suspended(Reason::Unknown),
            tool: "desk.send_mail".parse().unwrap(),
            caller: CallerName("local".into()),
            user: None,
            attempts: 1,
            began: BEGAN,
            ended: Some(Timestamp(BEGAN.0 + 1500)),
            code: Some("OUTCOME_UNKNOWN".into()),
        };
        let happened =
            |at, event: &str| Happened { at: Timestamp(BEGAN.0 + at), event: event.into(), by: None };
        Record {
            summary,
            lease: Lease { run, number: 1 },
            owner: ProcessId([1; 16]),
            wakes: None,
            background: None,
            key: Some("k1".into()),
            repeat: Repeat::Once,
            action: Digest([2; 32]),
            trace: TraceId::new([3; 16]),
            told: Told::default(),
            input: Some(r#"{"to":"li@example.com","id":12345678901234567890}"#.into()),
            unshown: Unshown::default(),
            stored: Some(Stored::new(false, r#"{"code":"OUTCOME_UNKNOWN"}"#)),
            removed: None,
            fingerprint: None,
            cleanup: None,
            rearms: false,
            undelivered: false,
            usage: Usage::default(),
            attempts: vec![Attempt {
                attempt: 1,
                began: BEGAN,
                ended: Some(Timestamp(BEGAN.0 + 1500)),
                outcome: Some("OUTCOME_UNKNOWN".into()),
                does: Does::Call,
                undone: None,
                plugin_digest: Digest([0xab; 32]),
                fuel: 1200,
                memory_bytes: 65_536,
                log: "sending\n\u{1b}[31mred".into(),
            }],
            effects: vec![Effect {
                attempt: 1,
                ordinal: 2,
                repeat: Repeat::Once,
                method: "POST".into(),
                target: "https://desk.example.com/mails".into(),
                request: Digest([4; 32]),
                key: None,
                state: EffectState::Open,
                status: None,
            }],
            late: Vec::new(),
            costs: Vec::new(),
            saved: None,
            events: vec![happened(0, "began"), happened(1500, "suspended: unknown")],
        }
    }

    #[test]
    fn a_run_is_shown_with_all_that_is_known_of_it() {
        assert_snapshot!(full(&record(), BEGAN.plus(std::time::Duration::from_secs(90))), @r#"
        run       01HF7YAT000W3GE1R70W3GE1R7
        state     suspended: unknown
        tool      desk.send_mail
        caller    local
        key       k1
        trace     03030303030303030303030303030303
        began     2023-11-14T22:13:20.000Z (1m ago)
        waits     since 2023-11-14T22:13:21.500Z (1m ago)

        input
        {
          "to": "li@example.com",
          "id": 12345678901234567890
        }

        error
        {
          "code": "OUTCOME_UNKNOWN"
        }

        attempts
        1. 2023-11-14T22:13:20.000Z  OUTCOME_UNKNOWN after 1s 500ms
           plugin abababababab, fuel 1200, memory 65536 bytes
           | sending
           | \u{1b}[31mred

        effects
        ATTEMPT  NO  REQUEST                              REPEAT  STATE  STATUS  KEY
        1        2   POST https://desk.example.com/mails  once    open

        events
        2023-11-14T22:13:20.000Z  began
        2023-11-14T22:13:21.500Z  suspended: unknown

        it waits for a person; when you know what became of it: `airlock decide 01HF7YAT000W3GE1R70W3GE1R7 happened`, `did-not` or `again`
        "#);
    }

    #[test]
    fn a_run_as_json_keeps_its_input_and_its_end() {
        let text = serde_json::to_string(&document(&record())).unwrap();
        assert!(text.contains(r#""input":{"to":"li@example.com","id":12345678901234567890}"#));
        assert!(text.contains(r#""error":{"code":"OUTCOME_UNKNOWN"},"rearms":false"#), "{text}");
    }

    /// The same run once a person had settled it and its texts were removed.
    fn emptied() -> Record {
        let mut record = record();
        record.summary.state = RunState::Completed;
        record.summary.code = None;
        record.input = None;
        record.stored = None;
        record.attempts[0].log.clear();
        let (input, result) = (Digest([5; 32]), Some(Digest([6; 32])));
        record.removed = Some(Removed { at: BEGAN.plus(std::time::Duration::from_secs(60)), input, result });
        record
    }

    #[test]
    fn of_a_run_whose_texts_were_removed_the_hashes_are_shown() {
        assert_snapshot!(full(&emptied(), BEGAN.plus(std::time::Duration::from_secs(90))), @r#"
        run       01HF7YAT000W3GE1R70W3GE1R7
        state     completed
        tool      desk.send_mail
        caller    local
        key       k1
        trace     03030303030303030303030303030303
        began     2023-11-14T22:13:20.000Z (1m ago)
        ended     2023-11-14T22:13:21.500Z (1m ago)

        input, result and logs were removed 2023-11-14T22:14:20.000Z (30s ago); their SHA-256 stays
        input   0505050505050505050505050505050505050505050505050505050505050505
        result  0606060606060606060606060606060606060606060606060606060606060606

        attempts
        1. 2023-11-14T22:13:20.000Z  OUTCOME_UNKNOWN after 1s 500ms
           plugin abababababab, fuel 1200, memory 65536 bytes

        effects
        ATTEMPT  NO  REQUEST                              REPEAT  STATE  STATUS  KEY
        1        2   POST https://desk.example.com/mails  once    open

        events
        2023-11-14T22:13:20.000Z  began
        2023-11-14T22:13:21.500Z  suspended: unknown
        "#);
        let text = serde_json::to_string_pretty(&document(&emptied())).unwrap();
        let (shown, _) = text.split_once("  \"journal\"").unwrap();
        assert_snapshot!(shown, @r#"
        {
          "run": "01HF7YAT000W3GE1R70W3GE1R7",
          "state": "completed",
          "tool": "desk.send_mail",
          "caller": "local",
          "user": null,
          "attempts": 1,
          "began": 1700000000000,
          "ended": 1700000001500,
          "code": null,
          "key": "k1",
          "trace_id": "03030303030303030303030303030303",
          "model": null,
          "reason": null,
          "action": "0202020202020202020202020202020202020202020202020202020202020202",
          "input": null,
          "removed": {
            "at": 1700000060000,
            "input_sha256": "0505050505050505050505050505050505050505050505050505050505050505",
            "result_sha256": "0606060606060606060606060606060606060606060606060606060606060606"
          },
          "rearms": false,
        "#);
    }

    #[test]
    fn runs_are_listed_with_their_age() {
        let later = BEGAN.plus(std::time::Duration::from_secs(7200));
        assert_snapshot!(waiting(&[record().summary], later), @"
        RUN                         REASON   TOOL            CALLER  SINCE                     WAITS  CODE
        01HF7YAT000W3GE1R70W3GE1R7  unknown  desk.send_mail  local   2023-11-14T22:13:21.500Z  1h     OUTCOME_UNKNOWN
        ");
        assert_snapshot!(list(&[record().summary], later), @r#"
        RUN                         STATE               TOOL            CALLER  ATTEMPTS  AGE  CODE
        01HF7YAT000W3GE1R70W3GE1R7  suspended: unknown  desk.send_mail  local   1         2h   OUTCOME_UNKNOWN
        "#);
    }
}
