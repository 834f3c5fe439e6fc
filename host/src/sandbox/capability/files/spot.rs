//! A name in an open folder: what lies there, and how that changes without anything of somebody else's being lost.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, fsync,
    futimens, mkdirat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::beneath::{Trouble, beneath, create, kind};
use super::known::{Place, Stamp};
use crate::model::change::{Before, Mark};
use crate::model::id::Digest;
use crate::sandbox::wit::files::Kind;

/// Files up to this size are known by their content, larger ones by place, size and time: none larger is ever written,
/// only moved.
const KNOWN_BY_CONTENT: u64 = 1 << 30;

/// Who may use what is new, less what the process' mask takes away.
const NEW_FILE: u32 = 0o666;
const NEW_FOLDER: u32 = 0o777;

/// What is kept of who may use a file or a folder.
const OF_FILES: u32 = 0o777;
const OF_FOLDERS: u32 = 0o7777;

/// A name in a folder that is open.
#[derive(Debug)]
pub(super) struct Spot<'a> {
    pub(super) folder: OwnedFd,
    pub(super) name: &'a str,
}

impl Spot<'_> {
    pub(super) fn place(&self) -> Result<Place, Trouble> {
        Ok(Place::of(&self.folder, self.name)?)
    }

    /// The stamp of what lies there. Taken after its content, it tells of every change before that.
    pub(super) fn stamp(&self) -> Result<Option<Stamp>, Trouble> {
        Ok(self.stat()?.as_ref().map(Stamp::of))
    }

    fn stat(&self) -> Result<Option<Stat>, Errno> {
        match statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn open(&self, name: &str) -> Result<Option<(File, Stat, Kind)>, Trouble> {
        let found = match beneath(&self.folder, name, OFlags::RDONLY) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let stat = fstat(&found)?;
        match kind(&stat) {
            Kind::Other => Err(Trouble::special()),
            kind @ (Kind::File | Kind::Directory) => Ok(Some((File::from(found), stat, kind))),
        }
    }

    /// What lies there, whole; `most` bounds what is kept of a file.
    pub(super) fn before(&self, most: u64) -> Result<Before, Trouble> {
        let Some((file, stat, kind)) = self.open(self.name)? else { return Ok(Before::Nothing) };
        if kind == Kind::Directory {
            return Ok(Before::Folder(stat.st_mode & OF_FOLDERS));
        }
        if stat.st_nlink > 1 {
            return Err(Trouble::forbidden(
                "the file has several names, of which some may lie outside, and is not changed",
            ));
        }
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
            return Err(Trouble::TooLarge);
        }
        Ok(Before::File(bytes.into(), stat.st_mode & OF_FILES))
    }

    pub(super) fn file_or_nothing(&self, most: u64) -> Result<Before, Trouble> {
        match self.before(most)? {
            Before::Folder(_) => Err(Errno::ISDIR.into()),
            before @ (Before::Nothing | Before::File(..)) => Ok(before),
        }
    }

    /// What lies there, as far as it takes to know it again.
    pub(super) fn mark(&self) -> Result<Mark, Trouble> {
        self.mark_of(self.name)
    }

    fn mark_of(&self, name: &str) -> Result<Mark, Trouble> {
        let Some((mut file, stat, kind)) = self.open(name)? else { return Ok(Mark::Nothing) };
        if kind == Kind::Directory {
            return Ok(Mark::Folder);
        }
        if u64::try_from(stat.st_size).unwrap_or(0) > KNOWN_BY_CONTENT {
            let parts = [
                stat.st_ino,
                stat.st_size.cast_unsigned(),
                stat.st_mtime.cast_unsigned(),
                stat.st_mtime_nsec,
            ];
            let parts = parts.map(u64::to_be_bytes);
            return Ok(Mark::File(Digest::of_parts(&parts.each_ref().map(|part| part.as_slice()))));
        }
        let (mut hash, mut piece) = (Sha256::new(), vec![0; 64 << 10]);
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(Mark::File(Digest(hash.finalize().into()))),
                Ok(count) => hash.update(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Puts a whole file there, in place of what must lie there now: made aside, made durable, and given its name at once.
    pub(super) fn put(&self, bytes: &[u8], mode: Option<u32>, now: Mark, aside: &str) -> Result<(), Trouble> {
        let made = self.make(bytes, mode, aside);
        match (made, now) {
            (Ok(()), Mark::Folder | Mark::File(_)) => {
                self.exchange(now, Mark::File(Digest::of(bytes)), aside)
            }
            (Ok(()), Mark::Nothing) => {
                self.rename(aside, self.name, RenameFlags::NOREPLACE).map_err(|errno| {
                    self.clear(aside);
                    if errno == Errno::EXIST { Trouble::changed() } else { errno.into() }
                })
            }
            (Err(trouble), _) => {
                self.clear(aside);
                Err(trouble)
            }
        }
    }

    fn make(&self, bytes: &[u8], mode: Option<u32>, aside: &str) -> Result<(), Trouble> {
        let mut file = File::from(create(&self.folder, aside, mode.unwrap_or(NEW_FILE))?);
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        if let Some(old) = self.stat()? {
            outlast(&file, &old)?;
        }
        file.sync_all()?;
        Ok(())
    }

    /// Lets a file from aside take the place of another, and looks at what came out: what is somebody else's goes back.
    fn exchange(&self, now: Mark, ours: Mark, aside: &str) -> Result<(), Trouble> {
        match self.rename(aside, self.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            // This file system knows no exchange: the look before must do.
            Err(Errno::INVAL) => return Ok(self.rename(aside, self.name, RenameFlags::empty())?),
            Err(errno) => {
                self.clear(aside);
                return Err(if errno == Errno::NOENT { Trouble::changed() } else { errno.into() });
            }
        }
        if self.mark_of(aside).is_ok_and(|out| out == now) {
            self.clear(aside);
            return Ok(());
        }
        self.rename(aside, self.name, RenameFlags::EXCHANGE)?;
        if self.mark_of(aside).is_ok_and(|out| out == ours) {
            self.clear(aside);
        } else {
            // It was changed once more: the latest stays, and what came before it lies aside for whoever looks for it.
            self.rename(aside, self.name, RenameFlags::EXCHANGE)?;
        }
        Err(Trouble::changed())
    }

    /// Takes away the file that must lie there now.
    pub(super) fn remove_file(&self, now: Mark, aside: &str) -> Result<(), Trouble> {
        match self.rename(self.name, aside, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::INVAL) => return Ok(unlinkat(&self.folder, self.name, AtFlags::empty())?),
            Err(Errno::NOENT) => return Err(Trouble::changed()),
            Err(errno) => return Err(errno.into()),
        }
        if self.mark_of(aside).is_ok_and(|out| out == now) {
            return Ok(unlinkat(&self.folder, aside, AtFlags::empty())?);
        }
        // Where something has come to lie there meanwhile, both are kept.
        let _ = self.rename(aside, self.name, RenameFlags::NOREPLACE);
        Err(Trouble::changed())
    }

    /// Takes away the folder that lies there, if it is empty.
    pub(super) fn remove_folder(&self) -> Result<(), Trouble> {
        Ok(unlinkat(&self.folder, self.name, AtFlags::REMOVEDIR)?)
    }

    /// Makes a folder where nothing lies; one that was there before is made aside until everybody may use it who might.
    pub(super) fn make_folder(&self, mode: Option<u32>, aside: &str) -> Result<(), Trouble> {
        let Some(mode) = mode else {
            return Ok(mkdirat(&self.folder, self.name, Mode::from_raw_mode(NEW_FOLDER))?);
        };
        mkdirat(&self.folder, aside, Mode::RWXU)?;
        let made = || -> Result<(), Errno> {
            let folder = beneath(&self.folder, aside, OFlags::RDONLY | OFlags::DIRECTORY)?;
            fchmod(&folder, Mode::from_raw_mode(mode))?;
            fsync(&folder)?;
            self.rename(aside, self.name, RenameFlags::NOREPLACE)
        };
        made().map_err(|errno| {
            self.clear(aside);
            errno.into()
        })
    }

    /// Gives what a process that died left aside its place back where it is somebody else's, and takes it away where it is not.
    /// That process put `placed` where `expected` lay.
    pub(super) fn settle(&self, aside: &str, placed: Mark, expected: Mark) {
        let (out, now) = (self.mark_of(aside), self.mark());
        let ours = |mark: Mark| mark == placed || mark == expected;
        let came_out = placed != expected && now == Ok(placed) && out != Ok(Mark::Nothing);
        if !came_out || out.is_ok_and(ours) {
            self.clear(aside);
        } else if placed == Mark::Nothing {
            let _ = self.rename(aside, self.name, RenameFlags::NOREPLACE);
        } else if self.rename(aside, self.name, RenameFlags::EXCHANGE).is_ok()
            && self.mark_of(aside) == Ok(placed)
        {
            self.clear(aside);
        }
    }

    fn rename(&self, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
        renameat_with(&self.folder, from, &self.folder, to, flags)
    }

    /// Takes away what lies aside: it is the host's own.
    fn clear(&self, aside: &str) {
        if unlinkat(&self.folder, aside, AtFlags::empty()) == Err(Errno::ISDIR) {
            let _ = unlinkat(&self.folder, aside, AtFlags::REMOVEDIR);
        }
    }
}

