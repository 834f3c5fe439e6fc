//! Files that are no plugins: each is named with the reason and what to do, and stops nobody else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use airlock::host::Host;
use airlock_tests::guests::{CURIOUS, DAWDLER, ECHO, IMPORTER, KEEPER, MUTE, ODDBALL, STRANGER};
use airlock_tests::skip::skip;
use airlock_tests::world::{World, body, request};
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
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
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
    assert_snapshot!(beside_echo(files).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_nobody_provides_is_named() {
    let world = World::new().with_plugins(&[ECHO, IMPORTER, STRANGER]);
    assert_snapshot!(judged(&world).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_full_of_faults_is_answered_with_all_of_them() {
    let world = World::new().with_plugins(&[ECHO, ODDBALL]);
    assert_snapshot!(judged(&world).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_cannot_say_what_it_is_is_shown_with_its_last_words() {
    let world = World::new().with_plugins(&[ECHO, MUTE]);
    assert_snapshot!(judged(&world).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_never_finishes_describing_itself_is_given_up() {
    let world = World::new().with_plugins(&[ECHO, DAWDLER]).with_config("[limits]\nattempt = \"500ms\"");
    assert_snapshot!(judged(&world).await, @"");
    let world = World::new().with_plugins(&[ECHO, DAWDLER]).with_config("[limits]\nfuel = 100_000_000");
    assert_snapshot!(judged(&world).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_plugins_of_one_name_the_first_file_is_taken_and_the_second_is_told() {
    let world = World::new().with_plugins(&[ECHO]);
    fs::copy(ECHO, world.plugins().join("zecho.wasm")).unwrap();
    assert_snapshot!(judged(&world).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_is_told() {
    let world = World::new();
    fs::remove_dir(world.plugins()).unwrap();
    let host = world.open().await;
    assert_snapshot!(faults(&host, &world), @"");
    fs::write(world.plugins(), "a file").unwrap();
    let host = world.open().await;
    assert_snapshot!(faults(&host, &world), @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_regular_file_is_not_read() {
    let world = World::new().with_plugins(&[ECHO]);
    fs::create_dir(world.plugins().join("folder.wasm")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.plugins().join("lost.wasm")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", world.plugins().join("zero.wasm")).unwrap();
    let pipe = world.plugins().join("pipe.wasm");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_snapshot!(judged(&world).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_not_be_read_is_told() {
    let world = World::new().with_plugins(&[ECHO]);
    let closed = world.plugins().join("closed.wasm");
    fs::write(&closed, "x").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0)).unwrap();
    if fs::read(&closed).is_ok() {
        return skip("this user may read every file");
    }
    assert_snapshot!(judged(&world).await, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_granted_to_a_plugin_that_describes_itself() {
    let home = "http://127.0.0.1:9";
    let world = World::new()
        .with_plugins(&[CURIOUS])
        .with_config("[secrets]\ntoken = { env = \"T\" }")
        .with_config(&format!("[plugin.curious]\nsecrets = [\"token\"]\nconfig = {{ home_url = \"{home}\" }}"))
        .with_grant("curious", home, &["127.0.0.1"])
        .with_variable("T", "a secret of the operator");
    let host = world.open().await;
    assert_eq!(host.faults(), []);
    let local = airlock::model::id::CallerName("local".to_owned());
    let described = host.tools(&local).unwrap().remove(0).tool.description;
    assert_snapshot!(described, @"");
    // The same questions of a call are answered.
    let called = host.call(request("curious.look", &json!({}))).await;
    assert_snapshot!(body(&called)["text"].as_str().unwrap(), @"");
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
