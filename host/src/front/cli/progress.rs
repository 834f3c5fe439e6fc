//! A sign of life on a terminal while something takes long.

use std::future::Future;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::clean::clean;

/// What is done sooner shows nothing, so that quick calls do not flicker.
const PATIENCE: Duration = Duration::from_millis(500);

/// Waits for the work; after a while, says on standard error what is waited for, where that is a terminal.
pub(super) async fn watched<T>(what: &str, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if std::io::stderr().is_terminal() {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(PATIENCE) => {}
        }
        let bar = ProgressBar::new_spinner().with_message(clean(what));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        let done = work.await;
        bar.finish_and_clear();
        return done;
    }
    work.await
}
