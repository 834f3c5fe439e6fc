//! Resolves `[retries]`, `[breaker]` and `[probe]`: how often the host itself tries again, when a backend is left alone, and
//! how it finds out what became of a call.

use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::bounds;
use super::faults::Fault;
use super::read::{Read, Reader, tables};
use crate::model::{breaker, probe, retry};

tables! {
    /// `[retries]`: how often a call that failed is tried again, and how soon.
    Retries {
        most: u64,
        base: Duration,
        cap: Duration,
        within: Duration,
        retry_after: Duration,
        background: Background,
    }

    /// `[retries.background]`: the same of calls in the background.
    Background {
        most: u64,
        base: Duration,
        cap: Duration,
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

    /// `[probe]`: how plugins are asked what became of a call.
    Probe {
        tries: u64,
        time: Duration,
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

/// Resolves `[retries]`, where single tools are tried again so often and all attempts of a call together may take this long;
/// the second policy is that of calls in the background.
pub(super) fn retries(
    written: Retries,
    of_tools: &[(String, Spanned<u64>)],
    run: Duration,
    faults: &mut Vec<Fault>,
) -> (retry::Policy, retry::Policy) {
    let usual = retry::Policy::default();
    let most = most("retries.most", written.most.as_ref(), faults).unwrap_or(usual.most);
    let mut time = |key: &str, written, within, usual| {
        bounds::time(&format!("retries.{key}"), written, within, faults).unwrap_or(usual)
    };
    let base = time("base", written.base.as_ref(), (MILLISECOND, HOUR), usual.base);
    let cap = time("cap", written.cap.as_ref(), (base, HOUR), usual.cap.max(base));
    // Where nothing is tried again, how soon means nothing.
    let soonest = if most == 0 { Duration::ZERO } else { MILLISECOND };
    let within = time("within", written.within.as_ref(), (soonest, run), usual.within.min(run));
    let asked = time("retry_after", written.retry_after.as_ref(), (Duration::ZERO, DAY), usual.asked);
    let policy = retry::Policy { most, base, cap, within, asked };
    // What nobody wrote is as it is: of the usual retries those are made that there is time for.
    let times = [&written.base, &written.cap, &written.within].into_iter().flatten().map(Spanned::span);
    let place = written.most.as_ref().map(Spanned::span).into_iter().chain(times).next();
    faults.extend(place.and_then(|place| too_many("retries.most", place, policy)));
    for (path, written) in of_tools {
        let most = narrow(*written.get_ref());
        if most <= narrow(MOST.1) {
            faults.extend(too_many(path, written.span(), retry::Policy { most, ..policy }));
        }
    }
    let background = written.background.map(Spanned::into_inner).unwrap_or_default();
    (policy, in_background(&background, asked, faults))
}

/// Resolves `[retries.background]`: how late an attempt may begin there is what `[limits] background` says.
fn in_background(written: &Background, asked: Duration, faults: &mut Vec<Fault>) -> retry::Policy {
    let usual = retry::Policy::patient();
    let most = most("retries.background.most", written.most.as_ref(), faults).unwrap_or(usual.most);
    let mut time = |key: &str, written, within, usual| {
        bounds::time(&format!("retries.background.{key}"), written, within, faults).unwrap_or(usual)
    };
    let base = time("base", written.base.as_ref(), (MILLISECOND, HOUR), usual.base);
    let cap = time("cap", written.cap.as_ref(), (base, DAY), usual.cap.max(base));
    retry::Policy { most, base, cap, asked, ..usual }
}

/// The fault of asking for more retries than there is time for, where pauses are as long as they are on average.
fn too_many(path: &str, place: Range<usize>, policy: retry::Policy) -> Option<Fault> {
    let (fits, retry::Policy { most, base, cap, within, .. }) = (policy.fitting(), policy);
    let show = |time: Duration| humantime::format_duration(time).to_string();
    (fits < most).then(|| {
        let text = format!("`{path}` asks for more retries than `retries.within` has time for: {most}");
        let help = format!(
            "pauses begin below {} and double up to {}: shorten `base` or `cap`, give `within` more than {}, or ask for fewer",
            show(base),
            show(cap),
            show(within)
        );
        let fit = if fits == 1 { "one retry fits".to_owned() } else { format!("{fits} retries fit") };
        Fault::at(place, text).expected(fit).help(help)
    })
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

/// Resolves `[probe]`.
pub(super) fn probe(written: Probe, faults: &mut Vec<Fault>) -> probe::Policy {
    let usual = probe::Policy::default();
    probe::Policy {
        tries: most("probe.tries", written.tries.as_ref(), faults).unwrap_or(usual.tries),
        time: bounds::time("probe.time", written.time.as_ref(), (MILLISECOND, HOUR), faults)
            .unwrap_or(usual.time),
    }
}

fn narrow(wide: u64) -> u32 {
    u32::try_from(wide).unwrap_or(u32::MAX)
}
