//! Says and counts that a test was skipped, so that nobody takes it for one that passed.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;

/// Says that the running test is skipped: a line on standard error, and one in the file that the environment
/// names in `AIRLOCK_SKIPS`. The test then returns.
pub fn skip(reason: &str) {
    skip_named(&running_test(), reason);
}

/// Says that a named test is skipped.
pub fn skip_named(test: &str, reason: &str) {
    let line = format!("SKIPPED: {test}: {reason}\n");
    // Past the capture of the test binary, which swallows what tests that pass print.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = counted_in() {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| {
            panic!("the skip cannot be counted in {}: {error}", path.to_string_lossy())
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "the only word between a test and those who ran it")]
fn counted_in() -> Option<OsString> {
    std::env::var_os("AIRLOCK_SKIPS")
}

/// A test's thread bears its name; the one that runs on the main thread is named by the arguments.
fn running_test() -> String {
    let thread = std::thread::current();
    let name = thread.name().filter(|name| *name != "main").map(str::to_owned);
    let asked = || std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    name.or_else(asked).unwrap_or_else(|| "unnamed".to_owned())
}
