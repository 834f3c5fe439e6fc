//! What the README tells a newcomer to type works as it stands there, in a folder that was empty.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::AIRLOCK;
use super::authors::{root, toolchain};
use crate::source::text_of;

/// The commands below a heading, up to the next of its level.
fn commands(heading: &str) -> String {
    let text = text_of("README.md").unwrap();
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.collect()
}

/// Each command must end well, but for those of which the README says that they are refused.
fn script() -> String {
    let told =
        ["A first call", "A first tool in five minutes", "A first configuration"].map(commands).concat();
    let line = |line: &str| match line.split_once("# refused") {
        Some((command, _)) => format!("! {command}\n"),
        // The dependencies of a fresh plugin are those of these tests, which ask nobody for crates.
        None if line.starts_with("airlock new ") => {
            format!("{line}\ncp \"$AIRLOCK_SOURCE/Cargo.lock\" greeter/\n")
        }
        None => format!("{line}\n"),
    };
    told.lines().map(line).collect()
}

#[test]
fn a_newcomer_can_paste_every_command_from_the_first_to_the_last() {
    let _turn = super::authors::turn();
    let folder = tempfile::tempdir().unwrap();
    let checkout = folder.path().join("checkout");
    fs::create_dir_all(checkout.join("target/release")).unwrap();
    symlink(AIRLOCK, checkout.join("target/release/airlock")).unwrap();
    symlink(root().join("target/plugins"), checkout.join("target/plugins")).unwrap();
    symlink(root().join("Cargo.lock"), checkout.join("Cargo.lock")).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &script()]).current_dir(&checkout).env_clear();
    let ran = toolchain(&mut bash, folder.path()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{}\n{out}{err}", script());
    for told in ["\"rounded\": \"9.48\"", "Good day, Ada", "desk.find_order: Find an order", "2 passed"] {
        assert!(out.contains(told), "{told}\n{out}{err}");
    }
    assert!(err.contains("error[INVALID_INPUT]"), "{err}");
}
