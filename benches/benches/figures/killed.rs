//! After a kill -9 in the middle of the load: every key whose call was acknowledged gives its reply again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use airlock::host::configuration;
use airlock::store::sqlite::Durability;
use airlock_benches::figure::Figure;
use airlock_benches::load::{self, Make, drive, readings, writings};
use airlock_benches::place::TOKEN;
use tokio::runtime::Runtime;

use crate::Bench;
use crate::throughput::IN_FLIGHT;

/// The first argument of the process that is killed; the configuration and the desk follow.
pub(crate) const CHILD: &str = "--acknowledge";

pub(crate) fn measure(bench: &Bench) {
    let wanted = bench.count(10_000);
    let place = bench.place();
    let config = place.world.write_config();
    let acknowledged = kill_after(wanted, &config, &bench.desk.url);
    let lost = bench.runtime.block_on(async {
        let (host, _store) = place.open(Durability::Full).await;
        let make = both(&bench.desk.url);
        let mut lost = 0u32;
        for number in &acknowledged {
            let reply = host.call(make(*number)).await;
            lost += u32::from(!(reply.ok() && reply.meta.replayed));
        }
        lost
    });
    Figure::new("P3", "acknowledged and not there after kill -9", f64::from(lost), "calls")
        .at_most(0.0)
        .note(format!("{} were acknowledged, reading and writing ones in turn", acknowledged.len()))
        .print();
}

/// Starts a process that calls and tells of every reply, kills it in the middle, and gives what it told.
fn kill_after(wanted: usize, config: &Path, desk: &str) -> Vec<usize> {
    let program = std::env::current_exe().expect("the bench is a file");
    let mut child = Command::new(program)
        .arg(CHILD)
        .arg(config)
        .arg(desk)
        .env(TOKEN.0, TOKEN.1)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the bench starts again");
    let mut told = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut acknowledged = Vec::new();
    let mut line = String::new();
    while told.read_line(&mut line).expect("the pipe can be read") > 0 {
        // A line that was cut by the kill has no end, and was not told.
        if let Some(number) = line.strip_suffix('\n').and_then(|number| number.parse().ok()) {
            acknowledged.push(number);
        }
        line.clear();
        if acknowledged.len() == wanted {
            child.kill().expect("the child is ours");
        }
    }
    child.wait().expect("the child is ours");
    assert!(acknowledged.len() >= wanted, "the child ended by itself after {} calls", acknowledged.len());
    acknowledged
}

/// What the child does: calls without end, and a line for each reply.
pub(crate) fn acknowledge(config: &Path, desk: &str) -> ExitCode {
    let config = match configuration(Some(config)) {
        Ok(config) => config,
        Err(faults) => {
            eprintln!("{faults}");
            return ExitCode::FAILURE;
        }
    };
    let runtime = Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let host = airlock_tests::world::open(config).await.expect("the host opens");
        host.load().await;
        drive(&host, usize::MAX, IN_FLIGHT, &both(desk), |number, _| {
            // Who no longer reads has killed this process, or is about to.
            let _ = std::io::stdout().lock().write_all(format!("{number}\n").as_bytes());
        })
        .await;
    });
    ExitCode::SUCCESS
}

/// Reading and writing calls in turn, of all four tools.
fn both(desk: &str) -> Make {
    let (readings, writings): (Make, load::Make) =
        (readings(Some("killed".to_owned())), writings(desk, Some("killed".to_owned())));
    Arc::new(move |number| if number % 4 < 2 { readings(number) } else { writings(number) })
}
