//! The command `airlock`.

use std::process::ExitCode;

fn main() -> ExitCode {
    airlock::front::cli::run(std::env::args_os())
}
