//! The folder of plugins as it lives: what is in it, what comes, changes and goes, and what each costs.

mod bombs;
mod cache;
mod reload;
mod trust;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use airlock::host::{Host, Seams};
use airlock::model::id::CallerName;
use airlock_tests::changeling::{self, put};
use airlock_tests::guests::ECHO;
use airlock_tests::world::{World, body, code, compiler, request};
use serde_json::{Value, json};

/// A changeling of another name that answers another word.
fn named(name: &str, word: &str) -> Value {
    let mut nature = changeling::nature();
    nature["name"] = json!(name);
    nature["word"] = json!(word);
    nature
}

/// A world with one changeling of this nature.
fn world_with(nature: &Value) -> World {
    let world = World::new();
    put(&world.plugins(), "changeling.wasm", nature);
    world
}

/// What the tool of a plugin answers: its word, or the code of its error.
async fn says(host: &Host, plugin: &str) -> String {
    let reply = host.call(request(&format!("{plugin}.turn"), &json!({}))).await;
    match reply.ok() {
        true => body(&reply)["word"].as_str().unwrap().to_owned(),
        false => code(&reply),
    }
}

/// All faults as an operator reads them.
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

/// A compiler that counts how often it is called.
struct Counting {
    program: PathBuf,
    count: PathBuf,
}

