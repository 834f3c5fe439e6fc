//! The support desk's backend by hand: `desk-backend --port 7878`.

use std::process::ExitCode;

use airlock_tests::backend::{Backend, Options};

const HELP: &str = r#"The backend of a support desk: orders, tickets, mails, kept in memory.

Usage: desk-backend [--port PORT] [--address IP] [--token TOKEN]

  --port PORT    where it listens; 0, and no port, take a free one
  --address IP   127.0.0.1 where nothing is said
  --token TOKEN  the bearer token that tickets ask for; any where nothing is said
  --help         this text

It prints its URL, then a line for each request. What happened: GET /counts (?reset forgets it).

What goes wrong, once or several times, is asked for by
  POST /faults {"path": "POST /tickets", "fault": "cut_after", "times": 1}
and taken back by DELETE /faults. A fault is one of
  slow (with "ms")   cut   hang   kill (with "pid")   a status: 429 (with "retry_after"), 503, …
and then _before the work (where nothing is said), _after the work, or _head: after the head of the answer.
"#;

fn main() -> ExitCode {
    let started = options(std::env::args().skip(1)).and_then(start);
    match started {
        Ok(Some(backend)) => {
            println!("{}", backend.url);
            loop {
                std::thread::park();
            }
        }
        Ok(None) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("desk-backend: {reason}");
            ExitCode::from(2)
        }
    }
}

fn start(options: Option<Options>) -> Result<Option<Backend>, String> {
    let Some(options) = options else { return Ok(None) };
    let address = options.address;
    options.start().map(Some).map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// The options that the arguments name; none where help is asked for.
fn options(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options { log: true, ..Options::default() };
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("a value is missing after {name}"));
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--port" => options.address.set_port(parsed(&name, &value()?)?),
            "--address" => options.address.set_ip(parsed(&name, &value()?)?),
            "--token" => options.token = Some(value()?),
            other => return Err(format!("unknown argument; see --help: {other}")),
        }
    }
    Ok(Some(options))
}

fn parsed<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} cannot be this: {value}"))
}
