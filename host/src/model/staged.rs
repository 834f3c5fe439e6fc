//! What an attempt sets aside for its end: values of its plugin, what it cost, and what the next attempt is to find.

use std::collections::BTreeMap;

use serde::Serialize;

use super::budget::MOST_SUM;

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
    /// Attempts of which nothing that they saved is of use: what they had changed was put back.
    pub unsaved: Vec<u32>,
}

impl Staged {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let Self { plugin: _, values, costs, saved, unsaved } = self;
        values.is_empty() && costs.is_empty() && saved.is_none() && unsaved.is_empty()
    }

    /// What it cost in all, in millionths.
    pub fn spent(&self) -> u64 {
        let sum = self.costs.iter().fold(0, |sum: u64, cost| sum.saturating_add(cost.micros));
        sum.min(MOST_SUM)
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
    /// What a model read and wrote for it, where it is a model's.
    #[serde(flatten)]
    pub tokens: Option<Tokens>,
}

/// What a model read and wrote, as its agent says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// What it read.
    #[serde(rename = "input_tokens")]
    pub input: u64,
    /// What it wrote.
    #[serde(rename = "output_tokens")]
    pub output: u64,
    /// Whether the configuration has a price for the model; it costs nothing where not.
    pub priced: bool,
}

/// Who says that something was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// The tool, through `spend`.
    Tool,
    /// The agent, of its model.
    Llm,
}

impl Category {
    /// The word by which it is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Llm => "llm",
        }
    }

    /// The category of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Tool, Self::Llm].into_iter().find(|category| category.word() == word)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn word<S: serde::Serializer>(category: &Category, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(category.word())
}
