//! Processes that die while they change folders: the next one puts back what came to nothing.

use std::path::{Path, PathBuf};

use airlock::model::effect::EffectState;
use airlock::model::run::Record;
use airlock_tests::crash::{Commit, Disk, Job, Order, Point, Process, Said};
use airlock_tests::world::World;
use serde_json::json;

use super::back::everything;
use super::{fill, scribes, tree};

struct Trial {
    world: World,
    folder: tempfile::TempDir,
    processes: u8,
}

impl Trial {
    fn begin() -> Self {
        let (world, folder) = scribes();
        world.write_config();
        Self { world, folder, processes: 0 }
    }

    fn outbox(&self) -> PathBuf {
        self.folder.path().join("outbox")
    }

    fn process(&mut self, jobs: Vec<Job>, halt: Option<Point>) -> Said {
        self.processes += 1;
        let order = Order {
            ahead: 0,
            config: self.world.folder().join("airlock.toml"),
            process: self.processes,
            disk: Disk::Synced,
            halt: halt.map(|point| point.to_string()),
            jobs,
        };
        let program = Path::new(env!("CARGO_BIN_EXE_crash-child"));
        Process::start(program, &order, |_| ()).end()
    }

    /// A process changes everything, and is killed there.
    fn change(&mut self, halt: Option<Point>) -> Said {
        fill(&self.outbox());
        let input = json!({ "steps": everything() });
        self.process(
            vec![Job::Call { tool: "scribe.change".to_owned(), input, key: None, background: false }],
            halt,
        )
    }

    /// The latest run, once the next process has opened the store.
    async fn opened(&self) -> Option<Record> {
        let host = self.world.open().await;
        let latest = host.runs(None, 1).unwrap().pop();
        let record = latest.map(|latest| host.run(&latest.run.to_string()).unwrap());
        host.close().await;
        record
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_process_dies_its_folders_are_as_they_were_or_as_they_were_to_be() {
    let mut trial = Trial::begin();
    let whole = trial.change(None);
    let after = tree(&trial.outbox());
    fill(&trial.outbox());
    let before = tree(&trial.outbox());
    let points = &whole.points[whole.before_ready..];
    let reached = |point| points.contains(&point);
    assert!(reached(Point::After(Commit::Intend, 11)) && reached(Point::Before(Commit::Outcome, 11)));
    let mut seen = vec![trial.opened().await.unwrap().summary.run];
    for point in points {
        let last = seen.last().cloned();
        let said = trial.change(Some(*point));
        assert!(said.killed, "{point}");
        let record = trial.opened().await.unwrap();
        let is_new = last.as_ref() != Some(&record.summary.run);
        let tree = tree(&trial.outbox());
        let completed = is_new && record.summary.state.word() == "completed";
        assert_eq!(tree, if completed { after.clone() } else { before.clone() }, "{point}");
        if is_new && !completed {
            assert_eq!(record.summary.code.as_deref(), Some("INTERRUPTED"), "{point}");
            let stands = |state| matches!(state, EffectState::PutBack);
            assert!(
                record.effects.iter().all(|effect| stands(effect.state)),
                "{point}: {:?}",
                record.effects
            );
        }
        seen.push(record.summary.run);
    }
    assert!(points.len() > 40, "{points:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_while_it_puts_back_leaves_the_rest_to_the_next() {
    let mut trial = Trial::begin();
    fill(&trial.outbox());
    let before = tree(&trial.outbox());
    for outcome in 1..=10 {
        assert!(trial.change(Some(Point::Before(Commit::Outcome, 10))).killed);
        assert_ne!(tree(&trial.outbox()), before);
        for point in [Point::Before(Commit::Outcome, outcome), Point::After(Commit::Outcome, 1)] {
            assert!(trial.process(Vec::new(), Some(point)).killed, "{point}");
        }
        let record = trial.opened().await.unwrap();
        assert_eq!(record.summary.code.as_deref(), Some("INTERRUPTED"), "{outcome}: {:?}", record.effects);
        assert_eq!(tree(&trial.outbox()), before, "{outcome}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_changed_after_the_crash_is_left_and_waits_for_a_person() {
    let mut trial = Trial::begin();
    assert!(trial.change(Some(Point::After(Commit::Outcome, 1))).killed);
    std::fs::write(trial.outbox().join("plan.txt"), "by somebody else").unwrap();
    let record = trial.opened().await.unwrap();
    assert_eq!(record.summary.state.word(), "suspended: half_done");
    assert_eq!(tree(&trial.outbox())["plan.txt"], "by somebody else");
    assert_eq!(record.effects[0].state, EffectState::Done);
}
