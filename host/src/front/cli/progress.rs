//! A sign of life on a terminal while something takes long.

use std::future::{Future, pending};
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::watch;

use super::clean::clean;
use super::problem::Problem;
use crate::host::{Host, Loading, Step, Steps};

/// What is done sooner shows nothing, so that quick calls do not flicker.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a line stands at least: guests may count fast.
const PAUSE: Duration = Duration::from_millis(100);

/// How much is shown of what a guest says: a line.
const LINE: usize = 60;

/// Waits for the work; after a while, says on standard error what is waited for, where that is a terminal.
pub(super) async fn watched<T>(what: &str, work: impl Future<Output = T>) -> T {
    shown(work, what.to_owned(), News::None).await
}

/// Waits for a call, and shows how far its guest says that it is.
pub(super) async fn stepped<T>(tool: &str, work: impl Future<Output = T>, steps: Steps) -> T {
    shown(work, tool.to_owned(), News::Steps(tool.to_owned(), steps)).await
}

/// Loads the plugins of a host, and says which is compiled at the moment.
pub(super) async fn loaded(host: &Host) {
    let loading = host.loading();
    let first = message(&loading.borrow());
    shown(host.load(), first, News::Loading(loading)).await;
}

/// The same for a host that is to serve: what the configuration names must be there.
pub(super) async fn ready(host: &Host) -> Result<(), Problem> {
    loaded(host).await;
    host.missing().map_or(Ok(()), |missing| Err(missing.into()))
}

/// What is told of work under way.
enum News {
    None,
    Loading(watch::Receiver<Loading>),
    Steps(String, Steps),
}

impl News {
    /// The next that there is to show.
    async fn next(&mut self) -> String {
        let next = match self {
            Self::None => None,
            Self::Loading(loading) => {
                loading.changed().await.ok().map(|()| message(&loading.borrow_and_update()))
            }
            Self::Steps(tool, steps) => steps.next().await.map(|step| far(tool, &step)),
        };
        match next {
            Some(text) => text,
            None => pending().await,
        }
    }
}

async fn shown<T>(work: impl Future<Output = T>, what: String, mut news: News) -> T {
    let mut work = std::pin::pin!(work);
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    let bar = ProgressBar::new_spinner().with_message(clean(&what));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    let done = loop {
        tokio::select! {
            biased;
            done = &mut work => break done,
            text = news.next() => bar.set_message(clean(&text)),
        }
        tokio::select! {
            biased;
            done = &mut work => break done,
            () = tokio::time::sleep(PAUSE) => {}
        }
    };
    bar.finish_and_clear();
    done
}

/// How far a call is: `desk.import: 3 of 7, page 3`.
fn far(tool: &str, step: &Step) -> String {
    let Step { by: _, done, total, message } = step;
    if *done == 0 && total.is_none() && !message.is_empty() {
        return format!("{tool}: {}", message.chars().take(LINE).collect::<String>());
    }
    let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let said: String = message.chars().take(LINE).collect();
    let said = if said.is_empty() { said } else { format!(", {said}") };
    format!("{tool}: {done}{total}{said}")
}

fn message(loading: &Loading) -> String {
    let Loading { done, all, compiling } = loading;
    match compiling.as_ref().and_then(|file| file.file_name()) {
        Some(file) => format!("compiling {}, {done} of {all} plugins are ready", file.to_string_lossy()),
        None => "loading plugins".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::By;

    #[test]
    fn a_step_is_a_line() {
        let step = |total, message: &str| {
            far("a.b", &Step { by: By::Guest, done: 3, total, message: message.to_owned() })
        };
        assert_eq!(step(Some(7), "page 3"), "a.b: 3 of 7, page 3");
        assert_eq!(step(None, ""), "a.b: 3");
        let said = Step { by: By::Host, done: 0, total: None, message: "attempt 2 of 4 in 80 ms".to_owned() };
        assert_eq!(far("a.b", &said), "a.b: attempt 2 of 4 in 80 ms");
        assert_eq!(step(None, &"x".repeat(500)).len(), "a.b: 3, ".len() + LINE);
    }

    #[test]
    fn what_is_compiled_is_told_with_how_many_are_ready() {
        let loading =
            |compiling: Option<&str>| Loading { done: 3, all: 9, compiling: compiling.map(Into::into) };
        assert_eq!(
            message(&loading(Some("/plugins/desk.wasm"))),
            "compiling desk.wasm, 3 of 9 plugins are ready"
        );
        assert_eq!(message(&loading(None)), "loading plugins");
    }
}
