//! What a change does, in one sentence: ahead of it, and when it is done.

/// Begins with a verb and goes on the same, whenever it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    verb: Verb,
    rest: String,
}

/// What is done to a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Overwrite,
    Leave,
    Replace,
    Move,
    Delete,
}

impl Summary {
    pub(crate) fn new(verb: Verb, rest: String) -> Self {
        Self { verb, rest }
    }

    /// As a preview says it.
    pub(crate) fn ahead(&self) -> String {
        let verb = match self.verb {
            Verb::Create => "create",
            Verb::Overwrite => "overwrite",
            Verb::Leave => "leave",
            Verb::Replace => "replace",
            Verb::Move => "move",
            Verb::Delete => "delete",
        };
        format!("{verb} {}", self.rest)
    }

    /// As a result says it.
    pub(crate) fn done(&self) -> String {
        let verb = match self.verb {
            Verb::Create => "created",
            Verb::Overwrite => "overwrote",
            Verb::Leave => "left",
            Verb::Replace => "replaced",
            Verb::Move => "moved",
            Verb::Delete => "deleted",
        };
        format!("{verb} {}", self.rest)
    }
}
