//! P10: a process that was killed leaves a long journal and many open calls; the next one answers its first call at once.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use airlock::host::configuration;
use airlock::model::clock::{Clock as _, SystemClock};
use airlock::model::id::{ProcessId, RunId};
use airlock::model::manifest::Repeat;
use airlock::store::sqlite::Durability;
use airlock::store::{Journal as _, NewRun, SqliteStore};
use airlock_benches::figure::Figure;
use airlock_benches::place::TOKEN;
use airlock_benches::samples::micros;
use airlock_tests::world::{self, keyed};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::Bench;
use crate::ceiling::{end, new_run};

/// The first argument of the process that is killed; the configuration and how many calls it leaves of each sort follow.
pub(crate) const FILL: &str = "--fill";

/// The first argument of the process that comes after it; the configuration follows.
pub(crate) const FIRST: &str = "--first";

/// Seven rows each: run, step, payload, attempt, key and two events.
const ENDED: usize = 1_000_000 / 7;
const OPEN: usize = 10_000;

/// Writes that are under way at once.
const TOGETHER: usize = 1_000;

/// The process that dies.
const DEAD: ProcessId = ProcessId([3; 16]);

pub(crate) fn measure(bench: &Bench) {
    let (ended, open) = (bench.count(ENDED), bench.count(OPEN));
    let place = bench.place();
    let config = place.world.write_config();
    // What is compiled is kept from then on.
    first(&config);
    let empty = first(&config).0;
    let (mut child, mut told) = child(&[FILL, &path(&config), &ended.to_string(), &open.to_string()]);
    line(&mut told);
    child.kill().and_then(|()| child.wait()).expect("the child is ours");
    let (called, closed) = first(&config);
    Figure::new("P10", format!("a process to its first call, {open} calls left open"), millis(called), "ms")
        .at_most(250.0)
        .beside("with nothing left", millis(empty))
        .note(format!(
            "{} rows of journal; all are closed after {:.1} s",
            ended * 7 + open * 6,
            closed.as_secs_f64()
        ))
        .print();
}

/// Starts a process, and tells when its first call was answered and when all that was left was closed.
fn first(config: &Path) -> (Duration, Duration) {
    let clock = SystemClock::start();
    let (mut child, mut told) = child(&[FIRST, &path(config)]);
    line(&mut told);
    let called = clock.steady();
    line(&mut told);
    let closed = clock.steady();
    assert!(child.wait().is_ok_and(|status| status.success()), "the child ends well");
    (called, closed)
}

fn child(arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().expect("the bench is a file"))
        .args(arguments)
        .env(TOKEN.0, TOKEN.1)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the bench starts again");
    let told = BufReader::new(child.stdout.take().expect("its output is piped"));
    (child, told)
}

fn line(told: &mut BufReader<ChildStdout>) {
    let read = told.read_line(&mut String::new()).expect("the pipe can be read");
    assert!(read > 0, "the child tells how far it is");
}

fn path(config: &Path) -> String {
    config.to_string_lossy().into_owned()
}

/// What the child that dies does: calls that ended, then calls that did not, then nothing.
pub(crate) fn fill(config: &Path, ended: &str, open: &str) -> ExitCode {
    let count = |text: &str| text.parse::<usize>().expect("it is a number");
    let (ended, open) = (count(ended), count(open));
    let config = configuration(Some(config)).unwrap_or_else(|faults| panic!("{faults}"));
    let store = SqliteStore::open(&config.state, DEAD, Durability::None).expect("the store opens");
    Runtime::new().expect("a runtime starts").block_on(async {
        for from in (0..ended).step_by(TOGETHER) {
            let numbers = from..ended.min(from + TOGETHER);
            let writes: Vec<_> = numbers
                .map(|number| {
                    let new = today(number);
                    let end = airlock::store::End { at: new.attempt.at, ..end(Vec::new()) };
                    store.record(new, end)
                })
                .collect();
            for write in writes {
                write.await.expect("the store writes");
            }
        }
        for number in ended..ended + open {
            let reserved = store.reserve(today(number));
            if number % TOGETHER == 0 || number + 1 == ended + open {
                reserved.await.expect("the store writes");
            }
        }
    });
    println!("filled");
    loop {
        std::thread::park();
    }
}

/// A run that began now: what is old is removed at the next start, which is another measure.
fn today(number: usize) -> NewRun {
    let mut new = new_run(number, Repeat::Keyed);
    new.attempt.at = SystemClock::start().now();
    let mut random = [0; 10];
    random[..8].copy_from_slice(&number.to_le_bytes());
    new.run = RunId::new(new.attempt.at, random);
    new
}

/// What the child after it does: opens, calls, tells, waits until all is closed, tells.
pub(crate) fn begin(config: &Path) -> ExitCode {
    let config = configuration(Some(config)).unwrap_or_else(|faults| panic!("{faults}"));
    Runtime::new().expect("a runtime starts").block_on(async {
        let host = world::open(config).await.expect("the host opens");
        let reply = host.call(keyed("echo.echo", &json!({ "text": "first" }), "first")).await;
        assert!(reply.ok(), "{:?}", reply.body);
        println!("called");
        host.close_abandoned().await.expect("the store can be used");
        println!("closed");
        host.close().await;
    });
    ExitCode::SUCCESS
}

fn millis(duration: Duration) -> f64 {
    micros(duration) / 1000.0
}
