//! Whether a conversation goes round in circles: the same calls with the same replies, again and again.

use std::collections::VecDeque;
use std::fmt;

use serde::Serialize;

/// How many calls of a conversation are remembered.
pub const REMEMBERED: usize = 32;

/// The longest circle that is looked for, in calls.
const LONGEST: usize = 4;

/// The most rounds that are seen of the longest circle, within what is remembered.
pub const MOST_ROUNDS: usize = REMEMBERED / LONGEST;

/// From which round on a circle is told, and in which one it ends; none where it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopLimits {
    /// From this round on the reply says so.
    pub warn: Option<usize>,
    /// The call that would complete this round is refused.
    pub refuse: Option<usize>,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self { warn: Some(3), refuse: Some(MOST_ROUNDS) }
    }
}

/// A call as a circle sees it: what was asked, and what was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Tool and input.
    pub action: u64,
    /// The reply, apart from what differs each time.
    pub reply: u64,
}

/// The last calls of one conversation, the latest last.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    turns: VecDeque<Turn>,
}

/// How often a call has gone the same round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rounds {
    /// How often, the last time included.
    #[serde(rename = "rounds")]
    pub times: usize,
    /// How many calls make up one.
    pub calls: usize,
}

impl fmt::Display for Rounds {
    /// What a model is told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { times, calls } = self;
        match calls {
            1 => write!(f, "This call has now given the same reply {times} times in a row")?,
            _ => write!(f, "The last {calls} calls have now given the same replies {times} times in a row")?,
        }
        f.write_str(
            ": once more gives nothing new. Try another way: other input, another tool, or ask the user.",
        )
    }
}

impl Turns {
    /// How often this call would have gone the same round, were its reply the one that it got before. Where circles of
    /// several lengths fit, the one that has gone round most often counts.
    pub fn coming(&self, action: u64) -> Rounds {
        let expected =
            |calls: usize| self.turns.len().checked_sub(calls).and_then(|place| self.turns.get(place));
        let circles = (1..=LONGEST).filter_map(|calls| {
            let turn = expected(calls).filter(|turn| turn.action == action)?;
            Some(Rounds { times: self.round(*turn, calls), calls })
        });
        most(circles)
    }

    /// Takes a call and its reply down, and says how often they have gone the same round.
    pub fn add(&mut self, turn: Turn) -> Rounds {
        let rounds = most((1..=LONGEST).map(|calls| Rounds { times: self.round(turn, calls), calls }));
        if self.turns.len() == REMEMBERED {
            self.turns.pop_front();
        }
        self.turns.push_back(turn);
        rounds
    }

    /// Takes down a call that was refused for going round: the refusal itself ends no circle.
    pub fn add_refused(&mut self, action: u64, rounds: Rounds) {
        let before =
            self.turns.len().checked_sub(rounds.calls).and_then(|place| self.turns.get(place)).copied();
        self.add(before.unwrap_or(Turn { action, reply: 0 }));
    }

    /// How many whole circles of this length end with `last`, itself included.
    fn round(&self, last: Turn, calls: usize) -> usize {
        let latest = std::iter::once(last).chain(self.turns.iter().rev().copied());
        let earlier = latest.clone().skip(calls);
        let equal = latest.zip(earlier).take_while(|(one, before)| one == before).count();
        // So many calls equal the one a circle before them; the first circle has none before it.
        equal / calls + 1
    }
}

fn most(circles: impl Iterator<Item = Rounds>) -> Rounds {
    circles
        .max_by_key(|rounds| (rounds.times, std::cmp::Reverse(rounds.calls)))
        .unwrap_or(Rounds { times: 1, calls: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(turns: &mut Turns, calls: &[(u64, u64)]) -> Vec<usize> {
        calls.iter().map(|&(action, reply)| turns.add(Turn { action, reply }).times).collect()
    }

    #[test]
    fn the_same_call_with_the_same_reply_goes_round() {
        let mut turns = Turns::default();
        assert_eq!(said(&mut turns, &[(1, 1); 5]), [1, 2, 3, 4, 5]);
        assert_eq!(turns.coming(1).times, 6);
        assert_eq!(turns.coming(2).times, 1);
    }

    #[test]
    fn a_reply_that_changes_is_progress() {
        let mut turns = Turns::default();
        let changing: Vec<_> = (0..32).map(|reply| (1, reply)).collect();
        assert!(said(&mut turns, &changing).iter().all(|times| *times == 1));
    }

    #[test]
    fn a_refusal_for_going_round_does_not_end_the_circle() {
        let mut turns = Turns::default();
        said(&mut turns, &[(1, 1); 7]);
        for times in 8..20 {
            let rounds = turns.coming(1);
            assert_eq!(rounds.times, times);
            turns.add_refused(1, rounds);
        }
    }

    #[test]
    fn another_call_ends_the_circle() {
        let mut turns = Turns::default();
        said(&mut turns, &[(1, 1); 7]);
        said(&mut turns, &[(2, 2)]);
        assert_eq!(said(&mut turns, &[(1, 1)]), [1]);
    }

    proptest! {
        #[test]
        fn circles_of_one_to_four_calls_are_seen(calls in 1_usize..=4, times in 1_usize..=8) {
            let mut turns = Turns::default();
            let mut rounds = Rounds { times: 0, calls: 0 };
            for call in 0..calls * times {
                let one = (call % calls) as u64;
                rounds = turns.add(Turn { action: one, reply: one });
            }
            prop_assert_eq!(rounds, Rounds { times, calls: if times == 1 { 1 } else { calls } });
        }

        #[test]
        fn calls_that_never_come_back_are_no_circle(replies in prop::collection::vec(any::<u64>(), 0..100)) {
            let mut turns = Turns::default();
            for (action, reply) in replies.into_iter().enumerate() {
                let action = action as u64;
                prop_assert_eq!(turns.coming(action).times, 1);
                prop_assert_eq!(turns.add(Turn { action, reply }).times, 1);
            }
        }
    }
}
