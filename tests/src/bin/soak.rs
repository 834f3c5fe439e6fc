//! Kills hosts at random under a load of calls, and holds what they acknowledged against what happened: `soak --minutes 10`.

use std::process::ExitCode;
use std::time::Duration;

use airlock_tests::soak::{self, Plan};

const HELP: &str = "Usage: soak [--minutes N | --seconds N] [--seed N]

Four processes share one store: three make calls, one is `airlock serve`. One of them is killed every few seconds, and the
backend goes wrong again and again. In the end nothing may be lost, doubled or guessed.

  --minutes N  how long they are disturbed; ten where nothing is said
  --seconds N  the same in seconds
  --seed N     from which all choices come; a random one where nothing is said
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let plan = match arguments.next() {
        Some(first) if first == soak::CALLER => {
            return soak::caller(arguments.next().unwrap_or_default().as_ref());
        }
        Some(first) if matches!(first.as_str(), "--help" | "-h") => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        first => plan(first.into_iter().chain(arguments)),
    };
    match plan {
        Ok(plan) => soak::run(plan),
        Err(reason) => {
            eprintln!("soak: {reason}");
            ExitCode::from(2)
        }
    }
}

fn plan(mut arguments: impl Iterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan { time: Duration::from_mins(10), seed: soak::any_seed() };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("a value is missing after {name}"))?;
        let value: u64 =
            value.parse().map_err(|_| format!("{name} is a whole number, and not this: {value}"))?;
        match name.as_str() {
            "--minutes" => plan.time = Duration::from_secs(value.saturating_mul(60)),
            "--seconds" => plan.time = Duration::from_secs(value),
            "--seed" => plan.seed = value,
            _ => return Err(format!("unknown argument; see --help: {name}")),
        }
    }
    if plan.time.is_zero() {
        return Err("the time must not be nothing".to_owned());
    }
    Ok(plan)
}
