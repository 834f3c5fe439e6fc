//! Looks whether the same action was asked for before, and answers with what became of it.

use std::time::Duration;

use serde_json::Value;

use super::authorize::Authorized;
use super::resolve::Resolved;
use super::{Parts, Turn, recover, validate};
use crate::model::attachment::{self, is_media_type};
use crate::model::canonical::{self, Fault};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{Digest, RunId};
use crate::model::key::{Answer, Key};
use crate::model::reply::{Stored, Usage};
use crate::model::run::Record;
use crate::model::state::RunState;
use crate::store::KeyFound;

/// How often a run of another process is looked at while it is waited for.
pub(super) const LOOK: Duration = Duration::from_millis(25);

/// A call that is to be carried out: nobody else has done it or is at it.
#[derive(Debug)]
pub struct Fresh {
    authorized: Authorized,
    input: Value,
    action: Digest,
    again: Option<KeyFound>,
}

/// What is stored for a call that was made before.
#[derive(Debug)]
pub struct Replay {
    /// The run.
    pub run: RunId,
    /// Attempts begun.
    pub attempts: u32,
    /// What its last attempt used.
    pub usage: Usage,
    /// Its result.
    pub stored: Stored,
}

impl Replay {
    /// What is stored of a run; none where it has not ended.
    pub(super) fn of(record: &Record) -> Option<Self> {
        // One that is at it again still holds what its last attempt came to.
        if matches!(record.summary.state, RunState::Running | RunState::BackingOff) {
            return None;
        }
        Some(Self {
            run: record.summary.run,
            attempts: record.summary.attempts,
            usage: record.usage,
            stored: record.stored.clone()?,
        })
    }
}

impl Fresh {
    /// The tool, the caller and what they bring.
    pub fn authorized(&self) -> &Authorized {
        &self.authorized
    }

    /// Hands out the input as it was received, read; once.
    pub(super) fn take_input(&mut self) -> Value {
        std::mem::take(&mut self.input)
    }

    /// What makes it this action.
    pub fn action(&self) -> Digest {
        self.action
    }

    /// The earlier run that goes on with this call, where there is one.
    pub fn again(&self) -> Option<&KeyFound> {
        self.again.as_ref()
    }
}

/// Decides by the key whether the call is carried out, answered with what is stored, or waits.
pub(super) async fn recall(parts: &std::sync::Arc<Parts>, authorized: Authorized) -> Result<Fresh, Turn> {
    let resolved = authorized.resolved();
    let input = canonical::read(resolved.input(), &resolved.setting().config.limits)
        .map_err(|faults| Turn::Refuse(validate::failure(&resolved.tool().name, &faults)))?;
    bearable(resolved)?;
    let action = canonical::action_hash(&resolved.tool().name, &input, resolved.attachments());
    let Some(key) = resolved.key().cloned() else {
        return Ok(Fresh { authorized, input, action, again: None });
    };
    let scope = key.scope(resolved.asker().caller(), resolved.asker().user());
    let patience = parts.clock.steady() + resolved.setting().config.limits.wait;
    let mut waited = false;
    loop {
        // Registered before looking, so that an end in between is not missed.
        let ended = parts.ended.notified();
        let found = parts.store.key(scope, parts.clock.now()).map_err(|failure| unavailable(&failure))?;
        let Some(mut found) = found else {
            return Ok(Fresh { authorized, input, action, again: None });
        };
        if let Some(run) = &mut found.known.run {
            let abandoned = found.owner == parts.store.process() && !parts.drives(found.run);
            run.orphaned |= run.state.under_way() && abandoned;
        }
        match found.known.answer(action) {
            Answer::Fresh => return Ok(Fresh { authorized, input, action, again: None }),
            // Who waited with the first caller gets what that one gets; to go on is for who asks after that.
            Answer::Rearm if waited => return Err(replay(found)),
            Answer::Rearm => return Ok(Fresh { authorized, input, action, again: Some(found) }),
            Answer::Replay => return Err(replay(found)),
            Answer::Reused => return Err(Turn::Refuse(reused(&key, &found))),
            Answer::Expired => return Err(Turn::Refuse(expired(&key, &found))),
            Answer::Adopt => {
                waited = false;
                recover::close(parts, found.run).await.map_err(|failure| unavailable(&failure))?;
            }
            Answer::Wait => {
                if parts.clock.steady() >= patience {
                    return Err(Turn::Refuse(running(&key, &found)));
                }
                waited = true;
                let _ = tokio::time::timeout(LOOK, ended).await;
            }
        }
    }
}

/// Looks at what came beside the input.
pub(super) fn bearable(resolved: &Resolved) -> Result<(), Turn> {
    let (attachments, limit) = (resolved.attachments(), resolved.setting().config.limits.attachments);
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(Fault { path: String::new(), text });
    if attachments.len() > attachment::MOST {
        fault(format!("at most {} attachments go with a call, not {}", attachment::MOST, attachments.len()));
    }
    if let Some(wrong) = attachments.iter().find(|one| !is_media_type(&one.media_type)) {
        let (name, named) = (&wrong.name, wrong.media_type.escape_debug());
        fault(format!("the attachment \"{name}\" needs a media type such as image/png, and has \"{named}\""));
    }
    let bytes = attachment::size(attachments);
    if bytes > limit {
        fault(format!("the attachments have {bytes} bytes and may have {limit} ([limits] attachments)"));
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Turn::Refuse(validate::failure(&resolved.tool().name, &faults)))
}

fn replay(found: KeyFound) -> Turn {
    match found.stored {
        Some(stored) => Turn::Replay(Box::new(Replay {
            run: found.run,
            attempts: found.attempts,
            usage: found.usage,
            stored,
        })),
        None => Turn::Refuse(Failure::internal("a run that ended has no result")),
    }
}

fn reused(key: &Key, found: &KeyFound) -> Failure {
    let text = format!(
        "the key was used before for another tool or another input, in run {}; nothing was run. Take a fresh key for \
         this call, or repeat the first one exactly",
        found.run
    );
    Failure::new(Kind::InvalidInput, code::KEY_REUSED, text)
        .with_detail("key", key.as_str())
        .with_detail("run", found.run.to_string())
}

fn expired(key: &Key, found: &KeyFound) -> Failure {
    let text = format!(
        "the key's result is no longer kept, and running again would do the work of run {} a second time; nothing \
         was run",
        found.run
    );
    Failure::new(Kind::InvalidInput, code::KEY_EXPIRED, text)
        .with_detail("key", key.as_str())
        .with_detail("run", found.run.to_string())
}

fn running(key: &Key, found: &KeyFound) -> Failure {
    let text =
        format!("the call with this key is still running, in run {}; ask again with the same key", found.run);
    Failure::new(Kind::Waiting, code::STILL_RUNNING, text)
        .with_detail("key", key.as_str())
        .with_detail("run", found.run.to_string())
}

/// The refusal when the store cannot tell or take what must be told or taken first.
pub(super) fn unavailable(failure: &crate::store::StoreFailure) -> Turn {
    let text = "the host cannot write down what it is about to do, so it does not do it; nothing was run";
    let mut refusal = Failure::new(Kind::Transient, code::STORE_UNAVAILABLE, text);
    refusal.log = Some(format!("{failure}; {}", failure.hint()));
    Turn::Refuse(refusal)
}
