//! Imports the host's key-value store.

use airlock_sdk::Context;
use airlock_sdk::bindings::reader::airlock::plugin::key_value;
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};

struct Importer;

impl tools::Guest for Importer {
    fn describe() -> Manifest {
        Manifest {
            name: "importer".to_owned(),
            version: "0.1.0".to_owned(),
            description: "Imports the host's key-value store".to_owned(),
            tools: Vec::new(),
        }
    }

    fn call(_tool: String, input: String, _context: Context) -> Result<Reply, ToolError> {
        let kept = key_value::get(&input).unwrap_or_default().is_some();
        Ok(Reply { data: kept.to_string(), attachments: Vec::new(), fingerprint: None, cleanup: None })
    }
}

airlock_sdk::__export_tools!(Importer);
