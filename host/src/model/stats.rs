//! How calls went, tool by tool: how many, how they ended, how long they took, what they cost.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::Serialize;

use super::caller::ToolPattern;
use super::id::ToolName;
use super::state::{RunState, Standing};

/// Codes of one tool that are counted apart: tools choose their codes, and a list of them is for people.
const CODES: usize = 50;

/// Where the codes beyond that are counted.
pub const OTHERS: &str = "others";

/// One call of a tool, as the journal has it.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Where its run stands.
    pub state: RunState,
    /// The code of its error, where it has one.
    pub code: Option<&'a str>,
    /// Attempts begun.
    pub attempts: u32,
    /// What it cost, in millionths of the budget's currency.
    pub cost: u64,
    /// From its beginning to its end, where it has ended.
    pub took: Option<Duration>,
}

/// Calls that are being counted.
#[derive(Debug)]
pub struct Count {
    pattern: ToolPattern,
    /// None for a tool that is not meant.
    tools: HashMap<String, Option<Tally>>,
}

/// The calls of one tool.
#[derive(Debug, Default)]
struct Tally {
    ok: u64,
    running: u64,
    refused: u64,
    codes: HashMap<String, u64>,
    failed: u64,
    attempts: u64,
    cost: u64,
    took: Durations,
}

/// How the calls of one tool went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolStats {
    /// The tool.
    pub tool: String,
    /// All calls.
    pub calls: u64,
    /// Those that did what was asked.
    pub ok: u64,
    /// Those that did not, and those that wait for a person.
    pub failed: u64,
    /// Those that were refused before anything was run.
    pub refused: u64,
    /// Those that have not ended.
    pub running: u64,
    /// Of those that were run and have ended, the part that did what was asked; none where none has.
    pub success_rate: Option<f64>,
    /// How long those that ended took.
    pub duration_ms: Percentiles,
    /// Attempts begun.
    pub attempts: u64,
    /// Attempts for each call that was run.
    pub attempts_per_call: f64,
    /// What they cost, in millionths of the budget's currency.
    pub cost_micros: u64,
    /// Why calls failed, the most frequent first.
    pub failures: Vec<Failures>,
}

/// How often a code was the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failures {
    /// The code.
    pub code: String,
    /// How often.
    pub calls: u64,
}

/// The duration that so many of a hundred calls kept within; none where no call has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// Half of them.
    pub p50: Option<u64>,
    /// Ninety-five.
    pub p95: Option<u64>,
    /// Ninety-nine.
    pub p99: Option<u64>,
}

impl Count {
    /// Counts the calls of tools that are meant.
    pub fn of(pattern: ToolPattern) -> Self {
        Self { pattern, tools: HashMap::new() }
    }

    /// Counts one call.
    pub fn add(&mut self, call: Counted<'_>) {
        if let Some(tally) = self.tally(call.tool) {
            tally.add(call);
        }
    }

    /// Counts calls that were refused with one code before they had a run.
    pub fn refused(&mut self, tool: &str, code: &str, calls: u64) {
        if let Some(tally) = self.tally(tool) {
            tally.refused += calls;
            tally.end(code, calls);
        }
    }

    /// Where the calls of a tool are counted; none where it is not meant, or is the name of no tool.
    fn tally(&mut self, tool: &str) -> Option<&mut Tally> {
        if !self.tools.contains_key(tool) {
            let meant = tool.parse::<ToolName>().is_ok_and(|tool| self.pattern.matches(&tool));
            self.tools.insert(tool.to_owned(), meant.then(Tally::default));
        }
        self.tools.get_mut(tool)?.as_mut()
    }

    /// How the calls went, in the order of the tools' names.
    pub fn stats(self) -> Vec<ToolStats> {
        let tools = self.tools.into_iter().filter_map(|(tool, tally)| Some(tally?.stats(tool)));
        let mut tools: Vec<ToolStats> = tools.collect();
        tools.sort_by(|one, other| one.tool.cmp(&other.tool));
        tools
    }
}

impl Tally {
    fn add(&mut self, call: Counted<'_>) {
        self.attempts += u64::from(call.attempts);
        self.cost = self.cost.saturating_add(call.cost);
        match call.state.standing() {
            Standing::Running => self.running += 1,
            // That it was taken back does not tell how it went.
            Standing::Completed | Standing::RolledBack => self.ok += 1,
            Standing::Failed | Standing::Suspended => self.fail(call.code.unwrap_or(OTHERS)),
        }
        if let Some(took) = call.took {
            self.took.add(took);
        }
    }

    fn fail(&mut self, code: &str) {
        self.failed += 1;
        self.end(code, 1);
    }

