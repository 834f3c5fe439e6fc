//! What an attempt means, computed from how it ended and from what is known of its effects.

mod verdict;

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::code;
use super::effect::{Effect, EffectState, Left};
use super::failure::{Failure, Kind};
use super::limits::Limit;
use super::reply::Output;
pub use verdict::Verdict;

/// When asking again makes sense, where no sandbox was free: attempts end by themselves.
const COME_BACK: Duration = Duration::from_secs(1);

/// What is told where only the same key goes on with what was begun.
pub const SAME_KEY: &str =
    "ask again with the key in details.key, and with no other: what was done under it is not done twice";

/// How an attempt ended, before its effects are looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// The guest gave a reply.
    Replied(Output),
    /// The guest gave an error of its own.
    Declared(Failure),
    /// The guest trapped; the text is for the log.
    Trapped(String),
    /// The reply is not what the tool declares; the text is for the log.
    BadOutput(String),
    /// A limit ended it.
    Limit(Limit),
    /// It failed, since a backend that it needs is left alone: for so long, or until an operator says otherwise.
    LeftAlone {
        /// How long.
        wait: Option<Duration>,
        /// Which backend; the text is for the log.
        log: String,
    },
    /// It did not begin: the sandboxes that ran left no room for this one; the text is for the log.
    NoRoom(String),
    /// What was about to be done could not be written down, or what was asked for not be read.
    StoreFailed(String),
    /// A keyed request matched none of those that an earlier attempt had left open, and was not sent.
    Drifted(String),
    /// Its caller wanted no more of it, and the host ended it.
    Withdrawn,
    /// The process died.
    Interrupted,
}

impl Ended {
    /// Whether the same run may go on where nothing stands against it.
    fn may_pass(&self) -> bool {
        match self {
            Self::Declared(failure) => failure.kind.retryable(),
            Self::Limit(Limit::Time(_))
            | Self::LeftAlone { .. }
            | Self::NoRoom(_)
            | Self::StoreFailed(_)
            | Self::Withdrawn
            | Self::Interrupted => true,
            Self::Replied(_)
            | Self::Trapped(_)
            | Self::BadOutput(_)
            | Self::Drifted(_)
            | Self::Limit(
                Limit::Fuel(_)
                | Limit::Memory(_)
                | Limit::Resources(_)
                | Limit::Handles(_)
                | Limit::Random(_)
                | Limit::Output(_)
                | Limit::Attachments(_)
                | Limit::Piece(_)
                | Limit::Requests(_),
            ) => false,
        }
    }

    /// Whether the host itself runs it again, where nothing stands against that: nobody is asked for another attempt.
    fn may_be_retried(&self) -> bool {
        match self {
            Self::Declared(failure) => failure.kind.retryable(),
            Self::Limit(Limit::Time(_)) | Self::NoRoom(_) => true,
            // As where it is known ahead: nobody is kept waiting for a backend that is left alone.
            Self::LeftAlone { .. } => false,
            Self::Replied(_)
            | Self::Trapped(_)
            | Self::BadOutput(_)
            | Self::StoreFailed(_)
            | Self::Drifted(_)
            | Self::Withdrawn
            | Self::Interrupted
            | Self::Limit(
                Limit::Fuel(_)
                | Limit::Memory(_)
                | Limit::Resources(_)
                | Limit::Handles(_)
                | Limit::Random(_)
                | Limit::Output(_)
                | Limit::Attachments(_)
                | Limit::Piece(_)
                | Limit::Requests(_),
            ) => false,
        }
    }

    /// The limit that ended it.
    fn limit(&self) -> Option<Limit> {
        if let Self::Limit(limit) = self { Some(limit.clone()) } else { None }
    }

    /// The same end, once it was found out that nothing was done; none where the guest said that it was.
    #[must_use]
    pub fn undone(self) -> Option<Self> {
        match self {
            Self::Replied(_) => None,
            Self::Declared(failure) if failure.kind == Kind::UnknownOutcome => {
                let message =
                    format!("{}; nothing was done, as the tool's plugin found out", failure.message);
                Some(Self::Declared(Failure { kind: Kind::Transient, message, ..failure }))
            }
            Self::Drifted(log) => {
                let text = "nothing was done, as the tool's plugin found out";
                let mut failure = Failure::new(Kind::Transient, code::INTERRUPTED, text);
                failure.log = Some(log);
                Some(Self::Declared(failure))
            }
            Self::Declared(_)
            | Self::Trapped(_)
            | Self::BadOutput(_)
            | Self::Limit(_)
            | Self::LeftAlone { .. }
            | Self::NoRoom(_)
            | Self::StoreFailed(_)
            | Self::Withdrawn
            | Self::Interrupted => Some(self),
        }
    }

