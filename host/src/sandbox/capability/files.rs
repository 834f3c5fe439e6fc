//! Files in folders that a plugin is lent: what is both declared and granted, and no way out of it.

pub(crate) mod beneath;
pub mod change;
pub(crate) mod known;
mod spot;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

use self::beneath::{Relative, Root, Trouble};
use self::change::{Changing, Doing, Plan, Undone, holding};
use self::known::Known;
use self::turns::{Turn, Turns};
use super::effects::{Effects, UnderWay};
use crate::config::DirectoryAccess;
use crate::model::change::{Change, Changed, Recorded};
use crate::model::classify::Ended;
use crate::model::clock::Clock;
use crate::model::effect::{Effect, EffectState};
use crate::model::id::{Digest, RunId};
use crate::model::limits::Limits;
use crate::model::secret::Mask;
use crate::sandbox::grants::Grants;
use crate::sandbox::logbook::Logbook;
use crate::sandbox::wit::files::{Entry, FileError};
use crate::store::{Outcome, Store, StoreFailure};

/// Pieces of file work under way at once: a disk that hangs holds so many threads and no more.
const AT_ONCE: usize = 64;

/// The most of a guest's words that one line of the log repeats.
const TOLD: usize = 256;

/// What carries file work out, off the threads that serve and off those of guests; one for the whole host.
#[derive(Clone)]
pub struct Files {
    runtime: tokio::runtime::Handle,
    room: Arc<Semaphore>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// The most bytes that are read or written at once.
    piece: u64,
    /// The most bytes that are kept of what lay there before the changes of a run.
    contents: u64,
    mask: Mask,
    turns: Turns,
    /// What the attempt has read, where it may change files.
    known: Option<Arc<Known>>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Files")
    }
}

/// One change, owned by its task.
struct Task {
    directory: String,
    root: PathBuf,
    path: Relative,
    doing: Doing,
    effects: Arc<Effects>,
}

/// Where a guest wants something, and under which rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) log: &'a Logbook,
    /// What it wants to do.
    pub(crate) what: &'static str,
    pub(crate) directory: &'a str,
    pub(crate) path: &'a str,
}

impl Files {
    /// Sets it up on a runtime.
    pub fn new(runtime: tokio::runtime::Handle, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let (mask, turns, known) = (Mask::default(), Turns::default(), None);
        Self { runtime, room, store, clock, piece: 0, contents: 0, mask, turns, known }
    }

    /// The same for one attempt: under these limits, with these secrets to mask.
    #[must_use]
    pub(crate) fn within(self, limits: &Limits, mask: &Mask, grants: &Grants) -> Self {
        let known = grants.writes().then(Arc::default);
        Self { piece: limits.body, contents: limits.contents, mask: mask.clone(), known, ..self }
    }

    /// What the attempt has read, where it may change files.
    pub(crate) fn known(&self) -> Option<Arc<Known>> {
        self.known.clone()
    }

    /// What lies at a path.
    pub(crate) async fn stat(&self, asked: Asked<'_>) -> Result<Entry, FileError> {
        let known = self.known();
        self.reading(asked, move |root, path| root.stat(path, known.as_deref())).await
    }

    /// What lies in a folder, sorted by name, after this one.
    pub(crate) async fn entries(
        &self,
        asked: Asked<'_>,
        after: Option<String>,
    ) -> Result<Vec<Entry>, FileError> {
        self.reading(asked, move |root, path| root.entries(path, after.as_deref())).await
    }

    /// A part of a file, as large as a body may be at most.
    pub(crate) async fn read(
        &self,
        asked: Asked<'_>,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, FileError> {
        let (most, known) = (self.piece, self.known());
        self.reading(asked, move |root, path| root.read(path, offset, length, most, known.as_deref())).await
    }

