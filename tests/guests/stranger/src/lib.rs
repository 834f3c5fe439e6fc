//! Imports an interface that no host has.

use airlock_sdk::Context;
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package example:weather@1.0.0;

            interface forecast {
                tomorrow: func() -> string;
            }

            world stranger {
                import forecast;
            }
        ",
    });
}

struct Stranger;

impl tools::Guest for Stranger {
    fn describe() -> Manifest {
        Manifest {
            name: "stranger".to_owned(),
            version: "0.1.0".to_owned(),
            description: "Imports an interface that no host has".to_owned(),
            tools: Vec::new(),
        }
    }

    fn call(_tool: String, _input: String, _context: Context) -> Result<Reply, ToolError> {
        let data = format!("{:?}", bindings::example::weather::forecast::tomorrow());
        Ok(Reply { data, attachments: Vec::new(), fingerprint: None, cleanup: None })
    }
}

airlock_sdk::__export_tools!(Stranger);