/// Sees that a file is not taken for the one in whose place it comes: the clocks of file systems stand still for
/// milliseconds, and numbers of files come again at once.
fn outlast(file: &File, old: &Stat) -> Result<(), Errno> {
    let new = fstat(file)?;
    let at = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    if at(&new) > at(old) || old.st_mtime - new.st_mtime > 1 {
        return Ok(());
    }
    let nanos = old.st_mtime_nsec + 1;
    let next = Timespec {
        tv_sec: old.st_mtime + i64::from(nanos == 1_000_000_000),
        tv_nsec: i64::try_from(nanos % 1_000_000_000).unwrap_or(0),
    };
    let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    futimens(file, &Timestamps { last_access: omit, last_modification: next })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with a plan in it.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plan"), "a plan").unwrap();
        folder
    }

    fn spot(folder: &tempfile::TempDir) -> Spot<'static> {
        Spot { folder: File::open(folder.path()).unwrap().into(), name: "plan" }
    }

    fn mark(text: &str) -> Mark {
        Mark::File(Digest::of(text.as_bytes()))
    }

    /// What lies in the folder, in the order of names.
    fn there(folder: &tempfile::TempDir) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        let mut all: Vec<_> = entries
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        all.sort();
        all
    }

    fn only(text: &str) -> Vec<(String, String)> {
        vec![("plan".to_owned(), text.to_owned())]
    }

    #[test]
    fn a_file_takes_the_place_of_the_one_that_was_looked_at_and_of_no_other() {
        let folder = folder();
        let put = |now| spot(&folder).put(b"ours", None, now, ".airlock-1");
        assert_eq!(put(mark("what was looked at")), Err(Trouble::changed()));
        assert_eq!(there(&folder), only("a plan"));
        assert_eq!(put(Mark::Nothing), Err(Trouble::changed()));
        assert_eq!(there(&folder), only("a plan"));
        assert_eq!(put(mark("a plan")), Ok(()));
        assert_eq!(there(&folder), only("ours"));
        fs::remove_file(folder.path().join("plan")).unwrap();
        assert_eq!(put(mark("ours")), Err(Trouble::changed()));
        assert_eq!(there(&folder), []);
    }

    #[test]
    fn the_file_that_was_looked_at_is_taken_away_and_no_other() {
        let folder = folder();
        let remove = |now| spot(&folder).remove_file(now, ".airlock-1");
        assert_eq!(remove(mark("what was looked at")), Err(Trouble::changed()));
        assert_eq!(there(&folder), only("a plan"));
        assert_eq!(remove(mark("a plan")), Ok(()));
        assert_eq!(there(&folder), []);
        assert_eq!(remove(mark("a plan")), Err(Trouble::changed()));
    }

    #[test]
    fn a_file_never_bears_the_time_of_the_one_whose_place_it_takes() {
        let folder = folder();
        let stamp = || spot(&folder).stamp().unwrap().unwrap();
        let mut seen = vec![stamp()];
        for round in 0..100 {
            let before = spot(&folder).mark().unwrap();
            spot(&folder).put(format!("{round:06}").as_bytes(), None, before, ".airlock-1").unwrap();
            assert!(!seen.contains(&stamp()), "{round}");
            seen.push(stamp());
        }
    }

    #[test]
    fn what_a_process_that_died_had_taken_from_somebody_else_gets_its_place_back() {
        let aside = |folder: &tempfile::TempDir, text: &str| {
            fs::write(folder.path().join(".airlock-1"), text).unwrap();
        };
        for (now, out, left) in [
            // It died before, after, and in the middle of making the file.
            ("a plan", "ours", "a plan"),
            ("ours", "a plan", "ours"),
            ("a plan", "ou", "a plan"),
            // What came out was not what it had looked at.
            ("ours", "theirs", "theirs"),
            // Somebody has changed it since.
            ("theirs", "a plan", "theirs"),
        ] {
            let folder = folder();
            fs::write(folder.path().join("plan"), now).unwrap();
            aside(&folder, out);
            spot(&folder).settle(".airlock-1", mark("ours"), mark("a plan"));
            assert_eq!(there(&folder), only(left), "{now}, {out}");
        }
        for (out, left) in [("a plan", vec![]), ("theirs", only("theirs"))] {
            let folder = folder();
            fs::remove_file(folder.path().join("plan")).unwrap();
            aside(&folder, out);
            spot(&folder).settle(".airlock-1", Mark::Nothing, mark("a plan"));
            assert_eq!(there(&folder), left, "{out}");
        }
    }
}
