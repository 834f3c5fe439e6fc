//! What calls cost in all: by category, by who or what, and the largest of them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::id::RunId;
use super::staged::{Category, Tokens};

/// How many of the largest costs are told.
const LARGEST: usize = 5;

/// What costs are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Who asked.
    Caller,
    /// For whom, of which caller.
    User,
    /// For what.
    Tool,
    /// On which day, in UTC, the call began.
    Day,
}

/// One cost, as it stands in the store.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The run that cost it.
    pub run: RunId,
    /// The tool that it called.
    pub tool: &'a str,
    /// What it is summed up under, where that is asked for.
    pub under: Option<String>,
    /// Who says so.
    pub category: Category,
    /// What for.
    pub what: &'a str,
    /// In millionths.
    pub micros: u64,
    /// What a model read and wrote for it.
    pub tokens: Option<Tokens>,
}

/// What calls cost in all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Costs {
    /// All of it, in millionths of the budget's currency.
    pub micros: u64,
    /// By who says so.
    pub categories: Vec<OfCategory>,
    /// Under each name that was asked for, the largest sum first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<Sum>,
    /// The largest single costs, the largest first.
    pub largest: Vec<Single>,
}

/// What costs of one category come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfCategory {
    /// The category.
    pub category: &'static str,
    /// How many there are.
    pub entries: u64,
    /// In millionths.
    pub micros: u64,
    /// What models read.
    pub input_tokens: u64,
    /// What models wrote.
    pub output_tokens: u64,
    /// How many there are of models that have no price.
    pub unpriced: u64,
    /// Models that have no price, the first few of them.
    pub models_unpriced: Vec<String>,
}

/// What costs come to under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// The name.
    pub name: String,
    /// How many there are.
    pub entries: u64,
    /// In millionths.
    pub micros: u64,
}

/// One of the largest costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Single {
    /// The run that cost it.
    pub run: RunId,
    /// The tool that it called.
    pub tool: String,
    /// Who says so.
    pub category: &'static str,
    /// What for.
    pub what: String,
    /// In millionths.
    pub micros: u64,
}

/// Sums costs up, one after another.
#[derive(Debug, Default)]
pub struct Count {
    categories: BTreeMap<Category, OfCategory>,
    sums: BTreeMap<String, Sum>,
    largest: Vec<Single>,
}

impl Count {
    /// Adds one cost.
    pub fn add(&mut self, entry: Entry<'_>) {
        let Entry { run, tool, under, category, what, micros, tokens } = entry;
        let of = self.categories.entry(category).or_insert_with(|| OfCategory {
            category: category.word(),
            entries: 0,
            micros: 0,
            input_tokens: 0,
            output_tokens: 0,
            unpriced: 0,
            models_unpriced: Vec::new(),
        });
        of.entries += 1;
        of.micros = of.micros.saturating_add(micros);
        if let Some(Tokens { input, output, priced }) = tokens {
            of.input_tokens = of.input_tokens.saturating_add(input);
            of.output_tokens = of.output_tokens.saturating_add(output);
            of.unpriced += u64::from(!priced);
            let known = of.models_unpriced.iter().any(|model| model == what);
            if !priced && !known && of.models_unpriced.len() < LARGEST {
                of.models_unpriced.push(what.to_owned());
            }
        }
        if let Some(name) = under {
            let sum = self.sums.entry(name.clone()).or_insert_with(|| Sum { name, entries: 0, micros: 0 });
            sum.entries += 1;
            sum.micros = sum.micros.saturating_add(micros);
        }
        if micros > 0 && (self.largest.len() < LARGEST || self.largest.iter().any(|one| one.micros < micros))
        {
            let (tool, what) = (tool.to_owned(), what.to_owned());
            // Of equal ones the first stay.
            let place = self.largest.partition_point(|one| one.micros >= micros);
            self.largest.insert(place, Single { run, tool, category: category.word(), what, micros });
            self.largest.truncate(LARGEST);
        }
    }

    /// What they come to.
    pub fn costs(self) -> Costs {
        let micros = self.categories.values().fold(0, |sum: u64, of| sum.saturating_add(of.micros));
        let mut sums: Vec<Sum> = self.sums.into_values().collect();
        // Equal ones stay in the order of their names.
        sums.sort_by_key(|sum| std::cmp::Reverse(sum.micros));
        Costs { micros, categories: self.categories.into_values().collect(), sums, largest: self.largest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(category: Category, under: &str, micros: u64, tokens: Option<Tokens>) -> Entry<'static> {
        let under = Some(under.to_owned());
        Entry {
            run: RunId::from_bytes([1; 16]),
            tool: "desk.find",
            under,
            category,
            what: "tea",
            micros,
            tokens,
        }
    }

    #[test]
    fn costs_are_summed_up_by_category_and_name_and_the_five_largest_are_told() {
        let mut count = Count::default();
        for (under, micros) in [("b", 5), ("a", 4), ("b", 9), ("c", 0), ("a", 7), ("a", 7), ("a", 1)] {
            count.add(entry(Category::Tool, under, micros, None));
        }
        let tokens = |priced| Some(Tokens { input: 100, output: 10, priced });
        count.add(entry(Category::Llm, "b", 6, tokens(true)));
        count.add(entry(Category::Llm, "b", 0, tokens(false)));
        let costs = count.costs();
        assert_eq!(costs.micros, 39);
        let categories: Vec<_> = costs
            .categories
            .iter()
            .map(|of| (of.category, of.entries, of.micros, of.input_tokens, of.output_tokens, of.unpriced))
            .collect();
        assert_eq!(categories, [("tool", 7, 33, 0, 0, 0), ("llm", 2, 6, 200, 20, 1)]);
        let sums: Vec<_> = costs.sums.iter().map(|sum| (&*sum.name, sum.entries, sum.micros)).collect();
        assert_eq!(sums, [("b", 4, 20), ("a", 4, 19), ("c", 1, 0)]);
        assert_eq!(costs.largest.iter().map(|one| one.micros).collect::<Vec<_>>(), [9, 7, 7, 6, 5]);
    }

    #[test]
    fn sums_that_cannot_be_counted_stay_at_the_most() {
        let mut count = Count::default();
        (0..3).for_each(|_| count.add(entry(Category::Tool, "a", u64::MAX, None)));
        let costs = count.costs();
        assert_eq!((costs.micros, costs.sums[0].micros), (u64::MAX, u64::MAX));
    }
}
