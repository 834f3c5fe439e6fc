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

    fn name(&self) -> String {
        let Self { scenario, first, by, second, .. } = self;
        let then = second.map(|second| format!(", then {second}")).unwrap_or_default();
        format!("{}, {by:?}: {first}{then}", scenario.name)
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

/// The points of a scenario that nobody disturbs.
pub(super) fn undisturbed(scenario: Scenario) -> Vec<Point> {
    Trial::begin(scenario, Power::Stays).first(None).points
}

/// Every place where a scenario's process can be killed: its points, and three moments of each request.
pub(super) fn places(scenario: Scenario) -> Vec<Kill> {
    let moments = [Moment::BeforeWork, Moment::AfterWork, Moment::AfterHead];
    let sends = scenario.decision.is_none_or(|decision| decision.word == "again");
    let requests = scenario.requests.iter().filter(|_| sends);
    let by_backend = requests.flat_map(|request| moments.map(|moment| Kill::ByBackend(request, moment)));
    let points = undisturbed(scenario).into_iter().filter(|point| !sweeps(point) || scenario.requests == READS.requests);
    points.map(Kill::At).chain(by_backend).collect()
}

/// Kills a scenario everywhere, and then whoever goes on everywhere.
pub(super) fn matrix(scenario: Scenario, once: &[By], twice: &[By]) -> Vec<Tried> {
    let places = places(scenario);
    let cases = once.iter().flat_map(|by| {
        let case = |first: &Kill| Case { scenario, power: Power::Stays, first: *first, by: *by, second: None };
        places.iter().map(case).collect::<Vec<_>>()
    });
    let mut tried = run(&cases.collect::<Vec<_>>());
    let again = tried.iter().filter(|one| twice.contains(&one.case.by) && begins_a_state(one.case.first));
    let cases = again.flat_map(|one| {
        let seconds = one.since.iter().filter(|point| !sweeps(point) && **point != Point::Replied(2));
        seconds.map(|point| Case { second: Some(Kill::At(*point)), ..one.case })
    });
    tried.extend(run(&cases.collect::<Vec<_>>()));
    tried
}

/// Whether what a kill leaves differs from what the one before left: the state before a write is that after
/// the last, and of a backend's moments one is enough.
fn begins_a_state(kill: Kill) -> bool {
    match kill {
        Kill::At(point @ (Point::After(..) | Point::Replied(_))) => !sweeps(&point),
        Kill::ByBackend(_, moment) => moment == Moment::AfterWork,
        Kill::At(Point::Before(commit, n)) => n == 1 && matches!(commit, Commit::Reserve | Commit::Record),
        Kill::AroundSync { .. } => false,
    }
}

fn sweeps(point: &Point) -> bool {
    matches!(point, Point::Before(Commit::Sweep, _) | Point::After(Commit::Sweep, _))
}

/// Says how many crashes were survived; fails where one was not.
pub(super) fn survived(name: &str, tried: &[Tried]) {
    let faults = faults(tried);
    let crashes: u32 = tried.iter().map(|one| one.crashes).sum();
    let line = format!("crashes survived: {crashes} ({name})\n");
    // Past the capture of the test binary, which swallows what tests that pass print.
    let _ = std::io::stderr().write_all(line.as_bytes());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Everything that was found wrong, with the point where.
pub(super) fn faults(tried: &[Tried]) -> Vec<String> {
    let named = |one: &Tried| {
        let name = one.case.name();
        one.faults.iter().map(move |fault| format!("{name}: {fault}")).collect::<Vec<_>>()
    };
    tried.iter().flat_map(named).collect()
}

/// What became of each place that was killed once: one line a place.
pub(super) fn ends(tried: &[Tried], by: By) -> String {
    let once = tried.iter().filter(|one| one.case.second.is_none() && one.case.by == by);
    let lines = once.map(|one| format!("{:<24} {}", one.case.first.to_string(), one.line));
    lines.collect::<Vec<_>>().join("\n")
}
