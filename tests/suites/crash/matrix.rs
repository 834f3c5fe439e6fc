//! The matrix: every point of a scenario, whoever goes on, and every point of whoever goes on.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use airlock_tests::backend::Moment;
use airlock_tests::crash::{Commit, Point};

use super::judge::judge;
use super::scenario::{By, Kill, READS, Scenario};
use super::trial::{Power, Trial};

/// Trials that run side by side: each has one process at work, or two that come one after the other.
const SIDE_BY_SIDE: usize = 2;

/// One trial of the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) scenario: Scenario,
    pub(super) power: Power,
    pub(super) first: Kill,
    pub(super) by: By,
    /// Where whoever goes on is killed in its turn.
    pub(super) second: Option<Kill>,
}

/// What a trial came to.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) case: Case,
    pub(super) line: String,
    pub(super) faults: Vec<String>,
    pub(super) crashes: u32,
    /// The points that whoever went on has passed since the crash.
    pub(super) since: Vec<Point>,
}

impl Case {
    /// Lets processes die and the last one live, and judges what is left.
    pub(super) fn run(self) -> Tried {
        let mut trial = Trial::begin(self.scenario, self.power);
        let standby = (self.by == By::Standby).then(|| trial.stand_by(self.second));
        trial.first(Some(self.first));
        let said = trial.goes_on(standby, self.second);
        if self.second.is_some() {
            trial.goes_on(None, None);
        }
        let verdict = judge(&trial);
        let begins = if self.by == By::Standby { said.before_ready } else { 0 };
        Tried {
            case: self,
            line: verdict.line,
            faults: verdict.faults,
            crashes: trial.crashes,
            since: said.points[begins..].to_vec(),
        }
    }

    /// Where who is killed.
    pub(super) fn name(&self) -> String {
        let Self { scenario, first, by, second, .. } = self;
        let by = match by {
            By::NextStart => "next start",
            By::Standby => "standby",
        };
        let then = second.map(|second| format!(", then {second}")).unwrap_or_default();
        format!("{} ({by}) {first}{then}", scenario.name)
    }
}

impl Tried {
    /// Everything that was found wrong, with the point where.
    fn fault(&self) -> Option<String> {
        (!self.faults.is_empty()).then(|| format!("{}: {}", self.case.name(), self.faults.join("; ")))
    }
}

/// Runs trials side by side; what comes back is in their order.
pub(super) fn run(cases: &[Case]) -> Vec<Tried> {
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(case) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(place).map(|case| (place, case))
                } {
                    let one = case.1.run();
                    tried.lock().unwrap().push((case.0, one));
                }
            });
        }
    });
    let mut tried = tried.into_inner().unwrap();
    tried.sort_by_key(|(place, _)| *place);
    tried.into_iter().map(|(_, one)| one).collect()
}

/// The points of a scenario that nobody disturbs, each write's second behind its first.
pub(super) fn undisturbed(scenario: Scenario) -> Vec<Point> {
    in_order(&Trial::begin(scenario, Power::Stays).first(None).points)
}

/// Points in the order in which their writes were asked for, each write's second behind its first.
pub(super) fn in_order(passed: &[Point]) -> Vec<Point> {
    let mut points = passed.to_vec();
    points.sort_by_key(|point| {
        let asked = match *point {
            Point::After(commit, n) => Point::Before(commit, n),
            Point::Before(..) | Point::Replied(_) => *point,
        };
        (passed.iter().position(|one| *one == asked), *point)
    });
    points
}

/// Every place where a scenario's process can be killed: its points, and three moments of each request.
pub(super) fn places(scenario: Scenario) -> Vec<Kill> {
    let moments = [Moment::BeforeWork, Moment::AfterWork, Moment::AfterHead];
    let sends = scenario.decision.is_none_or(|decision| decision.word == "again");
    let requests = scenario.requests.iter().filter(|_| sends);
    let by_backend = requests.flat_map(|request| moments.map(|moment| Kill::ByBackend(request, moment)));
    let points = undisturbed(scenario)
        .into_iter()
        .filter(|point| !sweeps(point) || scenario.requests == READS.requests);
    points.map(Kill::At).chain(by_backend).collect()
}

