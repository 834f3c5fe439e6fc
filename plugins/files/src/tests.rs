//! The tools on a folder of the test's own.

use std::fs;
use std::path::Path;

use airlock_sdk::testing::Host;
use airlock_sdk::{Access, Tool, ToolError};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::content::hash;
use crate::{Delete, List, Move, Read, Replace, Search, WORKSPACE, Write};

mod changing;
mod looking;

/// A host that lends a folder with a few files in it.
struct Lent {
    host: Host,
    folder: TempDir,
}

impl Lent {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("README.md", "# Project\n\nA few words.\n"),
            ("src/main.rs", "fn main() {\n    helper();\n}\n\nfn helper() {}\n"),
            ("src/deep/part.rs", "pub fn part() {}\n"),
            ("node_modules/x/index.js", "function main() {}\n"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let host = Host::new().folder(WORKSPACE, folder.path(), Access::Write);
        Self { host, folder }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn call<T: Tool>(&self, input: Value) -> Value {
        self.host.call::<T>(input).unwrap_or_else(|error| panic!("{}: {}", error.code(), error.message()))
    }

    /// Kind, code and message of the error that a call must end in.
    fn refused<T: Tool>(&self, input: Value) -> String {
        let error = self.fails::<T>(input);
        format!("{:?} {}: {}", error.kind(), error.code(), error.message())
    }

    fn fails<T: Tool>(&self, input: Value) -> ToolError {
        self.host.call::<T>(input).expect_err("the call fails")
    }

    /// What a preview says will change.
    fn preview<T: Tool>(&self, input: Value) -> airlock_sdk::Planned {
        let input = serde_json::from_value(input).unwrap();
        self.host
            .run::<T, _>(|context| T::preview(input, context))
            .unwrap_or_else(|error| panic!("{}", error.message()))
    }
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