    fn end(&mut self, code: &str, calls: u64) {
        let code = if self.codes.len() < CODES || self.codes.contains_key(code) { code } else { OTHERS };
        match self.codes.get_mut(code) {
            Some(all) => *all += calls,
            None => {
                self.codes.insert(code.to_owned(), calls);
            }
        }
    }

    fn stats(self, tool: String) -> ToolStats {
        let ended = self.ok + self.failed;
        let run = ended + self.running;
        let mut failures: Vec<Failures> =
            self.codes.into_iter().map(|(code, calls)| Failures { code, calls }).collect();
        failures.sort_by(|one, other| other.calls.cmp(&one.calls).then_with(|| one.code.cmp(&other.code)));
        ToolStats {
            tool,
            calls: run + self.refused,
            ok: self.ok,
            failed: self.failed,
            refused: self.refused,
            running: self.running,
            success_rate: part(self.ok, ended),
            duration_ms: Percentiles {
                p50: self.took.within(50),
                p95: self.took.within(95),
                p99: self.took.within(99),
            },
            attempts: self.attempts,
            attempts_per_call: part(self.attempts, run).unwrap_or_default(),
            cost_micros: self.cost,
            failures,
        }
    }
}

/// A part of a whole, to four places; none of nothing.
#[expect(clippy::cast_precision_loss, reason = "nobody counts beyond 2^53 calls")]
fn part(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 10_000.0).round() / 10_000.0)
}

/// Durations in milliseconds to three digits, each with how often: room that does not grow with the calls.
#[derive(Debug, Default)]
struct Durations {
    counts: BTreeMap<u64, u64>,
    all: u64,
}

impl Durations {
    fn add(&mut self, took: Duration) {
        *self.counts.entry(rounded(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))).or_default() += 1;
        self.all += 1;
    }

    /// The duration that so many of a hundred kept within.
    fn within(&self, of_hundred: u64) -> Option<u64> {
        let rank = (self.all * of_hundred).div_ceil(100);
        let mut passed = 0;
        self.counts.iter().find_map(|(took, calls)| {
            passed += calls;
            (passed >= rank && rank > 0).then_some(*took)
        })
    }
}

/// The number with all but its first three digits made nothing.
fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(2));
    number / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(state: RunState, code: Option<&str>, millis: Option<u64>) -> Counted<'_> {
        let took = millis.map(Duration::from_millis);
        Counted { tool: "desk.find", state, code, attempts: 2, cost: 5, took }
    }

    #[test]
    fn calls_are_counted_by_how_they_ended() {
        let mut count = Count::of(ToolPattern::every());
        for _ in 0..3 {
            count.add(call(RunState::Completed, None, Some(10)));
        }
        count.add(call(RunState::Failed, Some("NO_ORDER"), Some(30)));
        count.add(call(RunState::Running, None, None));
        let stats = count.stats();
        assert_eq!((stats[0].calls, stats[0].ok, stats[0].failed, stats[0].running), (5, 3, 1, 1));
        assert_eq!((stats[0].success_rate, stats[0].attempts_per_call), (Some(0.75), 2.0));
        assert_eq!((stats[0].attempts, stats[0].cost_micros), (10, 25));
        assert_eq!(stats[0].duration_ms, Percentiles { p50: Some(10), p95: Some(30), p99: Some(30) });
        assert_eq!(stats[0].failures, [Failures { code: "NO_ORDER".to_owned(), calls: 1 }]);
    }

    #[test]
    fn tools_that_are_not_meant_are_left_out() {
        let mut count = Count::of(ToolPattern::parse("calc.*").unwrap());
        count.add(call(RunState::Completed, None, Some(10)));
        assert!(count.stats().is_empty());
    }

    #[test]
    fn codes_beyond_the_most_are_counted_together() {
        let mut count = Count::of(ToolPattern::every());
        for code in 0..CODES + 7 {
            count.add(call(RunState::Failed, Some(&format!("CODE_{code}")), None));
        }
        let stats = count.stats();
        assert_eq!(stats[0].failures[0], Failures { code: OTHERS.to_owned(), calls: 7 });
        assert_eq!(stats[0].failures.len(), CODES + 1);
        assert_eq!(stats[0].duration_ms, Percentiles::default());
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_list_to_three_digits(
            mut took in prop::collection::vec(0_u64..10_000_000, 1..200),
            of_hundred in 1_u64..=100,
        ) {
            let mut durations = Durations::default();
            took.iter().for_each(|millis| durations.add(Duration::from_millis(*millis)));
            took.sort_unstable();
            let rank = (took.len() as u64 * of_hundred).div_ceil(100);
            let exact = took[usize::try_from(rank).unwrap() - 1];
            let told = durations.within(of_hundred).unwrap();
            prop_assert!(told <= exact && exact - told <= exact / 100, "{told} for {exact}");
        }
    }
}
