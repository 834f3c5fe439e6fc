//! Resolves `[log]`: where the lines of calls go, and what they look like.

use std::path::Path;

use toml::Spanned;
use toml::de::DeValue;

use super::faults::Fault;
use super::read::{Read, Reader, Text, tables};
use super::resolve::{straight, value};
use super::resolved::{LogFormat, LogTo};

tables! {
    /// `[log]`: where the lines of calls go.
    Log {
        format: LogFormat,
        file: String,
    }
}

impl Text for LogFormat {
    const IS: &'static str = "\"json\" where programs read it, \"text\" where people do";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "json" => Ok(Self::Json),
            "text" => Ok(Self::Text),
            _ => Err(String::new()),
        }
    }
}

/// Resolves `[log]`.
pub(super) fn log(written: Log, folder: &Path, faults: &mut Vec<Fault>) -> LogTo {
    let file = written.file.map(|file| {
        let path = folder.join(file.get_ref());
        if path.is_dir() {
            let text = format!("{} cannot be written: it is a folder", straight(&path).display());
            faults.push(Fault::at(file.span(), text).expected("the name of a file"));
        }
        path
    });
    LogTo { format: value(written.format), file }
}
