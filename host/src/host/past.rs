//! What was called, as whoever may look is shown it.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::Host;
use super::under_way::UnderWay;
use crate::call::shape::private::{self, Look};
use crate::call::{decide, page, past, probe, rollback};
use crate::model::caller::ToolPattern;
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, NotAnId, RunId, TraceId, UserName};
use crate::model::past::{Probed, Rollback};
use crate::model::refused::Refused;
use crate::model::reply::Page;
use crate::model::run::{Record, Summary};
use crate::model::state::Standing;
use crate::model::stats::ToolStats;
use crate::store::Kept;

/// Runs of one conversation that are shown; a person reads no more.
const TRACED: usize = 1000;

/// How calls went.
#[derive(Debug, Clone)]
pub struct Stats {
    /// Those that began since.
    pub since: Timestamp,
    /// Tool by tool, in the order of their names.
    pub tools: Vec<ToolStats>,
}

/// What was called in one conversation.
#[derive(Debug, Clone)]
pub struct Traced {
    /// The trace.
    pub trace: TraceId,
    /// Its runs, in their order.
    pub runs: Vec<Record>,
    /// What was refused before it had a run, in its order.
    pub refused: Vec<Refused>,
    /// Whether there are more than these.
    pub more: bool,
}

impl Host {
    /// How the calls of these tools went that came in no longer ago than this, those that were refused among them.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn stats(&self, since: Duration, tools: &ToolPattern) -> Result<Stats, Failure> {
        let since = Timestamp(self.parts.clock.now().minus(since).0.max(0));
        let from = RunId::new(since, [0; 10]);
        let tools = self.parts.store.counted(from, tools).map_err(|failure| decide::refusal(&failure))?;
        Ok(Stats { since, tools })
    }

    /// What was called in the conversation of this trace, or of this run, and what of it was refused. What is hidden is not there, and what is
    /// private is told by a hash.
    ///
    /// # Errors
    /// Where no run belongs to it, or more than one begins so.
    pub fn trace(&self, id: &str) -> Result<Traced, Failure> {
        let asked = TraceId(id.to_ascii_lowercase());
        let most = u32::try_from(TRACED).unwrap_or(u32::MAX).saturating_add(1);
        let traced = |trace: &TraceId| {
            self.parts.store.traced(trace, most).map_err(|failure| decide::refusal(&failure))
        };
        let refused = |trace: &TraceId| {
            self.parts.store.refused(trace, most).map_err(|failure| decide::refusal(&failure))
        };
        let (trace, mut ids) = match traced(&asked)? {
            ids if ids.is_empty() && !refused(&asked)?.is_empty() => (asked, ids),
            // Whoever has a run at hand means the conversation that it belongs to.
            ids if ids.is_empty() => {
                let range = RunId::beginning(id).ok_or_else(|| untraced(id))?;
                let run =
                    self.parts.store.runs(range, None, 1).map_err(|failure| decide::refusal(&failure))?;
                if run.is_empty() {
                    return Err(untraced(id));
                }
                let trace = self.record(id)?.trace;
                let ids = traced(&trace)?;
                (trace, ids)
            }
            ids => (asked, ids),
        };
        let mut refused = refused(&trace)?;
        let more = ids.len() > TRACED || refused.len() > TRACED;
        ids.truncate(TRACED);
        refused.truncate(TRACED);
        let runs = ids.iter().map(|run| self.run(&run.to_string())).collect::<Result<_, _>>()?;
        Ok(Traced { trace, runs, refused, more })
    }

    /// A part of the whole result of a run that this caller asked for, for this user: the first, or the one after.
    ///
    /// # Errors
    /// Where the run is not this caller's, has not ended or is kept no longer, or the cursor is none of it.
    pub fn page(
        &self,
        caller: &CallerName,
        user: Option<&UserName>,
        run: &str,
        cursor: Option<&str>,
    ) -> Result<Page, Failure> {
        page::page(&self.parts, caller, user, run, cursor)
    }

    /// The latest runs, of those that stand so where that is given.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn runs(&self, standing: Option<Standing>, limit: u32) -> Result<Vec<Summary>, Failure> {
        let all = (RunId::from_bytes([0; 16]), RunId::from_bytes([0xff; 16]));
        self.parts.store.runs(all, standing, limit).map_err(|failure| decide::refusal(&failure))
    }

    /// One run in full, by its id or a beginning of it that no other run shares. What is hidden is not there, and what
    /// is private is told by a hash.
    ///
    /// # Errors
    /// Where there is none, or more than one.
    pub fn run(&self, id: &str) -> Result<Record, Failure> {
        self.look(id, Look::Usual)
    }

    /// The same, with what is private where a person asks for it.
    ///
    /// # Errors
    /// As [`Host::run`].
    pub fn look(&self, id: &str, look: Look) -> Result<Record, Failure> {
        let record = self.record(id)?;
        let kept = if record.unshown.is_empty() { Kept::default() } else { self.kept(&record)? };
        Ok(private::shown(record, look, &self.parts.store.secret(), &kept))
    }

    /// The whole result of a run, as JSON text; it may have been trimmed where it was told.
    ///
    /// # Errors
    /// As [`Host::run`], and where it has none.
    pub fn whole(&self, id: &str, look: Look) -> Result<String, Failure> {
        let mut record = self.record(id)?;
        let kept = self.kept(&record)?;
        if let (Some(stored), Some(whole)) = (&mut record.stored, &kept.whole) {
            stored.body.clone_from(whole);
        }
        let shown = private::shown(record, look, &self.parts.store.secret(), &kept);
        shown.stored.map(|stored| stored.body).ok_or_else(|| {
            let text = format!("the run has no result, or none that is still kept: {}", shown.summary.run);
            Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text)
        })
    }

    /// Takes back what a run did, by a person's word: by its plugin's own way, and in lent folders by the host. What
    /// somebody has changed since is left alone, and so is what only a person can undo; the run then waits for a person, as it
    /// did where nothing of it was touched.
    /// What was taken back before is not touched again. It goes on when the future is dropped.
    ///
    /// # Errors
    /// Where the run has not ended, or left nothing behind, or its plugin fails: then it can be tried again. Where it
    /// could not even begin, or failed before it touched anything, the run is as it was.
    pub async fn rollback(&self, run: &str, person: &str) -> Result<Rollback, Failure> {
        self.load().await;
        let record = self.record(run)?;
        let (parts, under_way, person) = (Arc::clone(&self.parts), self.parts.enter(), person.to_owned());
        UnderWay::new(async move {
            let ended = rollback::rollback(&parts, &record, &person).await;
            drop(under_way);
            ended
        })
        .await
    }

    /// The state of what a run touched, now, as its plugin tells it: equal states give equal text.
    ///
    /// # Errors
    /// Where there is no such run, or its plugin has no way back or does not answer.
    pub async fn fingerprint(&self, run: &str) -> Result<Option<String>, Failure> {
        self.load().await;
        let _under_way = self.parts.enter();
        past::fingerprint(&self.parts, &self.record(run)?).await
    }

    /// Whether a run took effect, as its plugin finds out, with its result as JSON text; nothing is changed.
    ///
    /// # Errors
    /// As [`Host::fingerprint`].
    pub async fn probe(&self, run: &str) -> Result<Probed<String>, Failure> {
        self.load().await;
        let _under_way = self.parts.enter();
        past::probe(&self.parts, &self.record(run)?).await
    }

    /// Takes note that the result of this run is on its way to whoever asked.
    pub fn delivering(&self, run: RunId) {
        self.parts.delivering(run);
    }

    /// Writes down that the result of this run has reached whoever asked: until then, an agent that asks again gets it.
    pub async fn delivered(&self, run: RunId) {
        self.parts.delivered(run).await;
    }

    /// Settles what waits for a person only since nobody knows what became of it, as far as plugins find that out. Gives how
    /// many runs that were.
    ///
    /// # Errors
    /// Where the store cannot be used.
    pub async fn find_out(&self) -> Result<u32, Failure> {
        self.load().await;
        let _under_way = self.parts.enter();
        probe::settle_all(&self.parts).await.map_err(|failure| decide::refusal(&failure))
    }

    fn kept(&self, record: &Record) -> Result<Kept, Failure> {
        self.parts.store.kept(record.summary.run).map_err(|failure| decide::refusal(&failure))
    }

    pub(super) fn record(&self, id: &str) -> Result<Record, Failure> {
        let wrong = |text: String| Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text);
        let range = RunId::beginning(id).ok_or_else(|| wrong(format!("{}: {id}", NotAnId)))?;
        let found = self.parts.store.runs(range, None, 4).map_err(|failure| decide::refusal(&failure))?;
        match found.as_slice() {
            [] => Err(wrong(format!("there is no such run; `airlock runs` lists them: {id}"))),
            [one] => {
                let record = self.parts.store.run(one.run).map_err(|failure| decide::refusal(&failure))?;
                record.ok_or_else(|| wrong(format!("there is no such run: {id}")))
            }
            several => {
                let candidates: Vec<Value> = several.iter().map(candidate).collect();
                let text = format!("several runs begin so; give more of the id: {id}");
                Err(wrong(text).with_detail("candidates", candidates))
            }
        }
    }
}

/// One of several runs that may be meant, by what a person knows of it.
fn candidate(run: &Summary) -> Value {
    let began = UNIX_EPOCH + Duration::from_millis(u64::try_from(run.began.0).unwrap_or(0));
    let began = humantime::format_rfc3339_millis(began).to_string();
    json!({ "run": run.run, "tool": run.tool, "state": run.state.word(), "began": began })
}

/// What is said where neither a trace nor a run has this id.
fn untraced(id: &str) -> Failure {
    let text = format!(
        "no run belongs to this trace; results name theirs in `trace_id`, `airlock runs` lists the latest runs, and \
         each of them will do: {id}"
    );
    Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text)
}
