//! A short storm: hosts that are killed at random lose nothing, double nothing and guess nothing.

use std::process::Command;

#[test]
fn hosts_that_are_killed_at_random_lose_double_and_guess_nothing() {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_soak"));
    let ended = soak.args(["--seconds", "20", "--seed", "7"]).output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    let wrong = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{said}\n{wrong}");
    // It was no idle storm.
    for met in
        ["  ok\n", "a caller's process\n", "before the work\n", " desk.send_mail completed\n", "spent "]
    {
        assert!(said.contains(met), "{met:?} was not met: {said}");
    }
}
