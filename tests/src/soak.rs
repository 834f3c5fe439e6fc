//! Four processes on one store that are killed at random while the backend goes wrong, and the judge of what they leave.
//!
//! What a caller's process has printed whole is acknowledged. All choices come from one seed; what falls where in time does
//! not, so that the same seed gives the same kind of storm and not the same storm.

mod caller;
mod calls;
mod choices;
mod judge;
mod recover;
mod storm;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::backend::{Backend, Options};
use crate::guests;
use crate::world::World;

pub use caller::{CALLER, caller};
pub use choices::any_seed;

/// The secret that the desk knows its clients by, and the variable that holds it.
const TOKEN: (&str, &str) = ("DESK_TOKEN", "a token that opens tickets");

/// How long hosts are disturbed, and what chooses how.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How long.
    pub time: Duration,
    /// What all choices come from.
    pub seed: u64,
}

/// Where it all happens.
struct Scene {
    world: World,
    config: PathBuf,
    backend: Backend,
    /// The folder that the plugin `files` is lent.
    lent: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let backend = Options::default().start().expect("an address is free");
        let lent = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let lent = lent.expect("the system gives a temporary folder");
        let url = &backend.url;
        let lines = format!(
            "[plugin.desk]\nconfig = {{ desk_url = \"{url}\" }}\nsecrets = [\"desk_token\"]\n\
             [secrets]\ndesk_token = {{ env = \"{}\" }}\n\
             [plugin.files.directories]\nworkspace = {{ path = {:?}, access = \"write\" }}\n\
             [plugin.notebook]\nkey_value = true\n\
             [tools.\"desk.send_mail\"]\nconfirm = \"none\"\n[tools.\"desk.cancel_ticket\"]\nconfirm = \"none\"\n\
             [budgets]\nday = \"1000\"\ncall = \"0.01\"\n\
             [limits]\nread = \"2s\"\n\
             [retries]\nbase = \"20ms\"\ncap = \"500ms\"\n[retries.background]\nbase = \"20ms\"\ncap = \"1s\"\n\
             [breaker]\nin_a_row = 8\npercent = 90\nopen = \"1s\"\nlongest = \"2s\"\n",
            TOKEN.0,
            lent.path()
        );
        let world = World::in_memory()
            .with_plugins(&[guests::DESK, guests::FILES, guests::NOTEBOOK])
            .with_variable(TOKEN.0, TOKEN.1)
            .with_config(&lines)
            .with_grant("desk", url, &["127.0.0.1"]);
        let config = world.write_config();
        Self { world, config, backend, lent }
    }
}

/// Disturbs hosts as long as it is told to, and says what came of it.
///
/// # Panics
/// Where the system refuses what every program may have.
#[must_use]
pub fn run(plan: Plan) -> ExitCode {
    println!("soak: {:?}, seed {}", plan.time, plan.seed);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("the system gives threads");
    let scene = Scene::new();
    runtime.block_on(async {
        // Plugins are compiled once, before anybody is killed.
        let host = scene.world.open().await;
        assert_eq!(host.faults(), [], "every plugin loads");
        host.close().await;
    });
    let storm = storm::weather(&scene, plan);
    println!("recovering");
    let facts = runtime.block_on(recover::recover(&scene, storm.book));
    let faults = judge::judge(&facts);
    print!("{}", table::of(&facts, &storm.met));
    if faults.is_empty() {
        println!(
            "nothing lost, nothing doubled, nothing guessed, and the books balance (seed {})",
            plan.seed
        );
        return ExitCode::SUCCESS;
    }
    for fault in &faults {
        println!("FAULT {fault}");
    }
    println!("{} faults; again: make soak SOAK_SEED={}", faults.len(), plan.seed);
    ExitCode::FAILURE
}
