//! `airlock mcp`: a client's tools, over standard input and output.

use std::io::IsTerminal as _;
use std::path::Path;

use clap::Args;

use super::call::known;
use super::log;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::ready;
use super::tools;
use crate::front::mcp;
use crate::host::{Host, configuration};
use crate::model::id::SceneName;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The caller to act as: `mcp`, or one under [callers] of the configuration
    #[arg(long = "as", value_name = "CALLER", default_value = "mcp")]
    caller: String,

    /// The scene that it is in, which narrows what it sees: one under [scenes] of the configuration
    #[arg(long)]
    scene: Option<SceneName>,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    if std::io::stdin().is_terminal() {
        output.hint("an MCP client starts this; `airlock setup CLIENT` prints how");
    }
    let config = configuration(config)?;
    let caller = known(&config, &arguments.caller, arguments.scene.as_ref())?;
    log::settle(&config.log, true)?;
    let host = Host::open(config.clone()).await?;
    ready(&host).await?;
    host.watch();
    tools::log_faults(&host.faults());
    let worker = host.work()?;
    let served = mcp::serve(host.clone(), &config.limits, caller, arguments.scene.clone(), worker).await;
    host.close().await;
    served.map(|()| Exit::Done).map_err(|shut| Problem::system("no client is served", &shut))
}
