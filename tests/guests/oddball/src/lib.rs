//! Declares itself with every fault there is; what is wrong with a tool stands in its name.

use airlock_sdk::bindings::reader::airlock::plugin::types::{
    Access, DirectoryNeed, HttpNeed, Need, Origin, SecretNeed, Tool,
};
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};
use airlock_sdk::{Cleanup, Context, Repeat, Risk};

struct Oddball;

impl tools::Guest for Oddball {
    fn describe() -> Manifest {
        Manifest {
            name: "Odd__Ball".to_owned(),
            version: "1.x".to_owned(),
            description: "Has a hidden \u{200b}space and turns\u{202e} around".to_owned(),
            tools: [names(), schemas(), words(), pointers(), requests(), needs()].concat(),
        }
    }

    fn call(_tool: String, _input: String, _context: Context) -> Result<Reply, ToolError> {
        panic!("nothing is declared that could be called")
    }
}

airlock_sdk::__export_tools!(Oddball);

/// A tool without a fault, to begin with.
fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: "Odd".to_owned(),
        description: "Does something odd.".to_owned(),
        input_schema:
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#
                .to_owned(),
        output_schema: Some(r#"{"type":"object","properties":{"b":{"type":"string"}}}"#.to_owned()),
        risk: Risk::PublicRead,
        repeat: Repeat::Reads,
        cleanup: Cleanup::Nothing,
        permissions: Vec::new(),
        needs: Vec::new(),
        hidden: Vec::new(),
        private: Vec::new(),
        same_action: Vec::new(),
        poll: false,
        timeout_ms: None,
        cost_micros: None,
    }
}

fn names() -> Vec<Tool> {
    ["", "Upper", "two__bars", "9_first", "with space", "hyphen-ated", "twin", "twin"].map(tool).into()
}

fn schemas() -> Vec<Tool> {
    let input = |name: &str, schema: &str| Tool { input_schema: schema.to_owned(), ..tool(name) };
    let of_a = |a: &str| format!(r#"{{"type":"object","properties":{{"a":{a}}}}}"#);
    vec![
        input("input_is_no_json", "{"),
        input("input_is_no_schema", "7"),
        input("input_is_no_object", r#"{"type":"array"}"#),
        input("input_has_unknown_type", &of_a(r#"{"type":"text"}"#)),
        input("input_refers_outside", &of_a(r#"{"$ref":"https://example.com/schema.json"}"#)),
        input("input_refers_to_a_file", &of_a(r#"{"$ref":"file:///etc/passwd"}"#)),
        input("input_refers_to_nothing", &of_a(r##"{"$ref":"#/$defs/missing"}"##)),
        input("input_pattern_looks_ahead", &of_a(r#"{"type":"string","pattern":"^(?=a)."}"#)),
        input("input_pattern_refers_back", &of_a(r#"{"type":"string","pattern":"^(a)\\1$"}"#)),
        input("input_pattern_is_broken", &of_a(r#"{"type":"string","pattern":"("}"#)),
        Tool { output_schema: Some("{".to_owned()), ..tool("output_is_no_json") },
        Tool { output_schema: Some(r#"{"type":"string"}"#.to_owned()), ..tool("output_is_no_object") },
        Tool { output_schema: None, ..tool("output_is_missing") },
    ]
}

fn words() -> Vec<Tool> {
    vec![
        Tool { title: String::new(), ..tool("title_is_empty") },
        Tool { description: String::new(), ..tool("description_is_empty") },
        Tool {
            description: "Ignore \u{202e}this\u{2066} and \u{1b}[31mthat".to_owned(),
            ..tool("description_hides_characters")
        },
        Tool {
            permissions: vec!["order read".to_owned(), String::new()],
            ..tool("permissions_are_malformed")
        },
        Tool { timeout_ms: Some(0), ..tool("timeout_is_zero") },
    ]
}

fn pointers() -> Vec<Tool> {
    let list = |text: &str| vec![text.to_owned()];
    vec![
        Tool { hidden: list("no_slash"), ..tool("hidden_is_no_pointer") },
        Tool { hidden: list("/a/~2"), ..tool("hidden_has_a_bad_escape") },
        Tool { private: list("no_slash"), ..tool("private_is_no_pointer") },
        Tool { same_action: list("missing"), ..tool("same_action_is_no_field") },
    ]
}

fn requests() -> Vec<Tool> {
    let origin = |name: &str, origin: &str| one_need(name, Need::Http(http(origin, "GET", "/a")));
    vec![
        origin("origin_is_empty", ""),
        origin("origin_has_no_scheme", "example.com"),
        origin("origin_is_no_http", "ftp://example.com"),
        origin("origin_has_a_path", "https://example.com/path"),
        origin("origin_has_a_user", "https://user@example.com"),
        origin("origin_is_everything", "https://*"),
        origin("origin_has_a_star_inside", "https://a.*.example.com"),
        one_need("method_is_lower_case", Need::Http(http("https://example.com", "get", "/a"))),
        one_need("path_has_no_slash", Need::Http(http("https://example.com", "GET", "a"))),
        one_need("path_has_dots", Need::Http(http("https://example.com", "GET", "/a/../b"))),
        one_need("path_has_stars_inside", Need::Http(http("https://example.com", "GET", "/**/a"))),
        one_need("path_hides_a_slash", Need::Http(http("https://example.com", "GET", "/a%2Fb"))),
        post("looser_than_its_need", |_| ()),
        post("key_without_a_header", |need| need.repeat = Repeat::Keyed),
        post("key_in_a_header_of_the_host", |need| {
            need.repeat = Repeat::Keyed;
            need.idempotency_header = Some("Host".to_owned());
        }),
        post("header_without_a_key", |need| need.idempotency_header = Some("Idempotency-Key".to_owned())),
        post("clean_status_below_500", |need| need.clean_statuses = vec![404]),
    ]
}

fn needs() -> Vec<Tool> {
    let secret = |name: &str, origins: Vec<Origin>| {
        Need::Secret(SecretNeed { name: name.to_owned(), origins, in_body: false })
    };
    let access = Access::Write;
    vec![
        one_need("secret_without_a_name", secret("", vec![Origin::Granted])),
        one_need("secret_without_an_origin", secret("token", Vec::new())),
        one_need("config_without_a_key", Need::Config(String::new())),
        one_need("directory_without_a_name", Need::Directory(DirectoryNeed { name: String::new(), access })),
        one_need(
            "origin_without_a_key",
            Need::Http(HttpNeed { origin: Origin::Configured(String::new()), ..http("", "GET", "/a") }),
        ),
    ]
}

fn one_need(name: &str, need: Need) -> Tool {
    Tool { needs: vec![need], ..tool(name) }
}

fn http(origin: &str, method: &str, path: &str) -> HttpNeed {
    HttpNeed {
        origin: Origin::Fixed(origin.to_owned()),
        methods: vec![method.to_owned()],
        paths: vec![path.to_owned()],
        repeat: Repeat::Reads,
        idempotency_header: None,
        clean_statuses: Vec::new(),
    }
}

/// A tool that reads by its own words, and sends a POST.
fn post(name: &str, change: impl Fn(&mut HttpNeed)) -> Tool {
    let mut need = HttpNeed { repeat: Repeat::Once, ..http("https://example.com", "POST", "/a") };
    change(&mut need);
    one_need(name, Need::Http(need))
}
