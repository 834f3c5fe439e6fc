//! Whatever happens to runs, in any order and with any clock, budgets know to the last millionth what was spent and is held.

use std::collections::BTreeMap;

use airlock::model::budget::{Budget, Day, Hold, Sums};
use airlock::model::clock::Timestamp;
use airlock::model::id::{CallerName, ProcessId, RunId, UserName};
use airlock::model::reply::Usage;
use airlock::model::run::Lease;
use airlock::model::staged::Staged;
use airlock::model::state::{Event, Reason, RunState};
use airlock::store::{
    Charge, End, Journal as _, Ledger as _, Reserved, Rest, Rested, SqliteStore, Take, Taken,
};
use proptest::prelude::*;

use super::super::call::NOON;
use super::runs::{attempt, end, in_memory, run, spent, store};
use super::sums_of;

/// What happens to a store of runs, at random.
#[derive(Debug, Clone)]
enum Happens {
    /// A call begins for one of these, and holds so much.
    Begins { who: usize, micros: u64 },
    /// One that is under way ends so, and has spent this share of what it could.
    Ends { which: usize, event: Event, share: u64 },
    /// One that is under way waits for its next attempt, and holds on or not.
    Rests { which: usize, share: u64, holds: bool },
    /// One that was suspended is tried again.
    Again { which: usize },
    /// One that is under way is taken over from a process that died, and closed.
    Dies { which: usize },
    /// Time goes on, or back, by so many hours.
    Time { hours: i64 },
}

fn happens() -> impl Strategy<Value = Happens> {
    let event =
        prop_oneof![Just(Event::Completed), Just(Event::Failed), Just(Event::Suspended(Reason::Unknown))];
    let which = 0usize..8;
    prop_oneof![
        4 => (0usize..4, 0u64..60).prop_map(|(who, micros)| Happens::Begins { who, micros }),
        3 => (which.clone(), event, 0u64..=100).prop_map(|(which, event, share)| Happens::Ends { which, event, share }),
        2 => (which.clone(), 0u64..=100, any::<bool>()).prop_map(|(which, share, holds)| Happens::Rests { which, share, holds }),
        2 => which.clone().prop_map(|which| Happens::Again { which }),
        1 => which.prop_map(|which| Happens::Dies { which }),
        1 => (-3i64..=14).prop_map(|hours| Happens::Time { hours }),
    ]
}

const WHO: [(&str, Option<&str>); 4] =
    [("bot", None), ("bot", Some("ada")), ("bot", Some("eve")), ("other", None)];

/// What may be spent in a day, by all, by a caller and by a user.
const DAYS: [Option<u64>; 3] = [Some(150), Some(120), Some(70)];

/// A run as the test knows it.
#[derive(Debug)]
struct Known {
    who: usize,
    lease: Lease,
    attempt: u32,
    /// What it holds, and on which day.
    held: u64,
    day: Day,
    waits: bool,
}

/// What the test keeps beside the store.
struct Books {
    store: SqliteStore,
    now: Timestamp,
    begun: u32,
    under_way: Vec<Known>,
    suspended: Vec<Known>,
    spent: BTreeMap<(Day, Budget), u64>,
}

impl Books {
    fn budgets(who: usize) -> Vec<Budget> {
        let (caller, user) = (CallerName(WHO[who].0.to_owned()), WHO[who].1);
        let user = user.map(|user| user.parse::<UserName>().unwrap());
        let user = user.map(|user| Budget::User(caller.clone(), user));
        [Budget::All, Budget::Caller(caller)].into_iter().chain(user).collect()
    }

    fn sums(&self, day: Day, budget: &Budget) -> Sums {
        let all =
            self.under_way.iter().filter(|one| one.day == day && Self::budgets(one.who).contains(budget));
        let spent = self.spent.get(&(day, budget.clone())).copied().unwrap_or_default();
        sums_of(spent, all.map(|one| one.held).sum())
    }

    fn fits(&self, who: usize, micros: u64) -> bool {
        let day = Day::of(self.now);
        Self::budgets(who).iter().zip(DAYS).all(|(budget, limit)| {
            let Sums { spent, held } = self.sums(day, budget);
            spent + held + micros <= limit.unwrap()
        })
    }

    fn spend(&mut self, who: usize, day: Day, micros: u64) {
        for budget in Self::budgets(who) {
            *self.spent.entry((day, budget)).or_default() += micros;
        }
    }

    async fn begins(&mut self, who: usize, micros: u64) {
        self.begun += 1;
        let hold = Some(Hold { micros, days: DAYS });
        let fits = self.fits(who, micros);
        let day = Day::of(self.now);
        match self.store.reserve(run(self.begun, WHO[who], hold, self.now)).await.unwrap() {
            Reserved::Won(lease) => {
                assert!(fits, "{micros} were granted and do not fit");
                self.under_way.push(Known { who, lease, attempt: 1, held: micros, day, waits: false });
            }
            Reserved::Short(short) => assert!(!fits, "{micros} were refused and fit: {short:?}"),
            Reserved::Lost => panic!("each has a key of its own"),
        }
    }

    async fn ends(&mut self, mut known: Known, event: Event, share: u64) {
        if known.waits {
            // It could only be withdrawn: nothing is spent while it waits.
            return self.under_way.push(known);
        }
        let micros = known.held * share / 100;
        let day = if known.held > 0 { known.day } else { Day::of(self.now) };
        assert!(self.store.settle(known.lease, end(known.attempt, event, micros, self.now)).await.unwrap());
        self.spend(known.who, day, micros);
        known.lease.number += 1;
        known.held = 0;
        if event != Event::Completed {
            self.suspended.push(known);
        }
    }

