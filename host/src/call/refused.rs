//! Takes note of calls that are refused before they have a run: they are counted and traced as all others.

use std::sync::Arc;

use super::shape::Call;
use super::{Parts, Request};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::refused::Refused;

/// How much of a name is kept that no tool has.
const TOLD: usize = 200;

/// Takes note of a refusal. Nobody waits for that, and where the store is behind already it is left out.
pub(super) fn note(parts: &Arc<Parts>, request: &Request, call: &Call, failure: &Failure) {
    // What has a run stands in the journal, what goes on is no refusal, and a store that is not there takes no note.
    if call.has_run() || failure.kind == Kind::Waiting || failure.code == code::STORE_UNAVAILABLE {
        return;
    }
    let Ok(place) = Arc::clone(&parts.unwaited).try_acquire_owned() else { return };
    let tool: String = request.tool.chars().filter(|letter| !letter.is_control()).take(TOLD).collect();
    let mask = &call.setting().mask;
    let refused = Refused {
        at: parts.clock.now(),
        trace: call.trace().clone(),
        tool: mask.text(&tool).unwrap_or(tool),
        caller: request.caller.clone(),
        user: request.user.clone(),
        code: failure.code.clone().into_owned(),
    };
    let written = parts.store.refuse(refused);
    tokio::spawn(async move {
        let _ = written.await;
        drop(place);
    });
}
