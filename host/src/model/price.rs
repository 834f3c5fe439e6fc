//! What models cost: what an agent says that it used, and the operator's prices.

use std::collections::BTreeMap;

use super::budget::MOST_SUM;

/// What prices are for: so many tokens.
const TOKENS: u128 = 1_000_000;

/// More than any model reads or writes in one go.
pub const MOST_TOKENS: u64 = 1_000_000_000_000;

/// The prices of models, by name.
pub type Prices = BTreeMap<String, Price>;

/// What one model costs, in millionths of the budget's currency for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// What it reads.
    pub input: u64,
    /// What it writes.
    pub output: u64,
}

/// What a model was used for a call, as its agent says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelUsage {
    /// The model.
    pub model: String,
    /// What it read.
    pub input_tokens: u64,
    /// What it wrote.
    pub output_tokens: u64,
}

impl Price {
    /// What so much costs, in whole millionths: a part of one counts as one. None where that cannot be counted.
    pub fn of(self, usage: &ModelUsage) -> Option<u64> {
        let side = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let input = side(usage.input_tokens, self.input);
        let sum = input.checked_add(side(usage.output_tokens, self.output))?.div_ceil(TOKENS);
        u64::try_from(sum).ok().filter(|sum| *sum <= MOST_SUM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input_tokens: u64, output_tokens: u64) -> ModelUsage {
        ModelUsage { model: "m".to_owned(), input_tokens, output_tokens }
    }

    #[test]
    fn tokens_cost_whole_millionths_and_a_part_of_one_counts_as_one() {
        let price = Price { input: 3_000_000, output: 15_000_000 };
        assert_eq!(price.of(&usage(1_000_000, 1_000_000)), Some(18_000_000));
        assert_eq!(price.of(&usage(1200, 300)), Some(8100));
        assert_eq!(price.of(&usage(0, 0)), Some(0));
        let cheap = Price { input: 150_000, output: 600_000 };
        assert_eq!(cheap.of(&usage(1, 0)), Some(1));
        assert_eq!(cheap.of(&usage(7, 1)), Some(2), "1.65 millionths");
    }

    #[test]
    fn what_cannot_be_counted_has_no_sum() {
        let dear = Price { input: u64::MAX, output: u64::MAX };
        assert_eq!(dear.of(&usage(u64::MAX, u64::MAX)), None);
        assert_eq!(dear.of(&usage(MOST_TOKENS, 0)), None);
    }
}
