//! The path of one call, from the request to the reply.

pub mod admit;
pub mod attempt;
pub mod authorize;
pub mod awaited;
pub mod breaker;
pub mod charge;
pub mod checkpoint;
pub mod classify;
pub mod decide;
pub mod drive;
pub mod fallback;
pub mod folders;
pub mod guard;
pub mod leases;
pub mod log;
pub mod look;
pub mod loops;
pub mod page;
pub mod parts;
pub mod past;
pub mod preview;
pub mod probe;
pub mod queue;
pub mod recall;
pub mod recover;
pub mod refused;
pub mod reserve;
pub mod resolve;
pub mod retry;
pub mod rollback;
pub mod setting;
pub mod settle;
pub mod shape;
pub mod tally;
pub mod validate;

pub use crate::sandbox::cancel::Cancel;
pub use crate::sandbox::capability::progress::{By, Progress, Step, Steps};
pub use parts::Parts;
pub use resolve::{Request, Told};
pub use setting::Setting;

use std::sync::Arc;

use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::reply::Reply;
use crate::store::KeyFound;

/// Where a stage leads, when not to the next.
#[derive(Debug)]
pub enum Turn {
    /// The call ends here, and nothing was run.
    Refuse(Failure),
    /// The call is answered with what is stored.
    Replay(Box<recall::Replay>),
    /// Somebody else has the key by now: look again.
    Again,
    /// The run waits for its next attempt in the background, and nobody is at it.
    Rests(RunId),
}

/// Takes a call through all stages. Nothing that calls a tool goes any other way.
pub async fn execute(parts: &Arc<Parts>, request: &Request, call: &shape::Call) -> Reply {
    loop {
        match stages(parts, request, call, None).await {
            Ok(finished) => return shape::reply(parts, call, &finished),
            Err(Turn::Refuse(failure)) => {
                refused::note(parts, request, call, &failure);
                return shape::refusal(parts, call, &failure);
            }
            Err(Turn::Replay(replay)) => return shape::replay(parts, call, &replay),
            Err(Turn::Rests(run)) => return shape::refusal(parts, call, &awaited::running(run)),
            Err(Turn::Again) => {}
        }
    }
}

/// Answers a call of a tool that is there under no name: it is told, counted and goes round in circles as any other.
pub fn absent(parts: &Arc<Parts>, request: &Request, call: &shape::Call) -> Reply {
    let failure = resolve::absent(request, call);
    refused::note(parts, request, call, &failure);
    shape::refusal(parts, call, &failure)
}

/// Looks whether a call would get as far as its key: a decision to try again must not be in vain.
///
/// # Errors
/// Why it would not.
fn possible(parts: &Arc<Parts>, request: &Request) -> Result<(), Failure> {
    let call = shape::Call::begin(parts, request);
    match resolve::resolve(request, &call).and_then(authorize::authorize) {
        Ok(_) | Err(Turn::Replay(_) | Turn::Again | Turn::Rests(_)) => Ok(()),
        Err(Turn::Refuse(failure)) => Err(failure),
    }
}

/// The stages of a call, in order; `driven` is the run in the background whose turn it is, where it is one.
async fn stages(
    parts: &Arc<Parts>,
    request: &Request,
    call: &shape::Call,
    driven: Option<KeyFound>,
) -> Result<settle::Finished, Turn> {
    let valid = unless_withdrawn(request, async {
        let resolved = resolve::resolve(request, call)?;
        let authorized = authorize::authorize(resolved)?;
        let fresh = match driven {
            Some(run) => recall::driven(authorized, run)?,
            None => recall::recall(parts, authorized).await?,
        };
        validate::validate(fresh).await
    });
    let valid = valid.await?;
    if request.background {
        return Err(queue::queue(parts, call, valid).await);
    }
    let passed = unless_withdrawn(request, async {
        let admitted = admit::admit(parts, valid).await?;
        breaker::pass(parts, admitted).await
    });
    let reserved = reserve::reserve(parts, passed.await?).await?;
    call.begun(reserved.run());
    let mut started = checkpoint::start(reserved);
    loop {
        let tried = attempt::attempt(parts, started).await;
        let classified = classify::classify(parts, tried);
        let next = retry::retry(parts, classified).await?;
        match probe::probe(parts, next).await? {
            retry::Next::Again(rested) => started = checkpoint::again(parts, *rested).await?,
            retry::Next::End(classified) => return settle::settle(parts, *classified).await,
        }
    }
}

/// Goes through the stages that leave nothing behind, as long as the caller wants the call.
async fn unless_withdrawn<T>(
    request: &Request,
    stages: impl Future<Output = Result<T, Turn>>,
) -> Result<T, Turn> {
    let Some(cancel) = &request.cancel else { return stages.await };
    tokio::select! {
        biased;
        () = cancel.asked() => {
            let text = "the caller withdrew the call; nothing was run";
            Err(Turn::Refuse(Failure::new(Kind::Transient, code::INTERRUPTED, text)))
        }
        done = stages => done,
    }
}