impl Counting {
    fn in_folder(folder: &Path) -> Self {
        let (program, count) = (folder.join("compiler"), folder.join("compiled"));
        let script =
            format!("#!/bin/sh\necho x >> {}\nexec {} \"$@\"\n", count.display(), compiler().display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        Self { program, count }
    }

    /// How often it was called.
    fn calls(&self) -> usize {
        fs::read_to_string(&self.count).unwrap_or_default().lines().count()
    }

    /// A host that compiles with it, as a process of its own would, with its plugins loaded.
    async fn open(&self, world: &World) -> Host {
        let config = world.config();
        let seams = Seams { compiler: self.program.clone(), ..Seams::system(&config).unwrap() };
        let host = Host::with(config, seams).await.unwrap();
        host.load().await;
        host
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_broken_files_and_five_good_ones_five_work() {
    let world = World::new();
    let good = changeling::component(&changeling::nature());
    for number in 0..20_usize {
        let mut broken = good.clone();
        match number % 5 {
            0 => broken.truncate(number * 100),
            1 => broken[8 + number..200 + number].fill(0xff),
            2 => broken = format!("a text, the number {number}").into_bytes(),
            3 => broken.truncate(good.len() - 1 - number),
            _ => broken[6] = 0,
        }
        fs::write(world.plugins().join(format!("broken_{number:02}.wasm")), broken).unwrap();
    }
    for name in ["ant", "bear", "crane", "dolphin", "eagle"] {
        put(&world.plugins(), &format!("{name}.wasm"), &named(name, name));
    }
    let host = world.open().await;
    for name in ["ant", "bear", "crane", "dolphin", "eagle"] {
        assert_eq!(says(&host, name).await, name);
    }
    let faults = host.faults();
    assert_eq!(faults.len(), 20, "{faults:?}");
    let mut told: [BTreeSet<String>; 5] = Default::default();
    for (number, fault) in faults.iter().enumerate() {
        assert!(fault.file.ends_with(format!("broken_{number:02}.wasm")), "{fault:?}");
        // Where the compiler stumbles moves with every build.
        let reason = fault.faults.join("\n").split(" module: ").next().unwrap().to_owned();
        told[number % 5].insert(format!("  - {reason}\n  = {}", fault.remedy));
    }
    let told: Vec<String> = [
        "cut short at its head",
        "with bytes overwritten",
        "a text",
        "cut short at its end",
        "of another layer",
    ]
    .into_iter()
    .zip(told)
    .map(|(form, told)| format!("{form}\n{}", told.into_iter().collect::<Vec<_>>().join("\n")))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    cut short at its head
      - it cannot be compiled: failed to parse WebAssembly
      = copy the file again if it is cut short; else build it without options that the host leaves out
      - it is no WebAssembly: it has 0 bytes
      = put a component there, or remove the file
    with bytes overwritten
      - it cannot be compiled: failed to parse WebAssembly
      = copy the file again if it is cut short; else build it without options that the host leaves out
    a text
      - it is no WebAssembly: it does not begin as WebAssembly does
      = put a component there, or remove the file
    cut short at its end
      - it cannot be compiled: failed to parse WebAssembly
      = copy the file again if it is cut short; else build it without options that the host leaves out
    of another layer
      - it is a core WebAssembly module and no component
      = build for wasm32-wasip2, or wrap it with `wasm-tools component new`
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_describes_itself_otherwise_each_time_is_no_plugin() {
    let mut nature = named("fickle", "here");
    nature["fickle"] = json!(true);
    let world = world_with(&nature);
    put(&world.plugins(), "steady.wasm", &named("steady", "here"));
    let host = world.open().await;
    insta::assert_snapshot!(faults(&host, &world), @r#"
    WORLD/plugins/changeling.wasm
      - it declares something else each time that it is asked
      = let `describe` give the same answer every time: without clocks and random numbers
    "#);
    assert_eq!(
        (says(&host, "fickle").await, says(&host, "steady").await),
        ("UNKNOWN_TOOL".into(), "here".into())
    );
    let again = world.open().await;
    assert_eq!(faults(&again, &world), faults(&host, &world), "it has no second chance");
    nature["fickle"] = json!(false);
    put(&world.plugins(), "changeling.wasm", &nature);
    host.reload().await;
    assert_eq!((host.faults(), says(&host, "fickle").await), (vec![], "here".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_may_lie_in_a_folder_of_its_own() {
    let world = World::new();
    let within = |name: &str| {
        let folder = world.plugins().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    put(&within("alone"), "plugin.wasm", &named("alone", "here"));
    fs::write(world.plugins().join("alone/README.md"), "what it does").unwrap();
    within("empty");
    let two = within("two");
    put(&two, "one.wasm", &named("one", "one"));
    put(&two, "other.wasm", &named("other", "other"));
    put(&within(".hidden"), "plugin.wasm", &named("hidden", "hidden"));
    fs::write(world.plugins().join(".copying.wasm"), "half").unwrap();
    let host = world.open().await;
    assert_eq!(says(&host, "alone").await, "here");
    insta::assert_snapshot!(faults(&host, &world), @r"
    WORLD/plugins/two
      - it holds 2 plugins, and a folder may hold one
      = look at the file and its permissions
    ");
    let names = host.tools(&CallerName("local".to_owned()), None).unwrap();
    assert_eq!(names.iter().map(|view| view.name.to_string()).collect::<Vec<_>>(), ["alone.turn"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_followed_within_the_folder_and_not_out_of_it() {
    let world = World::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = put(elsewhere.path(), "outside.wasm", &named("outside", "outside"));
    let store = world.plugins().join(".data");
    fs::create_dir(&store).unwrap();
    put(&store, "inside.wasm", &named("inside", "inside"));
    std::os::unix::fs::symlink(&outside, world.plugins().join("outside.wasm")).unwrap();
    std::os::unix::fs::symlink(".data/inside.wasm", world.plugins().join("inside.wasm")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), world.plugins().join("linked")).unwrap();
    let host = world.open().await;
    assert_eq!(says(&host, "inside").await, "inside");
    assert_eq!(says(&host, "outside").await, "UNKNOWN_TOOL");
    insta::assert_snapshot!(faults(&host, &world), @r"
    WORLD/plugins/outside.wasm
      - it is a link that leads out of the folder of plugins
      = look at the file and its permissions
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_too_large_is_not_read() {
    let world = World::new().with_plugins(&[ECHO]);
    let large = fs::File::create(world.plugins().join("large.wasm")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    let host = world.open().await;
    insta::assert_snapshot!(faults(&host, &world), @r"
    WORLD/plugins/large.wasm
      - it has 67108865 bytes and may have 67108864
      = look at the file and its permissions
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_one_look_twice_is_told_and_stops_nobody() {
    let mut nature = named("desk", "served");
    nature["tool"]["risk"] = json!(3);
    let world = world_with(&nature);
    put(&world.plugins(), "disk.wasm", &named("disk", "served"));
    let host = world.open().await;
    assert_eq!((says(&host, "desk").await, says(&host, "disk").await), ("served".into(), "served".into()));
    let told: Vec<String> = host
        .doubts()
        .into_iter()
        .map(|doubts| format!("{}: {}", doubts.plugin, doubts.doubts.join("; ")))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    desk: its name `desk` is easily taken for `disk`; look whether both are meant
    disk: its name `disk` is easily taken for `desk`; look whether both are meant
    ");
}
