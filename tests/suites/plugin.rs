//! Files that are no plugins: each is named with the reason and what to do, and stops nobody else.

mod contract;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use airlock::host::Host;
use airlock_tests::guests::{CURIOUS, DAWDLER, ECHO, KEEPER, MUTE, ODDBALL, STRANGER};
use airlock_tests::skip::skip;
use airlock_tests::world::{World, body, code, request};
use insta::assert_snapshot;
use serde_json::json;

/// All faults as an operator reads them; the folder is the test's own.
fn faults(host: &Host, world: &World) -> String {
    let folder = world.folder().to_str().unwrap();
    let mut lines = Vec::new();
    for fault in host.faults() {
        lines.push(format!("{}", fault.file.display()));
        lines.extend(fault.faults.iter().map(|text| format!("  - {text}")));
        lines.push(format!("  = {}", fault.remedy));
    }
    lines.join("\n").replace(folder, "WORLD")
}

/// The same without places inside files, which move with every build.
fn anywhere(faults: &str) -> String {
    let line = |line: &str| match line.contains("it cannot be compiled") {
        true => line.replace(|letter: char| letter.is_ascii_digit(), ""),
        false => line.to_owned(),
    };
    faults.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The faults of a folder in which these files lie beside `echo`, which is there all the same.
async fn beside_echo(files: &[(&str, &[u8])]) -> String {
    let world = World::new().with_plugins(&[ECHO]);
    for (name, bytes) in files {
        fs::write(world.plugins().join(name), bytes).unwrap();
    }
    judged(&world).await
}

async fn judged(world: &World) -> String {
    let host = world.open().await;
    let said = host.call(request("echo.echo", &json!({ "text": "here" }))).await;
    assert_eq!(body(&said), json!({ "text": "here" }), "one bad plugin stops no other");
    faults(&host, world)
}

/// The header of machine code as wasmtime writes it: an ELF file of its own kind.
fn machine_code(flags: u8) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\xc8");
    (header[16], header[18], header[20], header[48], header[52]) = (1, 62, 1, flags, 64);
    header
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_components_are_named_with_the_reason() {
    let echo = fs::read(ECHO).unwrap();
    let mut damaged = echo.clone();
    damaged[8..72].fill(0xff);
    let module = b"\0asm\x01\0\0\0";
    let files: &[(&str, &[u8])] = &[
        ("a_empty.wasm", b""),
        ("b_text.wasm", b"this is a shopping list\n"),
        ("c_short.wasm", &echo[..7]),
        ("d_head.wasm", &echo[..8]),
        ("e_half.wasm", &echo[..echo.len() / 2]),
        ("f_damaged.wasm", &damaged),
        ("g_module.wasm", module),
        ("h_machine_code.wasm", &machine_code(2)),
        ("i_module_code.wasm", &machine_code(1)),
        ("j_program.wasm", b"\x7fELF\x02\x01\x01\0 and so on"),
        ("k_later.wasm", b"\0asm\x99\0\x01\0"),
        ("l_empty_component.wasm", b"\0asm\x0d\0\x01\0"),
        ("m_archive.wasm", b"PK\x03\x04 and so on"),
        ("machine_code.cwasm", &machine_code(2)),
        ("notes.txt", b"not looked at"),
    ];
    assert_snapshot!(anywhere(&beside_echo(files).await), @r"
    WORLD/plugins/a_empty.wasm
      - it is no WebAssembly: it has 0 bytes
      = put a component there, or remove the file
    WORLD/plugins/b_text.wasm
      - it is no WebAssembly: it does not begin as WebAssembly does
      = put a component there, or remove the file
    WORLD/plugins/c_short.wasm
      - it is no WebAssembly: it has 7 bytes
      = put a component there, or remove the file
    WORLD/plugins/d_head.wasm
      - it does not export airlock:plugin/tools@0.1.0
      = export `describe` and `call` as wit/plugin.wit says
    WORLD/plugins/e_half.wasm
      - it cannot be compiled: failed to parse WebAssembly module: wasm component contains an invalid module section: section range .. is out of bounds (bound = )
      = copy the file again if it is cut short; else build it without options that the host leaves out
    WORLD/plugins/f_damaged.wasm
      - it cannot be compiled: failed to parse WebAssembly module: malformed section id (at offset x)
      = copy the file again if it is cut short; else build it without options that the host leaves out
    WORLD/plugins/g_module.wasm
      - it is a core WebAssembly module and no component
      = build for wasm32-wasip2, or wrap it with `wasm-tools component new`
    WORLD/plugins/h_machine_code.wasm
      - it is compiled code (.cwasm), which is never taken from outside
      = put the component itself there; the host compiles it
    WORLD/plugins/i_module_code.wasm
      - it is compiled code (.cwasm), which is never taken from outside
      = put the component itself there; the host compiles it
    WORLD/plugins/j_program.wasm
      - it is no WebAssembly: it does not begin as WebAssembly does
      = put a component there, or remove the file
    WORLD/plugins/k_later.wasm
      - it cannot be compiled: failed to parse WebAssembly module: unknown binary version:    x (at offset x)
      = copy the file again if it is cut short; else build it without options that the host leaves out
    WORLD/plugins/l_empty_component.wasm
      - it does not export airlock:plugin/tools@0.1.0
      = export `describe` and `call` as wit/plugin.wit says
    WORLD/plugins/m_archive.wasm
      - it is no WebAssembly: it does not begin as WebAssembly does
      = put a component there, or remove the file
    WORLD/plugins/machine_code.cwasm
      - it is compiled code (.cwasm), which is never taken from outside
      = put the component itself there; the host compiles it
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_nobody_provides_is_named() {
    let world = World::new().with_plugins(&[ECHO, STRANGER]);
    assert_snapshot!(judged(&world).await, @r"
    WORLD/plugins/stranger.wasm
      - it imports example:weather/forecast@1.0.0, which this host does not have
      = build the plugin against the contract that this host has (wit/plugin.wit), without that import
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_full_of_faults_is_answered_with_all_of_them() {
    let world = World::new().with_plugins(&[ECHO, ODDBALL]);
    assert_snapshot!(judged(&world).await, @r#"
    WORLD/plugins/oddball.wasm
      - the plugin: its name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is "Odd__Ball"
      - the plugin: its version must be a semantic version such as 1.4.0 (unexpected character 'x' while parsing minor version number), and is "1.x"
      - the plugin: the description must hold visible characters alone, and hides U+200B, U+202E
      - tool "": the name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is ""
      - tool "Upper": the name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is "Upper"
      - tool "two__bars": the name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is "two__bars"
      - tool "9_first": the name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is "9_first"
      - tool "with space": the name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is "with space"
      - tool "hyphen-ated": the name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is "hyphen-ated"
      - tool "twin": the name is declared twice; keep one of them
      - tool "input_is_no_json": the input schema is no JSON: EOF while parsing an object at line 1 column 1
      - tool "input_is_no_schema": the input schema: must be a JSON object with `"type": "object"` and is 7
      - tool "input_is_no_object": the input schema: its root must be `"type": "object"` and has the type "array"
      - tool "input_has_unknown_type": the input schema: at /properties/a/type: a type is string, number, integer, boolean, array, object or null, and this is "text"
      - tool "input_refers_outside": the input schema: at /properties/a: refers outside itself, and may refer to `#/$defs/…` alone: "https://example.com/schema.json"
      - tool "input_refers_to_a_file": the input schema: at /properties/a: refers outside itself, and may refer to `#/$defs/…` alone: "file:///etc/passwd"
      - tool "input_refers_to_nothing": the input schema: at /properties/a: refers to #/$defs/missing, which is not there; write `#/$defs/…`
      - tool "input_pattern_looks_ahead": the input schema: at /properties/a: the pattern cannot run in linear time; write it without look-around and back-references: "^(?=a)."
      - tool "input_pattern_refers_back": the input schema: at /properties/a: the pattern cannot run in linear time; write it without look-around and back-references: "^(a)\\1$"
      - tool "input_pattern_is_broken": the input schema: at /properties/a: the pattern is no regular expression that can run in linear time: "("
      - tool "output_is_no_json": the output schema is no JSON: EOF while parsing an object at line 1 column 1
      - tool "output_is_no_object": the output schema: its root must be `"type": "object"` and has the type "string"
      - tool "title_is_empty": the title must say something and is empty
      - tool "description_is_empty": the description must say something and is empty
      - tool "description_hides_characters": the description must hold visible characters alone, and hides U+202E, U+2066, U+001B
      - tool "permissions_are_malformed": a permission has 1 to 128 visible characters and no space, such as order:read, and is "order read"
      - tool "permissions_are_malformed": a permission has 1 to 128 visible characters and no space, such as order:read, and is ""
      - tool "timeout_is_zero": `timeout-ms` must be at least 1 and is 0; leave it out for the host's own limit
      - tool "hidden_is_no_pointer": `hidden` holds JSON pointers such as /customer/name or /lines/*/price, with ~0 for ~ and ~1 for /, and one is "no_slash"
      - tool "hidden_has_a_bad_escape": `hidden` holds JSON pointers such as /customer/name or /lines/*/price, with ~0 for ~ and ~1 for /, and one is "/a/~2"
      - tool "private_is_no_pointer": `private` holds JSON pointers such as /customer/name or /lines/*/price, with ~0 for ~ and ~1 for /, and one is "no_slash"
      - tool "same_action_is_no_field": `same-action` names fields of the input (it has a), and one is "missing"
      - tool "origin_is_empty": an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443, and one is ""
      - tool "origin_has_no_scheme": an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443, and one is "example.com"
      - tool "origin_is_no_http": an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443, and one is "ftp://example.com"
      - tool "origin_has_a_path": an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443, and one is "https://example.com/path"
      - tool "origin_has_a_user": an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443, and one is "https://user@example.com"
      - tool "origin_is_everything": an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443, and one is "https://*"
      - tool "origin_has_a_star_inside": an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443, and one is "https://a.*.example.com"
      - tool "method_is_lower_case": a method is written in capitals, such as GET, and one is "get"
      - tool "path_has_no_slash": a path begins with / ; * stands for one segment and a final /** for the rest, such as /orders/*, and one is "a"
      - tool "path_has_dots": a path begins with / ; * stands for one segment and a final /** for the rest, such as /orders/*, and one is "/a/../b"
      - tool "path_has_stars_inside": a path begins with / ; * stands for one segment and a final /** for the rest, such as /orders/*, and one is "/**/a"
      - tool "path_hides_a_slash": a path begins with / ; * stands for one segment and a final /** for the rest, such as /orders/*, and one is "/a%2Fb"
      - tool "looser_than_its_need": it repeats as reads, which is looser than what it does: POST to https://example.com repeats as once; declare once
      - tool "key_without_a_header": an HTTP need that repeats as keyed must name its `idempotency-header`, such as Idempotency-Key, and names none
      - tool "key_without_a_header": it repeats as reads, which is looser than what it does: POST to https://example.com repeats as keyed; declare keyed
      - tool "key_in_a_header_of_the_host": `idempotency-header` must be a header of its own, such as Idempotency-Key, and is "Host", which has another use
      - tool "key_in_a_header_of_the_host": it repeats as reads, which is looser than what it does: POST to https://example.com repeats as keyed; declare keyed
      - tool "header_without_a_key": an HTTP need with an `idempotency-header` ("Idempotency-Key") must repeat as keyed, and repeats as once
      - tool "header_without_a_key": it repeats as reads, which is looser than what it does: POST to https://example.com repeats as once; declare once
      - tool "clean_status_below_500": `clean-statuses` holds statuses from 500 to 599, and one is 404
      - tool "clean_status_below_500": it repeats as reads, which is looser than what it does: POST to https://example.com repeats as once; declare once
      - tool "secret_without_a_name": the name of a secret has 1 to 128 visible characters and no space, and is ""
      - tool "secret_without_an_origin": the secret "token" must name the origins that it is sent to, and names none
      - tool "config_without_a_key": a configuration key has 1 to 128 visible characters and no space, and is ""
      - tool "directory_without_a_name": the name of a directory has 1 to 128 visible characters and no space, and is ""
      - tool "directory_without_a_name": it repeats as reads, which is looser than what it does: writing in the folder "" repeats as idempotent; declare idempotent
      - tool "origin_without_a_key": the configuration key of an origin has 1 to 128 visible characters and no space, and is ""
      = mend the manifest and build the plugin again
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_cannot_say_what_it_is_is_shown_with_its_last_words() {
    let world = World::new().with_plugins(&[ECHO, MUTE]);
    assert_snapshot!(judged(&world).await, @r"
    WORLD/plugins/mute.wasm
      - it cannot describe itself: wasm trap: wasm `unreachable` instruction executed
      - err: thread '<unnamed>' (1) panicked at tests/guests/mute/src/lib.rs:10:9:
      - err: no words
      - err: note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
      = mend the plugin's `describe` and build it again; a limit that is named can be raised
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_never_finishes_describing_itself_is_given_up() {
    let world = World::new().with_plugins(&[ECHO, DAWDLER]).with_config("[limits]\nattempt = \"2s\"");
    assert_snapshot!(judged(&world).await, @r"
    WORLD/plugins/dawdler.wasm
      - it took longer than 2s to describe itself ([limits] attempt)
      = mend the plugin's `describe` and build it again; a limit that is named can be raised
    ");
    let world = World::new().with_plugins(&[ECHO, DAWDLER]).with_config("[limits]\nfuel = 100_000_000");
    assert_snapshot!(judged(&world).await, @r"
    WORLD/plugins/dawdler.wasm
      - it cannot describe itself: the tool used up its 100000000 units of fuel ([limits] fuel)
      = mend the plugin's `describe` and build it again; a limit that is named can be raised
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_begins_with_more_memory_than_it_may_have_is_told_the_limit() {
    let world = World::new().with_plugins(&[ECHO]).with_config("[limits]\nmemory = \"64 KiB\"");
    assert_snapshot!(faults(&world.open().await, &world), @r"
    WORLD/plugins/echo.wasm
      - it cannot describe itself: the tool asked for more than 65536 bytes of memory ([limits] memory)
      = mend the plugin's `describe` and build it again; a limit that is named can be raised
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_plugins_of_one_name_neither_is_taken_and_both_are_told() {
    let world = World::new().with_plugins(&[ECHO]);
    fs::copy(ECHO, world.plugins().join("aaa.wasm")).unwrap();
    let host = world.open().await;
    assert_snapshot!(faults(&host, &world), @r"
    WORLD/plugins/aaa.wasm
      - its name `echo` is also that of WORLD/plugins/echo.wasm
      = remove the file that is not meant, or give it another name in its manifest
    WORLD/plugins/echo.wasm
      - its name `echo` is also that of WORLD/plugins/aaa.wasm
      = remove the file that is not meant, or give it another name in its manifest
    ");
    let reply = host.call(request("echo.echo", &json!({ "text": "x" }))).await;
    assert_eq!(code(&reply), "UNKNOWN_TOOL", "what is granted to the name is given to neither");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_is_told() {
    let world = World::new();
    let folder = world.folder().to_str().unwrap();
    fs::remove_dir(world.plugins()).unwrap();
    let host = world.open().await;
    let missing = || host.missing().map(|missing| missing.to_string().replace(folder, "WORLD"));
    assert_snapshot!(missing().unwrap(), @r"
    error: the folder of plugins cannot be read: WORLD/plugins: No such file or directory (os error 2)
     |
     = help: make the folder, or name another with `plugins`
    ");
    fs::write(world.plugins(), "a file").unwrap();
    host.reload().await;
    assert!(missing().unwrap().contains("Not a directory"));
    fs::remove_file(world.plugins()).unwrap();
    fs::create_dir(world.plugins()).unwrap();
    host.reload().await;
    assert_eq!(missing(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_regular_file_is_not_read() {
    let world = World::new().with_plugins(&[ECHO]);
    fs::create_dir(world.plugins().join("folder.wasm")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.plugins().join("lost.wasm")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", world.plugins().join("zero.wasm")).unwrap();
    let pipe = world.plugins().join("pipe.wasm");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_snapshot!(judged(&world).await, @r"
    WORLD/plugins/folder.wasm
      - it is no regular file
      = look at the file and its permissions
    WORLD/plugins/lost.wasm
      - it cannot be read: No such file or directory (os error 2)
      = look at the file and its permissions
    WORLD/plugins/pipe.wasm
      - it is no regular file
      = look at the file and its permissions
    WORLD/plugins/zero.wasm
      - it is a link that leads out of the folder of plugins
      = look at the file and its permissions
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_not_be_read_is_told() {
    let world = World::new().with_plugins(&[ECHO]);
    let closed = world.plugins().join("closed.wasm");
    fs::write(&closed, "x").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&closed).is_ok() {
        return skip("this user may read every file");
    }
    assert_snapshot!(judged(&world).await, @r"
    WORLD/plugins/closed.wasm
      - it cannot be read: Permission denied (os error 13)
      = look at the file and its permissions
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_granted_to_a_plugin_that_describes_itself() {
    let home = "http://127.0.0.1:9";
    let world = World::new()
        .with_plugins(&[CURIOUS])
        .with_config("[secrets]\ntoken = { env = \"T\" }")
        .with_config(&format!(
            "[plugin.curious]\nsecrets = [\"token\"]\nconfig = {{ home_url = \"{home}\" }}"
        ))
        .with_grant("curious", home, &["127.0.0.1"])
        .with_variable("T", "a secret of the operator");
    let host = world.open().await;
    assert_eq!(host.faults(), []);
    let local = airlock::model::id::CallerName("local".to_owned());
    let described = host.tools(&local, None).unwrap().remove(0).tool.description;
    assert_snapshot!(described, @r#"
    config: None
    placeholder: SECRET_REFUSED nothing is granted while a plugin describes itself
    signature: SECRET_REFUSED nothing is granted while a plugin describes itself
    request: Forbidden("nothing is granted while a plugin describes itself")
    variables: 0
    arguments: 0
    folder: entity not found
    "#);
    // The same questions of a call are answered.
    let called = host.call(request("curious.look", &json!({}))).await;
    assert_snapshot!(body(&called)["text"].as_str().unwrap(), @r#"
    config: Some("http://127.0.0.1:9")
    placeholder: given
    signature: given
    request: NotSent("no connection: Connection refused (os error 111)")
    variables: 0
    arguments: 0
    folder: entity not found
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_another_name_has_no_grant_of_its_neighbour() {
    let world = World::new()
        .with_plugins(&[KEEPER])
        .with_config("[secrets]\ntoken = { env = \"T\" }\n[plugin.kepeer]\nsecrets = [\"token\"]")
        .with_variable("T", "a secret of the operator");
    let host = world.open().await;
    let reply = host.call(request("keeper.placeholder", &json!({ "name": "token" }))).await;
    assert_eq!(body(&reply)["code"], "SECRET_REFUSED");
}
