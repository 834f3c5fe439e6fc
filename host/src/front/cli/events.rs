//! What happened to a run, in words for people.

use crate::model::probe::Finding;
use crate::model::state::Event;

/// An event as people read it.
pub(super) fn in_words(event: &str) -> &str {
    if event == Event::Rearmed.word() {
        "asked for again with its key"
    } else if event == Event::Adopted.word() {
        "taken over from a process that is gone"
    } else if event == Event::RollbackBegan.word() {
        "to be taken back"
    } else if event == Event::BackedOff.word() {
        "failed, and is to be tried again"
    } else if event == Event::Retried.word() {
        "tried again"
    } else if event == Event::Queued.word() {
        "left to the background"
    } else if event == Event::Driven.word() {
        "taken up in the background"
    } else if event == Event::TimedOut.word() {
        "its time was over"
    } else {
        match Finding::of_event(event) {
            Some(finding) => found(finding),
            None => event,
        }
    }
}

/// What came of asking a plugin what became of a call, as people read it.
pub(super) fn found(finding: Finding) -> &'static str {
    match finding {
        Finding::Happened => "its plugin was asked: it happened",
        Finding::DidNot => "its plugin was asked: it did not happen",
        Finding::Unknown => "its plugin was asked: nobody can tell",
        Finding::NoAnswer => "its plugin was asked, and gave no answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    #[test]
    fn what_happened_is_told_in_words() {
        let events = [
            Event::Rearmed,
            Event::Adopted,
            Event::RollbackBegan,
            Event::BackedOff,
            Event::Retried,
            Event::Queued,
            Event::Driven,
            Event::TimedOut,
        ]
        .map(Event::word);
        let findings = [Finding::Happened, Finding::DidNot, Finding::Unknown, Finding::NoAnswer];
        let findings = findings.map(|finding| Event::Probed(finding).word());
        let told: Vec<String> =
            events.iter().chain(&findings).map(|event| format!("{event}: {}", in_words(event))).collect();
        assert_snapshot!(told.join("\n"), @"
        rearmed: asked for again with its key
        adopted: taken over from a process that is gone
        rolling_back: to be taken back
        backed_off: failed, and is to be tried again
        retried: tried again
        queued: left to the background
        driven: taken up in the background
        timed_out: its time was over
        probed: happened: its plugin was asked: it happened
        probed: did-not: its plugin was asked: it did not happen
        probed: unknown: its plugin was asked: nobody can tell
        probed: no answer: its plugin was asked, and gave no answer
        ");
        assert_eq!(in_words("completed"), "completed");
    }
}
