//! Budgets: what calls may cost is held before they begin and settled when they end, to the last millionth.

mod books;
mod configured;
mod holds;
mod models;
mod random;
mod refusals;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use airlock::host::{Host, Request, Seams};
use airlock::model::budget::Sums;
use airlock::model::reply::Reply;
use airlock_tests::guests::NOTEBOOK;
use airlock_tests::world::{SetClock, World, keyed, request};
use serde_json::json;

use super::call::{NOON, once};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long the day lasts from the moment at which these tests begin, at eight in the morning.
const REST_OF_DAY: Duration = Duration::from_secs(16 * 3600);

/// A world with the notebook, whose tool `priced` costs 500 millionths at most, and a clock that stands.
fn world(lines: &str) -> World {
    World::in_memory().with_plugins(&[NOTEBOOK]).with_config(&once(lines))
}

async fn open(world: &World) -> (Host, Arc<SetClock>) {
    let clock = SetClock::at(NOON);
    (open_at(world, &clock).await, clock)
}

async fn open_at(world: &World, clock: &Arc<SetClock>) -> Host {
    let seams = Seams::system(&world.config()).unwrap();
    world.open_with(Seams { clock: Arc::clone(clock) as _, ..seams }).await
}

/// A call that spends so much.
fn spends(tool: &str, micros: u64) -> Request {
    request(tool, &json!({ "lines": [format!("spend {micros} tea")] }))
}

fn spends_keyed(tool: &str, micros: u64, key: &str) -> Request {
    keyed(tool, &json!({ "lines": [format!("spend {micros} tea")] }), key)
}

/// What the guest was given, a line each.
fn answers(reply: &Reply) -> Vec<String> {
    let body = airlock_tests::world::body(reply);
    let answers = body["answers"].as_array().unwrap_or_else(|| panic!("{body}"));
    answers.iter().map(|answer| answer.as_str().unwrap().to_owned()).collect()
}

/// What is spent and held today of the budget of that name.
fn sums(host: &Host, budget: &str) -> Sums {
    let spent = host.costs(DAY, None).unwrap();
    let found = spent.budgets.iter().find(|one| one.budget == budget);
    found.unwrap_or_else(|| panic!("{budget} is none of {:?}", spent.budgets)).sums
}

fn sums_of(spent: u64, held: u64) -> Sums {
    Sums { spent, held }
}
