//! What an attempt knows of the files that it may change, so that nothing of somebody else's is written over unseen.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Stat, fstat};
use rustix::io::Errno;

use super::beneath::Trouble;
use crate::model::change::Mark;
use crate::model::id::Digest;

/// The most places that are remembered, of some hundred bytes each: enough for every file of a large project.
const MOST: usize = 16 << 10;

/// A name in a folder, whatever path leads there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place(Digest);

/// A file as it lay there: another one, or another content, has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

/// What an attempt knows of what lies where.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    known: HashMap<Place, Is>,
    /// Whether there were more than are remembered.
    more: bool,
}

#[derive(Debug, Clone, Copy)]
enum Is {
    /// This file, which it read.
    Read(Stamp),
    /// What it found or made itself.
    Mark(Mark),
}

impl Place {
    pub(super) fn of(folder: impl AsFd, name: &str) -> Result<Self, Errno> {
        let stat = fstat(folder)?;
        let parts = [&stat.st_dev.to_be_bytes()[..], &stat.st_ino.to_be_bytes(), name.as_bytes()];
        Ok(Self(Digest::of_parts(&parts)))
    }
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

impl Known {
    /// A file was read here: from its beginning, or on.
    pub(super) fn read(&self, place: Place, stamp: Stamp, from_beginning: bool) {
        let mut places = self.lock();
        // Who reads on has what it read before in hand too, and who begins anew has not.
        if from_beginning || !places.known.contains_key(&place) {
            places.keep(place, Is::Read(stamp));
        }
    }

    /// Nothing was found here.
    pub(super) fn absent(&self, place: Place) {
        self.lock().keep(place, Is::Mark(Mark::Nothing));
    }

    /// Something was seen here, and not read.
    pub(super) fn there(&self, place: Place) {
        let mut places = self.lock();
        if matches!(places.known.get(&place), Some(Is::Mark(Mark::Nothing))) {
            places.known.remove(&place);
        }
    }

    /// Sees that what lies here is what the attempt knows, where it knows something of it.
    pub(super) fn still(&self, place: Place, mark: Mark, stamp: Option<Stamp>) -> Result<(), Trouble> {
        let places = self.lock();
        let still = match places.known.get(&place) {
            None if places.more => {
                return Err(Trouble::Other(format!(
                    "nobody can tell whether this was changed since it was read: an attempt that changes files looks at this many at most: {MOST}"
                )));
            }
            None => true,
            Some(Is::Read(read)) => stamp.as_ref() == Some(read),
            Some(Is::Mark(known)) => *known == mark,
        };
        if still {
            return Ok(());
        }
        Err(Trouble::Changed(
            "it was changed by somebody else since it was read, and nothing was done".to_owned(),
        ))
    }

    /// The attempt itself has put this here.
    pub(super) fn replaced(&self, place: Place, by: Mark) {
        if let Some(known) = self.lock().known.get_mut(&place) {
            *known = Is::Mark(by);
        }
    }

    /// The attempt itself has moved this.
    pub(super) fn moved(&self, from: Place, to: Place, mark: Mark) {
        let mut places = self.lock();
        let was = places.known.get_mut(&from).map(|known| *known = Is::Mark(Mark::Nothing));
        if was.is_some() || places.known.contains_key(&to) {
            places.keep(to, Is::Mark(mark));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    fn keep(&mut self, place: Place, is: Is) {
        if self.known.len() < MOST || self.known.contains_key(&place) {
            self.known.insert(place, is);
        } else {
            self.more = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        Place(Digest::of(name.as_bytes()))
    }

    fn stamp(size: i64) -> Stamp {
        Stamp { inode: 1, size, modified: (1, 2), changed: (3, 4) }
    }

    fn file(text: &str) -> Mark {
        Mark::File(Digest::of(text.as_bytes()))
    }

    #[test]
    fn only_what_was_read_must_still_be_so() {
        let known = Known::default();
        known.read(place("a"), stamp(1), true);
        assert!(known.still(place("a"), file("x"), Some(stamp(1))).is_ok());
        assert!(known.still(place("a"), file("x"), Some(stamp(2))).is_err());
        assert!(known.still(place("a"), Mark::Nothing, None).is_err());
        assert!(known.still(place("b"), file("x"), Some(stamp(2))).is_ok());
    }

    #[test]
    fn who_reads_on_holds_the_first_part_and_who_begins_anew_the_latest() {
        let known = Known::default();
        known.read(place("a"), stamp(1), true);
        known.read(place("a"), stamp(2), false);
        assert!(known.still(place("a"), file("x"), Some(stamp(2))).is_err(), "it has parts of two");
        known.read(place("a"), stamp(2), true);
        assert!(known.still(place("a"), file("x"), Some(stamp(2))).is_ok());
    }

    #[test]
    fn what_was_not_there_must_not_have_come() {
        let known = Known::default();
        known.absent(place("a"));
        assert!(known.still(place("a"), Mark::Nothing, None).is_ok());
        assert!(known.still(place("a"), file("x"), Some(stamp(1))).is_err());
        known.there(place("a"));
        assert!(known.still(place("a"), file("x"), Some(stamp(1))).is_ok(), "it was seen since");
    }

    #[test]
    fn its_own_changes_are_not_held_against_an_attempt() {
        let known = Known::default();
        known.read(place("a"), stamp(1), true);
        known.replaced(place("a"), file("mine"));
        assert!(known.still(place("a"), file("mine"), Some(stamp(9))).is_ok());
        assert!(known.still(place("a"), file("theirs"), Some(stamp(9))).is_err());
        known.moved(place("a"), place("b"), file("mine"));
        assert!(known.still(place("a"), Mark::Nothing, None).is_ok());
        assert!(known.still(place("b"), file("mine"), None).is_ok());
        assert!(known.still(place("b"), file("theirs"), None).is_err());
        known.replaced(place("c"), file("blind"));
        assert!(known.still(place("c"), file("theirs"), None).is_ok(), "it was never read");
    }

    #[test]
    fn beyond_what_is_remembered_nothing_is_changed_that_may_have_been_read() {
        let known = Known::default();
        for number in 0..=MOST {
            known.absent(place(&number.to_string()));
        }
        assert!(known.still(place("0"), Mark::Nothing, None).is_ok());
        assert!(matches!(known.still(place("other"), Mark::Nothing, None), Err(Trouble::Other(_))));
    }
}
