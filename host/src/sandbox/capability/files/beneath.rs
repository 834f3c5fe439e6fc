//! Paths below a folder, opened by the kernel without following links, so that nothing swapped in between leads out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, statat};
use rustix::io::Errno;

use super::known::{Known, Place, Stamp};
use crate::sandbox::grants::NotLent;
use crate::sandbox::wit::files::{Entry, FileError, Kind};

/// The longest path: what Linux takes, its end among them.
const LONGEST: usize = 4095;

/// How many entries one answer holds.
const LISTED: usize = 1000;

/// How often a path is looked at again that was being moved meanwhile.
const AGAIN: u32 = 64;

/// Why something below a folder cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It must not be done; with the line of configuration that would allow it, where there is one.
    Forbidden { rule: String, line: Option<String> },
    /// Nothing is there.
    NotFound,
    /// A part of the path is no folder.
    NoFolder,
    /// Something is there already.
    Exists,
    /// More than the limit.
    TooLarge,
    /// Somebody else came in between, and nothing was done; what the guest is told.
    Changed(String),
    /// Anything else; the text names no path of the host.
    Other(String),
}

impl Trouble {
    pub(crate) fn forbidden(rule: &str) -> Self {
        Self::Forbidden { rule: rule.to_owned(), line: None }
    }

    /// What lay there was changed between the look at it and the change.
    pub(super) fn changed() -> Self {
        Self::Changed("it was changed by somebody else meanwhile, and nothing was done".to_owned())
    }

    pub(crate) fn special() -> Self {
        Self::forbidden("it is neither a file nor a folder")
    }

    /// What the guest is told.
    pub(crate) fn error(self) -> FileError {
        match self {
            Self::Forbidden { rule, line: _ } => FileError::Forbidden(rule),
            Self::NotFound => FileError::NotFound,
            Self::Exists => FileError::Exists,
            Self::TooLarge => FileError::TooLarge,
            Self::Changed(text) => FileError::Changed(text),
            no_folder @ Self::NoFolder => FileError::Other(no_folder.to_string()),
            Self::Other(text) => FileError::Other(text),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden { rule: text, line: _ } | Self::Changed(text) | Self::Other(text) => {
                f.write_str(text)
            }
            Self::NotFound => f.write_str("nothing is there"),
            Self::NoFolder => f.write_str("a part of the path is no folder"),
            Self::Exists => f.write_str("something is there already"),
            Self::TooLarge => f.write_str("it is larger than the limit"),
        }
    }
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Self {
        let other = |text: &str| Self::Other(text.to_owned());
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::LOOP => Self::forbidden("a link is on the way, and links are not followed"),
            Errno::XDEV => Self::forbidden("the path leads out of the folder"),
            Errno::NOTDIR => Self::NoFolder,
            Errno::EXIST => Self::Exists,
            Errno::NOTEMPTY => other("the folder is not empty"),
            Errno::NOSPC | Errno::DQUOT => other("there is no room left on the disk"),
            Errno::ROFS => other("the folder is on a disk that cannot be written"),
            Errno::ISDIR => other("it is a folder"),
            Errno::NXIO | Errno::NODEV => Self::special(),
            Errno::NAMETOOLONG => other("a name in the path is too long"),
            Errno::ACCESS | Errno::PERM => other("the system does not let the host do that"),
            Errno::NOSYS => other("this system has no openat2, which Linux has since 5.6"),
            errno => Self::Other(format!("the system says: {}", io::Error::from(errno))),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self::Other("the file ended while it was read".to_owned()),
        }
    }
}

impl From<NotLent> for Trouble {
    fn from(NotLent { rule, line }: NotLent) -> Self {
        Self::Forbidden { rule, line }
    }
}

/// A path relative to a folder, in parts that are names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relative(String);

impl Relative {
    /// Reads the path of a guest; the empty path is the folder itself.
    pub(crate) fn read(path: &str) -> Result<Self, Trouble> {
        let forbidden = |rule: &str| Err(Trouble::forbidden(rule));
        if path.len() > LONGEST {
            return Err(Trouble::Other(format!("a path has at most {LONGEST} bytes")));
        }
        if path.contains('\0') {
            return Err(Trouble::Other("a path holds no NUL".to_owned()));
        }
        if path.starts_with('/') {
            return forbidden("a path is relative to its folder, and begins with no /");
        }
        if path.split('/').any(|part| part == "..") {
            return forbidden("a path does not go up with ..");
        }
        if path.split('/').any(is_the_hosts) {
            return forbidden("names that begin with .airlock- are the host's own");
        }
        let names: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        Ok(Self(if names.is_empty() { ".".to_owned() } else { names.join("/") }))
    }

