//! Runs errands: sends requests one after another and gives the answers. Without JSON or schemas of its own, so
//! that a process which is about to be killed need not compile them.

use airlock_sdk::bindings::reader::airlock::plugin::types::{ErrorKind, HttpNeed, Need, Origin, Tool};
use airlock_sdk::bindings::reader::airlock::plugin::{host, http};
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};
use airlock_sdk::{Cleanup, Context, Repeat, Risk};

struct Errand;

const INPUT: &str = r#"{
    "type": "object",
    "properties": {
        "to": { "type": "string", "description": "The origin." },
        "requests": { "type": "string", "description": "Method and path, with commas between: GET /a,PUT /b" }
    },
    "required": ["to", "requests"],
    "additionalProperties": false
}"#;

const EMPTY: &str = r#"{"answers":["#;

impl tools::Guest for Errand {
    fn describe() -> Manifest {
        let keyed = || need(&["POST"], &[], Repeat::Keyed);
        let reads = || need(&["GET"], &[], Repeat::Reads);
        let put = || need(&["PUT"], &[], Repeat::Idempotent);
        let once = || need(&["POST"], &[], Repeat::Once);
        Manifest {
            name: "errand".to_owned(),
            version: "0.1.0".to_owned(),
            description: "Runs errands".to_owned(),
            tools: vec![
                tool("read", Repeat::Reads, vec![reads()]),
                tool("put", Repeat::Idempotent, vec![put()]),
                tool("post_keyed", Repeat::Keyed, vec![keyed()]),
                tool("post_once", Repeat::Once, vec![once()]),
                tool("sequence_keyed", Repeat::Keyed, vec![reads(), put(), keyed()]),
                tool(
                    "sequence",
                    Repeat::Once,
                    vec![reads(), put(), need(&["POST"], &["/tickets"], Repeat::Keyed), once()],
                ),
            ],
        }
    }

    fn call(tool: String, input: String, _context: Context) -> Result<Reply, ToolError> {
        let (to, requests) = (field(&input, "to"), field(&input, "requests"));
        if tool == "post_keyed" {
            host::spend(3, "postage").map_err(|_| failure("nothing can be spent"))?;
        }
        let mut data = EMPTY.to_owned();
        for request in requests.split(',') {
            if data.len() > EMPTY.len() {
                data.push(',');
            }
            data.push_str(&send(to, request)?);
        }
        data.push_str("]}");
        Ok(Reply { data, attachments: Vec::new(), fingerprint: None, cleanup: None })
    }
}

airlock_sdk::__export_tools!(Errand);

fn tool(name: &str, repeat: Repeat, needs: Vec<HttpNeed>) -> Tool {
    Tool {
        name: name.to_owned(),
        title: "Errand".to_owned(),
        description: "Sends the requests, one after another.".to_owned(),
        input_schema: INPUT.to_owned(),
        output_schema: Some(r#"{"type":"object","properties":{"answers":{"type":"array"}}}"#.to_owned()),
        risk: if repeat == Repeat::Reads { Risk::BusinessRead } else { Risk::LowRiskWrite },
        repeat,
        cleanup: if repeat == Repeat::Reads { Cleanup::Nothing } else { Cleanup::Manual },
        permissions: Vec::new(),
        needs: needs.into_iter().map(Need::Http).collect(),
        hidden: Vec::new(),
        private: Vec::new(),
        same_action: Vec::new(),
        poll: false,
        timeout_ms: None,
        cost_micros: None,
    }
}

fn need(methods: &[&str], paths: &[&str], repeat: Repeat) -> HttpNeed {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    HttpNeed {
        origin: Origin::Granted,
        methods: texts(methods),
        paths: texts(paths),
        repeat,
        idempotency_header: (repeat == Repeat::Keyed).then(|| "Idempotency-Key".to_owned()),
        clean_statuses: Vec::new(),
    }
}

/// The value of a field without escapes, in an input whose fields are these two: `{"to":"…","requests":"…"}`.
fn field<'a>(input: &'a str, name: &str) -> &'a str {
    let mut texts = input.split('"');
    while let Some(text) = texts.next() {
        if text == name {
            return texts.nth(1).unwrap_or_default();
        }
    }
    ""
}

/// Sends one request; the answer's body is JSON, as the backend gives it.
fn send(to: &str, request: &str) -> Result<String, ToolError> {
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let request = http::Request {
        method: method.to_owned(),
        url: [to, path].concat(),
        headers: vec![header("content-type", "application/json"), header("authorization", "Bearer errand")],
        body: if method == "GET" { Vec::new() } else { br#"{"subject":"A parcel"}"#.to_vec() },
        timeout_ms: None,
    };
    match http::send(&request) {
        Ok(answer) if answer.status < 300 => {
            String::from_utf8(answer.body).map_err(|_| failure("the answer is no text"))
        }
        Ok(_) => Err(failure("the backend refuses")),
        Err(_) => Err(failure("the backend gives no whole answer")),
    }
}

fn failure(message: &str) -> ToolError {
    ToolError {
        kind: ErrorKind::Transient,
        code: "NO_ANSWER".to_owned(),
        message: message.to_owned(),
        user_message: None,
        retry_after_ms: None,
        details: None,
    }
}
