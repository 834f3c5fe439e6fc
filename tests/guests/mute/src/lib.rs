//! Cannot say what it is: `describe` traps.

use airlock_sdk::Context;
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};

struct Mute;

impl tools::Guest for Mute {
    fn describe() -> Manifest {
        panic!("no words")
    }

    fn call(_tool: String, _input: String, _context: Context) -> Result<Reply, ToolError> {
        panic!("no deeds")
    }
}

airlock_sdk::__export_tools!(Mute);
