//! How tools stand with the origins that they go to, and what an operator says of it.

use serde::Serialize;

use super::Host;
use crate::call::{decide, resolve};
use crate::model::breaker::{Forced, State};
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::health::Health;
use crate::model::id::{CallerName, ToolName};
use crate::model::origin::OriginPattern;
use crate::sandbox::grants::Grants;
use crate::store::Force;

/// One tool and one origin where something went wrong of late, or an operator said something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backend {
    /// The tool.
    pub tool: ToolName,
    /// The origin, or a pattern that an operator holds; empty for attempts that sent nothing.
    pub origin: String,
    /// How its breaker stands.
    pub state: BackendState,
    /// What an operator said, which holds whatever happens.
    pub forced: Option<Forced>,
    /// Since when it is open.
    pub since: Option<Timestamp>,
    /// Until when it is.
    pub until: Option<Timestamp>,
    /// Failures in a row.
    pub failures_in_a_row: u32,
    /// What is left for retries, of 100; a retry costs 10, and a success gives 1 back.
    pub retry_tokens: u32,
}

/// How a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendState {
    /// The backend is asked.
    Closed,
    /// It is not.
    Open,
    /// One call at a time tries it.
    HalfOpen,
}

impl Backend {
    fn of(tool: ToolName, origin: String, health: &Health) -> Self {
        let breaker = &health.breaker;
        let (state, since, until) = match breaker.state {
            State::Closed => (BackendState::Closed, None, None),
            State::Open { since, until } => (BackendState::Open, Some(since), Some(until)),
            State::HalfOpen { .. } => (BackendState::HalfOpen, None, None),
        };
        let (forced, failures_in_a_row) = (breaker.forced, breaker.in_a_row());
        Self {
            tool,
            origin,
            state,
            forced,
            since,
            until,
            failures_in_a_row,
            retry_tokens: health.tokens.left,
        }
    }
}

impl Host {
    /// The tools and origins where something went wrong of late, or an operator said something, in their order.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn backends(&self) -> Result<Vec<Backend>, Failure> {
        let ill = self.parts.store.ill().map_err(|failure| decide::refusal(&failure))?;
        Ok(ill.into_iter().map(|(tool, origin, health)| Backend::of(tool, origin, &health)).collect())
    }

    /// Holds the breakers of a tool open or closed, whatever happens, or leaves them to the host again: those of one origin, of
    /// the origins under a pattern that is granted, or of all that it may go to. Gives the origins and patterns.
    ///
    /// # Errors
    /// Where there is no such tool, or it goes to no such origin, or the store cannot be written.
    pub async fn force(
        &self,
        tool: &str,
        origin: Option<&str>,
        forced: Option<Forced>,
    ) -> Result<Vec<String>, Failure> {
        self.load().await;
        let setting = self.parts.setting();
        let asker = resolve::asker(&setting, &CallerName("local".to_owned()), None, None)?;
        let entry = resolve::tool(&setting, &asker, tool)?;
        let grants = &entry.grants;
        let patterns = grants.patterns.iter().map(ToString::to_string);
        let known: Vec<String> = grants.origins.iter().cloned().chain(patterns).collect();
        let origins = match origin {
            None => known.clone(),
            Some(origin) => meant(grants, &known, origin).into_iter().collect(),
        };
        if origins.is_empty() {
            return Err(nowhere(&entry.name, origin, &known));
        }
        let force = Force { tool: entry.name.clone(), origins: origins.clone(), forced };
        self.parts.store.force(force).await.map_err(|failure| decide::refusal(&failure))?;
        Ok(origins)
    }
}

/// The origin or the pattern that is meant, as it is kept; none where the tool does not go there.
fn meant(grants: &Grants, known: &[String], asked: &str) -> Option<String> {
    let pattern: OriginPattern = asked.parse().ok()?;
    let text = pattern.to_string();
    let reached = pattern.one().is_some_and(|origin| grants.reaches(origin));
    (reached || known.contains(&text)).then_some(text)
}

fn nowhere(tool: &ToolName, asked: Option<&str>, known: &[String]) -> Failure {
    let text = match asked.filter(|_| !known.is_empty()) {
        Some(asked) => format!("{tool} does not go there, but to {}: {asked}", known.join(", ")),
        None => format!(
            "no breaker stands between {tool} and where it goes: it sends nothing, or nothing of it is granted"
        ),
    };
    Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text).with_detail("origins", known)
}
