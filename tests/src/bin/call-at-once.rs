//! Opens a host, says so, and at a word makes all the calls that it was told to, each with a line for its reply.

use std::io::{BufRead, Lines, StdinLock, stdin};
use std::process::ExitCode;

use airlock::host::{Config, Host, Request, Seams};
use airlock::model::id::TraceId;
use airlock_tests::crowd::{Call, READY, Task};
use airlock_tests::world;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&mut stdin().lock().lines()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("call-at-once: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The call that is meant.
fn asked(call: &Call) -> Request {
    if call.key.is_empty() {
        let trace = Some(TraceId::new([7; 16]));
        return Request { trace, conversation: true, ..world::request(&call.tool, &call.input) };
    }
    world::keyed(&call.tool, &call.input, &call.key)
}

async fn run(lines: &mut Lines<StdinLock<'_>>) -> Result<(), Box<dyn std::error::Error>> {
    let mut line = || lines.next().ok_or("nothing was said")?.map_err(Box::<dyn std::error::Error>::from);
    let task: Task = serde_json::from_str(&line()?)?;
    let text = std::fs::read_to_string(&task.config)?;
    let read = |name: &str| task.environment.get(name).cloned();
    let config = Config::parse(&text, &task.config, &read).map_err(|faults| faults.to_string())?;
    let seams = Seams::system(&config)?;
    let compiler = task.compiler.unwrap_or_else(world::compiler);
    let host = Host::with(config, Seams { compiler, ..seams }).await?;
    host.load().await;
    println!("{READY}");
    line()?;
    let calls = task.calls.into_iter().map(|call| {
        let (host, request) = (host.clone(), asked(&call));
        tokio::spawn(async move { host.call(request).await })
    });
    for call in calls.collect::<Vec<_>>() {
        println!("{}", serde_json::to_string(&call.await?)?);
    }
    host.close().await;
    Ok(())
}
