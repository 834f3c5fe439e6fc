//! Never finishes describing itself.

use airlock_sdk::Context;
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};

struct Dawdler;

impl tools::Guest for Dawdler {
    fn describe() -> Manifest {
        loop {
            std::hint::black_box(());
        }
    }

    fn call(_tool: String, _input: String, _context: Context) -> Result<Reply, ToolError> {
        panic!("nothing is declared that could be called")
    }
}

airlock_sdk::__export_tools!(Dawdler);
