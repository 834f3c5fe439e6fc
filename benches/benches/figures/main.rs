//! The figures that the project promises, each with its target and what stands beside it in the same run.
//!
//! `cargo bench -p airlock-benches --bench figures -- P3` measures one of them alone; `--quick` makes all of them short.

mod breaker;
mod ceiling;
mod fairness;
mod killed;
mod latency;
mod live;
mod mcp;
mod overhead;
mod recovery;
mod sandbox;
mod start;
mod throughput;

use std::path::Path;
use std::process::ExitCode;

use airlock_benches::desk::Desk;
use airlock_benches::machine::Neighbours;
use airlock_benches::place::Place;
use airlock_benches::{figure, machine};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What the measures run with.
struct Bench {
    runtime: Runtime,
    /// Removed when all is measured: to remove files is work for the disk too.
    disk: TempDir,
    desk: Desk,
    quick: bool,
}

impl Bench {
    /// So many repetitions; a twentieth where it is to be quick.
    fn count(&self, usual: usize) -> usize {
        if self.quick { usual.div_ceil(20) } else { usual }
    }

    /// A world for a host, on the disk that is measured.
    fn place(&self) -> Place {
        Place::new(self.disk.path(), &self.desk.url)
    }
}

/// Figures by their names, and what measures them.
type Part = (&'static [&'static str], fn(&Bench));

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(exit) = child(&arguments) {
        return exit;
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let asked: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| name.eq_ignore_ascii_case(asked));

    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the disk can be written");
    machine::print(disk.path());
    println!();
    figure::header();
    let runtime = Runtime::new().expect("a runtime starts");
    let bench = Bench { runtime, disk, desk: Desk::start(), quick };
    let parts: [Part; 11] = [
        (&["P1"], sandbox::measure),
        (&["P2"], overhead::measure),
        (&["P3", "ceiling"], throughput::measure),
        (&["P4"], latency::measure),
        (&["P6"], live::measure),
        (&["P9"], fairness::measure),
        (&["MCP"], mcp::measure),
        (&["breaker"], breaker::measure),
        (&["P5"], start::measure_start),
        (&["P12"], start::measure_unknown),
        (&["P10"], recovery::measure),
    ];
    for (names, measure) in parts {
        if names.iter().any(|name| wanted(name)) {
            let neighbours = Neighbours::watch();
            measure(&bench);
            println!(
                "{:<8} others used {:.0} % of the processors meanwhile",
                names[0],
                neighbours.share() * 100.0
            );
        }
    }
    println!("\nload         {} (after the run)", machine::load());
    ExitCode::SUCCESS
}

/// What a process does that was started by this one, where it is that.
fn child(arguments: &[String]) -> Option<ExitCode> {
    if let [first, config, url] = arguments
        && first == killed::CHILD
    {
        return Some(killed::acknowledge(Path::new(config), url));
    }
    if let [first, config, ended, open] = arguments
        && first == recovery::FILL
    {
        return Some(recovery::fill(Path::new(config), ended, open));
    }
    if let [first, config] = arguments
        && first == recovery::FIRST
    {
        return Some(recovery::begin(Path::new(config)));
    }
    if let [first, config] = arguments
        && first == start::CHILD
    {
        return Some(start::serve(Path::new(config)));
    }
    if let [first, count] = arguments
        && first == live::CHILD
    {
        return Some(live::serve(count));
    }
    None
}
