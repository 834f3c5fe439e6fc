//! The plugin `files` through the sandbox: what it finds, what it changes and what it leaves alone.

mod back;
mod bounds;
mod changing;
mod looking;
mod together;

use std::fs;
use std::path::PathBuf;

use airlock::model::reply::Reply;
use airlock_tests::guests::FILES;
use airlock_tests::world::{World, body};
use serde_json::Value;

use crate::attack::{Open, open_world};
use crate::files::tree;

/// The line without which a tool of the highest risk is refused.
const DELETES: &str = "[tools.\"files.delete\"]\nconfirm = \"none\"\n";

/// A host that lends the plugin a folder with a few files in it.
struct Workspace {
    open: Open,
    folder: tempfile::TempDir,
}

impl Workspace {
    /// The folder may be written, and no person is asked.
    async fn open() -> Self {
        Self::lent("write", DELETES).await
    }

    /// The folder is lent for this, and the configuration has these lines beside.
    async fn lent(access: &str, lines: &str) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        fs::create_dir(folder.path().join("lent")).unwrap();
        fs::write(folder.path().join("outside.txt"), "a diary").unwrap();
        for (path, text) in [
            ("plan.md", "# Plan\n\n- write\n- test\n- ship\n"),
            ("src/main.rs", "fn main() {\n    run();\n}\n\nfn run() {}\n"),
            ("src/parse/word.rs", "pub fn word() {}\n"),
            ("old/a.txt", "a\n"),
            ("old/b/c.txt", "c\n"),
        ] {
            let path = folder.path().join("lent").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let path = folder.path().join("lent").display().to_string();
        let lines = format!(
            "[plugin.files.directories]\nworkspace = {{ path = {path:?}, access = {access:?} }}\n{lines}"
        );
        let world = World::in_memory().with_plugins(&[FILES]).with_config(&lines);
        Self { open: open_world(world).await, folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("lent").join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Every file with its text, and every folder.
    fn tree(&self) -> std::collections::BTreeMap<String, String> {
        tree(&self.path(""))
    }

    async fn call(&self, tool: &str, input: Value) -> Reply {
        self.open.call(&format!("files.{tool}"), input).await
    }

    async fn data(&self, tool: &str, input: Value) -> Value {
        self.open.data(&format!("files.{tool}"), input).await
    }

    /// Code, action and message of the error that a call must end in.
    async fn refused(&self, tool: &str, input: Value) -> String {
        let reply = self.call(tool, input).await;
        assert!(!reply.ok(), "{tool}: {}", body(&reply));
        let (error, text) = (body(&reply), |field: &Value| field.as_str().unwrap().to_owned());
        format!(
            "{} {} {}: {}",
            text(&error["kind"]),
            text(&error["code"]),
            text(&error["action"]),
            text(&error["message"])
        )
    }
}

/// A value as it is shown.
fn shown(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}