    /// Whether the guest itself said that it may have happened.
    fn doubtful(&self) -> bool {
        matches!(self, Self::Declared(failure) if failure.kind == Kind::UnknownOutcome)
    }

    /// The failure in the guest's or the host's own words; none where it replied.
    fn word(self) -> Option<Failure> {
        match self {
            Self::Replied(_) => None,
            Self::Declared(failure) => Some(failure),
            Self::Trapped(log) => Some(Failure::internal(log)),
            Self::BadOutput(log) => {
                let text = "the tool's output is not what the tool declares; quote the trace id to whoever runs this host";
                let mut failure = Failure::new(Kind::Internal, code::INVALID_OUTPUT, text);
                failure.log = Some(log);
                Some(failure)
            }
            Self::Limit(limit) => Some(limit.failure()),
            Self::LeftAlone { wait, log } => {
                let text = match wait {
                    Some(_) => {
                        "a backend that the tool needs keeps failing, so it is left alone for now; nothing was sent to it"
                    }
                    None => {
                        "an operator lets nothing through to a backend that the tool needs; nothing was sent to it"
                    }
                };
                let mut failure = Failure::new(Kind::Transient, code::CIRCUIT_OPEN, text);
                failure.log = Some(log);
                Some(failure.after(wait.unwrap_or_default()))
            }
            Self::NoRoom(log) => {
                let text = "the sandboxes that run now leave no room for another; nothing was run";
                let mut failure = Failure::new(Kind::Throttled, code::OVERLOADED, text).after(COME_BACK);
                failure.log = Some(log);
                Some(failure)
            }
            Self::StoreFailed(log) => {
                let text = "the host could not use its store, so what the tool was about to do was not done";
                let mut failure = Failure::new(Kind::Transient, code::STORE_UNAVAILABLE, text);
                failure.log = Some(log);
                Some(failure)
            }
            Self::Drifted(log) => {
                let mut failure = unknown(&[], false);
                failure.log = Some(log);
                Some(failure)
            }
            Self::Withdrawn => Some(Failure::new(
                Kind::Transient,
                code::INTERRUPTED,
                "the caller withdrew the call before it ended",
            )),
            Self::Interrupted => Some(Failure::new(
                Kind::Transient,
                code::INTERRUPTED,
                "the process that ran the call ended before the call did",
            )),
        }
    }
}

/// Why an attempt gave no answer, where nothing depends on its effects.
pub fn failure(ended: Ended) -> Failure {
    ended.word().unwrap_or_else(|| Failure::internal("an attempt without an end"))
}

/// Why a change in a lent folder was not put back, after an attempt that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPutBack {
    /// The effect's attempt.
    pub attempt: u32,
    /// Its ordinal.
    pub ordinal: u32,
    /// Why.
    pub why: String,
}

/// Whether the host itself makes another attempt, as far as what was left behind goes: nothing that must happen once was
/// done or may have been.
pub fn may_be_retried(ended: &Ended, effects: &[Effect]) -> bool {
    let left = Left::by(effects);
    // Of what a guest doubts, its key finds out.
    !left.once && (ended.may_be_retried() || (ended.doubtful() && !left.nothing()))
}

/// Whether a call that nobody waits for may be tried again once a backend is no longer left alone.
pub fn may_be_tried_later(ended: &Ended, effects: &[Effect]) -> bool {
    matches!(ended, Ended::LeftAlone { .. }) && !Left::by(effects).once
}

/// Whether nobody knows what became of a call that ended so: `classify` then says that it is unknown.
pub fn in_doubt(ended: &Ended, effects: &[Effect]) -> bool {
    let left = Left::by(effects);
    left.open || matches!(ended, Ended::Drifted(_)) || (ended.doubtful() && !left.done)
}

