//! How far each limit may be set.

use std::time::Duration;

use bytesize::ByteSize;
use toml::Spanned;

use super::faults::Fault;
use super::written;
use crate::model::limits::{CompileLimits, Limits, MOST_SAME_ACTION};

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);

/// Nothing is told apart where it is nothing.
const SAME_ACTION: (Duration, Duration) = (Duration::ZERO, MOST_SAME_ACTION);

/// What is done later than a month after it was asked for, nobody waits for any more.
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

/// Longer than any law asks to keep what was said.
const CENTURY: Duration = Duration::from_secs(36_525 * 24 * 3600);

/// An attempt that takes longer than an hour is no call any more.
pub(super) const ATTEMPT: (Duration, Duration) = (MILLISECOND, HOUR);

/// Enough for days of computing; beyond it, sums of fuel could overflow.
const MOST_FUEL: u64 = 1_000_000_000_000_000;

/// One page of WebAssembly, and all that 32 bits address.
const MEMORY: (u64, u64) = (64 << 10, 4 << 30);

/// What is held whole in memory: an empty reply with room to spare, and what one call must not exceed.
const HELD: (u64, u64) = (64, 256 << 20);

/// Room for what an error must say, and what one call must not exceed.
const REPLY: (u64, u64) = (2 << 10, 256 << 20);

/// Held whole, as bodies are; none at all where it is nothing.
const ATTACHMENTS: (u64, u64) = (0, 256 << 20);

/// What one value may have, and more than anybody should keep in the store of calls.
const ROOM: (u64, u64) = (64 << 10, 64 << 30);

/// Nothing but new files where it is nothing; read whole when they are put back.
const CONTENTS: (u64, u64) = (0, 512 << 20);

/// The reader of JSON goes no deeper than this.
const DEEPEST: u64 = 127;

/// Half of the places is for one plugin or caller, so there are two at least; each holds a sandbox ready.
const PLACES: (u64, u64) = (2, 1024);

/// The largest honest components take seconds; beyond an hour nobody waits.
const COMPILE_TIME: (Duration, Duration) = (Duration::from_secs(1), HOUR);

/// What the compiler of a small component needs, and more than any machine has.
const COMPILE_MEMORY: (u64, u64) = (128 << 20, 1 << 40);

/// Room for the code of one large component, and more than any disk has.
const CACHE: (u64, u64) = (16 << 20, 1 << 50);

/// Resolves `[limits]`, where one attempt of some tool may take this long.
pub(super) fn limits(written: written::Limits, longest: Duration, faults: &mut Vec<Fault>) -> Limits {
    let usual = Limits::default();
    let attempt = time("limits.attempt", written.attempt.as_ref(), ATTEMPT, faults).unwrap_or(usual.attempt);
    let longest = longest.max(attempt);
    let run =
        time("limits.run", written.run.as_ref(), (longest, DAY), faults).unwrap_or(usual.run.max(longest));
    let mut within = |key: &str, written, usual: Duration| {
        let path = format!("limits.{key}");
        time(&path, written, (MILLISECOND, attempt), faults).unwrap_or(usual.min(attempt))
    };
    let connect = within("connect", written.connect.as_ref(), usual.connect);
    let read = within("read", written.read.as_ref(), usual.read);
    let mut lasting = |key: &str, written, bounds, usual| {
        time(&format!("limits.{key}"), written, bounds, faults).unwrap_or(usual)
    };
    let background = lasting("background", written.background.as_ref(), (longest, MONTH), usual.background);
    let wait = lasting("wait", written.wait.as_ref(), (MILLISECOND, HOUR), usual.wait);
    let keep = lasting("keep", written.keep.as_ref(), (MILLISECOND, YEAR), usual.keep);
    let tombstone = lasting("tombstone", written.tombstone.as_ref(), (MILLISECOND, YEAR), usual.tombstone);
    // A result that its key still gives must be there.
    let payloads = lasting("payloads", written.payloads.as_ref(), (keep, CENTURY), usual.payloads.max(keep));
    let same_action = lasting("same_action", written.same_action.as_ref(), SAME_ACTION, usual.same_action);
    let mut size = |key, written, bounds, usual| bytes(key, written, bounds, faults).unwrap_or(usual);
    let memory = size("memory", written.memory.as_ref(), MEMORY, usual.memory);
    let output = size("output", written.output.as_ref(), HELD, usual.output);
    let reply = size("reply", written.reply.as_ref(), REPLY, usual.reply);
    let attachments = size("attachments", written.attachments.as_ref(), ATTACHMENTS, usual.attachments);
    let log = size("log", written.log.as_ref(), HELD, usual.log);
    let body = size("body", written.body.as_ref(), HELD, usual.body);
    let contents = size("contents", written.contents.as_ref(), CONTENTS, usual.contents);
    let input = size("input", written.input.as_ref(), HELD, usual.input);
    let key_value = size("key_value", written.key_value.as_ref(), ROOM, usual.key_value);
    let mut count = |key, written, bounds, usual| number(key, written, bounds, faults).unwrap_or(usual);
    Limits {
        fuel: count("fuel", written.fuel.as_ref(), (1, MOST_FUEL), usual.fuel),
        requests: count("requests", written.requests.as_ref(), (1, 1_000_000), usual.requests),
        depth: count("depth", written.depth.as_ref(), (1, DEEPEST), usual.depth),
        at_once: narrow(count("at_once", written.at_once.as_ref(), PLACES, usual.at_once.into())),
        waiting: narrow(count("waiting", written.waiting.as_ref(), (1, 1_000_000), usual.waiting.into())),
        attempt,
        run,
        background,
        connect,
        read,
        memory,
        output,
        reply,
        attachments,
        log,
        body,
        key_value,
        contents,
        input,
        wait,
        keep,
        tombstone,
        payloads,
        same_action,
    }
}

