//! The host's layers and the absences that ARCHITECTURE promises, read from its source.

use crate::source::{Fault, Kind, NO_LINES, Source, assert_none, sources_below, text_of};

/// The modules of the host from the lowest up: a module names only modules before it, and itself.
const LAYERS: &[&str] =
    &["telemetry", "model", "config", "store", "sandbox", "plugin", "call", "run", "host", "front", "main"];

/// What a front end sees of the crate.
const SEEN_BY_FRONT: &[&str] = &["front", "host", "model", "telemetry"];

/// The functions of the host that hold `unsafe`, each with `#[expect(unsafe_code, reason = "…")]`: one at most.
const UNSAFE: &[(&str, &str)] = &[("host/src/sandbox/engine/code.rs", "map")];

/// I/O, and the machinery of other layers.
const NOT_IN_MODEL: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "env"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "os"],
    &["std", "net", "*"],
    &["std", "net", "TcpStream"],
    &["std", "net", "TcpListener"],
    &["std", "net", "UdpSocket"],
    &["std", "net", "ToSocketAddrs"],
    &["std", "io", "stdin"],
    &["std", "io", "stdout"],
    &["std", "io", "stderr"],
    &["hyper"],
    &["hyper_util"],
    &["libc"],
    &["rusqlite"],
    &["rustls"],
    &["tokio"],
    &["tokio_rustls"],
    &["wasmtime"],
    &["wasmtime_wasi"],
];

/// Crates that one part of the host names alone, and the reason that a fault gives.
const KEPT_APART: &[(&[&str], &[&str], &str)] = &[
    (
        &["wasmtime", "wasmtime_wasi", "wasmtime_wasi_http", "wasmtime_wasi_io"],
        &["sandbox"],
        "only sandbox knows wasmtime",
    ),
    (&["rusqlite", "tokio_postgres"], &["store"], "only store knows SQL"),
    (
        &["axum", "clap", "clap_derive", "rmcp", "utoipa", "askama"],
        &["front"],
        "only front knows clap, MCP or HTTP routes",
    ),
];

const TIME: &[&[&str]] =
    &[&["Instant", "now"], &["SystemTime", "now"], &["libc", "clock_gettime"], &["libc", "gettimeofday"]];

const ENVIRONMENT: &[&str] =
    &["var", "var_os", "vars", "vars_os", "set_var", "remove_var", "temp_dir", "home_dir"];

/// The writes of the store's journal, and who alone submits each.
const WRITES: &[(&str, &[&str])] = &[
    ("reserve", &["call::reserve", "call::queue"]),
    ("record", &["call::settle"]),
    ("take", &["call::reserve", "call::queue", "call::recover", "call::checkpoint", "call::rollback"]),
    ("intend", &["sandbox::capability::http", "sandbox::capability::files"]),
    ("outcome", &["sandbox::capability::http", "sandbox::capability::files", "call::rollback"]),
    ("save", &["sandbox::capability::save"]),
    ("rest", &["call::retry"]),
    ("hear", &["call::retry", "call::breaker"]),
    ("ask", &["sandbox::gate"]),
    ("force", &["host::backends"]),
    ("settle", &["call::settle", "call::recover"]),
    ("decide", &["call::decide", "call::probe"]),
    ("roll_back", &["call::rollback"]),
    ("note", &["call::probe"]),
    ("delivered", &["call::parts"]),
    ("refuse", &["call::refused"]),
    ("sweep", &["host"]),
];

/// What says how a step starts and how it ends, and where alone it is made.
const STEPS: &[(&str, &str)] =
    &[("NewAttempt", "call::checkpoint"), ("Rest", "call::retry"), ("End", "call::settle")];

/// The beginnings by which SQL in a string is known.
const SQL: &[&str] = &[
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "DELETE FROM ",
    "CREATE TABLE ",
    "CREATE INDEX ",
    "CREATE UNIQUE ",
    "ALTER TABLE ",
    "DROP TABLE ",
    "PRAGMA ",
    "BEGIN IMMEDIATE",
];

/// The module that a file of the host is; nothing for `lib.rs`.
fn module_of(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("host/src/").trim_end_matches(".rs");
    inner.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
}

fn is_in(source: &Source, module: &str) -> bool {
    let own = module_of(&source.path).join("::");
    own == module || own.starts_with(&format!("{module}::"))
}

fn level(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == module)
}

fn modules_have_a_layer(source: &Source) -> Vec<Fault> {
    match module_of(&source.path).first() {
        Some(first) if level(first).is_none() => {
            vec![source.fault(1, format!("`{first}` has no place among the layers: {}", LAYERS.join(" < ")))]
        }
        Some(_) | None => Vec::new(),
    }
}