/// Which second crashes follow a first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Twice {
    /// At every point of the next start, and after each commit of one that stood by.
    Everywhere,
    /// After each commit of the next start: before the next commit, the store is as it was.
    AfterCommits,
    /// Nowhere.
    Never,
}

/// Kills a scenario everywhere, and then whoever goes on.
pub(super) fn matrix(scenario: Scenario, by: &[By], twice: Twice) -> Vec<Tried> {
    let places = places(scenario);
    let cases = by.iter().flat_map(|by| {
        let case =
            |first: &Kill| Case { scenario, power: Power::Stays, first: *first, by: *by, second: None };
        places.iter().map(case).collect::<Vec<_>>()
    });
    let mut tried = run(&cases.collect::<Vec<_>>());
    let again: Vec<Case> = tried.iter().flat_map(|one| second_crashes(one, twice)).collect();
    tried.extend(run(&again));
    tried
}

/// The trials in which whoever went on is killed as well.
pub(super) fn second_crashes(one: &Tried, twice: Twice) -> Vec<Case> {
    let (before, after) = match one.case.by {
        _ if !begins_a_state(one.case.first, twice) => (false, false),
        By::NextStart => (twice == Twice::Everywhere, twice != Twice::Never),
        By::Standby => (false, twice == Twice::Everywhere),
    };
    let points = one.since.iter().filter(|point| match point {
        _ if sweeps(point) || **point == Point::Replied(2) => false,
        Point::Before(..) => before,
        Point::After(..) | Point::Replied(_) => after,
    });
    points.map(|point| Case { second: Some(Kill::At(*point)), ..one.case }).collect()
}

/// Whether what a kill leaves differs from what the kill before it left.
fn begins_a_state(kill: Kill, twice: Twice) -> bool {
    match kill {
        // An effect that was intended and then done is harder to tell from the store than one that was not.
        Kill::At(Point::After(Commit::Intend, _)) => twice == Twice::Everywhere,
        Kill::At(point @ Point::After(..)) => !sweeps(&point),
        Kill::At(Point::Replied(_)) => true,
        // Of a backend's moments one is enough, for the store knows none of them.
        Kill::ByBackend(_, moment) => moment == Moment::AfterWork,
        // The state before a write is that after the last, and at the beginning there is none.
        Kill::At(Point::Before(..)) | Kill::AroundSync { .. } => false,
    }
}

pub(super) fn sweeps(point: &Point) -> bool {
    matches!(point, Point::Before(Commit::Sweep, _) | Point::After(Commit::Sweep, _))
}

/// Says how many crashes were survived; fails where one was not.
pub(super) fn survived(name: &str, tried: &[Tried]) {
    let faults: Vec<String> = tried.iter().filter_map(Tried::fault).collect();
    let crashes: u32 = tried.iter().map(|one| one.crashes).sum();
    let line = format!("crashes survived: {crashes} ({name})\n");
    // Past the capture of the test binary, which swallows what tests that pass print.
    let _ = std::io::stderr().write_all(line.as_bytes());
    assert!(faults.is_empty(), "{} trials failed:\n{}", faults.len(), faults.join("\n"));
}

/// What became of each place that was killed once, a line each: the outcome of every attempt = what whoever asks
/// is told at last; how often each request was done.
pub(super) fn ends(tried: &[Tried], by: By) -> String {
    let once = tried.iter().filter(|one| one.case.second.is_none() && one.case.by == by);
    let lines = once.map(|one| format!("{:<28} {}", one.case.first.to_string(), one.line));
    lines.collect::<Vec<_>>().join("\n")
}
