//! P6: what one more live sandbox takes of memory, beyond what its guest wrote.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use airlock::model::limits::Limits;
use airlock_benches::figure::Figure;
use airlock_benches::memory::Held;
use airlock_tests::guests;
use airlock_tests::sandbox::Sandbox;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::Bench;

/// The first argument of the process that holds sandboxes; their number follows.
pub(crate) const CHILD: &str = "--live";

/// A process whose processor time does not grow for so long does nothing but wait.
const STILL: Duration = Duration::from_millis(300);

pub(crate) fn measure(bench: &Bench) {
    let count = bench.count(1000);
    let told = Command::new(std::env::current_exe().expect("the bench is a file"))
        .args([CHILD, &count.to_string()])
        .output()
        .expect("the bench starts again");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let numbers: Vec<f64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [all, dirtied, stacks, tables] = numbers[..] else { panic!("the child tells four numbers: {told}") };
    let beyond = all - dirtied;
    Figure::new(
        "P6",
        format!("memory per live sandbox, of {count}, beyond what guests wrote"),
        beyond,
        "KiB",
    )
    .at_most(20.0)
    .note(format!("guests wrote {dirtied:.1} KiB each"))
    .note(format!("of the rest {stacks:.1} KiB are stacks that they run on"))
    .note(format!("the kernel's page tables, beside it, {tables:.1} KiB"))
    .print();
}

/// What the child does: holds so many guests that wait in the host, and tells what each takes, in KiB.
pub(crate) fn serve(count: &str) -> ExitCode {
    let count: u32 = count.parse().expect("the bench gives a number");
    let held = Runtime::new().expect("a runtime starts").block_on(async {
        let sandbox = Arc::new(Sandbox::start(Limits { at_once: count, ..Limits::default() }));
        let greedy = sandbox.load(Path::new(guests::GREEDY));
        let wait = |ms: u64| {
            let (sandbox, greedy) = (Arc::clone(&sandbox), greedy.clone());
            let input = json!({ "ms": ms }).to_string();
            tokio::spawn(async move { sandbox.attempt(&greedy, "sleep", &input).await })
        };
        // What the first of all takes, the code among it, is not the others'.
        for _ in 0..8 {
            wait(1).await.expect("no attempt panics");
        }
        still().await;
        let before = Held::now();
        let waiting: Vec<_> = (0..count).map(|_| wait(3_600_000)).collect();
        still().await;
        assert!(waiting.iter().all(|one| !one.is_finished()), "every guest waits");
        Held::now().since(before)
    });
    let each = |bytes: u64| bytes as f64 / f64::from(count) / 1024.0;
    println!("{} {} {} {}", each(held.all), each(held.dirtied), each(held.stacks), each(held.tables));
    // Whoever waits does so for an hour.
    std::process::exit(0)
}

/// Waits until this process does nothing but wait.
async fn still() {
    let used = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields: Vec<String> = stat.split(' ').skip(13).take(2).map(str::to_owned).collect();
        fields
    };
    loop {
        let before = used();
        tokio::time::sleep(STILL).await;
        if used() == before {
            return;
        }
    }
}