fn imports_go_down(source: &Source) -> Vec<Fault> {
    let module = module_of(&source.path);
    let Some(own) = module.first() else { return Vec::new() };
    let mut faults = Vec::new();
    for named in source.named() {
        let Some(path) = named.in_crate(&module) else { continue };
        let Some(other) = path.first() else { continue };
        match (level(own), level(other)) {
            (Some(own_level), Some(other_level)) if other_level > own_level => {
                faults.push(
                    source.fault(named.line, format!("`{own}` is below `{other}` and must not name it")),
                );
            }
            (Some(_), None) => {
                let text =
                    format!("`{}` does not name the module that it comes from", named.segments.join("::"));
                faults.push(source.fault(named.line, text));
            }
            (Some(_) | None, Some(_)) | (None, None) => {}
        }
    }
    faults
}

fn front_sees_host_and_model_alone(source: &Source) -> Vec<Fault> {
    if !is_in(source, "front") {
        return Vec::new();
    }
    let module = module_of(&source.path);
    let paths = source.named().into_iter().filter_map(|named| Some((named.line, named.in_crate(&module)?)));
    paths
        .filter(|(_, path)| path.first().is_some_and(|first| !SEEN_BY_FRONT.contains(&first.as_str())))
        .map(|(line, path)| {
            source.fault(line, format!("front sees host and model alone, not `{}`", path.join("::")))
        })
        .collect()
}

fn model_does_no_io(source: &Source) -> Vec<Fault> {
    if !is_in(source, "model") {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for named in source.named().iter().filter(|named| !named.in_test) {
        // `use std::fs;` and then `fs::read` is seen at the `use`.
        if NOT_IN_MODEL.iter().any(|path| named.starts_with(path)) {
            faults.push(
                source.fault(named.line, format!("model does no I/O: `{}`", named.segments.join("::"))),
            );
        }
    }
    faults
}

fn crates_are_kept_apart(source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    for named in source.named().iter().filter(|named| !named.in_test) {
        for (crates, modules, reason) in KEPT_APART {
            let there = modules.iter().any(|module| is_in(source, module));
            if crates.contains(&named.segments[0].as_str()) && !there {
                faults.push(source.fault(named.line, format!("{reason}: `{}`", named.segments.join("::"))));
            }
        }
    }
    faults
}

fn one_engine_configuration(source: &Source) -> Vec<Fault> {
    if is_in(source, "sandbox::engine") {
        return Vec::new();
    }
    source
        .named()
        .iter()
        .filter(|named| named.has(&["wasmtime", "Config"]) || named.has(&["wasmtime", "*"]))
        .map(|named| source.fault(named.line, "only sandbox::engine builds wasmtime's Config"))
        .collect()
}

fn only_store_knows_sql(source: &Source) -> Vec<Fault> {
    if is_in(source, "store") {
        return Vec::new();
    }
    let is_sql = |text: &str| {
        let inner = text.trim_start_matches(|c: char| "rbc#\"\\".contains(c) || c.is_whitespace());
        SQL.iter().any(|start| inner.starts_with(start))
    };
    let texts = source.tokens.iter().filter(|token| token.kind == Kind::Text && !token.in_test);
    texts
        .filter(|token| is_sql(&token.text))
        .map(|token| source.fault(token.line, "only store knows SQL"))
        .collect()
}

fn only_the_clock_reads_the_time(source: &Source) -> Vec<Fault> {
    if is_in(source, "model::clock") {
        return Vec::new();
    }
    let named = source.named();
    let read = named.iter().filter(|named| !named.in_test && TIME.iter().any(|path| named.has(path)));
    let elapsed = source.sequences(&[".", "elapsed", "("]).filter(|token| !token.in_test);
    read.map(|named| named.line)
        .chain(elapsed.map(|token| token.line))
        .map(|line| source.fault(line, "only model::clock reads the time: take a clock"))
        .collect()
}

fn only_config_reads_the_environment(source: &Source) -> Vec<Fault> {
    if is_in(source, "config") {
        return Vec::new();
    }
    let named = source.named();
    let reads = named.iter().filter(|named| {
        !named.in_test && ENVIRONMENT.iter().any(|name| named.has(&["env", name]) || named.has(&["env", "*"]))
    });
    reads
        .map(|named| {
            source.fault(
                named.line,
                format!("only config reads the environment: `{}`", named.segments.join("::")),
            )
        })
        .collect()
}

fn unsafe_stands_where_it_is_allowed(source: &Source, allowed: &[(&str, &str)]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, token) in source.tokens.iter().enumerate() {
        if token.kind != Kind::Word || token.text != "unsafe" || token.in_test {
            continue;
        }
        let function = source.function_around(at).map_or_else(|| "none".to_owned(), |function| function.name);
        if !allowed.contains(&(source.path.as_str(), function.as_str())) {
            faults
                .push(source.fault(token.line, format!("`unsafe` in function `{function}` is not allowed")));
        }
    }
    faults
}