fn narrow(wide: u64) -> u32 {
    u32::try_from(wide).unwrap_or(u32::MAX)
}

/// Resolves `[compile]`.
pub(super) fn compile(written: written::Compile, faults: &mut Vec<Fault>) -> CompileLimits {
    let usual = CompileLimits::default();
    let time = time("compile.time", written.time.as_ref(), COMPILE_TIME, faults).unwrap_or(usual.time);
    let mut size = |key: &str, written, bounds| sized(&format!("compile.{key}"), written, bounds, faults);
    CompileLimits {
        time,
        memory: size("memory", written.memory.as_ref(), COMPILE_MEMORY).unwrap_or(usual.memory),
        cache: size("cache", written.cache.as_ref(), CACHE).unwrap_or(usual.cache),
    }
}

/// A duration between two bounds; none where nothing was written.
pub(super) fn time(
    path: &str,
    written: Option<&Spanned<Duration>>,
    bounds: (Duration, Duration),
    faults: &mut Vec<Fault>,
) -> Option<Duration> {
    let show = |time: Duration| humantime::format_duration(time).to_string();
    bounded(path, written?.span(), *written?.get_ref(), bounds, show, faults)
}

fn bytes(
    key: &str,
    written: Option<&Spanned<written::Bytes>>,
    bounds: (u64, u64),
    faults: &mut Vec<Fault>,
) -> Option<u64> {
    sized(&format!("limits.{key}"), written, bounds, faults)
}

fn sized(
    path: &str,
    written: Option<&Spanned<written::Bytes>>,
    bounds: (u64, u64),
    faults: &mut Vec<Fault>,
) -> Option<u64> {
    let show = |bytes: u64| ByteSize::b(bytes).display().iec().to_string().replace(".0 ", " ");
    bounded(path, written?.span(), written?.get_ref().0, bounds, show, faults)
}

fn number(
    key: &str,
    written: Option<&Spanned<u64>>,
    bounds: (u64, u64),
    faults: &mut Vec<Fault>,
) -> Option<u64> {
    whole(&format!("limits.{key}"), written, bounds, faults)
}

/// A whole number between two bounds; none where nothing was written.
pub(super) fn whole(
    path: &str,
    written: Option<&Spanned<u64>>,
    bounds: (u64, u64),
    faults: &mut Vec<Fault>,
) -> Option<u64> {
    bounded(path, written?.span(), *written?.get_ref(), bounds, |number| number.to_string(), faults)
}

fn bounded<T: Copy + PartialOrd>(
    path: &str,
    place: std::ops::Range<usize>,
    value: T,
    (least, most): (T, T),
    show: impl Fn(T) -> String,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    let side = match value {
        small if small < least => format!("at least {}", show(least)),
        large if large > most => format!("at most {}", show(most)),
        _ => return Some(value),
    };
    faults.push(Fault::at(place, format!("`{path}` is out of bounds")).expected(side));
    None
}