    async fn rests(&mut self, mut known: Known, share: u64, holds: bool) {
        if !known.waits {
            let micros = known.held * share / 100;
            let rest = Rest {
                attempt: known.attempt,
                word: "NOT_NOW".to_owned(),
                usage: Usage::default(),
                log: String::new(),
                outcomes: Vec::new(),
                staged: spent(known.attempt, micros),
                reports: None,
                holds,
                wakes: self.now,
                at: self.now,
            };
            let Ok(Rested::Waits(lease)) = self.store.rest(known.lease, rest).await else {
                panic!("its lease")
            };
            let day = if known.held > 0 { known.day } else { Day::of(self.now) };
            self.spend(known.who, day, micros);
            known.lease = lease;
            known.held = if holds { known.held - micros } else { 0 };
            known.waits = true;
        } else if self.take(&mut known, Event::Retried, None).await {
            known.waits = false;
        }
        self.under_way.push(known);
    }

    /// Takes a run for its next attempt; `false` where a budget does not allow that.
    async fn take(&self, known: &mut Known, event: Event, hold: Option<u64>) -> bool {
        let take = Take {
            background: None,
            lease: known.lease,
            event,
            state: RunState::Running,
            by: None,
            owner: ProcessId([1; 16]),
            at: self.now,
            attempt: Some(attempt(known.attempt + 1, self.now)),
            charge: Charge { hold: hold.map(|micros| Hold { micros, days: DAYS }), model: None },
        };
        match self.store.take(take).await.unwrap() {
            Taken::Held(lease) => {
                known.lease = lease;
                known.attempt += 1;
                true
            }
            Taken::Short(_) => false,
            Taken::Lost => panic!("the lease is held"),
        }
    }

    async fn again(&mut self, mut known: Known) {
        let (asked, fits) = (30, self.fits(known.who, 30));
        assert_eq!(self.take(&mut known, Event::Rearmed, Some(asked)).await, fits);
        if fits {
            self.under_way.push(Known { held: asked, day: Day::of(self.now), waits: false, ..known });
        } else {
            self.suspended.push(known);
        }
    }

    async fn dies(&mut self, mut known: Known) {
        let take = Take {
            background: None,
            lease: known.lease,
            event: Event::Adopted,
            state: RunState::Running,
            by: None,
            owner: ProcessId([2; 16]),
            at: self.now,
            attempt: None,
            charge: Charge::default(),
        };
        let Ok(Taken::Held(lease)) = self.store.take(take).await else { panic!("the lease is held") };
        let ended = End { staged: Staged::default(), ..end(known.attempt, Event::Failed, 0, self.now) };
        assert!(self.store.settle(lease, ended.clone()).await.unwrap());
        assert!(!self.store.settle(lease, ended).await.unwrap(), "it is given back once");
        known.lease = Lease { number: lease.number + 1, ..lease };
        known.held = 0;
        known.waits = false;
        self.suspended.push(known);
    }

    async fn happens(&mut self, what: Happens) {
        let pick = |list: &mut Vec<Known>, which: usize| {
            let which = which.checked_rem(list.len())?;
            Some(list.swap_remove(which))
        };
        match what {
            Happens::Begins { who, micros } => self.begins(who, micros).await,
            Happens::Ends { which, event, share } => {
                if let Some(known) = pick(&mut self.under_way, which) {
                    self.ends(known, event, share).await;
                }
            }
            Happens::Rests { which, share, holds } => {
                if let Some(known) = pick(&mut self.under_way, which) {
                    self.rests(known, share, holds).await;
                }
            }
            Happens::Again { which } => {
                if let Some(known) = pick(&mut self.suspended, which) {
                    self.again(known).await;
                }
            }
            Happens::Dies { which } => {
                if let Some(known) = pick(&mut self.under_way, which) {
                    self.dies(known).await;
                }
            }
            Happens::Time { hours } => self.now = Timestamp(self.now.0 + hours * 3_600_000),
        }
    }

    /// Holds the store against what the test knows, budget by budget and day by day.
    fn balance(&self) {
        let days = self.spent.keys().map(|(day, _)| *day).chain(self.under_way.iter().map(|one| one.day));
        for day in days.chain([Day::of(self.now)]) {
            let stored: BTreeMap<Budget, Sums> = self.store.budgets(day).unwrap().into_iter().collect();
            for budget in (0..WHO.len()).flat_map(Self::budgets) {
                let known = stored.get(&budget).copied().unwrap_or_default();
                assert_eq!(known, self.sums(day, &budget), "{day}, {budget}");
            }
        }
        let all = self.store.costs(RunId::from_bytes([0; 16]), None).unwrap();
        let spent = self.spent.iter().filter(|((_, budget), _)| *budget == Budget::All);
        assert_eq!(all.micros, spent.map(|(_, micros)| micros).sum::<u64>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_runs_the_books_balance_to_the_last_millionth(all in prop::collection::vec(happens(), 1..60)) {
        let folder = in_memory();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut books = Books {
                store: store(&folder.path().join("state"), 1),
                now: NOON,
                begun: 0,
                under_way: Vec::new(),
                suspended: Vec::new(),
                spent: BTreeMap::new(),
            };
            for what in all {
                books.happens(what).await;
                books.balance();
            }
        });
    }
}
