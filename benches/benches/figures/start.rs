//! P5: from the start of a process to a hundred plugins that can be called; P12: from a file that nobody knew to its first
//! result.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use airlock::host::configuration;
use airlock::model::clock::{Clock as _, SystemClock};
use airlock::model::id::CallerName;
use airlock_benches::bare::Bare;
use airlock_benches::figure::Figure;
use airlock_benches::place::folder;
use airlock_benches::samples::{Samples, micros};
use airlock_tests::changeling::{self, put};
use airlock_tests::guests;
use airlock_tests::world::{self, World};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::Bench;

/// The first argument of the process that starts; the configuration follows.
pub(crate) const CHILD: &str = "--start";

const PLUGINS: usize = 100;

pub(crate) fn measure_start(bench: &Bench) {
    let world = World::new().with_config(&format!("state = {:?}", folder(bench.disk.path())));
    for number in 0..PLUGINS {
        let mut nature = changeling::nature();
        nature["name"] = json!(format!("plugin_{number}"));
        put(&world.plugins(), &format!("{number}.wasm"), &nature);
    }
    let config = world.write_config();
    start(&config);
    let seen: Vec<(Duration, Duration)> = (0..bench.count(40)).map(|_| start(&config)).collect();
    let ready = Samples::of(seen.iter().map(|(ready, _)| *ready).collect());
    let called = Samples::of(seen.iter().map(|(_, called)| *called).collect());
    Figure::new("P5", "a process to 100 plugins with 100 digests, cache warm", millis(ready.p50()), "ms")
        .at_most(100.0)
        .note(format!("most {:.1} ms", millis(ready.most())))
        .note(format!("each called once, one after the other: {:.1} ms", millis(called.p50())))
        .print();
}

/// Starts a process, and tells when its plugins could be called and when each had been.
fn start(config: &Path) -> (Duration, Duration) {
    let clock = SystemClock::start();
    let mut child = Command::new(std::env::current_exe().expect("the bench is a file"))
        .arg(CHILD)
        .arg(config)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the bench starts again");
    let mut told = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
    let mut when = || {
        let line = told.next().and_then(Result::ok);
        assert!(line.is_some(), "the child tells how far it is");
        clock.steady()
    };
    let seen = (when(), when());
    assert!(child.wait().is_ok_and(|status| status.success()), "the child ends well");
    seen
}

/// What the child does: loads, tells, calls each plugin, tells.
pub(crate) fn serve(config: &Path) -> ExitCode {
    let config = match configuration(Some(config)) {
        Ok(config) => config,
        Err(faults) => {
            eprintln!("{faults}");
            return ExitCode::FAILURE;
        }
    };
    Runtime::new().expect("a runtime starts").block_on(async {
        let host = world::open(config).await.expect("the host opens");
        host.load().await;
        let tools = host.tools(&CallerName("local".to_owned()), None).expect("the caller is there");
        assert_eq!(tools.len(), PLUGINS, "{:?}", host.faults());
        println!("ready");
        for tool in tools {
            let reply = host.call(world::request(&tool.name.to_string(), &json!({}))).await;
            assert!(reply.ok(), "{:?}", reply.body);
        }
        println!("called");
        host.close().await;
    });
    ExitCode::SUCCESS
}

pub(crate) fn measure_unknown(bench: &Bench) {
    let (mut compiled, mut served) = (Vec::new(), Vec::new());
    for _ in 0..bench.count(20) {
        let clock = SystemClock::start();
        Bare::compile(Path::new(guests::WEB)).expect("it is a component");
        compiled.push(clock.steady());
        served.push(bench.runtime.block_on(unknown(bench)));
    }
    let (compiled, served) = (Samples::of(compiled), Samples::of(served));
    let size = std::fs::metadata(guests::WEB).map_or(0, |metadata| metadata.len());
    let ratio = micros(served.p50()) / micros(compiled.p50());
    Figure::new("P12", format!("an unknown plugin of {} KB to its first result", size / 1000), ratio, "×")
        .at_most(1.5)
        .note(format!("{:.0} ms", millis(served.p50())))
        .note(format!("the bare compile {:.0} ms", millis(compiled.p50())))
        .print();
}

/// From the moment at which the file lies in the folder of a host to what its tool answers.
async fn unknown(bench: &Bench) -> Duration {
    let world = World::new().with_config(&format!("state = {:?}", folder(bench.disk.path())));
    let host = world.open().await;
    let bytes = std::fs::read(guests::WEB).expect("the component was built");
    let clock = SystemClock::start();
    changeling::put_bytes(&world.plugins(), "web.wasm", &bytes);
    host.reload().await;
    // Nothing is granted: the tool says so, which is a result.
    let reply = host.call(world::request("web.fetch", &json!({ "url": "https://example.com/" }))).await;
    let took = clock.steady();
    assert!(reply.meta.run.is_some(), "it was run: {:?}", reply.body);
    took
}

fn millis(duration: Duration) -> f64 {
    micros(duration) / 1000.0
}
