//! Is whatever a text within it says: tests write another one over it, and have another plugin.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::hint::black_box;

use airlock_sdk::bindings::reader::airlock::plugin::http;
use airlock_sdk::bindings::reader::airlock::plugin::types::{HttpNeed, Need, Origin, Tool};
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};
use airlock_sdk::{Cleanup, Context, Repeat, Risk};
use serde::Deserialize;

struct Changeling;

/// How many bytes the text has, with the spaces behind it.
const ROOM: usize = 4096;

/// The text that says what it is; the word in front of it is how a test finds it.
static SELF: [u8; ROOM] = filled(
    br#"CHANGELING{"name":"changeling","version":"1.0.0","description":"Is what it is.","tool":{"name":"turn","description":"Turns.","input":{"type":"object"},"risk":1,"origins":[]},"word":"first"}"#,
);

const fn filled(text: &[u8]) -> [u8; ROOM] {
    let mut filled = [b' '; ROOM];
    let mut place = 0;
    while place < text.len() {
        filled[place] = text[place];
        place += 1;
    }
    filled
}

/// What it is.
#[derive(Deserialize)]
struct Nature {
    name: String,
    version: String,
    description: String,
    tool: Declared,
    /// What its tool answers.
    word: String,
    /// Whether it describes itself otherwise each time.
    #[serde(default)]
    fickle: bool,
}

#[derive(Deserialize)]
struct Declared {
    name: String,
    description: String,
    input: serde_json::Value,
    /// 1 to 4.
    risk: u8,
    /// Beside what is granted.
    origins: Vec<String>,
}

#[derive(Deserialize)]
struct Input {
    /// What is fetched before it answers.
    url: Option<String>,
}

fn nature() -> Nature {
    // The compiler must not read the text before a test has changed it.
    let text: &[u8] = black_box(&SELF);
    let text = text.strip_prefix(b"CHANGELING").expect("the text begins with its mark");
    serde_json::from_slice(text).expect("the text is what a test wrote")
}

impl tools::Guest for Changeling {
    fn describe() -> Manifest {
        let Nature { name, version, mut description, tool, fickle, .. } = nature();
        if fickle {
            description.push_str(&RandomState::new().build_hasher().finish().to_string());
        }
        let places = tool.origins.into_iter().map(Origin::Fixed).chain([Origin::Granted]);
        let need = |origin| {
            Need::Http(HttpNeed {
                origin,
                methods: vec!["GET".to_owned()],
                paths: Vec::new(),
                repeat: Repeat::Reads,
                idempotency_header: None,
                clean_statuses: Vec::new(),
            })
        };
        let (risk, repeat) = match tool.risk {
            1 => (Risk::PublicRead, Repeat::Reads),
            2 => (Risk::BusinessRead, Repeat::Reads),
            3 => (Risk::LowRiskWrite, Repeat::Once),
            _ => (Risk::HighRiskWrite, Repeat::Once),
        };
        let tool = Tool {
            name: tool.name,
            title: "Turn".to_owned(),
            description: tool.description,
            input_schema: tool.input.to_string(),
            output_schema: Some(r#"{"type":"object"}"#.to_owned()),
            risk,
            repeat,
            cleanup: Cleanup::Nothing,
            permissions: Vec::new(),
            needs: places.map(need).collect(),
            hidden: Vec::new(),
            private: Vec::new(),
            same_action: Vec::new(),
            poll: false,
            timeout_ms: None,
            cost_micros: None,
        };
        Manifest { name, version, description, tools: vec![tool] }
    }

    fn call(_tool: String, input: String, _context: Context) -> Result<Reply, ToolError> {
        let input: Input = serde_json::from_str(&input).expect("the input is an object");
        if let Some(url) = input.url {
            let request = http::Request {
                method: "GET".to_owned(),
                url,
                headers: Vec::new(),
                body: Vec::new(),
                timeout_ms: None,
            };
            http::send(&request).expect("it is granted");
        }
        let data = serde_json::json!({ "word": nature().word }).to_string();
        Ok(Reply { data, attachments: Vec::new(), fingerprint: None, cleanup: None })
    }
}

airlock_sdk::__export_tools!(Changeling);