    /// The path as it is written down.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The folder that holds it, and its name there; none where it is the folder itself.
    pub(crate) fn split(&self) -> Option<(&str, &str)> {
        match self.0.rsplit_once('/') {
            Some(split) => Some(split),
            None if self.0 == "." => None,
            None => Some((".", &self.0)),
        }
    }
}

/// Whether the host makes files of this name on the way to others.
fn is_the_hosts(name: &str) -> bool {
    name.starts_with(".airlock-")
}

/// A folder that was lent, open.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    /// Opens the folder that was granted. Its path had no link on the way then; where it has one now, somebody put it there.
    pub(crate) fn open(path: &Path) -> Result<Self, Trouble> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve) {
            Ok(folder) => Ok(Self(folder)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                Err(Trouble::Other("the folder that was granted is no longer there".to_owned()))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// What lies at the path, the path itself included where it is a link.
    pub(crate) fn stat(&self, path: &Relative, known: Option<&Known>) -> Result<Entry, Trouble> {
        let found = beneath(&self.0, &path.0, OFlags::PATH | OFlags::NOFOLLOW);
        if let Some((known, place)) = noted(&self.0, path, known) {
            match &found {
                Ok(_) => known.there(place),
                Err(Errno::NOENT) => known.absent(place),
                Err(_) => {}
            }
        }
        let found = found?;
        Ok(entry(path.split().map_or(".", |(_, name)| name), &fstat(&found)?))
    }

    /// What lies in the folder at the path: sorted by name, so many after this one. Names that are no UTF-8 are left out,
    /// since nobody could ask for them.
    pub(crate) fn entries(&self, path: &Relative, after: Option<&str>) -> Result<Vec<Entry>, Trouble> {
        let folder = beneath(&self.0, &path.0, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names: BTreeMap<String, ()> = BTreeMap::new();
        for found in Dir::read_from(&folder)? {
            let found = found?;
            let Ok(name) = found.file_name().to_str() else { continue };
            if matches!(name, "." | "..") || is_the_hosts(name) || after.is_some_and(|after| name <= after) {
                continue;
            }
            names.insert(name.to_owned(), ());
            if names.len() > LISTED {
                names.pop_last();
            }
        }
        let looked = names.into_keys().filter_map(|name| {
            match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT) {
                Ok(stat) => Some(Ok(entry(&name, &stat))),
                // It went while the folder was read.
                Err(Errno::NOENT) => None,
                Err(errno) => Some(Err(errno.into())),
            }
        });
        looked.collect()
    }

    /// A part of the file at the path; shorter where the file ends, refused where it would be longer than `most`.
    pub(crate) fn read(
        &self,
        path: &Relative,
        offset: u64,
        length: u32,
        most: u64,
        known: Option<&Known>,
    ) -> Result<Vec<u8>, Trouble> {
        let (file, stat) = regular(&self.0, path, known, offset == 0)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let wanted = size.saturating_sub(offset).min(u64::from(length));
        if wanted > most {
            return Err(Trouble::TooLarge);
        }
        let mut bytes = vec![0; usize::try_from(wanted).map_err(|_| Trouble::TooLarge)?];
        let mut read = 0;
        while read < bytes.len() {
            let place = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            match file.read_at(&mut bytes[read..], place) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        bytes.truncate(read);
        Ok(bytes)
    }
}

/// Opens what lies at a path below a folder, with no link on the way, without waiting.
pub(super) fn beneath(folder: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // What is only looked at is not opened, and Linux takes no other flag beside.
    let unwaiting =
        if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK | OFlags::NOCTTY };
    let flags = flags | OFlags::CLOEXEC | unwaiting;
    let path = OsStr::from_bytes(path.as_bytes());
    let mut again = 0;
    loop {
        match openat2(&folder, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if again < AGAIN => again += 1,
            opened => return opened,
        }
    }
}

/// Makes a file of a name that nothing has, to be written.
pub(super) fn create(folder: impl AsFd, name: &str, mode: u32) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(&folder, name, flags, Mode::from_raw_mode(mode), resolve)
}

