//! `airlock serve`: makes the calls that are left to the background, until it is ended.

use std::io::IsTerminal as _;
use std::path::Path;

use tokio::signal::unix::SignalKind;

use super::log;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::ready;
use super::tools;
use crate::front::leave::Leave;
use crate::host::{Host, configuration};

pub(super) async fn run(config: Option<&Path>, output: Output) -> Result<Exit, Problem> {
    let config = configuration(config)?;
    let limits = config.limits.clone();
    log::settle(&config.log, true)?;
    let leave = Leave::listen(&[SignalKind::terminate(), SignalKind::interrupt()])
        .map_err(|error| Problem::system("signals cannot be heard", &error))?;
    let host = Host::open(config).await?;
    ready(&host).await?;
    host.watch();
    tools::log_faults(&host.faults());
    let worker = host.work()?;
    if std::io::stderr().is_terminal() {
        output.note(
            "waits for calls that are left to the background: `airlock call TOOL … --background`, or \
                     `_meta[\"airlock/background\"]` over MCP; Ctrl-C ends it",
        );
    }
    leave.asked.asked().await;
    // What is under way ends, or is left to whoever comes next; nothing more is taken.
    drop(worker);
    if std::io::stderr().is_terminal() {
        output.note("ends when the calls under way have ended, or at the next Ctrl-C");
    }
    tokio::select! {
        () = host.quiet(limits.attempt.saturating_add(limits.read)) => {}
        () = leave.over.asked() => {}
    }
    host.close().await;
    Ok(Exit::Done)
}
