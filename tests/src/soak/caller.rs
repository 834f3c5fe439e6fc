//! A process that makes the calls that it is told to, a line each, and prints each reply.

use std::io::{BufRead as _, Write as _, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

use airlock::host::{Host, Request, configuration};
use airlock::model::id::TraceId;

use super::calls::Call;
use crate::crowd::READY;
use crate::world;

/// The first argument of such a process; the second is its configuration.
pub const CALLER: &str = "caller";

/// Makes calls until nobody asks for more.
///
/// # Panics
/// Where the host does not open, or what it is told is no call.
#[must_use]
pub fn caller(config: &Path) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("the system gives threads");
    let host = runtime.block_on(async {
        let config = configuration(Some(config)).unwrap_or_else(|faults| panic!("{faults}"));
        let host = world::open(config).await.unwrap_or_else(|failure| panic!("{failure}"));
        host.load().await;
        host
    });
    print(READY);
    for line in stdin().lock().lines().map_while(Result::ok) {
        let call: Call = serde_json::from_str(&line).expect("whoever asks writes calls");
        runtime.spawn(answer(host.clone(), call));
    }
    ExitCode::SUCCESS
}

async fn answer(host: Host, call: Call) {
    let reply = host.call(request(&call)).await;
    if let Some(run) = reply.undelivered {
        host.delivering(run);
    }
    print(&format!("{} {}", call.id, serde_json::to_string(&reply).expect("a reply is JSON")));
    if let Some(run) = reply.undelivered {
        host.delivered(run).await;
    }
}

/// The request of a call: under its key, else as the one call of a conversation.
pub(super) fn request(call: &Call) -> Request {
    let plain = world::request(&call.tool, &call.input);
    let request = match &call.key {
        Some(key) => Request { key: Some(key.clone()), ..plain },
        None => {
            let mut trace = [0x50; 16];
            trace[..8].copy_from_slice(&call.id.to_be_bytes());
            Request { trace: Some(TraceId::new(trace)), conversation: true, ..plain }
        }
    };
    Request { background: call.background, ..request }
}

/// Prints a line whole; one whose reader is gone is nobody's.
fn print(line: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
