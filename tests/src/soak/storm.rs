//! The storm: processes that are killed and started again, and a backend that goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use airlock::model::clock::{Clock as _, SystemClock};

use super::caller::CALLER;
use super::calls::{Book, Call, Told};
use super::choices::Choices;
use super::{Plan, Scene, TOKEN};
use crate::backend::{Backend, Fault, Moment};
use crate::crowd::READY;
use crate::world::compiler;

/// Processes that make calls; one more is `airlock serve`.
const CALLERS: usize = 3;
/// How many calls each makes at once.
const AT_ONCE: usize = 4;
/// How often the one who disturbs looks at the time.
const TICK: Duration = Duration::from_millis(20);
const PROGRESS: Duration = Duration::from_secs(10);

/// What was met in a storm.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// How often each process was killed, by what it was.
    pub(super) kills: BTreeMap<&'static str, u64>,
    /// How often each fault came.
    pub(super) faults: BTreeMap<String, u64>,
}

/// What is left of a storm.
pub(super) struct Storm {
    pub(super) book: Book,
    pub(super) met: Met,
}

struct Processes<'a> {
    scene: &'a Scene,
    children: [Mutex<Option<Child>>; CALLERS + 1],
    book: Mutex<Book>,
    over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds this")
}

/// Lets it storm for a while; no process is left, and the backend has no fault any more.
pub(super) fn weather(scene: &Scene, plan: Plan) -> Storm {
    let processes = Processes {
        scene,
        children: [const { Mutex::new(None) }; CALLERS + 1],
        book: Mutex::default(),
        over: AtomicBool::new(false),
    };
    let met = std::thread::scope(|threads| {
        for place in 0..CALLERS {
            let processes = &processes;
            let choices = Choices::of(plan.seed, u8::try_from(place).unwrap_or_default());
            threads.spawn(move || processes.keep_calling(place, choices));
        }
        threads.spawn(|| processes.keep_serving());
        processes.disturb(plan)
    });
    scene.backend.clear_faults();
    scene.backend.wait_idle();
    let book = processes.book.into_inner().expect("no thread panics while it holds this");
    Storm { book, met }
}