/// Opens a file, and nothing that only looks like one: a pipe, a socket and a device are let go of at once.
fn regular(
    folder: impl AsFd,
    path: &Relative,
    known: Option<&Known>,
    from_beginning: bool,
) -> Result<(File, Stat), Trouble> {
    match found(folder, path, known, from_beginning)? {
        (file, stat, Kind::File) => Ok((file, stat)),
        (_, _, Kind::Directory) => Err(Errno::ISDIR.into()),
        (_, _, Kind::Other) => Err(Trouble::special()),
    }
}

/// What lies below a folder, open to be read.
#[derive(Debug)]
pub(crate) enum Opened {
    File(File),
    Folder(File),
}

/// Opens a file or a folder below a folder, and nothing else.
pub(crate) fn readable(folder: impl AsFd, path: &Relative, known: Option<&Known>) -> Result<Opened, Trouble> {
    match found(folder, path, known, true)? {
        (file, _, Kind::File) => Ok(Opened::File(file)),
        (folder, _, Kind::Directory) => Ok(Opened::Folder(folder)),
        (_, _, Kind::Other) => Err(Trouble::special()),
    }
}

/// Opens what lies below a folder to be read, and takes note of that.
fn found(
    folder: impl AsFd,
    path: &Relative,
    known: Option<&Known>,
    from_beginning: bool,
) -> Result<(File, Stat, Kind), Trouble> {
    let noted = noted(&folder, path, known);
    let found = match beneath(&folder, &path.0, OFlags::RDONLY) {
        Err(Errno::NOENT) => {
            if let Some((known, place)) = noted {
                known.absent(place);
            }
            return Err(Trouble::NotFound);
        }
        found => found?,
    };
    let stat = fstat(&found)?;
    let kind = kind(&stat);
    if let (Kind::File, Some((known, place))) = (kind, noted) {
        known.read(place, Stamp::of(&stat), from_beginning);
    }
    Ok((File::from(found), stat, kind))
}

/// Where what is found at a path is taken note of, if it is.
fn noted<'a>(folder: impl AsFd, path: &Relative, known: Option<&'a Known>) -> Option<(&'a Known, Place)> {
    let (known, (within, name)) = (known?, path.split()?);
    let within = beneath(folder, within, OFlags::PATH | OFlags::DIRECTORY).ok()?;
    Some((known, Place::of(within, name).ok()?))
}

/// What lies there, by what a tool may do with it.
pub(super) fn kind(stat: &Stat) -> Kind {
    let found = FileType::from_raw_mode(stat.st_mode);
    if found == FileType::RegularFile {
        Kind::File
    } else if found == FileType::Directory {
        Kind::Directory
    } else {
        Kind::Other
    }
}

fn entry(name: &str, stat: &Stat) -> Entry {
    let kind = kind(stat);
    let size = match kind {
        Kind::File => u64::try_from(stat.st_size).unwrap_or(0),
        Kind::Directory | Kind::Other => 0,
    };
    let modified = u64::try_from(stat.st_mtime).unwrap_or(0);
    Entry { name: name.to_owned(), kind, size, modified }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_with_a_file_is_told_in_words_of_the_host() {
        let numbers = [
            Errno::NOENT,
            Errno::LOOP,
            Errno::XDEV,
            Errno::NOTDIR,
            Errno::EXIST,
            Errno::NOTEMPTY,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::ROFS,
            Errno::ISDIR,
            Errno::NXIO,
            Errno::NAMETOOLONG,
            Errno::ACCESS,
            Errno::PERM,
            Errno::NOSYS,
            Errno::IO,
        ];
        let ended = io::Error::new(io::ErrorKind::UnexpectedEof, "early");
        let others = [Trouble::TooLarge, Trouble::changed(), Trouble::special(), ended.into()];
        let told = numbers.into_iter().map(Trouble::from).chain(others).map(|trouble| trouble.to_string());
        insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
        nothing is there
        a link is on the way, and links are not followed
        the path leads out of the folder
        a part of the path is no folder
        something is there already
        the folder is not empty
        there is no room left on the disk
        there is no room left on the disk
        the folder is on a disk that cannot be written
        it is a folder
        it is neither a file nor a folder
        a name in the path is too long
        the system does not let the host do that
        the system does not let the host do that
        this system has no openat2, which Linux has since 5.6
        the system says: Input/output error (os error 5)
        it is larger than the limit
        it was changed by somebody else meanwhile, and nothing was done
        it is neither a file nor a folder
        the file ended while it was read
        ");
    }
}
