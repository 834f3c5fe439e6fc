//! `airlock costs`: what calls cost, and what is left of budgets.

use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::clean::clean;
use super::layout::{moment, table};
use super::output::Output;
use super::problem::{Exit, Problem};
use super::stats::time;
use crate::host::{Config, Host, Spent};
use crate::model::amount::shown as amount;
use crate::model::costs::By;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How far back to look, such as 30m, 24h or 7days
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time)]
    since: Duration,

    /// What to sum up by as well
    #[arg(long)]
    by: Option<Under>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Under {
    /// Who asked
    Caller,
    /// For whom
    User,
    /// For what
    Tool,
    /// On which day the call began, in UTC
    Day,
}

impl Under {
    fn by(self) -> By {
        match self {
            Self::Caller => By::Caller,
            Self::User => By::User,
            Self::Tool => By::Tool,
            Self::Day => By::Day,
        }
    }

    fn header(self) -> &'static str {
        match self {
            Self::Caller => "CALLER",
            Self::User => "USER",
            Self::Tool => "TOOL",
            Self::Day => "DAY",
        }
    }
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let host = Host::open(Config::load_to_look(config)?).await?;
    let spent = host.costs(arguments.since, arguments.by.map(Under::by));
    host.close().await;
    let spent = spent?;
    if spent.costs.categories.is_empty() && !output.json {
        let since = humantime::format_duration(arguments.since);
        output.note(&format!(
            "nothing was spent within {since}; `airlock costs --since 30days` looks further back"
        ));
        if spent.budgets.is_empty() {
            return Ok(Exit::Done);
        }
    }
    let document = || {
        json!({
            "since": spent.since,
            "currency": spent.currency,
            "costs": spent.costs,
            "budgets": spent.budgets,
            "budgets_until": spent.until,
        })
    };
    output.data(|| shown(&spent, arguments.by), document).map(|()| Exit::Done)
}

fn shown(spent: &Spent, by: Option<Under>) -> String {
    let money = |micros: u64| amount(micros, spent.currency.as_ref());
    let mut parts = Vec::new();
    if !spent.costs.categories.is_empty() {
        parts.push(categories(spent));
        if let Some(by) = by {
            let rows = spent.costs.sums.iter();
            let rows = rows.map(|sum| [sum.name.clone(), sum.entries.to_string(), money(sum.micros)]);
            parts.push(table([by.header(), "ENTRIES", "COST"], rows.collect()));
        }
        let rows = spent.costs.largest.iter().map(|one| {
            [
                one.run.to_string(),
                one.tool.clone(),
                one.category.to_owned(),
                one.what.clone(),
                money(one.micros),
            ]
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            parts.push(table(["LARGEST", "TOOL", "BY", "WHAT", "COST"], rows));
        }
    }
    if !spent.budgets.is_empty() {
        let rows = spent.budgets.iter().map(|one| {
            let micros = [one.limit_micros, one.sums.spent, one.sums.held, one.left_micros];
            let [limit, spent, held, left] = micros.map(money);
            [one.budget.clone(), limit, spent, held, left]
        });
        let header = ["BUDGET OF TODAY", "LIMIT", "SPENT", "HELD", "LEFT"];
        parts.push(format!("{}\n\nuntil {}", table(header, rows.collect()), moment(spent.until)));
    }
    parts.join("\n\n")
}

fn categories(spent: &Spent) -> String {
    let costs = &spent.costs;
    let money = |micros: u64| amount(micros, spent.currency.as_ref());
    let tokens = |many: u64, category: &str| if category == "llm" { many.to_string() } else { String::new() };
    let rows = costs.categories.iter().map(|of| {
        [
            of.category.to_owned(),
            of.entries.to_string(),
            tokens(of.input_tokens, of.category),
            tokens(of.output_tokens, of.category),
            money(of.micros),
        ]
    });
    let all = costs.categories.iter().map(|of| of.entries).sum::<u64>();
    let sum = ["all".to_owned(), all.to_string(), String::new(), String::new(), money(costs.micros)];
    let text = table(["BY", "ENTRIES", "TOKENS IN", "TOKENS OUT", "COST"], rows.chain([sum]).collect());
    // Their names are what agents say.
    let unpriced = costs.categories.iter().flat_map(|of| &of.models_unpriced).map(|model| clean(model));
    let unpriced: Vec<_> = unpriced.collect();
    let Some(first) = unpriced.first() else { return text };
    let models = unpriced.join(", ");
    format!("{text}\n\nthere are models without a price: {models}; [prices.{}] sets one", json!(first))
}
