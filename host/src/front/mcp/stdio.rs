//! The streams of the process: lines in, lines out, and nothing but these on standard output.

use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::os::fd::AsFd as _;

use tokio::sync::{mpsc, oneshot};

use crate::model::id::RunId;

/// Lines that are read ahead of those that are being served; beyond it, whoever writes them waits.
const AHEAD: usize = 64;

/// A line of standard input.
#[derive(Debug)]
pub(super) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// Longer than this; it was dropped.
    TooLong(usize),
}

/// A line that goes out, with its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) line: Vec<u8>,
    /// The run that is to be told once this has gone out.
    pub(super) delivers: Option<RunId>,
}

/// Both ends.
#[derive(Debug)]
pub(super) struct Stdio {
    /// What comes in; ends when standard input does.
    pub(super) lines: mpsc::Receiver<Line>,
    /// What goes out.
    pub(super) out: mpsc::UnboundedSender<Answer>,
    /// Told of each run whose result has gone out.
    pub(super) delivered: mpsc::UnboundedReceiver<RunId>,
    /// Told once all that was to go out has gone, after every sender is dropped.
    pub(super) written: oneshot::Receiver<()>,
}

/// Takes the streams over. From here on, whatever else in the process prints to standard output goes to standard error.
///
/// # Errors
/// Where the system refuses a stream or a thread.
pub(super) fn take(longest: usize) -> io::Result<Stdio> {
    let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    let (sender, lines) = mpsc::channel(AHEAD);
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("mcp-in").spawn(move || read(longest, &sender))?;
    let (deliveries, delivered) = mpsc::unbounded_channel();
    let (out, written) = {
        let (sender, waiting) = mpsc::unbounded_channel();
        let (done, written) = oneshot::channel();
        thread("mcp-out").spawn(move || {
            write(out, waiting, &deliveries);
            let _ = done.send(());
        })?;
        (sender, written)
    };
    Ok(Stdio { lines, out, delivered, written })
}

/// Hands on line after line. What stands after the last end of a line is no line: whoever wrote it was cut off.
fn read(longest: usize, lines: &mpsc::Sender<Line>) {
    let mut input = io::stdin().lock();
    let (mut line, mut dropped) = (Vec::new(), false);
    loop {
        let ready = match input.fill_buf() {
            Ok([]) => return,
            Ok(ready) => ready,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return tracing::error!("standard input cannot be read: {error}"),
        };
        let end = ready.iter().position(|byte| *byte == b'\n');
        let piece = &ready[..end.unwrap_or(ready.len())];
        if line.len() + piece.len() > longest {
            (line, dropped) = (Vec::new(), true);
        } else if !dropped {
            line.extend_from_slice(piece);
        }
        let taken = piece.len() + usize::from(end.is_some());
        input.consume(taken);
        if end.is_some() {
            let whole = std::mem::take(&mut line);
            let next = if dropped { Line::TooLong(longest) } else { Line::Whole(whole) };
            dropped = false;
            if lines.blocking_send(next).is_err() {
                return;
            }
        }
    }
}

/// Writes what comes, as much at a time as there is.
fn write(
    mut out: File,
    mut waiting: mpsc::UnboundedReceiver<Answer>,
    delivered: &mpsc::UnboundedSender<RunId>,
) {
    while let Some(Answer { line: mut lines, delivers }) = waiting.blocking_recv() {
        let mut runs = Vec::from_iter(delivers);
        while let Ok(Answer { line, delivers }) = waiting.try_recv() {
            lines.extend_from_slice(&line);
            runs.extend(delivers);
        }
        if let Err(error) = out.write_all(&lines) {
            // The reader is gone; what is under way goes on, and its end is kept.
            return tracing::warn!("standard output cannot be written: {error}");
        }
        for run in runs {
            // Whoever is told has left where the process ends: the result is then given once more.
            let _ = delivered.send(run);
        }
    }
}