    /// Changes something for a guest. The change goes on when the guest no longer waits for it.
    ///
    /// # Errors
    /// Where the attempt must end here: the guest never sees that.
    pub(crate) async fn change(
        &self,
        asked: Asked<'_>,
        doing: Doing,
        effects: &Arc<Effects>,
    ) -> Result<Result<(), FileError>, Ended> {
        let Some(under_way) = effects.enter() else {
            return Err(effects.stopped().unwrap_or(Ended::Interrupted));
        };
        let task = match self.check(asked, doing, effects) {
            Ok(task) => task,
            Err(trouble) => return Ok(Err(asked.refused(trouble))),
        };
        let (reply, answer) = oneshot::channel();
        let files = self.clone();
        self.runtime.spawn(async move {
            let ended = files.carry_out(task, under_way).await;
            // The guest may be gone; what happened is written down all the same.
            let _ = reply.send(ended);
        });
        let ended = answer.await.unwrap_or_else(|_| {
            Err(Ended::Trapped("the task of an effect ended without an answer".to_owned()))
        })?;
        Ok(ended.map_err(|trouble| asked.refused(trouble)))
    }

    fn check(&self, asked: Asked<'_>, doing: Doing, effects: &Arc<Effects>) -> Result<Task, Trouble> {
        let granted = asked.grants.directory(asked.directory, DirectoryAccess::Write)?;
        let path = Relative::read(asked.path)?;
        if u64::try_from(doing.bytes().len()).unwrap_or(u64::MAX) > self.piece {
            return Err(Trouble::TooLarge);
        }
        let (directory, root) = (asked.directory.to_owned(), granted.path.clone());
        Ok(Task { directory, root, path, doing, effects: Arc::clone(effects) })
    }

