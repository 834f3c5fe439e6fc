//! The process that the crash matrix kills: `crash-child ORDER`.

use std::process::ExitCode;

fn main() -> ExitCode {
    airlock_tests::crash::main()
}
