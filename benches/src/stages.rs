//! The stages of a call that compute and touch nothing else, each on the input and output of `echo.echo`.

use std::collections::BTreeMap;
use std::hint::black_box;

use airlock::model::canonical;
use airlock::model::classify::{Ended, classify};
use airlock::model::clock::Timestamp;
use airlock::model::id::{CallerName, RunId, ToolName, TraceId};
use airlock::model::key::Key;
use airlock::model::limits::Limits;
use airlock::model::reply::{Meta, Output, Reply, Stored};
use airlock::model::secret::{Mask, SecretValue};
use airlock::plugin::schema::Schema;
use serde_json::{Value, json};

use crate::load::kilobyte;

/// A stage that can be repeated.
pub type Stage = (&'static str, Box<dyn FnMut()>);

/// The stages, in the order of the path.
///
/// # Panics
/// Where the fixed input does not pass them.
pub fn all() -> Vec<Stage> {
    let input = json!({ "text": kilobyte() });
    let text = input.to_string();
    vec![
        ("read and hash the input", read(text.clone())),
        ("check the input", check_input(input)),
        ("make key, ids and trace", ids()),
        ("check the output", check_output(text.clone())),
        ("classify and mask", end(text.clone())),
        ("form the result", form(text)),
    ]
}

fn schema() -> Schema {
    let said = json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
        "additionalProperties": false
    });
    Schema::compile(&said).expect("the schema is in order")
}

fn read(text: String) -> Box<dyn FnMut()> {
    let limits = Limits::default();
    let tool: ToolName = "echo.echo".parse().expect("it names a tool");
    Box::new(move || {
        let value = canonical::read(&text, &limits).expect("the input is clean");
        black_box(canonical::action_hash(&tool, &value, &[]));
        black_box(value);
    })
}

fn check_input(input: Value) -> Box<dyn FnMut()> {
    let schema = schema();
    Box::new(move || {
        let mut value = input.clone();
        black_box(schema.check_input(&mut value).expect("the input fits"));
        black_box(value.to_string());
    })
}

fn ids() -> Box<dyn FnMut()> {
    let caller = CallerName("first".to_owned());
    Box::new(move || {
        let (mut run, mut trace) = ([0; 10], [0; 16]);
        getrandom::fill(&mut run).expect("the system gives random bytes");
        getrandom::fill(&mut trace).expect("the system gives random bytes");
        black_box(RunId::new(Timestamp(1_700_000_000_000), run).to_string());
        black_box(TraceId::new(trace));
        black_box(Key::parse("reading-123456").map(|key| key.scope(&caller, None)).ok());
    })
}

fn check_output(text: String) -> Box<dyn FnMut()> {
    let schema = schema();
    Box::new(move || {
        let value: Value = serde_json::from_str(&text).expect("the output is JSON");
        schema.check_output(black_box(&value)).expect("the output fits");
    })
}

fn end(text: String) -> Box<dyn FnMut()> {
    let secrets = BTreeMap::from([("desk_token".to_owned(), SecretValue::new("token-of-the-bench"))]);
    let mask = Mask::of(&secrets);
    Box::new(move || {
        black_box(classify(Ended::Replied(Output { data: text.clone(), ..Output::default() }), &[]));
        black_box(mask.text(&text));
    })
}

fn form(text: String) -> Box<dyn FnMut()> {
    let stored = Stored::new(true, text);
    Box::new(move || {
        let meta = Meta {
            run: Some(RunId::from_bytes([9; 16])),
            step: Some(1),
            attempts: 1,
            duration_ms: 1,
            fuel: 12_345,
            memory_bytes: 1 << 20,
            effects: 0,
            cost_micros: 0,
            dropped: Vec::new(),
            trimmed: None,
            replayed: false,
            duplicate_of: None,
            rounds: None,
            trace_id: TraceId("4bf92f3577b34da6a3ce929d0e0e4736".to_owned()),
        };
        let reply = Reply { body: stored.to_body(), attachments: Vec::new(), meta, undelivered: None };
        black_box(serde_json::to_string(&reply).expect("a reply is JSON"));
    })
}