    /// Waits for its turn, plans, writes the intent down and does it: nobody who waits for turns comes in between.
    async fn carry_out(&self, task: Task, under_way: UnderWay) -> Result<Result<(), Trouble>, Ended> {
        let run = task.effects.lease().run;
        let kept = self.store.contents(run).map_err(|failure| Ended::StoreFailed(failure.to_string()))?;
        let Task { directory, root, path, doing, effects } = task;
        let target = format!("{directory}:{}", path.text());
        let (method, request) = (doing.method(), request_hash(&doing, &target));
        let (plan, turn) = match self.plan(&root, &path, doing, self.contents.saturating_sub(kept)).await {
            Ok(planned) => planned,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let (text, what) = (path.text().to_owned(), plan.what.clone());
        let change = Change { directory, root: root.clone(), path: text, what };
        // A backend may have given a secret back, and the guest have put it into a name.
        let target = self.mask.text(&target).unwrap_or(target);
        let effect = effects.intend_change(method, target, request);
        let ordinal = effect.ordinal;
        self.write_down(&effects, effect, change).await?;
        let (aside, known) = (aside(run, effects.attempt(), ordinal), self.known());
        let carried_out = self
            .work(move || {
                let done = Changing::begin(&root, &turn, known.as_deref())
                    .and_then(|folder| folder.carry_out(&path, &plan, &aside));
                Ok(match done {
                    Ok(done) => (EffectState::Done, done),
                    Err(trouble) => (EffectState::NotSent, Err(trouble)),
                })
            })
            .await;
        // Where the work itself failed inside, nobody knows how far it came.
        let (state, result) = carried_out.unwrap_or_else(|trouble| (EffectState::Open, Err(trouble)));
        let outcome = effects.known(ordinal, state, None, self.clock.now());
        if state != EffectState::Open {
            // Submitted now and in order; the attempt's end carries it again, and waits.
            drop(self.store.outcome(run, outcome));
        }
        effects.left();
        drop(under_way);
        Ok(result)
    }

    async fn plan(
        &self,
        root: &Path,
        path: &Relative,
        doing: Doing,
        most: u64,
    ) -> Result<(Plan, Turn), Trouble> {
        let turn = self.turn(root.to_path_buf(), doing.paths(path)).await?;
        let (root, path, known) = (root.to_path_buf(), path.clone(), self.known());
        self.work(move || {
            let plan = Changing::begin(&root, &turn, known.as_deref())?.plan(&path, doing, most)?;
            Ok((plan, turn))
        })
        .await
    }

    /// Waits for the turn at the folders in which these paths lie.
    async fn turn(&self, root: PathBuf, paths: Vec<Relative>) -> Result<Turn, Trouble> {
        let folders = self.work(move || holding(&root, &paths)).await?;
        self.turns.take(folders).await
    }

    /// Writes the intent of a change down.
    async fn write_down(&self, effects: &Effects, effect: Effect, change: Change) -> Result<(), Ended> {
        let ordinal = effect.ordinal;
        let ended = match self.store.intend(effects.lease(), effect, Some(change), self.clock.now()).await {
            Ok(true) => return Ok(()),
            Ok(false) => Ended::StoreFailed("another process has taken the run over".to_owned()),
            Err(failure) => Ended::StoreFailed(failure.to_string()),
        };
        effects.unwritten(ordinal, ended.clone(), self.clock.now());
        Err(ended)
    }

    /// Puts the changes of a run back, the last one first, each where it is still as the run left it and its folder is
    /// still lent to be written. Each is written down before the next: what they make of one path can only be told one
    /// after the other. Gives how each effect stands, and what became of its change.
    ///
    /// # Errors
    /// Where that cannot be written down; what is left then is put back when the run is met again.
    pub async fn put_back(
        &self,
        run: RunId,
        changes: Vec<Recorded>,
        lent: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<Vec<(Outcome, Undone)>, StoreFailure> {
        let mut stand = Vec::new();
        for recorded in changes.into_iter().rev() {
            let change = &recorded.change;
            let put_back = if lent(&change.directory).as_ref() == Some(&change.root) {
                let aside = aside(run, recorded.attempt, recorded.ordinal);
                let undone = self.undo(change.clone(), aside).await;
                undone.unwrap_or_else(|trouble| Undone::Left(trouble.to_string()))
            } else {
                Undone::Left("its folder is no longer granted for writing".to_owned())
            };
            let Recorded { attempt, ordinal, .. } = recorded;
            let state = match put_back {
                Undone::PutBack => EffectState::PutBack,
                Undone::Changed | Undone::Left(_) => EffectState::Done,
            };
            let at = self.clock.now();
            let outcome = Outcome { attempt, ordinal, state, status: None, answered: None, at };
            self.store.outcome(run, outcome.clone()).await?;
            stand.push((outcome, put_back));
        }
        Ok(stand)
    }

    async fn undo(&self, change: Change, aside: String) -> Result<Undone, Trouble> {
        let mut paths = vec![Relative::read(&change.path)?];
        if let Changed::Moved { to, mark: _ } = &change.what {
            paths.push(Relative::read(to)?);
        }
        let turn = self.turn(change.root.clone(), paths).await?;
        self.work(move || Ok(Changing::begin(&change.root, &turn, None)?.put_back(&change, &aside))).await
    }

    async fn reading<T: Send + 'static>(
        &self,
        asked: Asked<'_>,
        read: impl FnOnce(&Root, &Relative) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, FileError> {
        let read = async {
            let granted = asked.grants.directory(asked.directory, DirectoryAccess::Read)?;
            let (folder, path) = (granted.path.clone(), Relative::read(asked.path)?);
            self.work(move || read(&Root::open(&folder)?, &path)).await
        };
        read.await.map_err(|trouble: Trouble| asked.refused(trouble))
    }

    /// Does what may block on a thread for that.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let failed = || Trouble::Other("the host's file work failed inside".to_owned());
        let room = Arc::clone(&self.room).acquire_owned().await.map_err(|_| failed())?;
        let working = self.runtime.spawn_blocking(move || {
            // Given back by the thread: a guest that no longer waits does not free it.
            let _room = room;
            work()
        });
        working.await.unwrap_or_else(|_| Err(failed()))
    }
}

impl Asked<'_> {
    /// What the guest is told; what a rule forbids is logged, with the line that would allow it.
    fn refused(&self, trouble: Trouble) -> FileError {
        if let Trouble::Forbidden { rule, line } = &trouble {
            let cut = |text: &str| -> String { text.escape_debug().take(TOLD).collect() };
            let remedy = line.as_ref().map(|line| format!("; {line} would allow it")).unwrap_or_default();
            let (directory, path) = (cut(self.directory), cut(self.path));
            self.log.host(&format!("refused to {} {directory}:{path}: {rule}{remedy}", self.what));
        }
        trouble.error()
    }
}

/// What makes a change the same as an earlier one.
fn request_hash(doing: &Doing, target: &str) -> Digest {
    Digest::of_parts(&[doing.method().as_bytes(), target.as_bytes(), doing.bytes()])
}

/// The name of a file on its way, which no guest can use.
fn aside(run: RunId, attempt: u32, ordinal: u32) -> String {
    format!(".airlock-{run}-{attempt}-{ordinal}")
}