/// Computes what an attempt means; `effects` are all of the step's that do more than read.
pub fn classify(ended: Ended, effects: &[Effect]) -> Verdict {
    let left = Left::by(effects);
    let may_pass = ended.may_pass() && !left.once;
    if left.open {
        // What the guest doubts is what the journal holds as open: its key makes asking again safe.
        let may_pass = may_pass || (ended.doubtful() && !left.once);
        let limit = ended.limit().map(|limit| limit.failure().message);
        let log = ended.word().map(|failure| failure.log.unwrap_or(failure.message));
        let mut failure = unknown(effects, may_pass);
        if let Some(limit) = limit {
            failure.message.push_str("; ");
            failure.message.push_str(&limit);
        }
        failure.log = log;
        return Verdict::Unknown { failure, rearms: may_pass };
    }
    match ended {
        Ended::Replied(output) => Verdict::Done(output),
        Ended::Drifted(_) => {
            let failure = ended.word().unwrap_or_else(|| unknown(effects, false));
            Verdict::Unknown { failure, rearms: false }
        }
        Ended::Declared(_)
        | Ended::Trapped(_)
        | Ended::BadOutput(_)
        | Ended::Limit(_)
        | Ended::LeftAlone { .. }
        | Ended::NoRoom(_)
        | Ended::StoreFailed(_)
        | Ended::Withdrawn
        | Ended::Interrupted => {
            let interrupted = matches!(ended, Ended::Withdrawn | Ended::Interrupted);
            let mut failure = failure(ended);
            if interrupted && left.nothing() {
                failure.message.push_str("; nothing was left behind");
            }
            if left.done {
                // A process that died judged nothing; what is done again under its key is what was done.
                let rearms = interrupted && !left.once;
                Verdict::Partial { failure: partial(effects, failure, rearms), rearms }
            } else if failure.kind == Kind::UnknownOutcome {
                Verdict::Unknown { failure, rearms: false }
            } else {
                Verdict::Failed { failure, rearms: may_pass }
            }
        }
    }
}

fn unknown(effects: &[Effect], rearms: bool) -> Failure {
    let text = if rearms {
        format!("the action may have happened and may not; {SAME_KEY}")
    } else {
        "the action may have happened and may not; do not repeat it: a person can find out and decide"
            .to_owned()
    };
    let open = list(effects, EffectState::Open);
    let failure = Failure::new(Kind::UnknownOutcome, code::OUTCOME_UNKNOWN, text);
    if open.is_empty() { failure } else { failure.with_detail("open", open) }
}

fn partial(effects: &[Effect], cause: Failure, rearms: bool) -> Failure {
    let mut text = String::from("part of the work was done before the call failed");
    if cause.kind != Kind::Internal {
        let _ = write!(text, " ({}: {})", cause.code, cause.message);
    }
    let _ = match rearms {
        true => write!(text, "; {SAME_KEY}"),
        false => write!(text, "; do not repeat it: a person decides what becomes of it"),
    };
    let mut failure = Failure::new(Kind::Partial, code::PARTLY_DONE, text)
        .with_detail("done", list(effects, EffectState::Done));
    failure.user_message = cause.user_message;
    failure.log = cause.log;
    failure
}

/// What a caller may know of effects: the method and the path, never the host or the query.
fn list(effects: &[Effect], state: EffectState) -> Vec<Value> {
    listed(effects, state, &[])
}

