//! `airlock stats`: how the calls of each tool went.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::layout::table;
use super::output::Output;
use super::problem::{Exit, Problem};
use crate::host::{Config, Host};
use crate::model::amount::shown as amount;
use crate::model::caller::ToolPattern;
use crate::model::stats::ToolStats;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How far back to look, such as 30m, 24h or 7days
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time)]
    since: Duration,

    /// Only these tools: one, a plugin with .*, or *
    #[arg(long, value_name = "PATTERN", default_value = "*", value_parser = pattern)]
    tool: ToolPattern,
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "a time with its unit, such as 30m, 24h or 7days".to_owned())
}

fn pattern(text: &str) -> Result<ToolPattern, String> {
    ToolPattern::parse(text).ok_or_else(|| "a tool, a plugin with .*, or *, such as desk.*".to_owned())
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let host = Host::open(Config::load_to_look(config)?).await?;
    let stats = host.stats(arguments.since, &arguments.tool);
    host.close().await;
    let stats = stats?;
    if stats.tools.is_empty() && !output.json {
        let since = humantime::format_duration(arguments.since);
        output.note(&format!(
            "no such calls within {since}; `airlock stats --since 30days` looks further back"
        ));
        return Ok(Exit::Done);
    }
    let document = || json!({ "since": stats.since, "tools": stats.tools });
    output.data(|| shown(&stats.tools), document).map(|()| Exit::Done)
}

fn shown(tools: &[ToolStats]) -> String {
    let within = |millis: Option<u64>| {
        millis
            .map(|millis| humantime::format_duration(Duration::from_millis(millis)).to_string())
            .unwrap_or_default()
    };
    let row = |tool: &ToolStats| {
        [
            tool.tool.clone(),
            tool.calls.to_string(),
            tool.ok.to_string(),
            tool.failed.to_string(),
            tool.refused.to_string(),
            tool.running.to_string(),
            tool.success_rate.map(|rate| format!("{:.1} %", rate * 100.0)).unwrap_or_default(),
            within(tool.duration_ms.p50),
            within(tool.duration_ms.p95),
            within(tool.duration_ms.p99),
            format!("{:.2}", tool.attempts_per_call),
            amount(tool.cost_micros, None),
        ]
    };
    const HEADER: [&str; 12] = [
        "TOOL", "CALLS", "OK", "FAILED", "REFUSED", "RUNNING", "SUCCESS", "P50", "P95", "P99", "ATTEMPTS",
        "COST",
    ];
    let mut text = table(HEADER, tools.iter().map(row).collect());
    let failures = tools.iter().flat_map(|tool| {
        tool.failures.iter().map(|one| [tool.tool.clone(), one.code.clone(), one.calls.to_string()])
    });
    let failures: Vec<_> = failures.collect();
    if !failures.is_empty() {
        text = format!("{text}\n\n{}", table(["TOOL", "CODE", "CALLS"], failures));
    }
    text
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::model::stats::{Failures, Percentiles};

    #[test]
    fn tools_stand_in_a_table_and_what_failed_below_it() {
        let found = ToolStats {
            tool: "desk.find_order".to_owned(),
            calls: 7,
            ok: 3,
            failed: 1,
            refused: 2,
            running: 1,
            success_rate: Some(0.75),
            duration_ms: Percentiles { p50: Some(12), p95: Some(1500), p99: Some(61_000) },
            attempts: 6,
            attempts_per_call: 1.2,
            cost_micros: 1_500_042,
            failures: vec![
                Failures { code: "CIRCUIT_OPEN".to_owned(), calls: 2 },
                Failures { code: "ORDER_NOT_FOUND".to_owned(), calls: 1 },
            ],
        };
        let begun = ToolStats {
            tool: "desk.send_mail".to_owned(),
            calls: 1,
            ok: 0,
            failed: 0,
            refused: 0,
            running: 1,
            success_rate: None,
            duration_ms: Percentiles::default(),
            attempts: 1,
            attempts_per_call: 1.0,
            cost_micros: 0,
            failures: Vec::new(),
        };
        assert_snapshot!(shown(&[found, begun]), @"
        TOOL             CALLS  OK  FAILED  REFUSED  RUNNING  SUCCESS  P50   P95       P99    ATTEMPTS  COST
        desk.find_order  7      3   1       2        1        75.0 %   12ms  1s 500ms  1m 1s  1.20      1.500042
        desk.send_mail   1      0   0       0        1                                        1.00      0.00

        TOOL             CODE             CALLS
        desk.find_order  CIRCUIT_OPEN     2
        desk.find_order  ORDER_NOT_FOUND  1
        ");
    }
}
