//! What comes after a storm: a last host drives what is left, and every key is asked for again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use airlock::host::{Host, Request};
use airlock::model::budget::{Budget, Day, Sums};
use airlock::model::clock::{Clock as _, SystemClock};
use airlock::model::id::{ProcessId, RunId};
use airlock::model::run::Record;
use airlock::store::sqlite::Durability;
use airlock::store::{Ledger as _, SqliteStore};
use serde_json::json;
use tokio::task::JoinSet;

use super::calls::{Book, Call, Does, Told};
use super::{Scene, caller};
use crate::backend::Counts;
use crate::world::{body, request};

/// How often what does not end yet is looked at again, and how long that takes in all: a minute.
const LOOKS: usize = 200;
const PAUSE: Duration = Duration::from_millis(300);

/// How many calls the last host makes at once.
const AT_ONCE: usize = 16;

/// The number of the process that only looks.
const WHO_LOOKS: u8 = 0xEE;

/// All runs there are.
const MOST_RUNS: u32 = u32::MAX >> 1;

/// What is known when all is over.
pub(super) struct Facts {
    pub(super) book: Book,
    /// What each key gives, twice.
    pub(super) last: BTreeMap<u64, (Told, Told)>,
    pub(super) counts: Counts,
    /// The files in the folder, with their texts.
    pub(super) files: BTreeMap<String, String>,
    /// What the plugin keeps under the mark of each call.
    pub(super) values: BTreeMap<u64, String>,
    pub(super) runs: Vec<Record>,
    pub(super) books: Books,
}

/// What the books say.
#[derive(Debug, Default)]
pub(super) struct Books {
    /// What all costs come to.
    pub(super) costs: u64,
    /// What is spent and held of each budget.
    pub(super) budgets: Vec<(Budget, Sums)>,
}

/// Recovers everything, and looks at what there is.
pub(super) async fn recover(scene: &Scene, book: Book) -> Facts {
    let began = Day::of(SystemClock::start().now());
    let host = scene.world.open().await;
    drive(&host).await;
    let keyed: Vec<Call> = book.calls.iter().filter(|call| call.key.is_some()).cloned().collect();
    let first = ask(&host, keyed.clone()).await;
    drive(&host).await;
    let mut second = ask(&host, keyed).await;
    let last = first.into_iter().filter_map(|(id, told)| Some((id, (told, second.remove(&id)?)))).collect();
    let values = values(&host, &book).await;
    host.close().await;
    scene.backend.wait_idle();
    let (runs, books) = stored(&scene.world.state(), began);
    Facts { last, counts: scene.backend.counts(), files: files(scene.lent.path()), values, runs, books, book }
}

/// Closes, drives and finds out what was left, until nothing is under way.
async fn drive(host: &Host) {
    host.close_abandoned().await.expect("the store can be used");
    for _ in 0..LOOKS {
        host.drive_due().await.expect("the store can be used");
        let runs = host.runs(None, MOST_RUNS).expect("the store can be read");
        if !runs.iter().any(|run| run.state.under_way()) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    host.find_out().await.expect("the store can be used");
}

/// What each key gives; what goes on under its key is asked for until it has ended.
async fn ask(host: &Host, calls: Vec<Call>) -> BTreeMap<u64, Told> {
    let (mut calls, mut told, mut asked) = (calls.into_iter(), BTreeMap::new(), JoinSet::new());
    loop {
        while asked.len() < AT_ONCE
            && let Some(call) = calls.next()
        {
            let host = host.clone();
            asked.spawn(async move { (call.id, ended(&host, &call).await) });
        }
        match asked.join_next().await {
            Some(one) => told.extend([one.expect("no task fails")]),
            None => return told,
        }
    }
}

async fn ended(host: &Host, call: &Call) -> Told {
    let asked = Request { background: false, ..caller::request(call) };
    let mut looks = LOOKS;
    loop {
        let reply = host.call(asked.clone()).await;
        let told = serde_json::to_string(&reply).ok().and_then(|reply| Told::read(&reply));
        let told = told.expect("a reply is JSON");
        looks -= 1;
        let waits =
            matches!(told.code(), "CIRCUIT_OPEN" | "OVERLOADED" | "STILL_RUNNING" | "ALREADY_RUNNING");
        if looks == 0 || !(waits || told.rearms()) {
            return told;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What is kept under the mark of each call that keeps a value.
async fn values(host: &Host, book: &Book) -> BTreeMap<u64, String> {
    let mut values = BTreeMap::new();
    for call in book.calls.iter().filter(|call| call.does == Does::KeepsValue) {
        let reply =
            host.call(request("notebook.read", &json!({ "lines": [format!("get {}", call.mark())] }))).await;
        if let Some(value) = body(&reply)["answers"][0].as_str().filter(|value| *value != "nothing") {
            values.insert(call.id, value.to_owned());
        }
    }
    values
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there").map_while(Result::ok);
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), text(entry.path()))).collect()
}

/// Every run, and the books of the day that it began in and of the one that it ended in.
fn stored(state: &Path, began: Day) -> (Vec<Record>, Books) {
    let store =
        SqliteStore::open(state, ProcessId([WHO_LOOKS; 16]), Durability::Full).expect("the store opens");
    let all = (RunId::from_bytes([0; 16]), RunId::from_bytes([0xff; 16]));
    let runs = store.runs(all, None, MOST_RUNS).expect("the store can be read");
    let runs = runs.iter().filter_map(|run| store.run(run.run).expect("the store can be read")).collect();
    let costs = store.costs(all.0, None).expect("the store can be read").micros;
    let mut days = vec![Day(began.0 - 1), began, Day::of(SystemClock::start().now())];
    days.dedup();
    let budgets = days.into_iter().flat_map(|day| store.budgets(day).expect("the store can be read"));
    (runs, Books { costs, budgets: budgets.collect() })
}
