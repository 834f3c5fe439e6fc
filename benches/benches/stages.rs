//! What fits in a process, under criterion: a fresh sandbox, a call without a store, and the stages of the path.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use airlock::model::limits::Limits;
use airlock_benches::bare::Bare;
use airlock_benches::load::{kilobyte, readings};
use airlock_benches::place::Place;
use airlock_benches::{machine, stages};
use airlock_tests::forgetful::Forgetful;
use airlock_tests::guests;
use airlock_tests::sandbox::Sandbox;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;
use tokio::runtime::Runtime;

fn sandbox(criterion: &mut Criterion) {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the disk can be written");
    let disk = disk.path();
    machine::print(disk);
    let runtime = Runtime::new().expect("a runtime starts");
    let echo = Path::new(guests::ECHO);
    let input = json!({ "text": kilobyte() }).to_string();
    let mut group = criterion.benchmark_group("sandbox");

    let bare = Bare::compile(echo).expect("the component is a plugin");
    group.bench_function("bare wasmtime", |bencher| {
        bencher.iter(|| runtime.block_on(bare.call("echo", &input)));
    });
    let sandbox = runtime.block_on(async { Sandbox::start(Limits::default()) });
    let loaded = sandbox.load(echo);
    group.bench_function("engine", |bencher| {
        bencher.iter(|| runtime.block_on(sandbox.attempt(&loaded, "echo", &input)));
    });
    let place = Place::new(disk, "http://127.0.0.1:9");
    let host = runtime.block_on(place.open_on(Arc::new(Forgetful)));
    let make = readings(None);
    group.bench_function("host without a store", |bencher| {
        bencher.iter(|| black_box(runtime.block_on(host.call(make(0)))));
    });
    group.finish();
}

fn path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stages");
    for (name, mut stage) in stages::all() {
        group.bench_function(name, |bencher| bencher.iter(&mut stage));
    }
    group.finish();
}

criterion_group!(all, sandbox, path);
criterion_main!(all);
