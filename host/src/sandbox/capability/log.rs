//! The log that guests write to.

use crate::sandbox::logbook::Logbook;
use crate::sandbox::wit::host::Level;

/// Takes note of a signature: the first, the tenth, the hundredth and so on of one secret, since lines are few.
pub(crate) fn signed(log: &Logbook, secret: &str, count: u64) {
    if count.checked_ilog10().is_some_and(|digits| 10_u64.pow(digits) == count) {
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        log.host(&format!("signed {times} with the secret `{secret}`"));
    }
}

/// Writes one line; line breaks inside it are written as such.
pub(crate) fn line(log: &Logbook, level: Level, message: &str, fields: &str) {
    let level = match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    let message = message.replace('\n', "\\n");
    let fields = fields.trim().replace('\n', " ");
    if matches!(&*fields, "" | "{}") {
        log.guest(&format!("{level}: {message}"));
    } else {
        log.guest(&format!("{level}: {message} {fields}"));
    }
}
