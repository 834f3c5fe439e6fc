//! What plugins are built with: cargo, and the target that they are built for.

use std::path::Path;
use std::process::Command;

use crate::host::Found;

/// What plugins are built for.
pub(super) const TARGET: &str = "wasm32-wasip2";

/// How the target comes to a machine.
pub(super) const BRING: &str = "`rustup target add wasm32-wasip2`; from a checkout of airlock, `make setup`";

/// What is there to build plugins with; who builds none needs none of it.
pub(super) fn examine() -> Vec<Found> {
    let Some(version) = said("cargo", &["--version"]) else {
        let text = "cargo does not run, so no plugin can be built here";
        return vec![Found::doubtful(
            "toolchain",
            text,
            "install Rust if you write plugins: https://rustup.rs",
        )];
    };
    let target = if has_target() {
        Found::well("toolchain", format!("the target {TARGET} is there"))
    } else {
        let text = format!("the target {TARGET} is not there, so no plugin can be built here");
        Found::doubtful("toolchain", text, BRING)
    };
    vec![Found::well("toolchain", version), target]
}

/// Whether plugins can be built for their target.
pub(super) fn has_target() -> bool {
    let folder = said("rustc", &["--print", "target-libdir", "--target", TARGET]);
    folder.is_some_and(|folder| Path::new(&folder).is_dir())
}

/// The first line that a program says, where it does what it is asked.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}
