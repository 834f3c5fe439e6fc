//! Folders that plugins are lent: what is reached in them, and that nothing leads out of them.

mod across;
mod again;
mod back;
mod configured;
mod crash;
mod reads;
mod std;
mod together;
mod writes;

use ::std::collections::BTreeMap;
use ::std::fs;
use ::std::path::{Path, PathBuf};
use ::std::sync::Arc;
use ::std::sync::atomic::{AtomicBool, Ordering};
use ::std::thread::{self, JoinHandle};

use airlock::host::Host;
use airlock::model::reply::Reply;
use airlock_tests::guests::{CLERK, SCRIBE};
use airlock_tests::world::{World, body, request};
use serde_json::{Value, json};

/// A host, and folders outside its world: `inbox` and `drafts`, which are lent, and `outside`, which is not.
pub(crate) struct Lent {
    pub(crate) host: Host,
    folder: tempfile::TempDir,
    _world: World,
}

impl Lent {
    /// Lends folders to the clerk, whose configuration has these lines beside.
    pub(crate) async fn to_clerk(lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["inbox", "archive", "drafts", "outside"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("inbox/note.txt"), "a note").unwrap();
        fs::create_dir(folder.path().join("inbox/old")).unwrap();
        fs::write(folder.path().join("inbox/old/letter.txt"), "a letter").unwrap();
        fs::write(folder.path().join("drafts/plan.txt"), "a plan").unwrap();
        fs::write(folder.path().join("outside/diary.txt"), "a diary").unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let world = World::new()
            .with_plugins(&[CLERK])
            .with_config(&format!(
                "[plugin.clerk.directories]\ninbox = {{ path = {:?} }}\ndrafts = {{ path = {:?}, access = \"write\" }}",
                at("inbox"),
                at("drafts")
            ))
            .with_config(lines);
        Self::on(world, folder).await
    }

    /// Lends folders to the scribe: `outbox` to be written, `shelf` to be read though it is declared to be written, and
    /// `manuals` to be written though it is declared to be read.
    pub(crate) async fn to_scribe(lines: &str) -> Self {
        let (world, folder) = scribes();
        Self::on(world.with_config(&crate::call::once(lines)), folder).await
    }

    async fn on(world: World, folder: tempfile::TempDir) -> Self {
        let host = world.open().await;
        assert_eq!(host.faults(), [], "every plugin loads");
        Self { host, folder, _world: world }
    }

    /// What the scribe says of each step.
    pub(crate) async fn steps(&self, steps: Value) -> Vec<String> {
        let reply = self.call("scribe.change", json!({ "steps": steps })).await;
        assert!(reply.ok(), "{}", body(&reply));
        let said = body(&reply)["said"].as_array().unwrap().clone();
        said.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    }

    /// What lies in a folder.
    pub(crate) fn tree(&self, below: &str) -> BTreeMap<String, String> {
        tree(&self.path(below))
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Reply {
        self.host.call(request(tool, &input)).await
    }

    /// What the tool says.
    pub(crate) async fn said(&self, tool: &str, input: Value) -> String {
        let reply = self.call(tool, input).await;
        assert!(reply.ok(), "{tool}: {}", body(&reply));
        body(&reply)["said"].as_str().unwrap().to_owned()
    }

    /// What reading says of a path in the inbox.
    pub(crate) async fn read(&self, path: &str) -> String {
        self.said("clerk.read", json!({ "do": "read", "path": path })).await
    }

    /// What is kept of a call's last attempt.
    pub(crate) async fn log(&self, reply: &Reply) -> String {
        let run = reply.meta.run.unwrap();
        self.host.clone().close().await;
        self.host.run(&run.to_string()).unwrap().attempts.last().unwrap().log.clone()
    }
}

/// A folder and a link out that change places, until this is dropped.
pub(crate) struct Flip {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flip {
    /// The link takes the folder's place and gives it back, again and again.
    pub(crate) fn start(folder: PathBuf, link: PathBuf) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (told, aside) = (Arc::clone(&over), folder.with_file_name("aside"));
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                for (from, to) in [(&folder, &aside), (&link, &folder), (&folder, &link), (&aside, &folder)] {
                    fs::rename(from, to).unwrap();
                }
                thread::yield_now();
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Flip {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Makes a pipe, as `mkfifo` does.
pub(crate) fn pipe(path: &Path) {
    assert!(::std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A world with the scribe, and its folders.
pub(crate) fn scribes() -> (World, tempfile::TempDir) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for name in ["outbox", "shelf", "manuals", "outside"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("plan.txt"), "a plan").unwrap();
    }
    fill(&folder.path().join("outbox"));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let world = World::in_memory().with_plugins(&[SCRIBE]).with_config(&format!(
        "[plugin.scribe.directories]\noutbox = {{ path = {:?}, access = \"write\" }}\nshelf = {{ path = {:?} }}\n\
         manuals = {{ path = {:?}, access = \"write\" }}",
        at("outbox"),
        at("shelf"),
        at("manuals"),
    ));
    (world, folder)
}

/// Fills an outbox as it is before anything happens.
pub(crate) fn fill(outbox: &Path) {
    fs::remove_dir_all(outbox).unwrap();
    fs::create_dir_all(outbox.join("empty")).unwrap();
    fs::create_dir(outbox.join("sent")).unwrap();
    for (name, text) in
        [("plan.txt", "a plan"), ("list.txt", "eggs\n"), ("old.txt", "old"), ("sent/one.txt", "one")]
    {
        fs::write(outbox.join(name), text).unwrap();
    }
}

/// Every file below a folder with its text, and every folder.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            found.extend(
                tree(&entry.path()).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)),
            );
            found.insert(format!("{name}/"), String::new());
        } else if entry.file_type().unwrap().is_file() {
            found.insert(name, fs::read_to_string(entry.path()).unwrap());
        } else {
            found.insert(name, "neither file nor folder".to_owned());
        }
    }
    found
}
