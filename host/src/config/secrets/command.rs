//! A command that prints a secret, within a time and a size; no shell is between.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::LONGEST;
use crate::model::clock::{Clock as _, SystemClock};

/// How long a command may take: somebody may have to unlock what it reads from.
pub(super) const TIME: Duration = Duration::from_secs(60);

/// How often a command at work is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// What is told of a command's own words.
const WORDS: u64 = 1 << 10;

/// What a command prints; else how it went wrong, in words that follow its name.
pub(super) fn run(words: &[String], folder: &Path, time: Duration) -> Result<Vec<u8>, String> {
    let Some((program, arguments)) = words.split_first() else { return Err("is no command".to_owned()) };
    let clock = SystemClock::start();
    let folder = std::path::absolute(Path::new(".").join(folder));
    let folder = folder.map_err(|error| format!("cannot be started: {error}"))?;
    // A name is looked for where the system looks; a path is relative to the folder.
    let program = if program.contains('/') { folder.join(program) } else { program.into() };
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let printed = child.stdout.take().map(|pipe| reading(pipe, LONGEST + 1, false));
    let said = child.stderr.take().map(|pipe| reading(pipe, WORDS, true));
    let left = || time.saturating_sub(clock.steady());
    let status = wait(&mut child, left).map_err(|error| format!("cannot be waited for: {error}"))?;
    // What it left behind may hold its output open; that is not waited for beyond the time.
    let read = |pipe: Option<Receiver<Vec<u8>>>| pipe?.recv_timeout(left().max(LOOK)).ok();
    let (printed, said) = (read(printed), read(said).unwrap_or_default());
    let said = in_a_line(&String::from_utf8_lossy(&said));
    match (status, printed) {
        (Some(_), Some(printed)) if over(&printed) => Ok(printed),
        (Some(status), Some(printed)) if status.success() => Ok(printed),
        (Some(status), Some(_)) if said.is_empty() => Err(format!("ended with {status}")),
        (Some(status), Some(_)) => Err(format!("ended with {status} and said: {said}")),
        (None, _) | (Some(_), None) => {
            let time = humantime::format_duration(time);
            let said = if said.is_empty() { said } else { format!(", and said: {said}") };
            Err(format!("took longer than {time}{said}"))
        }
    }
}

/// Whether it printed more than is read; it was stopped by that.
fn over(printed: &[u8]) -> bool {
    u64::try_from(printed.len()).is_ok_and(|length| length > LONGEST)
}

/// Reads so much of a pipe, beside whoever waits; the rest is dropped as it comes where the writer is not to be stopped.
fn reading(mut pipe: impl Read + Send + 'static, most: u64, drain: bool) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
        if drain {
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        // Nobody may be waiting any more.
        let _ = send.send(bytes);
    });
    receive
}

/// Waits for a command; nothing where its time was over, and it was killed.
fn wait(child: &mut Child, left: impl Fn() -> Duration) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if left().is_zero() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// What a command said, in one line that no terminal acts on.
fn in_a_line(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let clean = |line: &str| {
        line.chars()
            .flat_map(|letter| {
                let shown: Vec<char> =
                    if letter.is_control() { letter.escape_default().collect() } else { vec![letter] };
                shown
            })
            .collect::<String>()
    };
    lines.map(clean).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, time: Duration) -> Result<String, String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        run(&words, Path::new("/"), time).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_command_gives_what_it_prints_and_its_words_where_it_fails() {
        assert_eq!(sh("printf s3cr3t; echo fine >&2", TIME), Ok("s3cr3t".to_owned()));
        assert_eq!(sh("pwd", TIME), Ok("/\n".to_owned()));
        let failed = sh("echo partly; echo 'no such entry' >&2; printf '\\033[31mred' >&2; exit 3", TIME);
        assert_eq!(failed.unwrap_err(), r"ended with exit status: 3 and said: no such entry; \u{1b}[31mred");
        assert_eq!(sh("kill -9 $$", TIME).unwrap_err(), "ended with signal: 9 (SIGKILL)");
        let missing = run(&["no-such-program-here".to_owned()], Path::new("/"), TIME);
        assert_eq!(missing.unwrap_err(), "cannot be started: No such file or directory (os error 2)");
    }

    #[test]
    fn a_command_that_does_not_end_is_stopped() {
        let short = Duration::from_millis(200);
        let endless = sh("echo waiting >&2; exec sleep 600", short);
        assert_eq!(endless.unwrap_err(), "took longer than 200ms, and said: waiting");
        // One that left something behind which holds its output open.
        assert_eq!(sh("echo s; sleep 3 & exit 0", short).unwrap_err(), "took longer than 200ms");
    }

    #[test]
    fn a_command_that_prints_without_end_is_cut() {
        let printed = sh("yes", TIME).unwrap();
        assert_eq!(u64::try_from(printed.len()).unwrap(), LONGEST + 1);
        assert_eq!(sh("yes | head -c 100000 >&2; echo s", TIME), Ok("s\n".to_owned()));
    }
}