impl Processes<'_> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Kills one process after the other, and lets the backend go wrong, until the time is over; then kills them all.
    fn disturb(&self, plan: Plan) -> Met {
        let mut choices = Choices::of(plan.seed, 0xFF);
        let (clock, mut met) = (SystemClock::start(), Met::default());
        let begin = clock.steady();
        let now = || clock.steady().saturating_sub(begin);
        let (mut kill, mut fault, mut progress) = (choices.time(1000, 3000), Duration::ZERO, PROGRESS);
        while now() < plan.time {
            std::thread::sleep(TICK);
            if now() >= kill {
                self.kill(choices.below(CALLERS + 1), &mut met);
                kill = now() + choices.time(500, 4000);
            }
            if now() >= fault {
                spoil(&self.scene.backend, &mut choices, &mut met);
                fault = now() + choices.time(20, 300);
            }
            if now() >= progress {
                progress += PROGRESS;
                let (book, kills) = (lock(&self.book), met.kills.values().sum::<u64>());
                let (calls, told) = (book.calls.len(), book.acknowledged.len());
                println!(
                    "{} s: {calls} calls, {told} replies, {} asked again, {kills} kills",
                    now().as_secs(),
                    book.again
                );
            }
        }
        for pending in self.scene.backend.faults() {
            if let Some(times) = met.faults.get_mut(&pending.fault) {
                *times -= u64::from(pending.times);
            }
        }
        self.over.store(true, Ordering::SeqCst);
        (0..=CALLERS).for_each(|place| self.kill(place, &mut met));
        met
    }

    fn kill(&self, place: usize, met: &mut Met) {
        if let Some(child) = lock(&self.children[place]).as_mut()
            && child.kill().is_ok()
        {
            let what = if place == CALLERS { "airlock serve" } else { "a caller's process" };
            *met.kills.entry(what).or_default() += 1;
        }
    }

    /// Starts a process, unless all is over.
    fn start(&self, place: usize, command: &mut Command) -> Option<(ChildStdin, BufReader<ChildStdout>)> {
        let mut held = lock(&self.children[place]);
        // Looked at under the lock: whoever kills them all comes before or after.
        if self.is_over() {
            return None;
        }
        let piped = command.env(TOKEN.0, TOKEN.1).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("the program was built");
        let word = child.stdin.take().expect("its input is a pipe");
        let said = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        *held = Some(child);
        Some((word, said))
    }

    /// Waits until a process is gone, which says nothing any more.
    fn bury(&self, place: usize) {
        if let Some(mut child) = lock(&self.children[place]).take() {
            // It may have been killed already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Runs one process after the other that makes calls.
    fn keep_calling(&self, place: usize, mut choices: Choices) {
        let own = std::env::current_exe().expect("a program knows its place");
        let mut command = Command::new(own);
        command.arg(CALLER).arg(&self.scene.config);
        while let Some((mut word, said)) = self.start(place, &mut command) {
            let mut lines = said.lines().map_while(Result::ok);
            let mut open = BTreeSet::new();
            if lines.next().as_deref() == Some(READY) {
                self.ask(&mut word, &mut open, &mut choices);
                while let Some((id, told)) = lines.next().and_then(|line| reply(&line)) {
                    open.remove(&id);
                    lock(&self.book).acknowledge(id, told);
                    std::thread::sleep(choices.time(10, 60));
                    self.ask(&mut word, &mut open, &mut choices);
                }
            }
            self.bury(place);
            lock(&self.book).lose(open);
        }
    }

    /// Gives a process so much to do that it is at several calls.
    fn ask(&self, word: &mut ChildStdin, open: &mut BTreeSet<u64>, choices: &mut Choices) {
        while open.len() < AT_ONCE {
            let call: Call = lock(&self.book).next(choices);
            let line = serde_json::to_string(&call).expect("a call is JSON");
            open.insert(call.id);
            if writeln!(word, "{line}").is_err() {
                return;
            }
        }
    }

    /// Runs one `airlock serve` after the other.
    fn keep_serving(&self) {
        let mut command = Command::new(compiler());
        command.arg("--config").arg(&self.scene.config).arg("serve").stderr(Stdio::null());
        while let Some((_word, said)) = self.start(CALLERS, &mut command) {
            said.lines().map_while(Result::ok).for_each(drop);
            self.bury(CALLERS);
        }
    }
}

fn reply(line: &str) -> Option<(u64, Told)> {
    let (id, reply) = line.split_once(' ')?;
    Some((id.parse().ok()?, Told::read(reply)?))
}

/// Lets a request of some kind go wrong in some way.
fn spoil(backend: &Backend, choices: &mut Choices, met: &mut Met) {
    const PLACES: [&str; 8] = [
        "GET /orders",
        "POST /tickets",
        "POST /tickets",
        "POST /mails",
        "POST /mails",
        "PUT /tickets",
        "GET /mails",
        "GET /tickets",
    ];
    const MOMENTS: [Moment; 3] = [Moment::BeforeWork, Moment::AfterWork, Moment::AfterHead];
    const ENOUGH: usize = 6;
    let (place, moment) = (*choices.one_of(&PLACES), *choices.one_of(&MOMENTS));
    let errs = if moment == Moment::AfterHead { Moment::AfterWork } else { moment };
    let fault = match choices.below(6) {
        0 => Fault::cut(moment),
        1 => Fault::hang(moment),
        2 => Fault::slow(moment, Duration::from_millis(300)),
        3 => Fault::status(Moment::BeforeWork, 429).retry_after(1),
        4 => Fault::status(errs, 500),
        // By which this backend says that it did nothing.
        _ => Fault::status(Moment::BeforeWork, 503),
    };
    if backend.faults().len() < ENOUGH {
        *met.faults.entry(fault.to_string()).or_default() += 1;
        backend.fault(place, fault, 1);
    }
}
