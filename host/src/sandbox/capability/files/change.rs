//! Changes below a lent folder: planned from what lies there, carried out whole or not at all, and put back.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{OFlags, RenameFlags, fsync, renameat_with};

use super::beneath::{Relative, Root, Trouble, beneath};
use super::known::{Known, Place};
use super::spot::Spot;
use super::turns::{Folder, Turn};
use crate::model::change::{Before, Change, Changed, Mark};
use crate::model::id::Digest;

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
    /// With these permissions, where it was there before.
    MakeFolder(Option<u32>),
    RemoveFile,
    RemoveFolder,
    MoveTo(Relative),
}

/// How a change stands that was carried out, or may have been, and was to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was before.
    PutBack,
    /// It is not: somebody else has changed it since.
    Changed,
    /// It is not; why.
    Left(String),
}

/// A lent folder, while it is one's turn to change something in it.
#[derive(Debug)]
pub(crate) struct Changing<'a> {
    root: Root,
    turn: &'a Turn,
    /// What the attempt knows that changes something; none where something is put back.
    known: Option<&'a Known>,
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

    /// The paths at which something changes, where it is done at this one.
    pub(crate) fn paths(&self, path: &Relative) -> Vec<Relative> {
        let other = match self {
            Self::Move(to) => Relative::read(to).ok(),
            Self::Write(_) | Self::Append(_) | Self::CreateDirectory | Self::Remove => None,
        };
        [path.clone()].into_iter().chain(other).collect()
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

impl<'a> Changing<'a> {
    pub(crate) fn begin(root: &Path, turn: &'a Turn, known: Option<&'a Known>) -> Result<Self, Trouble> {
        Ok(Self { root: Root::open(root)?, turn, known })
    }

    /// Looks at what lies there, and says what the change makes of it; `most` bounds what is kept of a file. What the attempt
    /// has read must still be so.
    pub(crate) fn plan(&self, path: &Relative, doing: Doing, most: u64) -> Result<Plan, Trouble> {
        let spot = self.spot(path)?;
        let plan = self.planned(&spot, doing, most)?;
        if let Some(known) = self.known {
            known.still(spot.place()?, plan.now, spot.stamp()?)?;
        }
        Ok(plan)
    }

    fn planned(&self, spot: &Spot<'_>, doing: Doing, most: u64) -> Result<Plan, Trouble> {
        let put = |before: Before, content: Vec<u8>| {
            let mode = match &before {
                Before::File(_, mode) => Some(*mode),
                Before::Nothing | Before::Folder(_) => None,
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
                before @ (Before::Nothing | Before::Folder(_)) => put(before, bytes),
                Before::File(old, mode) => {
                    let whole = [&*old, &bytes].concat();
                    put(Before::File(old, mode), whole)
                }
            },
            Doing::CreateDirectory => match spot.mark()? {
                Mark::Nothing => {
                    let what = Changed::Replaced { before: Before::Nothing, after: Mark::Folder };
                    Ok(Plan { what, now: Mark::Nothing, act: Act::MakeFolder(None) })
                }
                Mark::Folder | Mark::File(_) => Err(Trouble::Exists),
            },
            Doing::Move(to) => self.plan_move(spot, &Relative::read(&to)?),
            Doing::Remove => {
                let before = spot.before(most)?;
                let act = match &before {
                    Before::Nothing => return Err(Trouble::NotFound),
                    Before::Folder(_) => Act::RemoveFolder,
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
            return Err(Trouble::changed());
        }
        let place = spot.place()?;
        let other = self.act(&spot, &plan.act, plan.now, aside)?;
        self.note(&plan.what, place, other.as_ref());
        Ok(synced(&spot, other.as_ref()))
    }

    /// Takes note of a change that is the attempt's own.
    fn note(&self, what: &Changed, place: Place, other: Option<&Spot<'_>>) {
        let Some(known) = self.known else { return };
        match (what, other.map(Spot::place)) {
            (Changed::Replaced { before: _, after }, _) => known.replaced(place, *after),
            (Changed::Moved { to: _, mark }, Some(Ok(to))) => known.moved(place, to, *mark),
            (Changed::Moved { .. }, None | Some(Err(_))) => known.replaced(place, Mark::Nothing),
        }
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
    pub(crate) fn put_back(&self, change: &Change, aside: &str) -> Undone {
        self.try_to_put_back(change, aside).unwrap_or_else(|trouble| match trouble {
            Trouble::Changed(_) => Undone::Changed,
            Trouble::Forbidden { .. }
            | Trouble::NotFound
            | Trouble::NoFolder
            | Trouble::Exists
            | Trouble::TooLarge
            | Trouble::Other(_) => Undone::Left(trouble.to_string()),
        })
    }

    fn try_to_put_back(&self, change: &Change, aside: &str) -> Result<Undone, Trouble> {
        let (path, what) = (Relative::read(&change.path)?, &change.what);
        let back = format!("{aside}-back");
        if let (Changed::Replaced { before, after }, Ok(spot)) = (what, self.spot(&path)) {
            spot.settle(aside, *after, before.mark());
            spot.settle(&back, before.mark(), *after);
        }
        match self.is_done(&path, what) {
            Some(false) => return Ok(Undone::PutBack),
            Some(true) => {}
            None => return Ok(Undone::Changed),
        }
        let (path, act, now) = match what {
            Changed::Replaced { before, after } => {
                let act = match (before, after) {
                    (Before::File(bytes, mode), _) => Act::Put(Arc::clone(bytes), Some(*mode)),
                    (Before::Folder(mode), _) => Act::MakeFolder(Some(*mode)),
                    (Before::Nothing, Mark::Folder) => Act::RemoveFolder,
                    (Before::Nothing, Mark::File(_) | Mark::Nothing) => Act::RemoveFile,
                };
                (path, act, *after)
            }
            Changed::Moved { to, mark } => (Relative::read(to)?, Act::MoveTo(path), *mark),
        };
        let spot = self.spot(&path)?;
        let other = self.act(&spot, &act, now, &back)?;
        synced(&spot, other.as_ref())?;
        Ok(Undone::PutBack)
    }

    /// Does it, and gives the other spot that it changed, where there is one.
    fn act<'b>(
        &self,
        spot: &Spot<'_>,
        act: &'b Act,
        now: Mark,
        aside: &str,
    ) -> Result<Option<Spot<'b>>, Trouble> {
        match act {
            Act::Put(bytes, mode) => spot.put(bytes, *mode, now, aside)?,
            Act::MakeFolder(mode) => spot.make_folder(*mode, aside)?,
            Act::RemoveFile => spot.remove_file(now, aside)?,
            Act::RemoveFolder => spot.remove_folder()?,
            Act::MoveTo(to) => {
                let to = self.spot(to)?;
                renameat_with(&spot.folder, spot.name, &to.folder, to.name, RenameFlags::NOREPLACE)?;
                return Ok(Some(to));
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

    fn spot<'b>(&self, path: &'b Relative) -> Result<Spot<'b>, Trouble> {
        let Some((folder, name)) = path.split() else {
            return Err(Trouble::forbidden("the folder itself is not changed, only what lies in it"));
        };
        let folder = beneath(self.root.fd(), folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
        if !self.turn.is_at(Folder::of(&folder)?) {
            return Err(Trouble::Changed(
                "its folder was moved by somebody else meanwhile, and nothing was done".to_owned(),
            ));
        }
        Ok(Spot { folder, name })
    }
}

/// The folders, open, in which something lies or is to lie at these paths, where they are there.
pub(crate) fn holding(root: &Path, paths: &[Relative]) -> Result<Vec<OwnedFd>, Trouble> {
    let root = Root::open(root)?;
    let folders = paths.iter().filter_map(Relative::split);
    // Why one cannot be opened is said when something is to be changed there.
    Ok(folders
        .filter_map(|(folder, _)| beneath(root.fd(), folder, OFlags::RDONLY | OFlags::DIRECTORY).ok())
        .collect())
}

/// Makes durable what was done in folders.
fn synced(spot: &Spot<'_>, other: Option<&Spot<'_>>) -> Result<(), Trouble> {
    fsync(&spot.folder)?;
    if let Some(other) = other {
        fsync(&other.folder)?;
    }
    Ok(())
}
