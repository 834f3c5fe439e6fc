//! Files that must be files: a pipe would be waited at, and a device read without end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a regular file, and nothing else; it waits for nobody.
///
/// # Errors
/// Where it cannot be opened, or is something else.
pub fn open(options: &mut OpenOptions, file: &Path) -> io::Result<File> {
    let other = || io::Error::other("it is no regular file");
    let open = options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file);
    // So says a pipe that nobody reads.
    let open =
        open.map_err(|error| if error.raw_os_error() == Some(libc::ENXIO) { other() } else { error })?;
    if open.metadata()?.is_file() { Ok(open) } else { Err(other()) }
}

/// Reads an open file whole, where it has no more bytes than this.
///
/// # Errors
/// Where it cannot be read, or is longer.
pub fn whole(open: &File, most: u64) -> io::Result<Vec<u8>> {
    let long = |bytes: u64| io::Error::other(format!("it has {bytes} bytes and may have {most}"));
    let length = open.metadata()?.len();
    if length > most {
        return Err(long(length));
    }
    let mut bytes = Vec::new();
    let read = open.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let read = u64::try_from(read).unwrap_or(u64::MAX);
    if read > most { Err(long(read)) } else { Ok(bytes) }
}

/// Opens a regular file and reads it whole, where it has no more bytes than this.
///
/// # Errors
/// Where it cannot be read, is no regular file, or is longer.
pub fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(&open(OpenOptions::new().read(true), file)?, most)
}
