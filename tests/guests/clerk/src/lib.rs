//! Reads the files that it is told to, through the host and through WASI.

mod wasi;

use airlock_sdk::files::{self, Entry, Error, Kind};
use airlock_sdk::{Access, Cleanup, Context, Declaration, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

airlock_sdk::export!(reader clerk: Read, Std, Tally);

/// What is done, and where.
#[derive(Deserialize, JsonSchema)]
struct Errand {
    r#do: Do,
    #[serde(default = "inbox")]
    directory: String,
    path: String,
    #[serde(default)]
    offset: u64,
    #[serde(default = "page")]
    length: u32,
    /// How often it is done, where that is counted.
    #[serde(default = "once")]
    times: u32,
}

fn inbox() -> String {
    "inbox".to_owned()
}

fn page() -> u32 {
    64 << 10
}

fn once() -> u32 {
    1
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Do {
    Stat,
    Entries,
    Read,
}

/// What came of it, in words.
#[derive(Serialize, JsonSchema)]
struct Answer {
    said: String,
    length: usize,
}

fn reading(title: &str) -> Declaration {
    Declaration::new(title)
        .description(format!("{title}, as it is told."))
        .risk(Risk::BusinessRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
        .directory("inbox", Access::Read)
        .directory("archive", Access::Read)
}

fn shown(entry: &Entry) -> String {
    let kind = match entry.kind {
        Kind::File => "file",
        Kind::Directory => "folder",
        Kind::Other => "other",
    };
    format!("{} {kind} {}", entry.name, entry.size)
}

impl Errand {
    fn once(&self) -> Result<Answer, Error> {
        let directory = files::directory(&self.directory);
        Ok(match self.r#do {
            Do::Stat => Answer { said: shown(&directory.stat(&self.path)?), length: 1 },
            Do::Entries => {
                let entries = directory.entries(&self.path)?;
                let said: Vec<String> = entries.iter().take(8).map(shown).collect();
                Answer { said: said.join(", "), length: entries.len() }
            }
            Do::Read => {
                let bytes = directory.read_part(&self.path, self.offset, self.length)?;
                let said = String::from_utf8_lossy(&bytes[..bytes.len().min(256)]).into_owned();
                Answer { said, length: bytes.len() }
            }
        })
    }
}

/// Asks the host.
struct Read;

impl Tool for Read {
    const NAME: &'static str = "read";
    type Input = Errand;
    type Output = Answer;

    fn declare() -> Declaration {
        reading("Read")
    }

    fn call(errand: Errand, _context: &Context) -> Result<Answer, ToolError> {
        Ok(match errand.once() {
            Ok(answer) => answer,
            Err(error) => Answer { said: format!("{error:?}"), length: 0 },
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Errands {
    errands: Vec<Errand>,
}

#[derive(Serialize, JsonSchema)]
struct Counts {
    /// How often each thing was said.
    counts: std::collections::BTreeMap<String, u32>,
}

/// Counts what the host says when it is asked the same again and again.
struct Tally;

impl Tool for Tally {
    const NAME: &'static str = "tally";
    type Input = Errands;
    type Output = Counts;

    fn declare() -> Declaration {
        reading("Count")
    }

    fn call(errands: Errands, _context: &Context) -> Result<Counts, ToolError> {
        let mut counts = std::collections::BTreeMap::new();
        for errand in &errands.errands {
            for _ in 0..errand.times {
                let said = errand.once().map_or_else(|error| format!("{error:?}"), |answer| answer.said);
                *counts.entry(said).or_default() += 1;
            }
        }
        Ok(Counts { counts })
    }
}

/// Asks WASI, as any program would.
struct Std;

impl Tool for Std {
    const NAME: &'static str = "std";
    type Input = wasi::Errand;
    type Output = Answer;

    fn declare() -> Declaration {
        reading("Read with the language's own means")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Idempotent)
            .directory("drafts", Access::Write)
    }

    fn call(errand: wasi::Errand, _context: &Context) -> Result<Answer, ToolError> {
        Ok(match errand.run() {
            Ok(bytes) => {
                let said = String::from_utf8_lossy(&bytes[..bytes.len().min(256)]).into_owned();
                Answer { said, length: bytes.len() }
            }
            Err(error) => Answer { said: format!("{:?}", error.kind()), length: 0 },
        })
    }
}
