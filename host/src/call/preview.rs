//! What a call would do, asked before it is made: nothing is changed, no key is used, and no run is made.

use std::sync::Arc;

use serde_json::json;

use super::look::{Look, look};
use super::resolve::Resolved;
use super::shape::{self, result};
use super::{Parts, Request, Turn, authorize, recall, resolve, validate};
use crate::model::canonical;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::guard::take_out;
use crate::model::past::Planned;
use crate::model::reply::{Output, Reply, Usage};
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question::Preview;

/// What a plugin said ahead of a call.
struct Ahead {
    resolved: Resolved,
    planned: Planned,
    usage: Usage,
    dropped: Vec<String>,
}

/// Says what a call would do, to whoever might make it: asked of its plugin, which may only read.
pub async fn preview(parts: &Arc<Parts>, request: &Request, call: &shape::Call) -> Reply {
    match ahead(parts, request, call).await {
        Ok(ahead) => reply(parts, call, &ahead),
        Err(Turn::Refuse(failure)) => shape::refusal(parts, call, &failure),
        // No key was looked at, so there is nothing that could be replayed.
        Err(Turn::Replay(_) | Turn::Again | Turn::Rests(_)) => {
            shape::refusal(parts, call, &Failure::internal("a look ahead met a key"))
        }
    }
}

async fn ahead(parts: &Arc<Parts>, request: &Request, call: &shape::Call) -> Result<Ahead, Turn> {
    let resolved = resolve::resolve(request, call)?;
    authorize::permitted(&resolved)?;
    let setting = resolved.setting();
    let entry = resolved.tool();
    let mut value = canonical::read(resolved.input(), &setting.config.limits)
        .map_err(|faults| Turn::Refuse(validate::failure(&entry.name, &faults)))?;
    recall::bearable(&resolved)?;
    take_out(entry.tool.repeat, &mut value);
    let (input, dropped) = validate::checked(entry, value, resolved.input().len()).await?;
    let log = Logbook::new(setting.config.limits.log);
    let question = Preview { tool: entry.tool.name.clone(), input };
    let ahead = Look {
        setting,
        entry,
        caller: resolved.asker().caller(),
        user: resolved.asker().user(),
        trace: resolved.trace(),
        run: parts.new_run(),
        saved: None,
        attachments: resolved.attachments().to_vec(),
        cancel: resolved.cancel().cloned(),
        progress: resolved.progress().cloned(),
        time: entry.attempt.clone(),
        log: &log,
    };
    let said = look(parts, ahead, question).await;
    // Nothing keeps this log, and what was refused is for the operator.
    for line in log.text().lines().filter(|line| line.starts_with("host: ")) {
        let line = setting.mask.text(line).unwrap_or_else(|| line.to_owned());
        tracing::warn!(trace = %resolved.trace(), "{line}");
    }
    let (planned, usage) = said.map_err(|failure| Turn::Refuse(named(failure, &entry.name.to_string())))?;
    Ok(Ahead { resolved, planned, usage, dropped })
}

/// Says which tool has no preview.
fn named(mut failure: Failure, tool: &str) -> Failure {
    if failure.kind == Kind::Fatal && failure.code == code::NOT_OFFERED {
        failure.message = format!("{tool} does not say ahead what a call of it would do");
    }
    failure
}

fn reply(parts: &Parts, call: &shape::Call, ahead: &Ahead) -> Reply {
    let Ahead { resolved, planned, usage, dropped } = ahead;
    let declared = resolved.tool().tool.risk;
    let data = json!({
        "summary": planned.summary,
        "changes": planned.changes,
        "fingerprint": planned.fingerprint,
        "risk": planned.risk.map_or(declared, |risk| risk.max(declared)).word(),
    });
    let output = Output { data: data.to_string(), ..Output::default() };
    let stored = result::output(None, resolved.setting(), output).stored;
    shape::looked(parts, call, &stored, *usage, dropped.clone())
}
