//! Changes below a lent folder: planned from what lies there, carried out whole or not at all, and put back.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, fsync, mkdirat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::beneath::{Relative, Root, Trouble, beneath, create, kind};
use crate::model::change::{Before, Changed, Mark};
use crate::model::id::Digest;
use crate::sandbox::wit::files::Kind;

/// Files up to this size are known by their content, larger ones by place, size and time: none larger is ever written,
/// only moved.
const KNOWN_BY_CONTENT: u64 = 1 << 30;

/// Who may use what is new, less what the process' mask takes away.
const NEW_FILE: u32 = 0o666;
const NEW_FOLDER: u32 = 0o777;

/// What a guest wants to change.
#[derive(Debug, Clone)]
pub(crate) enum Doing {
    Write(Vec<u8>),
    Append(Vec<u8>),
    CreateDirectory,
    Move(String),
    Remove,
}

/// A change that can be carried out.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) what: Changed,
    /// What must lie there when it is carried out.
    now: Mark,
    act: Act,
}

/// One thing that the system does at a name.
#[derive(Debug)]
enum Act {
    Put(Arc<[u8]>, Option<u32>),
    MakeFolder,
    RemoveFile,
    RemoveFolder,
    MoveTo(Relative),
}

/// How a change stands that was carried out, or may have been, and was to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// It is as it was before.
    PutBack,
    /// It is not; why.
    Left(String),
}

/// A name in a folder that is open.
struct Spot<'a> {
    folder: OwnedFd,
    name: &'a str,
}

impl Doing {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Write(_) => "WRITE",
            Self::Append(_) => "APPEND",
            Self::CreateDirectory => "MKDIR",
            Self::Move(_) => "MOVE",
            Self::Remove => "REMOVE",
        }
    }

    /// What the guest handed over, beside the place.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Write(bytes) | Self::Append(bytes) => bytes,
            Self::Move(to) => to.as_bytes(),
            Self::CreateDirectory | Self::Remove => &[],
        }
    }
}

impl Root {
    /// Looks at what lies there, and says what the change makes of it; `most` bounds what is kept of a file.
    pub(crate) fn plan(&self, path: &Relative, doing: Doing, most: u64) -> Result<Plan, Trouble> {
        let spot = self.spot(path)?;
        let put = |before: Before, content: Vec<u8>| {
            let mode = match &before {
                Before::File(_, mode) => Some(*mode),
                Before::Nothing | Before::Folder => None,
            };
            let after = Mark::File(Digest::of(&content));
            Ok(Plan {
                now: before.mark(),
                what: Changed::Replaced { before, after },
                act: Act::Put(content.into(), mode),
            })
        };
        match doing {
            Doing::Write(bytes) => put(spot.file_or_nothing(most)?, bytes),
            Doing::Append(bytes) => match spot.file_or_nothing(most)? {
                before @ (Before::Nothing | Before::Folder) => put(before, bytes),
                Before::File(old, mode) => {
                    let whole = [&*old, &bytes].concat();
                    put(Before::File(old, mode), whole)
                }
            },
            Doing::CreateDirectory => match spot.mark()? {
                Mark::Nothing => {
                    let what = Changed::Replaced { before: Before::Nothing, after: Mark::Folder };
                    Ok(Plan { what, now: Mark::Nothing, act: Act::MakeFolder })
                }
                Mark::Folder | Mark::File(_) => Err(Trouble::Exists),
            },
            Doing::Move(to) => self.plan_move(&spot, &Relative::read(&to)?),
            Doing::Remove => {
                let before = spot.before(most)?;
                let act = match &before {
                    Before::Nothing => return Err(Trouble::NotFound),
                    Before::Folder => Act::RemoveFolder,
                    Before::File(..) => Act::RemoveFile,
                };
                let now = before.mark();
                Ok(Plan { what: Changed::Replaced { before, after: Mark::Nothing }, now, act })
            }
        }
    }

    fn plan_move(&self, spot: &Spot<'_>, to: &Relative) -> Result<Plan, Trouble> {
        match (spot.mark()?, self.spot(to)?.mark()?) {
            (Mark::Nothing, _) => Err(Trouble::NotFound),
            (_, Mark::Folder | Mark::File(_)) => Err(Trouble::Exists),
            (mark @ (Mark::Folder | Mark::File(_)), Mark::Nothing) => {
                let what = Changed::Moved { to: to.text().to_owned(), mark };
                Ok(Plan { what, now: mark, act: Act::MoveTo(to.clone()) })
            }
        }
    }

    /// Carries a change out: it is not done where this fails, and done where what it gives tells of trouble. What was
    /// planned for another state than is there is not done. `aside` is the name under which a file is made before it takes
    /// its place.
    pub(crate) fn carry_out(
        &self,
        path: &Relative,
        plan: &Plan,
        aside: &str,
    ) -> Result<Result<(), Trouble>, Trouble> {
        let spot = self.spot(path)?;
        if spot.mark()? != plan.now {
            return Err(Trouble::Other("it was changed by somebody else meanwhile".to_owned()));
        }
        let other = self.act(&spot, &plan.act, plan.now, aside)?;
        Ok(synced(&spot, other))
    }

    /// Whether a change was carried out: none where it cannot be told.
    fn is_done(&self, path: &Relative, what: &Changed) -> Option<bool> {
        let at = |path: &Relative| self.mark_or_nothing(path).ok();
        match what {
            Changed::Replaced { before, after } => match at(path)? {
                now if now == before.mark() => Some(false),
                now if now == *after => Some(true),
                Mark::Nothing | Mark::Folder | Mark::File(_) => None,
            },
            Changed::Moved { to, mark } => match (at(path)?, at(&Relative::read(to).ok()?)?) {
                (from, Mark::Nothing) if from == *mark => Some(false),
                (Mark::Nothing, to) if to == *mark => Some(true),
                (_, _) => None,
            },
        }
    }

