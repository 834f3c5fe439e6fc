//! A walk through a folder: everything in it and below, in the order of names, from where an earlier walk ended.

use std::vec::IntoIter;

use airlock_sdk::ToolError;
use airlock_sdk::files::{Entry, Error, Kind as Lies};

use crate::glob::Glob;
use crate::place::Place;
use crate::{content, fault, workspace};

/// What is looked at in one call at most: a walk beyond it goes on in the next.
pub(crate) const MOST_LOOKED: usize = 20_000;

/// A folder that is being read, a page at a time.
struct Reading {
    folder: Place,
    page: IntoIter<Entry>,
    after: Option<String>,
    over: bool,
}

/// A walk under way.
pub(crate) struct Walk<'a> {
    open: Vec<Reading>,
    /// How many folders may lie within each other, the first among them.
    depth: usize,
    /// What is not gone into.
    exclude: &'a [Glob],
    /// Folders that could not be read.
    pub(crate) unreadable: usize,
}

impl<'a> Walk<'a> {
    /// Begins in a folder, after this place in it.
    pub(crate) fn begin(
        folder: &Place,
        depth: usize,
        exclude: &'a [Glob],
        after: Option<&Place>,
    ) -> Result<Self, ToolError> {
        match content::look(folder)?.map(|entry| entry.kind) {
            None => return Err(fault::not_found(folder)),
            Some(Lies::Directory) => {}
            Some(Lies::File | Lies::Other) => return Err(fault::not_a_folder(folder)),
        }
        let mut walk = Self { open: Vec::new(), depth, exclude, unreadable: 0 };
        let Some(after) = after else {
            walk.open.push(Reading::of(folder.clone(), None));
            return Ok(walk);
        };
        let Some(names) = after.names_below(folder) else {
            let text = format!("`{}` does not lie in `{}`", after.text(), folder.text());
            return Err(ToolError::invalid_input("INVALID_PATH", text));
        };
        let mut at = folder.clone();
        for name in names {
            walk.open.push(Reading::of(at.clone(), Some(name.to_owned())));
            at = at.entry(name);
        }
        if content::look(&at)?.is_some_and(|entry| entry.kind == Lies::Directory) {
            walk.go_into(&at);
        }
        Ok(walk)
    }

    /// What comes next.
    pub(crate) fn step(&mut self) -> Result<Option<(Place, Entry)>, ToolError> {
        loop {
            let depth = self.open.len();
            let Some(reading) = self.open.last_mut() else { return Ok(None) };
            match reading.next() {
                Ok(Some(entry)) => {
                    let place = reading.folder.entry(&entry.name);
                    if entry.kind == Lies::Directory {
                        self.go_into(&place);
                    }
                    return Ok(Some((place, entry)));
                }
                Ok(None) => drop(self.open.pop()),
                Err(error) if depth == 1 => return Err(fault::at(error, &reading.folder)),
                Err(error) => {
                    // What went while the walk was under way is no longer part of it.
                    self.unreadable += usize::from(error != Error::NotFound);
                    drop(self.open.pop());
                }
            }
        }
    }

    fn go_into(&mut self, folder: &Place) {
        if self.open.len() < self.depth && !self.exclude.iter().any(|glob| glob.fits(folder)) {
            self.open.push(Reading::of(folder.clone(), None));
        }
    }
}

impl Reading {
    fn of(folder: Place, after: Option<String>) -> Self {
        Self { folder, page: Vec::new().into_iter(), after, over: false }
    }

    fn next(&mut self) -> Result<Option<Entry>, Error> {
        if let Some(entry) = self.page.next() {
            return Ok(Some(entry));
        }
        if self.over {
            return Ok(None);
        }
        let page = workspace().entries_after(self.folder.text(), self.after.as_deref())?;
        self.over = page.is_empty();
        self.after = page.last().map(|last| last.name.clone());
        self.page = page.into_iter();
        Ok(self.page.next())
    }
}
