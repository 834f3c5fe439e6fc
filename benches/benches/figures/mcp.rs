//! The MCP door: how long a call takes through it, there and back, and a list of the tools of a hundred plugins.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use airlock::model::clock::{Clock as _, SystemClock};
use airlock::store::sqlite::Durability;
use airlock_benches::figure::Figure;
use airlock_benches::load::request;
use airlock_benches::samples::{Samples, micros};
use airlock_tests::changeling::{self, put};
use airlock_tests::world::{World, compiler};
use serde_json::{Value, json};

use crate::Bench;

/// Plugins whose tools are listed.
const PLUGINS: usize = 100;

/// Endless loops, as many as one plugin and one caller may have places.
const LOOPS: usize = 256;

/// A host that serves this program on its standard streams.
struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Served {
    fn start(world: &World, caller: &str) -> Self {
        let mut child = Command::new(compiler())
            .arg("--config")
            .arg(world.write_config())
            .args(["mcp", "--as", caller])
            .envs(world.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the host starts");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.expect("it was piped"));
        let mut served = Self { child, input: input.expect("it was piped"), output, line: String::new() };
        let client = json!({ "name": "bench", "version": "1" });
        served.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        );
        served
    }

    /// Sends a request and waits for its answer, which is read once the time is taken.
    fn ask(&mut self, method: &str, params: &Value) -> (Duration, &str) {
        let mut request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        request.push('\n');
        let clock = SystemClock::start();
        self.input.write_all(request.as_bytes()).expect("the host reads");
        // Loops whose time is over are answered in between.
        while {
            self.line.clear();
            self.output.read_line(&mut self.line).expect("the host answers");
            self.line.contains("\"id\":\"loop")
        } {}
        let took = clock.steady();
        assert!(self.line.contains("\"result\""), "a request of the bench failed: {}", self.line);
        (took, &self.line)
    }

    fn times(&mut self, count: usize, method: &str, params: &Value) -> Samples {
        for _ in 0..count / 4 {
            self.ask(method, params);
        }
        Samples::of((0..count).map(|_| self.ask(method, params).0).collect())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn measure(bench: &Bench) {
    call(bench);
    list(bench);
    beside_loops(bench);
}

fn call(bench: &Bench) {
    let count = bench.count(10_000);
    // The same call again and again is what is measured.
    let place = bench.place().with_config("[loops]\nwarn = 0\nrefuse = 0\n");
    let sum = json!({ "expression": "1/3 + 1/6" });
    let inside = bench.runtime.block_on(async {
        let (host, _) = place.open(Durability::Full).await;
        let clock = SystemClock::start();
        let mut times = Vec::new();
        for _ in 0..count {
            let start = clock.steady();
            assert!(host.call(request("first", "calc.evaluate", &sum)).await.ok());
            times.push(clock.steady() - start);
        }
        host.close().await;
        Samples::of(times)
    });
    let mut served = Served::start(&place.world, "first");
    let ping = served.times(count, "ping", &json!({}));
    let seen = served.times(count, "tools/call", &json!({ "name": "calc__evaluate", "arguments": sum }));
    Figure::new(
        "MCP",
        "a call of calc over standard input and output, there and back, p50",
        micros(seen.p50()),
        "µs",
    )
    .at_most(300.0)
    .note(format!("p99 {:.0} µs", micros(seen.p99())))
    .note(format!("the door alone (ping) {:.0} µs", micros(ping.p50())))
    .beside("the same call without the door", micros(inside.p50()))
    .print();
}

fn list(bench: &Bench) {
    let world = World::new();
    for number in 0..PLUGINS {
        let mut nature = changeling::nature();
        nature["name"] = json!(format!("plugin_{number}"));
        put(&world.plugins(), &format!("{number}.wasm"), &nature);
    }
    let world = world.with_config("[callers.all]\nmax_risk = \"L4\"\n");
    let mut served = Served::start(&world, "all");
    let seen = served.times(bench.count(1_000), "tools/list", &json!({}));
    let (_, line) = served.ask("tools/list", &json!({}));
    let tools = line.matches("\"inputSchema\"").count();
    let bytes = line.len();
    Figure::new(
        "MCP",
        format!("a list of the tools of {PLUGINS} plugins, p50"),
        micros(seen.p50()) / 1000.0,
        "ms",
    )
    .at_most(5.0)
    .note(format!("p99 {:.2} ms", micros(seen.p99()) / 1000.0))
    .note(format!("{tools} tools, {} KiB", bytes / 1024))
    .print();
}

/// How long the list takes beside endless loops that the same client asked for.
fn beside_loops(bench: &Bench) {
    let place = bench.place();
    let mut served = Served::start(&place.world, "first");
    let count = bench.count(600);
    let idle = served.times(count, "tools/list", &json!({}));
    for number in 0..LOOPS {
        let spin = json!({ "name": "greedy__spin", "arguments": {} });
        let id = format!("loop{number}");
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": spin }).to_string();
        served.input.write_all(format!("{line}\n").as_bytes()).expect("the host reads");
    }
    let seen = served.times(count, "tools/list", &json!({}));
    Figure::new(
        "MCP",
        format!("a list beside {LOOPS} endless loops, p99"),
        micros(seen.p99()) / 1000.0,
        "ms",
    )
    .at_most(10.0)
    .beside("idle", micros(idle.p99()) / 1000.0)
    .note(format!("p50 {:.2} ms", micros(seen.p50()) / 1000.0))
    .print();
}