    /// Puts back what a change made, where it is still as the change left it.
    pub(crate) fn put_back(&self, path: &Relative, what: &Changed, aside: &str) -> Undone {
        if let Ok(spot) = self.spot(path) {
            // What a process that died in the middle left.
            let _ = unlinkat(&spot.folder, aside, AtFlags::empty());
        }
        match self.is_done(path, what) {
            Some(false) => return Undone::PutBack,
            Some(true) => {}
            None => return Undone::Left("it was changed by somebody else since".to_owned()),
        }
        let put_back = match what {
            Changed::Replaced { before, after } => {
                let act = match (before, after) {
                    (Before::File(bytes, mode), _) => Act::Put(Arc::clone(bytes), Some(*mode)),
                    (Before::Folder, _) => Act::MakeFolder,
                    (Before::Nothing, Mark::Folder) => Act::RemoveFolder,
                    (Before::Nothing, Mark::File(_) | Mark::Nothing) => Act::RemoveFile,
                };
                self.act_durably(path, &act, *after, aside)
            }
            Changed::Moved { to, mark } => Relative::read(to)
                .and_then(|to| self.act_durably(&to, &Act::MoveTo(path.clone()), *mark, aside)),
        };
        match put_back {
            Ok(()) => Undone::PutBack,
            Err(trouble) => Undone::Left(trouble.to_string()),
        }
    }

    fn act_durably(&self, path: &Relative, act: &Act, now: Mark, aside: &str) -> Result<(), Trouble> {
        let spot = self.spot(path)?;
        let other = self.act(&spot, act, now, aside)?;
        synced(&spot, other)
    }

    /// Does it, and gives the other folder that it changed, where there is one.
    fn act(&self, spot: &Spot<'_>, act: &Act, now: Mark, aside: &str) -> Result<Option<OwnedFd>, Trouble> {
        match act {
            Act::Put(bytes, mode) => spot.put(bytes, *mode, now, aside)?,
            Act::MakeFolder => mkdirat(&spot.folder, spot.name, Mode::from_raw_mode(NEW_FOLDER))?,
            Act::RemoveFile => unlinkat(&spot.folder, spot.name, AtFlags::empty())?,
            Act::RemoveFolder => unlinkat(&spot.folder, spot.name, AtFlags::REMOVEDIR)?,
            Act::MoveTo(to) => {
                let to = self.spot(to)?;
                renameat_with(&spot.folder, spot.name, &to.folder, to.name, RenameFlags::NOREPLACE)?;
                return Ok(Some(to.folder));
            }
        }
        Ok(None)
    }

    /// What lies at a path; nothing too where the folder that would hold it is gone.
    fn mark_or_nothing(&self, path: &Relative) -> Result<Mark, Trouble> {
        match self.spot(path) {
            Err(Trouble::NotFound) => Ok(Mark::Nothing),
            spot => spot?.mark(),
        }
    }

    fn spot<'a>(&self, path: &'a Relative) -> Result<Spot<'a>, Trouble> {
        let Some((folder, name)) = path.split() else {
            return Err(Trouble::forbidden("the folder itself is not changed, only what lies in it"));
        };
        let folder = beneath(self.fd(), folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(Spot { folder, name })
    }
}

/// Makes durable what was done in folders.
fn synced(spot: &Spot<'_>, other: Option<OwnedFd>) -> Result<(), Trouble> {
    fsync(&spot.folder)?;
    if let Some(other) = other {
        fsync(&other)?;
    }
    Ok(())
}

impl Spot<'_> {
    fn open(&self) -> Result<Option<(File, Stat, Kind)>, Trouble> {
        let found = match beneath(&self.folder, self.name, OFlags::RDONLY) {
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

    /// What lies there, whole.
    fn before(&self, most: u64) -> Result<Before, Trouble> {
        let Some((file, stat, kind)) = self.open()? else { return Ok(Before::Nothing) };
        if kind == Kind::Directory {
            return Ok(Before::Folder);
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
        Ok(Before::File(bytes.into(), stat.st_mode & 0o777))
    }

    fn file_or_nothing(&self, most: u64) -> Result<Before, Trouble> {
        match self.before(most)? {
            Before::Folder => Err(Errno::ISDIR.into()),
            before @ (Before::Nothing | Before::File(..)) => Ok(before),
        }
    }

    /// What lies there, as far as it takes to know it again.
    fn mark(&self) -> Result<Mark, Trouble> {
        let Some((mut file, stat, kind)) = self.open()? else { return Ok(Mark::Nothing) };
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

    /// Puts a whole file there: made aside, made durable, and given its name at once.
    fn put(&self, bytes: &[u8], mode: Option<u32>, now: Mark, aside: &str) -> Result<(), Trouble> {
        let made =
            create(&self.folder, aside, mode.unwrap_or(NEW_FILE)).map_err(Trouble::from).and_then(|file| {
                let mut file = File::from(file);
                file.write_all(bytes)?;
                if let Some(mode) = mode {
                    fchmod(&file, Mode::from_raw_mode(mode))?;
                }
                file.sync_all()?;
                let flags = match now {
                    Mark::Nothing => RenameFlags::NOREPLACE,
                    Mark::Folder | Mark::File(_) => RenameFlags::empty(),
                };
                renameat_with(&self.folder, aside, &self.folder, self.name, flags)?;
                Ok(())
            });
        if made.is_err() {
            let _ = unlinkat(&self.folder, aside, AtFlags::empty());
        }
        made
    }
}
