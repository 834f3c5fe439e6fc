//! Paths within the workspace.

use airlock_sdk::ToolError;

/// A path in names that are joined by `/`; empty for the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(String);

impl Place {
    /// The workspace itself.
    pub(crate) fn root() -> Self {
        Self(String::new())
    }

    /// Reads a path as models write it: `src/main.rs`, `./src/`, `.`; `/` alone is the workspace.
    pub(crate) fn read(given: &str) -> Result<Self, ToolError> {
        let names: Vec<&str> = given.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let (invalid, joined) = (|text| Err(ToolError::invalid_input("INVALID_PATH", text)), names.join("/"));
        if given.contains('\0') {
            return invalid("a path holds no NUL".to_owned());
        }
        if names.contains(&"..") {
            return invalid(format!(
                "a path does not go up with `..`; give it from the workspace on: {given}"
            ));
        }
        if given.starts_with('/') && !names.is_empty() {
            return invalid(format!(
                "paths begin in the workspace, and not with `/`: `{joined}` would be that; `list` shows what is there"
            ));
        }
        Ok(Self(joined))
    }

    /// The same where it must not be the workspace itself.
    pub(crate) fn below(given: &str) -> Result<Self, ToolError> {
        let place = Self::read(given)?;
        if place.is_root() {
            return Err(ToolError::invalid_input(
                "INVALID_PATH",
                "give the path of something in the workspace",
            ));
        }
        Ok(place)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name.
    pub(crate) fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// What holds it; none where it is the workspace.
    pub(crate) fn folder(&self) -> Option<Self> {
        match self.0.rsplit_once('/') {
            Some((folder, _)) => Some(Self(folder.to_owned())),
            None if self.is_root() => None,
            None => Some(Self::root()),
        }
    }

    /// What lies in it under this name.
    pub(crate) fn entry(&self, name: &str) -> Self {
        if self.is_root() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// The names from a folder down to it; none where it is not below that.
    pub(crate) fn names_below(&self, folder: &Self) -> Option<Vec<&str>> {
        let rest =
            if folder.is_root() { &self.0 } else { self.0.strip_prefix(&folder.0)?.strip_prefix('/')? };
        (!rest.is_empty()).then(|| rest.split('/').collect())
    }

    /// The folders that lead to it, the outermost first, without the workspace.
    pub(crate) fn ways(&self) -> Vec<Self> {
        let ends = self.0.match_indices('/').map(|(at, _)| at);
        ends.map(|at| Self(self.0[..at].to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_models_write_it() {
        let text = |given| Place::read(given).unwrap().text().to_owned();
        assert_eq!(text("src/main.rs"), "src/main.rs");
        assert_eq!(text("./src//deep/"), "src/deep");
        assert_eq!((text("."), text(""), text("/")), (String::new(), String::new(), String::new()));
        assert_eq!(text("..."), "...");
    }

    #[test]
    fn a_path_that_leaves_the_workspace_is_refused_with_the_one_that_is_meant() {
        let fault = |given| Place::read(given).unwrap_err().message().to_owned();
        assert!(fault("/src/main.rs").contains("`src/main.rs`"));
        assert!(fault("src/../../x").contains("does not go up"));
        let root = Place::below("./").unwrap_err();
        assert_eq!(
            (root.code(), root.message()),
            ("INVALID_PATH", "give the path of something in the workspace")
        );
    }

    #[test]
    fn the_ways_to_a_place_come_from_the_outermost_on() {
        let ways: Vec<String> = Place("a/b/c".to_owned()).ways().into_iter().map(|way| way.0).collect();
        assert_eq!(ways, ["a", "a/b"]);
        assert!(Place("a".to_owned()).ways().is_empty());
    }

    #[test]
    fn only_what_is_below_a_folder_has_names_there() {
        let below = |place: &str, folder: &str| {
            let names = Place(place.to_owned());
            names.names_below(&Place(folder.to_owned())).map(|names| names.join(" "))
        };
        assert_eq!(below("a/b/c", "a").as_deref(), Some("b c"));
        assert_eq!(below("a/b", "").as_deref(), Some("a b"));
        assert_eq!(below("ab/c", "a"), None);
        assert_eq!(below("a", "a"), None);
    }
}
