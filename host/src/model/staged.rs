//! What an attempt sets aside for its end: values of its plugin, what it cost, and what the next attempt is to find.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is written with the end of an attempt, in the same transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staged {
    /// The plugin whose values these are.
    pub plugin: String,
    /// The value of each key from now on; none where the key goes.
    pub values: BTreeMap<String, Option<Vec<u8>>>,
    /// What it cost.
    pub costs: Vec<Cost>,
    /// What it saved for the next attempt, where that could not be written before.
    pub saved: Option<Vec<u8>>,
}

impl Staged {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let Self { plugin: _, values, costs, saved } = self;
        values.is_empty() && costs.is_empty() && saved.is_none()
    }
}

/// Something that a call cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The attempt that cost it.
    pub attempt: u32,
    /// Who says so.
    #[serde(serialize_with = "word")]
    pub category: Category,
    /// What for.
    pub what: String,
    /// How much, in millionths of the budget's currency.
    pub micros: u64,
}

/// Who says that something was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// The tool, through `spend`.
    Tool,
}

impl Category {
    /// The word by which it is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
        }
    }

    /// The category of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        (word == Self::Tool.word()).then_some(Self::Tool)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn word<S: serde::Serializer>(category: &Category, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(category.word())
}