fn no_decision_by_the_text_of_an_error(source: &Source) -> Vec<Fault> {
    if !is_in(source, "call") && !is_in(source, "run") {
        return Vec::new();
    }
    ["contains", "starts_with", "ends_with", "find", "matches"]
        .iter()
        .flat_map(|question| {
            let asked = [".", "to_string", "(", ")", ".", question];
            source
                .sequences(&asked)
                .filter(|token| !token.in_test)
                .map(|token| token.line)
                .collect::<Vec<_>>()
        })
        .map(|line| source.fault(line, "no stage decides by the text of an error"))
        .collect()
}

fn the_journal_is_written_where_it_is_allowed(source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (method, places) in WRITES {
        if is_in(source, "store") || places.iter().any(|place| is_in(source, place)) {
            continue;
        }
        for owner in ["store", "journal"] {
            for token in source.sequences(&[owner, ".", method, "("]).filter(|token| !token.in_test) {
                let text = format!("only {} calls the journal's `{method}`", places.join(" and "));
                faults.push(source.fault(token.line, text));
            }
        }
    }
    faults
}

fn steps_begin_and_end_in_one_place(source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (made, place) in STEPS {
        if is_in(source, "store") || is_in(source, place) {
            continue;
        }
        let is_made = |at: usize| {
            let [before, name, after] = [at.wrapping_sub(1), at, at + 1].map(|at| source.tokens.get(at));
            let named = name.is_some_and(|token| token.kind == Kind::Word && token.text == *made);
            // After an arrow it is a type, and the brace is that of the function.
            let is_type = before.is_some_and(|token| token.text == ">");
            named && !is_type && after.is_some_and(|token| token.text == "{")
        };
        let tokens = source.tokens.iter().enumerate();
        for (_, token) in tokens.filter(|(at, token)| !token.in_test && is_made(*at)) {
            faults.push(source.fault(token.line, format!("only {place} makes a `{made}`")));
        }
    }
    faults
}

/// Every rule over one file.
const RULES: &[fn(&Source) -> Vec<Fault>] = &[
    modules_have_a_layer,
    imports_go_down,
    front_sees_host_and_model_alone,
    model_does_no_io,
    crates_are_kept_apart,
    one_engine_configuration,
    only_store_knows_sql,
    only_the_clock_reads_the_time,
    only_config_reads_the_environment,
    no_decision_by_the_text_of_an_error,
    the_journal_is_written_where_it_is_allowed,
    steps_begin_and_end_in_one_place,
];

#[test]
fn the_host_keeps_its_layers() {
    let sources = sources_below("host/src");
    assert!(!sources.is_empty(), "the host's source was not found");
    let faults: Vec<Fault> =
        sources.iter().flat_map(|file| RULES.iter().flat_map(|rule| rule(file))).collect();
    assert_none(&faults);
}

#[test]
fn unsafe_is_in_one_function_of_the_host() {
    let sources = sources_below("host/src");
    let faults: Vec<Fault> =
        sources.iter().flat_map(|file| unsafe_stands_where_it_is_allowed(file, UNSAFE)).collect();
    assert_none(&faults);

    assert!(UNSAFE.len() <= 1, "more than one function with `unsafe` is listed: {UNSAFE:?}");
    for (path, function) in UNSAFE {
        let file = sources.iter().find(|file| file.path == *path);
        let found = file.is_some_and(|file| file.functions().iter().any(|found| found.name == *function));
        assert!(found, "`{function}` is listed as the function with `unsafe`, and is not in {path}");
    }
}

fn faults_of(rule: fn(&Source) -> Vec<Fault>, path: &str, text: &str) -> Vec<usize> {
    rule(&Source::parse(path, text)).into_iter().map(|fault| fault.line).collect()
}

#[test]
fn a_module_without_a_layer_is_found() {
    assert_eq!(faults_of(modules_have_a_layer, "host/src/extras.rs", ""), [1]);
    assert_eq!(faults_of(modules_have_a_layer, "host/src/call/settle.rs", ""), NO_LINES);
    assert_eq!(faults_of(modules_have_a_layer, "host/src/lib.rs", ""), NO_LINES);
}

