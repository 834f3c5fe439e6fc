//! Resolves `[retries]` and `[breaker]`: how often the host itself tries again, and when a backend is left alone.

use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::bounds;
use super::faults::Fault;
use super::read::{Read, Reader, tables};
use crate::model::{breaker, retry};

tables! {
    /// `[retries]`: how often a call that failed is tried again, and how soon.
    Retries {
        most: u64,
        base: Duration,
        cap: Duration,
        within: Duration,
        retry_after: Duration,
    }

    /// `[breaker]`: when a backend that keeps failing is left alone, and for how long.
    Breaker {
        in_a_row: u64,
        percent: u64,
        least: u64,
        window: Duration,
        open: Duration,
        longest: Duration,
        successes: u64,
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Beyond this, trying again is a load of its own.
const MOST: (u64, u64) = (0, 100);

/// What is counted of one backend.
const COUNTED: (u64, u64) = (1, 10_000);

/// Resolves `[retries]`, where all attempts of a call together may take this long.
pub(super) fn retries(written: Retries, run: Duration, faults: &mut Vec<Fault>) -> retry::Policy {
    let usual = retry::Policy::default();
    let most = most("retries.most", written.most.as_ref(), faults).unwrap_or(usual.most);
    let mut time = |key: &str, written, within, usual| {
        bounds::time(&format!("retries.{key}"), written, within, faults).unwrap_or(usual)
    };
    let base = time("base", written.base.as_ref(), (MILLISECOND, HOUR), usual.base);
    let cap = time("cap", written.cap.as_ref(), (base, HOUR), usual.cap.max(base));
    // Where nothing is tried again, how soon means nothing.
    let soonest = if most == 0 { Duration::ZERO } else { MILLISECOND };
    retry::Policy {
        most,
        base,
        cap,
        within: time("within", written.within.as_ref(), (soonest, run), usual.within.min(run)),
        asked: time("retry_after", written.retry_after.as_ref(), (Duration::ZERO, DAY), usual.asked),
    }
}

/// How often at most something is tried again; none where nothing was written.
pub(super) fn most(path: &str, written: Option<&Spanned<u64>>, faults: &mut Vec<Fault>) -> Option<u32> {
    bounds::whole(path, written, MOST, faults).map(narrow)
}

/// Resolves `[breaker]`.
pub(super) fn breaker(written: Breaker, faults: &mut Vec<Fault>) -> breaker::Policy {
    let usual = breaker::Policy::default();
    let mut number = |key: &str, written, within, usual| {
        bounds::whole(&format!("breaker.{key}"), written, within, faults).map_or(usual, narrow)
    };
    let in_a_row = number("in_a_row", written.in_a_row.as_ref(), COUNTED, usual.in_a_row);
    let percent = number("percent", written.percent.as_ref(), (1, 100), usual.percent);
    let least = number("least", written.least.as_ref(), COUNTED, usual.least);
    let successes = number("successes", written.successes.as_ref(), COUNTED, usual.successes);
    let mut time = |key: &str, written, within, usual| {
        bounds::time(&format!("breaker.{key}"), written, within, faults).unwrap_or(usual)
    };
    let window = time("window", written.window.as_ref(), (SECOND, DAY), usual.window);
    let open = time("open", written.open.as_ref(), (MILLISECOND, DAY), usual.open);
    let longest = time("longest", written.longest.as_ref(), (open, DAY), usual.longest.max(open));
    breaker::Policy { in_a_row, percent, least, window, open, longest, successes }
}

fn narrow(wide: u64) -> u32 {
    u32::try_from(wide).unwrap_or(u32::MAX)
}
