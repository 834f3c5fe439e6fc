//! Compiling, in a process of its own: unknown bytes may need more time and memory than there is.
//!
//! The process is this program again. It has no environment and no open files but the component on standard input, the
//! code on standard output and its last words on standard error; it bounds its own memory, is stopped when its time is
//! over, and ends when whoever waits for it is gone.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::MemfdFlags;
use rustix::process::{Resource, Rlimit, setrlimit};
use sha2::{Digest as _, Sha256};

use crate::model::clock::Clock;
use crate::model::id::Digest;
use crate::model::limits::CompileLimits;
use crate::sandbox::engine::compile::precompile;

/// The argument by which the program knows that it is to compile.
pub const COMMAND: &str = "compile-plugin";

/// How often a compiler at work is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// What is read of a compiler's last words.
const WORDS: u64 = 16 << 10;

/// How a compiler ends that refused a component; other ends are none of its own.
const REFUSED: u8 = 17;

/// How a program ends that panicked.
const PANICKED: i32 = 101;

/// Compiling does not keep calls waiting.
const NICE: i32 = 10;

/// What starts compilers.
pub struct Compiler {
    program: PathBuf,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Why there is no code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompileFailure {
    /// The component is no good, in the compiler's words.
    Refused(String),
    /// It took too long.
    Time(Duration),
    /// The compiler died, most likely of hunger: its memory is bounded by this many bytes.
    Died(u64, String),
    /// No compiler could be started, which is not the component's fault.
    Unavailable(String),
}

impl Compiler {
    /// Compiles with this program, which must come to [`serve`] when it is called with [`COMMAND`].
    pub fn new(program: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { program, clock }
    }

    /// Compiles a component into a file that has no name; waits for the end of it.
    ///
    /// # Errors
    /// Where there is no code.
    pub fn compile(&self, component: &[u8], limits: CompileLimits) -> Result<File, CompileFailure> {
        let unavailable = |error: &dyn fmt::Display| {
            CompileFailure::Unavailable(format!("{} cannot be started: {error}", self.program.display()))
        };
        let mut code = nameless().map_err(|error| unavailable(&error))?;
        let output = code.try_clone().map_err(|error| unavailable(&error))?;
        let mut child = Command::new(&self.program)
            .args([COMMAND, &limits.memory.to_string()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| unavailable(&error))?;
        let (input, words) = (child.stdin.take(), child.stderr.take());
        let (status, words) = thread::scope(|threads| {
            // The end of its input is the end of the compiler, so that it does not outlive this process.
            let fed = threads.spawn(move || {
                let mut input = input?;
                let length = u64::try_from(component.len()).ok()?.to_le_bytes();
                input.write_all(&length).and_then(|()| input.write_all(component)).ok()?;
                Some(input)
            });
            let words = threads.spawn(move || words.map(last_words).unwrap_or_default());
            let status = self.wait(&mut child, limits.time);
            drop(fed.join());
            (status, words.join().unwrap_or_default())
        });
        let status = status.map_err(|error| unavailable(&error))?;
        judge(status, &words, limits, &mut code)?;
        Ok(code)
    }

    /// Waits for a compiler; nothing where its time was over.
    fn wait(&self, child: &mut Child, time: Duration) -> io::Result<Option<ExitStatus>> {
        let end = self.clock.steady() + time;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if self.clock.steady() >= end {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(LOOK);
        }
    }
}

/// A file in memory.
fn nameless() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("code", MemfdFlags::CLOEXEC)?.into())
}

fn last_words(mut stderr: ChildStderr) -> String {
    let mut words = Vec::new();
    let _ = stderr.by_ref().take(WORDS).read_to_end(&mut words);
    // What comes after is not kept, and must not keep the compiler waiting.
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&words).trim().to_owned()
}

fn judge(
    status: Option<ExitStatus>,
    words: &str,
    limits: CompileLimits,
    code: &mut File,
) -> Result<(), CompileFailure> {
    let Some(status) = status else { return Err(CompileFailure::Time(limits.time)) };
    match status.code() {
        Some(0) => {
            // Another program at the compiler's place would end well too, and leave anything.
            let told = digest(code).is_ok_and(|digest| digest.to_string() == words);
            let stranger = "the program that was started is no compiler of this host".to_owned();
            if told { Ok(()) } else { Err(CompileFailure::Unavailable(stranger)) }
        }
        Some(code) if code == i32::from(REFUSED) => Err(CompileFailure::Refused(words.to_owned())),
        // A panic, or a signal: what was out of bounds ends so. Other ends, and a kill from outside, are no word on the
        // component.
        Some(PANICKED) | None if status.signal() != Some(libc::SIGKILL) => {
            let last = words.lines().find(|line| !line.trim().is_empty());
            let last = last.map_or_else(|| status.to_string(), |line| format!("{status}: {line}"));
            Err(CompileFailure::Died(limits.memory, last))
        }
        Some(_) | None => Err(CompileFailure::Unavailable(format!("the compiler ended with {status}"))),
    }
}

fn digest(code: &mut File) -> io::Result<Digest> {
    let mut hash = Sha256::new();
    code.rewind()?;
    io::copy(code, &mut hash)?;
    Ok(Digest(hash.finalize().into()))
}

/// Is the compiler: reads a component, writes its code. Never holds more memory than this many bytes.
pub fn serve(memory: u64) -> ExitCode {
    let compiled = bound(memory).map_err(|error| error.to_string()).and_then(|()| component());
    let code = compiled.and_then(|component| precompile(&component));
    let written = code.and_then(|code| {
        let write = || io::stdout().lock().write_all(&code);
        write().map_err(|error| error.to_string()).map(|()| Digest::of(&code))
    });
    // Whoever reads this has a bound of its own, and a reader that is gone needs no words.
    match written {
        Ok(digest) => {
            let _ = write!(io::stderr(), "{digest}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            let _ = write!(io::stderr(), "{text}");
            ExitCode::from(REFUSED)
        }
    }
}

/// Bounds this process. Memory that is only set aside is free: threads set aside much.
fn bound(memory: u64) -> io::Result<()> {
    let most = |bytes: u64| Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::Data, most(memory))?;
    setrlimit(Resource::Fsize, most(memory))?;
    setrlimit(Resource::Core, most(0))?;
    rustix::process::nice(NICE)?;
    Ok(())
}

/// The component on standard input, after its length. From then on, the end of the input is the end of the process.
fn component() -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| format!("the component was not handed over: {error}");
    let mut input = io::stdin().lock();
    let mut length = [0; 8];
    input.read_exact(&mut length).map_err(failed)?;
    let length = u64::from_le_bytes(length);
    let mut component = Vec::new();
    input.by_ref().take(length).read_to_end(&mut component).map_err(failed)?;
    drop(input);
    if u64::try_from(component.len()).ok() != Some(length) {
        return Err("the component was not handed over whole".to_owned());
    }
    thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::abort();
    });
    Ok(component)
}
