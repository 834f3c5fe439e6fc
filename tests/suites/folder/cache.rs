//! Compiled code: made once, kept for all, and believed only under this host's own authentication code.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use airlock_tests::changeling::{self, put};
use airlock_tests::crowd::{Call, Crowd, Task};
use airlock_tests::skip::skip;
use airlock_tests::world::World;
use serde_json::{Value, json};

use crate::files::pipe;

use super::{Counting, faults, named, says, world_with};

const PROGRAM: &str = env!("CARGO_BIN_EXE_call-at-once");

/// The files of the cache with this ending.
fn kept(world: &World, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.state().join("compiled")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut kept: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == ending)).collect();
    kept.sort();
    kept
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_compiled_once_and_not_again_at_the_next_start() {
    let world = world_with(&changeling::nature());
    let compiler = Counting::in_folder(world.folder());
    for _ in 0..3 {
        let host = compiler.open(&world).await;
        assert_eq!(says(&host, "changeling").await, "first");
    }
    assert_eq!(compiler.calls(), 1);
    let folder = fs::metadata(world.state().join("compiled")).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    for file in kept(&world, "code").iter().chain(&kept(&world, "record")) {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_hosts_that_meet_one_plugin_at_once_one_compiles_it() {
    let world = world_with(&changeling::nature());
    let compiler = Counting::in_folder(world.folder());
    let (one, other, third) =
        tokio::join!(compiler.open(&world), compiler.open(&world), compiler.open(&world));
    for host in [one, other, third] {
        assert_eq!(says(&host, "changeling").await, "first");
    }
    assert_eq!(compiler.calls(), 1);
}

#[test]
fn of_processes_that_meet_one_plugin_at_once_one_compiles_it_and_all_call_it() {
    let world = world_with(&changeling::nature());
    let compiler = Counting::in_folder(world.folder());
    let call = Call { tool: "changeling.turn".to_owned(), input: json!({}), key: "k".to_owned() };
    let task = |number: usize| Task {
        config: world.write_config(),
        environment: world.environment().clone(),
        compiler: Some(compiler.program.clone()),
        calls: vec![Call { key: number.to_string(), ..call.clone() }],
    };
    let told = Crowd::gather(Path::new(PROGRAM), &[0, 1, 2].map(task)).go();
    for replies in told {
        let reply: Value = serde_json::from_str(&replies[0]).unwrap();
        assert_eq!(reply["data"], json!({ "word": "first" }), "{reply}");
    }
    assert_eq!(compiler.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_was_tampered_with_is_thrown_away_and_compiled_again() {
    let world = world_with(&changeling::nature());
    let compiler = Counting::in_folder(world.folder());
    drop(compiler.open(&world).await);
    let (code, record) = (kept(&world, "code").remove(0), kept(&world, "record").remove(0));
    let (whole_code, whole_record) = (fs::read(&code).unwrap(), fs::read(&record).unwrap());
    let mut compiled = 1;
    for (file, whole) in [(&code, &whole_code), (&record, &whole_record)] {
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        for bytes in [flipped, whole[..whole.len() - 1].to_vec(), [whole.as_slice(), b"x"].concat(), vec![]] {
            fs::write(file, bytes).unwrap();
            let host = compiler.open(&world).await;
            assert_eq!((says(&host, "changeling").await, host.faults()), ("first".to_owned(), vec![]));
            compiled += 1;
            assert_eq!(compiler.calls(), compiled, "{}", file.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_were_swapped_count_for_nothing() {
    let world = World::new();
    put(&world.plugins(), "one.wasm", &named("one", "one"));
    put(&world.plugins(), "two.wasm", &named("two", "two"));
    let compiler = Counting::in_folder(world.folder());
    drop(compiler.open(&world).await);
    assert_eq!(compiler.calls(), 2);
    for ending in ["code", "record"] {
        let [one, two] = <[PathBuf; 2]>::try_from(kept(&world, ending)).unwrap();
        let (first, second) = (fs::read(&one).unwrap(), fs::read(&two).unwrap());
        fs::write(one, second).unwrap();
        fs::write(two, first).unwrap();
    }
    let host = compiler.open(&world).await;
    assert_eq!((says(&host, "one").await, says(&host, "two").await), ("one".to_owned(), "two".to_owned()));
    assert_eq!(compiler.calls(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_of_another_store_counts_for_nothing() {
    let (world, other) = (world_with(&changeling::nature()), world_with(&changeling::nature()));
    let compiler = Counting::in_folder(world.folder());
    drop((compiler.open(&world).await, compiler.open(&other).await));
    for ending in ["code", "record"] {
        fs::copy(&kept(&world, ending)[0], &kept(&other, ending)[0]).unwrap();
    }
    let host = compiler.open(&other).await;
    assert_eq!(says(&host, "changeling").await, "first");
    assert_eq!(compiler.calls(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_is_gone_when_it_is_first_called_is_compiled_again() {
    let world = world_with(&changeling::nature());
    let compiler = Counting::in_folder(world.folder());
    drop(compiler.open(&world).await);
    let host = compiler.open(&world).await;
    fs::remove_file(&kept(&world, "code")[0]).unwrap();
    assert_eq!(says(&host, "changeling").await, "first");
    assert_eq!(compiler.calls(), 2);
    let host = compiler.open(&world).await;
    fs::remove_file(&kept(&world, "code")[0]).unwrap();
    put(&world.plugins(), "changeling.wasm", &named("changeling", "second"));
    assert_eq!(says(&host, "changeling").await, "INTERNAL", "another file is not what was accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_is_full_loses_what_was_not_used_for_longest() {
    let world = World::new().with_config("[compile]\ncache = \"16 MiB\"");
    let compiler = Counting::in_folder(world.folder());
    drop(compiler.open(&world).await);
    let cache = world.state().join("compiled");
    let old = ["a", "b"].map(|name| cache.join(name).with_extension("code"));
    for (age, file) in old.iter().enumerate() {
        let made = fs::File::create(file).unwrap();
        made.set_len(9 << 20).unwrap();
        let day = std::time::Duration::from_secs(86_400 * (u64::try_from(age).unwrap() + 1));
        made.set_modified(std::time::UNIX_EPOCH + day).unwrap();
    }
    put(&world.plugins(), "changeling.wasm", &changeling::nature());
    let host = compiler.open(&world).await;
    assert_eq!(says(&host, "changeling").await, "first");
    assert_eq!((old[0].exists(), old[1].exists()), (false, true));
    assert_eq!(kept(&world, "record").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_cannot_be_written_stops_nobody() {
    let world = world_with(&changeling::nature());
    drop(World::open(&world).await);
    let cache = world.state().join("compiled");
    fs::remove_dir_all(&cache).unwrap();
    fs::write(&cache, "no folder").unwrap();
    let host = world.open().await;
    assert_eq!((says(&host, "changeling").await, faults(&host, &world)), ("first".to_owned(), String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_compiler_the_reason_is_told_and_not_remembered() {
    let world = world_with(&changeling::nature());
    let wrong = |program: &str| Counting { program: program.into(), count: world.folder().join("none") };
    for program in ["/nowhere/airlock", "/bin/true", "/bin/cat"] {
        if !std::path::Path::new(program).exists() && program != "/nowhere/airlock" {
            return skip(&format!("there is no {program}"));
        }
        let host = wrong(program).open(&world).await;
        assert_eq!(says(&host, "changeling").await, "UNKNOWN_TOOL");
        assert!(host.faults()[0].faults[0].starts_with("it was not compiled: "), "{:?}", host.faults());
    }
    let host = world.open().await;
    assert_eq!(says(&host, "changeling").await, "first");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_in_place_of_compiled_code_is_thrown_away_and_never_waited_for() {
    let world = world_with(&changeling::nature());
    let compiler = Counting::in_folder(world.folder());
    drop(compiler.open(&world).await);
    let mut compiled = 1;
    for file in [kept(&world, "code").remove(0), kept(&world, "record").remove(0)] {
        for stand_in in [pipe, |path: &Path| symlink("/dev/zero", path).unwrap()] {
            fs::remove_file(&file).unwrap();
            stand_in(&file);
            let host = compiler.open(&world).await;
            assert_eq!((says(&host, "changeling").await, host.faults()), ("first".to_owned(), vec![]));
            compiled += 1;
            assert_eq!(compiler.calls(), compiled, "{}", file.display());
            assert!(fs::symlink_metadata(&file).unwrap().is_file(), "{}", file.display());
        }
    }
}
