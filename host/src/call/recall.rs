//! Looks whether the same action was asked for before, and answers with what became of it.

use std::time::Duration;

use serde_json::Value;

use super::authorize::Authorized;
use super::resolve::Resolved;
use super::{Parts, Turn, guard, probe, recover, validate};
use crate::model::attachment::{self, is_media_type};
use crate::model::canonical::{self, Fault};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::guard::{Guard, take_out};
use crate::model::id::{Digest, RunId};
use crate::model::key::{Answer, Key};
use crate::model::reply::{Stored, Usage};
use crate::model::run::Record;
use crate::model::state::{Reason, RunState};
use crate::store::KeyFound;

/// How often a run of another process is looked at while it is waited for.
pub(super) const LOOK: Duration = Duration::from_millis(25);

/// A call that is to be carried out: nobody else has done it or is at it.
#[derive(Debug)]
pub struct Fresh {
    authorized: Authorized,
    input: Value,
    action: Digest,
    key: Option<Key>,
    guard: Option<Guard>,
    again: Option<Box<KeyFound>>,
    driven: bool,
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
    /// Whether that has not reached whoever asked, as far as it is of use.
    pub undelivered: bool,
    /// Whether it is given to a call that only repeats the first.
    pub duplicate: bool,
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
            undelivered: record.undelivered,
            duplicate: false,
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

    /// The key that it goes by: the caller's, or that of a repeat.
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// The call as its conversation sees it, where it has one and writes.
    pub fn guard(&self) -> Option<&Guard> {
        self.guard.as_ref()
    }

    /// The earlier run that goes on with this call, where there is one.
    pub fn again(&self) -> Option<&KeyFound> {
        self.again.as_deref()
    }

    /// Whether that run is made in the background, and this is a worker at it.
    pub fn driven(&self) -> bool {
        self.driven
    }
}

/// Decides by the key whether the call is carried out, answered with what is stored, or waits.
pub(super) async fn recall(parts: &std::sync::Arc<Parts>, authorized: Authorized) -> Result<Fresh, Turn> {
    let resolved = authorized.resolved();
    let mut input = canonical::read(resolved.input(), &resolved.setting().config.limits)
        .map_err(|faults| Turn::Refuse(validate::failure(&resolved.tool().name, &faults)))?;
    bearable(resolved)?;
    let action = canonical::action_hash(&resolved.tool().name, &input, resolved.attachments());
    let first = take_out(resolved.tool().tool.repeat, &mut input);
    let same = || guard::same(resolved, &input);
    let key = match (resolved.key(), &first) {
        (Some(key), _) => Some(key.clone()),
        (None, Some(first)) => Some(guard::repeat(parts, resolved, first, same()).await?),
        (None, None) => None,
    };
    let guard = guard::of(resolved, key.is_some(), same);
    if let Some(guard) = &guard {
        guard::guard(parts, resolved, guard).await?;
    }
    let again = match &key {
        Some(key) => look(parts, resolved, key, action).await?.map(Box::new),
        None => None,
    };
    Ok(Fresh { authorized, input, action, key, guard, again, driven: false })
}

/// The call of a run in the background, which goes on with it: whether it was asked for before was looked at then.
pub(super) fn driven(authorized: Authorized, found: KeyFound) -> Result<Fresh, Turn> {
    let resolved = authorized.resolved();
    let mut input = canonical::read(resolved.input(), &resolved.setting().config.limits)
        .map_err(|faults| Turn::Refuse(validate::failure(&resolved.tool().name, &faults)))?;
    bearable(resolved)?;
    take_out(resolved.tool().tool.repeat, &mut input);
    let (action, key) = (found.known.action, resolved.key().cloned());
    Ok(Fresh { authorized, input, action, key, guard: None, again: Some(Box::new(found)), driven: true })
}

/// Looks what became of a key: the run that goes on with this call, or none where it is the first.
async fn look(
    parts: &std::sync::Arc<Parts>,
    resolved: &Resolved,
    key: &Key,
    action: Digest,
) -> Result<Option<KeyFound>, Turn> {
    let scope = key.scope(resolved.asker().caller(), resolved.asker().user());
    let patience = parts.clock.steady() + resolved.setting().config.limits.wait;
    let mut waited = false;
    loop {
        // Registered before looking, so that an end in between is not missed.
        let ended = parts.ended.notified();
        let found = parts.store.key(scope, parts.clock.now()).map_err(|failure| unavailable(&failure))?;
        let Some(mut found) = found else {
            return Ok(None);
        };
        let abandoned = found.owner == parts.store.process() && !parts.drives(found.run);
        found.known.orphaned |= found.known.state.under_way() && abandoned;
        match found.known.answer(action) {
            Answer::Fresh => return Ok(None),
            // Who waited with the first caller gets what that one gets; to go on is for who asks after that.
            Answer::Rearm if waited => return Err(replay(found)),
            Answer::Rearm => return Ok(Some(found)),
            Answer::Replay if unknown(&found) && settled(parts, found.run).await? => {}
            Answer::Replay => return Err(replay(found)),
            // The key of a repeat is the host's own.
            Answer::Reused if resolved.key().is_none() => return Err(guard::repeated(parts, found.run)),
            Answer::Reused => return Err(Turn::Refuse(reused(key, &found))),
            Answer::Expired => return Err(Turn::Refuse(expired(key, &found))),
            Answer::Adopt => {
                waited = false;
                recover::close(parts, found.run).await.map_err(|failure| unavailable(&failure))?;
            }
            Answer::Wait => {
                if resolved.background() || parts.clock.steady() >= patience {
                    return Err(Turn::Refuse(running(key, &found)));
                }
                waited = true;
                let _ = tokio::time::timeout(LOOK, ended).await;
            }
        }
    }
}

/// Whether nobody knows what became of the run.
fn unknown(found: &KeyFound) -> bool {
    found.known.state == RunState::Suspended(Reason::Unknown)
}

async fn settled(parts: &std::sync::Arc<Parts>, run: RunId) -> Result<bool, Turn> {
    probe::settle(parts, run).await.map_err(|failure| unavailable(&failure))
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
            undelivered: found.undelivered,
            duplicate: false,
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