#[test]
fn an_import_that_goes_up_is_found() {
    let rule = imports_go_down;
    assert_eq!(faults_of(rule, "host/src/model/id.rs", "\nuse crate::store::Store;"), [2]);
    assert_eq!(faults_of(rule, "host/src/model/id.rs", "use crate::{model::x, call::{a, b}};"), [1, 1]);
    assert_eq!(faults_of(rule, "host/src/store.rs", "fn f() { crate::plugin::load() }"), [1]);
    assert_eq!(faults_of(rule, "host/src/store/sqlite.rs", "use super::super::host::Host;"), [1]);
    assert_eq!(faults_of(rule, "host/src/store.rs", "use crate::Host;"), [1]);
    let fine = "use crate::{model::x, store::y, call::z}; use super::w; mod tests { use super::*; }";
    assert_eq!(faults_of(rule, "host/src/call/settle.rs", fine), NO_LINES);
    assert_eq!(faults_of(rule, "host/src/main.rs", "use airlock::front::cli;"), NO_LINES);
    assert_eq!(faults_of(rule, "host/src/sandbox/wit.rs", "pub use airlock::plugin::types;"), NO_LINES);
}

#[test]
fn a_front_end_that_looks_behind_the_host_is_found() {
    let rule = front_sees_host_and_model_alone;
    assert_eq!(faults_of(rule, "host/src/front/cli.rs", "use crate::store::Store;"), [1]);
    assert_eq!(faults_of(rule, "host/src/front/cli/call.rs", "use super::super::super::call::execute;"), [1]);
    assert_eq!(
        faults_of(rule, "host/src/front/cli.rs", "use crate::{host::Host, model::code::Code};"),
        NO_LINES
    );
    assert_eq!(faults_of(rule, "host/src/host.rs", "use crate::store::Store;"), NO_LINES);
}

#[test]
fn io_in_the_model_is_found() {
    let rule = model_does_no_io;
    let text = "use std::fs;\nuse std::{env, time::Duration};\nuse tokio::sync::Mutex;\nfn f() { std::net::TcpStream::connect(a); }";
    assert_eq!(faults_of(rule, "host/src/model/id.rs", text), [1, 2, 3, 4]);
    assert_eq!(faults_of(rule, "host/src/config.rs", text), NO_LINES);
    let fine = "use std::net::IpAddr;\n#[cfg(test)]\nmod tests { use std::fs; }";
    assert_eq!(faults_of(rule, "host/src/model/origin.rs", fine), NO_LINES);
}

#[test]
fn a_crate_out_of_its_place_is_found() {
    let rule = crates_are_kept_apart;
    assert_eq!(faults_of(rule, "host/src/plugin/audit.rs", "use wasmtime::component::Component;"), [1]);
    assert_eq!(faults_of(rule, "host/src/call/attempt.rs", "fn f(e: wasmtime_wasi::I32Exit) {}"), [1]);
    assert_eq!(faults_of(rule, "host/src/sandbox/traps.rs", "use wasmtime::Trap;"), NO_LINES);
    assert_eq!(faults_of(rule, "host/src/config.rs", "use rusqlite::Connection;"), [1]);
    assert_eq!(faults_of(rule, "host/src/store/sqlite/reader.rs", "use rusqlite::Connection;"), NO_LINES);
    assert_eq!(faults_of(rule, "host/src/model/code.rs", "#[derive(clap::ValueEnum)]\nenum E {}"), [1]);
    assert_eq!(faults_of(rule, "host/src/front/cli.rs", "use clap::Parser;"), NO_LINES);
}

#[test]
fn a_second_engine_configuration_is_found() {
    let rule = one_engine_configuration;
    assert_eq!(faults_of(rule, "host/src/sandbox/limits.rs", "use wasmtime::{Config, Engine};"), [1]);
    assert_eq!(faults_of(rule, "host/src/sandbox/attempt.rs", "fn f() { wasmtime::Config::new(); }"), [1]);
    assert_eq!(faults_of(rule, "host/src/sandbox/attempt.rs", "use wasmtime::*;"), [1]);
    assert_eq!(faults_of(rule, "host/src/sandbox/engine.rs", "use wasmtime::Config;"), NO_LINES);
}