fn listed(effects: &[Effect], state: EffectState, left: &[NotPutBack]) -> Vec<Value> {
    let lines = effects.iter().filter(|effect| effect.state == state).map(|effect| {
        // Of a URL the place is not told; what lies in a lent folder is named by folder and path.
        let url = url::Url::parse(&effect.target).ok().filter(|url| !url.cannot_be_a_base());
        let path = url.map_or_else(|| effect.target.clone(), |url| url.path().to_owned());
        let mut line = json!({ "attempt": effect.attempt, "effect": format!("{} {path}", effect.method) });
        if let Some(status) = effect.status {
            line["status"] = json!(status);
        }
        let of = |one: &&NotPutBack| (one.attempt, one.ordinal) == (effect.attempt, effect.ordinal);
        if let Some(NotPutBack { why, .. }) = left.iter().find(of) {
            line["left_because"] = json!(why);
        }
        line
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::super::id::Digest;
    use super::super::key::{Answer, Known};
    use super::super::limits::{AttemptTime, Says};
    use super::super::manifest::Repeat;
    use super::super::state::RunState;
    use super::super::state::{Event, Reason};
    use super::*;
    use proptest::prelude::*;

    fn effect() -> impl Strategy<Value = Effect> {
        let repeat = prop_oneof![Just(Repeat::Idempotent), Just(Repeat::Keyed), Just(Repeat::Once)];
        let state = prop_oneof![
            Just(EffectState::Open),
            Just(EffectState::Done),
            Just(EffectState::Refused),
            Just(EffectState::FailedClean),
            Just(EffectState::NotSent),
        ];
        (repeat, state, 0u8..3).prop_map(|(repeat, state, request)| Effect {
            attempt: 1,
            ordinal: 1,
            repeat,
            method: "POST".into(),
            target: "http://127.0.0.1/secret?x=1".into(),
            request: Digest([request; 32]),
            key: (repeat == Repeat::Keyed).then(|| request.to_string()),
            state,
            status: None,
        })
    }

    fn ended() -> impl Strategy<Value = Ended> {
        let declared = prop_oneof![
            Just(Kind::Rejected),
            Just(Kind::Transient),
            Just(Kind::Throttled),
            Just(Kind::UnknownOutcome),
            Just(Kind::Fatal),
        ];
        prop_oneof![
            Just(Ended::Replied(Output { data: "{}".into(), ..Output::default() })),
            declared.prop_map(|kind| Ended::Declared(Failure::new(kind, "X", "x"))),
            Just(Ended::Trapped("unreachable".into())),
            Just(Ended::BadOutput("no".into())),
            Just(Ended::Limit(time())),
            Just(Ended::Limit(Limit::Fuel(1))),
            Just(Ended::LeftAlone { wait: None, log: "http://127.0.0.1".into() }),
            Just(Ended::NoRoom("all slots are taken".into())),
            Just(Ended::StoreFailed("full".into())),
            Just(Ended::Drifted("other".into())),
            Just(Ended::Withdrawn),
            Just(Ended::Interrupted),
        ]
    }

    fn time() -> Limit {
        Limit::Time(AttemptTime { time: Duration::from_secs(1), says: Says::Limits })
    }

    proptest! {
        #[test]
        fn nothing_runs_again_after_an_effect_that_must_happen_once(
            ended in ended(),
            effects in prop::collection::vec(effect(), 0..5),
        ) {
            let verdict = classify(ended, &effects);
            let once = effects.iter().any(|effect| {
                effect.repeat == Repeat::Once && matches!(effect.state, EffectState::Open | EffectState::Done)
            });
            prop_assert!(!(once && verdict.rearms()));
        }

        #[test]
        fn the_host_retries_nothing_after_an_effect_that_must_happen_once_and_nothing_that_judged(
            ended in ended(),
            effects in prop::collection::vec(effect(), 0..5),
        ) {
            let again = may_be_retried(&ended, &effects);
            prop_assert!(!(again && Left::by(&effects).once));
            let passes = matches!(&ended, Ended::Limit(Limit::Time(_)) | Ended::NoRoom(_));
            let declared = matches!(&ended, Ended::Declared(failure)
                if failure.kind.retryable() || failure.kind == Kind::UnknownOutcome);
            let retried = passes || declared;
            prop_assert!(retried || !again);
        }

        #[test]
        fn an_open_effect_is_never_passed_over(ended in ended(), effects in prop::collection::vec(effect(), 0..5)) {
            let open = Left::by(&effects).open;
            let verdict = classify(ended, &effects);
            if open {
                let unknown = matches!(verdict, Verdict::Unknown { .. });
                prop_assert!(unknown);
            }
        }

        #[test]
        fn a_failure_that_left_something_done_is_partial(
            ended in ended(),
            effects in prop::collection::vec(effect(), 0..5),
        ) {
            let left = Left::by(&effects);
            let verdict = classify(ended, &effects);
            if let Verdict::Failed { .. } = verdict {
                prop_assert!(left.nothing());
            }
        }

        #[test]
        fn a_caller_is_told_not_to_repeat_exactly_what_its_key_gives_again_as_it_is(
            ended in ended(),
            effects in prop::collection::vec(effect(), 0..5),
        ) {
            let verdict = classify(ended, &effects);
            let state = RunState::Running.apply(verdict.event()).unwrap();
            let (action, rearms) = (Digest([1; 32]), verdict.rearms());
            let known = Known { action, state, rearms, orphaned: false, expired: false, guarded: true };
            let again = known.answer(action);
            let Some(failure) = verdict.under(Some("k1")).failure().cloned() else {
                prop_assert_eq!(again, Answer::Replay);
                return Ok(());
            };
            let told = failure.to_json();
            let left = matches!(failure.kind, Kind::UnknownOutcome | Kind::Partial);
            let says = told["action"] == "do_not_repeat";
            prop_assert_eq!(says, left && again == Answer::Replay, "{}", told);
            prop_assert!(!failure.message.contains("do not repeat") || says, "{}", told);
            prop_assert_eq!(told["details"]["key"] == "k1", again == Answer::Rearm, "{}", told);
            prop_assert_eq!(told["action"] == "repeat_with_key", left && again == Answer::Rearm, "{}", told);
        }

        #[test]
        fn the_caller_never_sees_where_requests_went(
            ended in ended(),
            effects in prop::collection::vec(effect(), 0..5),
        ) {
            let verdict = classify(ended, &effects);
            let Some(failure) = verdict.failure() else { return Ok(()) };
            let text = failure.to_json().to_string();
            prop_assert!(!text.contains("127.0.0.1") && !text.contains("x=1"));
        }
    }

    #[test]
    fn a_trap_alone_fails_and_does_not_come_back() {
        let Verdict::Failed { failure, rearms } = classify(Ended::Trapped("at 0x12".into()), &[]) else {
            panic!("a trap without effects is a plain failure");
        };
        assert_eq!((&*failure.code, rearms), ("INTERNAL", false));
        assert!(!failure.message.contains("0x12"));
    }

    #[test]
    fn a_process_that_died_is_said_to_have_left_nothing_only_where_that_is_so() {
        let effect = |state| Effect {
            attempt: 1,
            ordinal: 1,
            repeat: Repeat::Once,
            method: "POST".into(),
            target: "http://x/mails".into(),
            request: Digest([1; 32]),
            key: None,
            state,
            status: None,
        };
        let told = |effects: &[Effect]| {
            let verdict = classify(Ended::Interrupted, effects);
            let failure = verdict.failure().expect("nobody replied");
            format!("{} {:?}", failure.message, failure.log)
        };
        assert!(told(&[]).contains("nothing was left behind"));
        for state in [EffectState::Open, EffectState::Done] {
            assert!(!told(&[effect(state)]).contains("nothing was left behind"), "{state:?}");
        }
    }

    #[test]
    fn what_was_done_before_the_process_died_may_be_repeated_where_repeating_changes_nothing() {
        let done = |repeat| Effect {
            attempt: 1,
            ordinal: 1,
            repeat,
            method: "POST".into(),
            target: "http://x/tickets".into(),
            request: Digest([1; 32]),
            key: (repeat == Repeat::Keyed).then(|| "k".into()),
            state: EffectState::Done,
            status: Some(201),
        };
        let interrupted = |effects: &[Effect]| classify(Ended::Interrupted, effects);
        let verdict = interrupted(&[done(Repeat::Keyed), done(Repeat::Idempotent)]);
        assert_eq!((verdict.event(), verdict.rearms()), (Event::Suspended(Reason::HalfDone), true));
        assert!(!interrupted(&[done(Repeat::Keyed), done(Repeat::Once)]).rearms());
        // Who saw that it was done and gave up all the same has judged.
        let gave_up = Ended::Declared(Failure::new(Kind::Transient, "X", "x"));
        assert!(!classify(gave_up, &[done(Repeat::Keyed)]).rearms());
    }

    #[test]
    fn a_keyed_effect_that_a_guest_doubts_may_be_asked_for_again() {
        let doubt = || Ended::Declared(Failure::new(Kind::UnknownOutcome, "ANSWER_BROKEN", "cut"));
        let open = |repeat| Effect {
            attempt: 1,
            ordinal: 1,
            repeat,
            method: "POST".into(),
            target: "http://x/tickets".into(),
            request: Digest([1; 32]),
            key: (repeat == Repeat::Keyed).then(|| "k".into()),
            state: EffectState::Open,
            status: None,
        };
        assert!(classify(doubt(), &[open(Repeat::Keyed)]).rearms());
        assert!(!classify(doubt(), &[open(Repeat::Once)]).rearms());
        assert!(!classify(doubt(), &[open(Repeat::Keyed), open(Repeat::Once)]).rearms());
        assert!(!classify(doubt(), &[]).rearms());
    }

    #[test]
    fn a_call_that_found_no_room_is_told_when_to_come_back_and_may() {
        let Verdict::Failed { failure, rearms } = classify(Ended::NoRoom("60 memories".into()), &[]) else {
            panic!("nothing was begun");
        };
        assert_eq!((failure.kind, &*failure.code, rearms), (Kind::Throttled, "OVERLOADED", true));
        assert!(failure.retry_after > Duration::ZERO && !failure.message.contains("60"));
    }

    #[test]
    fn time_running_out_with_nothing_left_behind_may_pass() {
        assert!(classify(Ended::Limit(time()), &[]).rearms());
        assert!(!classify(Ended::Limit(Limit::Fuel(1)), &[]).rearms());
    }
}
