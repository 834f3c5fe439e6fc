//! Bodies of answers that come in pieces: long ones, endless ones, slow ones, ones that break off.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// How much of a long body is sent at once.
const PIECE: usize = 16 * 1024;

/// One thing that a [`Script`] does.
pub(super) enum Step {
    /// Lets everything so far leave for the wire.
    Flush,
    /// Waits for something.
    Await(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// Sends these bytes.
    Send(Bytes),
    /// Breaks the connection off.
    Break,
}

/// A body of a known length that is sent step by step.
pub(super) struct Script {
    length: u64,
    steps: VecDeque<Step>,
}

impl Script {
    /// `length` is what the head promises, whatever the steps send.
    pub(super) fn new(length: usize, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { length: length as u64, steps: steps.into_iter().collect() }
    }
}

impl HttpBody for Script {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            match self.steps.pop_front() {
                // A connection whose body is pending is flushed before that body is polled again.
                Some(Step::Flush) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Await(mut wait)) => {
                    if wait.as_mut().poll(cx).is_pending() {
                        self.steps.push_front(Step::Await(wait));
                        return Poll::Pending;
                    }
                }
                Some(Step::Send(bytes)) if bytes.is_empty() => {}
                Some(Step::Send(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Step::Break) => return Poll::Ready(Some(Err(io::Error::other("the body breaks off")))),
                None => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script({} bytes, {} steps)", self.length, self.steps.len())
    }
}

/// A body of the letter `x`, in pieces, with or without an end, with or without a wait before each piece.
#[derive(Debug)]
pub(super) struct Flood {
    left: Option<u64>,
    piece: Bytes,
    every: Option<tokio::time::Interval>,
}

impl Flood {
    /// This many bytes as fast as they are taken; without a number they do not end.
    pub(super) fn fast(length: Option<u64>) -> Self {
        Self { left: length, piece: Bytes::from(vec![b'x'; PIECE]), every: None }
    }

    /// One byte at a time.
    pub(super) fn slow(length: Option<u64>, every: Duration) -> Self {
        let every = tokio::time::interval(every.max(Duration::from_millis(1)));
        Self { left: length, piece: Bytes::from_static(b"x"), every: Some(every) }
    }
}

impl HttpBody for Flood {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        if let Some(every) = &mut self.every {
            ready!(every.poll_tick(cx));
        }
        let whole = self.piece.len() as u64;
        let size = self.left.map_or(whole, |left| left.min(whole));
        self.left = self.left.map(|left| left - size);
        let piece = self.piece.slice(..usize::try_from(size).unwrap_or(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