#[test]
fn sql_outside_the_store_is_found() {
    let rule = only_store_knows_sql;
    assert_eq!(faults_of(rule, "host/src/call/recall.rs", "const Q: &str = \"SELECT 1\";"), [1]);
    assert_eq!(faults_of(rule, "host/src/host.rs", "\nlet q = r#\"\n  INSERT INTO runs\"#;"), [2]);
    assert_eq!(faults_of(rule, "host/src/host.rs", "let q = \"Select a tool\";"), NO_LINES);
    assert_eq!(faults_of(rule, "host/src/store/sqlite.rs", "let q = \"SELECT 1\";"), NO_LINES);
}

#[test]
fn reading_the_time_elsewhere_is_found() {
    let rule = only_the_clock_reads_the_time;
    let text = "fn f() { Instant::now();\n std::time::SystemTime::now();\n start.elapsed(); }";
    assert_eq!(faults_of(rule, "host/src/call/attempt.rs", text), [1, 2, 3]);
    assert_eq!(faults_of(rule, "host/src/model/clock.rs", text), NO_LINES);
    assert_eq!(
        faults_of(rule, "host/src/call/attempt.rs", "fn f() { clock.now(); // Instant::now()\n}"),
        NO_LINES
    );
}

#[test]
fn reading_the_environment_elsewhere_is_found() {
    let rule = only_config_reads_the_environment;
    let text = "use std::env::var_os;\nfn f() { std::env::var(\"A\");\n env::vars(); }";
    assert_eq!(faults_of(rule, "host/src/front/cli.rs", text), [1, 2, 3]);
    assert_eq!(faults_of(rule, "host/src/config/secrets.rs", text), NO_LINES);
    assert_eq!(
        faults_of(rule, "host/src/main.rs", "fn main() { std::env::args_os(); env!(\"A\"); }"),
        NO_LINES
    );
}

#[test]
fn unsafe_in_another_function_is_found() {
    let text = "fn a() {\n #[expect(unsafe_code, reason = \"\")]\n unsafe {}\n}\nfn b() {\n let c = || unsafe {};\n}\nunsafe impl Send for D {}";
    let source = Source::parse("host/src/x.rs", text);

    let lines = |allowed| -> Vec<usize> {
        unsafe_stands_where_it_is_allowed(&source, allowed).into_iter().map(|fault| fault.line).collect()
    };
    assert_eq!(lines(&[]), [3, 6, 8]);
    assert_eq!(lines(&[("host/src/x.rs", "a")]), [6, 8]);
    assert_eq!(lines(&[("host/src/y.rs", "a")]), [3, 6, 8]);
}

#[test]
fn a_decision_by_the_text_of_an_error_is_found() {
    let rule = no_decision_by_the_text_of_an_error;
    let text = "fn f(e: Error) { if e.to_string().contains(\"timeout\") {} }";
    assert_eq!(faults_of(rule, "host/src/call/classify.rs", text), [1]);
    assert_eq!(faults_of(rule, "host/src/config.rs", text), NO_LINES);
    assert_eq!(faults_of(rule, "host/src/call/classify.rs", "fn f() { name.contains(\"x\"); }"), NO_LINES);
}

#[test]
fn a_write_from_elsewhere_is_found() {
    let rule = the_journal_is_written_where_it_is_allowed;
    let text =
        "async fn f() { parts.store.settle(lease, end).await;\n self.journal.intend(lease, effect).await; }";
    assert_eq!(faults_of(rule, "host/src/call/attempt.rs", text), [2, 1]);
    assert_eq!(faults_of(rule, "host/src/call/settle.rs", text), [2]);
    assert_eq!(faults_of(rule, "host/src/store/sqlite.rs", text), NO_LINES);
    assert_eq!(faults_of(rule, "host/src/call.rs", "fn f() { settle::settle(run); x.take(); }"), NO_LINES);
}

#[test]
fn every_write_of_the_journal_is_listed() {
    let text = text_of("host/src/store.rs").expect("a Rust file is text");
    let after = text.split("pub trait Journal").nth(1).expect("the trait is there");
    let body = after.split("\n}\n").next().expect("it has an end");
    let methods: Vec<&str> =
        body.split("    fn ").skip(1).filter_map(|method| method.split('(').next()).collect();
    assert_eq!(methods, WRITES.iter().map(|(method, _)| *method).collect::<Vec<_>>());
}

#[test]
fn a_step_that_begins_or_ends_elsewhere_is_found() {
    let rule = steps_begin_and_end_in_one_place;
    let text = "fn f() -> End {\n let e = End { at };\n Some(NewAttempt { at }) }";
    assert_eq!(faults_of(rule, "host/src/call/attempt.rs", text), [3, 2]);
    assert_eq!(faults_of(rule, "host/src/call/settle.rs", text), [3]);
    assert_eq!(faults_of(rule, "host/src/store.rs", text), NO_LINES);
}
