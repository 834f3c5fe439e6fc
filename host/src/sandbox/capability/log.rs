//! The log that guests write to.

use crate::sandbox::logbook::Logbook;
use crate::sandbox::wit::host::Level;

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
