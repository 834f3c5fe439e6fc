//! The judge of a storm: what was acknowledged and what is recorded, against what really happened.

use std::collections::{BTreeMap, BTreeSet};

use airlock::model::budget::Budget;
use airlock::model::effect::Left;
use airlock::model::run::{Does as Purpose, Record};
use airlock::model::state::{Reason, RunState};
use serde_json::Value;

use super::calls::{Call, Does, Told};
use super::recover::{Books, Facts};

/// What happened, found by what it is looked for by.
struct Happened<'a> {
    facts: &'a Facts,
    tickets: BTreeMap<&'a str, &'a Value>,
    /// Tickets and mails by their subject.
    about: BTreeMap<(Does, &'a str), Vec<&'a Value>>,
    completed: BTreeSet<String>,
}

impl<'a> Happened<'a> {
    fn from(facts: &'a Facts) -> Self {
        let text = |one: &'a Value, field: &str| one[field].as_str().unwrap_or_default();
        let (tickets, mails) = (&facts.counts.tickets, &facts.counts.mails);
        let mut about: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let opened = tickets.iter().map(|ticket| (Does::OpensTicket, ticket));
        for (does, one) in opened.chain(mails.iter().map(|mail| (Does::SendsMail, mail))) {
            about.entry((does, text(one, "subject"))).or_default().push(one);
        }
        let completed = facts.runs.iter().filter(|run| run.summary.state == RunState::Completed);
        Self {
            facts,
            tickets: tickets.iter().map(|ticket| (text(ticket, "ticket_id"), ticket)).collect(),
            about,
            completed: completed.map(|run| run.summary.run.to_string()).collect(),
        }
    }

    fn about<'b>(&'b self, does: Does, mark: &'b str) -> &'b [&'a Value] {
        self.about.get(&(does, mark)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What must not be; nothing, where all is well.
pub(super) fn judge(facts: &Facts) -> Vec<String> {
    let (happened, runs) = (Happened::from(facts), runs_by_call(facts));
    let mut faults = Vec::new();
    for call in &facts.book.calls {
        let done = done(&happened, call);
        let named = |fault: String| format!("{} {} {}: {fault}", call.tool, call.mark(), key(call));
        let runs = runs.get(&call.id).map(Vec::as_slice).unwrap_or_default();
        faults.extend(of_runs(call, done, runs).into_iter().map(named));
        faults.extend(of_last(facts, call, done).into_iter().map(named));
    }
    for (id, told) in &facts.book.acknowledged {
        let call = &facts.book.calls[usize::try_from(*id).unwrap_or_default()];
        let named = |fault: String| format!("{} {} {}: {fault}", call.tool, call.mark(), key(call));
        faults.extend(of_acknowledged(&happened, call, told).into_iter().map(named));
    }
    faults.extend(of_books(&facts.books, &facts.runs));
    faults
}

fn key(call: &Call) -> &str {
    call.key.as_deref().unwrap_or("without a key")
}

/// The runs of each call: that of its key, or those of the same input.
fn runs_by_call(facts: &Facts) -> BTreeMap<u64, Vec<&Record>> {
    let calls: BTreeMap<(String, String), u64> = facts
        .book
        .calls
        .iter()
        .filter(|call| call.does != Does::FindsOrder)
        .map(|call| ((call.tool.clone(), sorted(&call.input)), call.id))
        .collect();
    let mut runs: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    for run in &facts.runs {
        let input = run.input.as_deref().and_then(|input| serde_json::from_str::<Value>(input).ok());
        let input = sorted(&input.unwrap_or_default());
        if let Some(call) = calls.get(&(run.summary.tool.to_string(), input)) {
            runs.entry(*call).or_default().push(run);
        }
    }
    runs
}

/// An object as a text in which its fields are sorted.
fn sorted(input: &Value) -> String {
    let fields: BTreeMap<_, _> = input.as_object().into_iter().flatten().collect();
    fields.into_iter().map(|(name, value)| format!("{name} {value};")).collect()
}

/// How often a call was done; nothing where it leaves no trace outside.
fn done(happened: &Happened, call: &Call) -> Option<u64> {
    let (facts, mark) = (happened.facts, call.mark());
    let is = |field: &str, value: &str| {
        happened.tickets.get(call.ticket()).is_some_and(|ticket| ticket[field] == value)
    };
    let works = |route: String, holds: bool| if holds { facts.counts.of(&route).works.max(1) } else { 0 };
    match call.does {
        Does::FindsOrder | Does::Spends => None,
        Does::OpensTicket | Does::SendsMail => Some(happened.about(call.does, &mark).len() as u64),
        Does::Assigns => {
            Some(works(format!("PUT /tickets/{}/assignee", call.ticket()), is("assignee", &mark)))
        }
        Does::Cancels => {
            Some(works(format!("POST /tickets/{}/cancel", call.ticket()), is("status", "cancelled")))
        }
        Does::WritesFile => Some(u64::from(facts.files.get(&format!("{mark}.txt")) == Some(&mark))),
        Does::KeepsValue => Some(u64::from(facts.values.get(&call.id) == Some(&mark))),
    }
}

/// Nothing was done twice, every run came to an end that stands, and nothing is guessed.
fn of_runs(call: &Call, done: Option<u64>, runs: &[&Record]) -> Vec<String> {
    let mut faults = Vec::new();
    if done.is_some_and(|done| done > 1) {
        faults.push(format!("DOUBLED, done {} times", done.unwrap_or_default()));
    }
    let keys: BTreeSet<_> = runs.iter().filter_map(|run| run.key.as_deref()).collect();
    if call.key.is_some() && runs.len() > keys.len() {
        faults.push(format!("DOUBLED, {} runs under {} keys", runs.len(), keys.len()));
    }
    let nothing_left = |state| matches!(state, RunState::Failed | RunState::TimedOut | RunState::RolledBack);
    if !runs.is_empty() && runs.iter().all(|run| nothing_left(run.summary.state)) && done > Some(0) {
        faults.push("GUESSED, done, and every run of it says that nothing was left behind".to_owned());
    }
    if runs.is_empty() && done > Some(0) {
        faults.push("LOST, done, and nothing is recorded".to_owned());
    }
    for run in runs {
        let left = Left::by(&run.effects_of(Purpose::Call).cloned().collect::<Vec<_>>());
        let stands = match run.summary.state {
            RunState::Completed => done != Some(0),
            RunState::Failed | RunState::TimedOut => left.nothing(),
            RunState::Suspended(Reason::Unknown) => left.open,
            RunState::Suspended(Reason::HalfDone | Reason::Time) => {
                left.done && !left.open && done != Some(0)
            }
            RunState::Suspended(Reason::Poison) => run.attempts.len() >= 3,
            RunState::Running
            | RunState::BackingOff
            | RunState::RollingBack
            | RunState::RolledBack
            | RunState::Suspended(Reason::NotUndone) => false,
        };
        if !stands {
            let attempts: Vec<_> =
                run.attempts.iter().map(|attempt| attempt.outcome.as_deref().unwrap_or("-")).collect();
            let effects: Vec<_> = run.effects.iter().map(|effect| effect.state.word()).collect();
            faults.push(format!(
                "the run {} is {:?} after {attempts:?} with {effects:?}, and was done {done:?} times",
                run.summary.run, run.summary.state
            ));
        }
    }
    faults
}

/// What its key gives in the end is what happened, and is given again.
fn of_last(facts: &Facts, call: &Call, done: Option<u64>) -> Vec<String> {
    if call.key.is_none() {
        return Vec::new();
    }
    let Some((first, second)) = facts.last.get(&call.id) else {
        return vec!["its key gave nothing".to_owned()];
    };
    let mut faults = Vec::new();
    if first.code() != second.code() || first.output() != second.output() {
        faults.push(format!("LOST, its key gave {first:?}, and then {second:?}"));
    }
    if second.meta["replayed"] != true {
        faults.push(format!("its key came to no end that is given again: {second:?}"));
    }
    if second.output().is_some() && done == Some(0) {
        faults.push("LOST, its key says ok, and it was not done".to_owned());
    }
    faults
}

/// What was acknowledged as done was done as it says, and its key says the same.
fn of_acknowledged(happened: &Happened, call: &Call, told: &Told) -> Vec<String> {
    let Some(output) = told.output() else { return Vec::new() };
    let mut faults = Vec::new();
    if done(happened, call) == Some(0) {
        faults.push(format!("LOST, acknowledged and not done: {output}"));
    }
    let (mark, data) = (call.mark(), told.data());
    let named = |field: &str| happened.about(call.does, &mark).iter().any(|one| one[field] == data[field]);
    let exists = match call.does {
        Does::OpensTicket => named("ticket_id"),
        Does::SendsMail => named("mail_id"),
        Does::Spends => told.meta["cost_micros"].as_u64() >= Some(call.spends()),
        Does::FindsOrder | Does::Assigns | Does::Cancels | Does::WritesFile | Does::KeepsValue => true,
    };
    if !exists {
        faults.push(format!("LOST, what it was told is not there: {output}, {}", told.meta));
    }
    if let Some((_, last)) = happened.facts.last.get(&call.id)
        && last.output() != Some(output)
    {
        faults.push(format!("LOST, acknowledged as {output}, and its key gives {last:?}"));
    }
    if call.key.is_none() && call.does != Does::FindsOrder && !happened.completed.contains(told.run()) {
        faults.push(format!("LOST, acknowledged, and no run says so: {}", told.meta));
    }
    faults
}

/// Nothing is held, and what is spent of each budget is the sum of the costs, to the last millionth.
fn of_books(books: &Books, runs: &[Record]) -> Vec<String> {
    let held: u64 = books.budgets.iter().map(|(_, sums)| sums.held).sum();
    let of_all = books.budgets.iter().filter(|(budget, _)| *budget == Budget::All);
    let spent: u64 = of_all.map(|(_, sums)| sums.spent).sum();
    let costs: u64 = runs.iter().flat_map(|run| &run.costs).map(|cost| cost.micros).sum();
    if held == 0 && spent == books.costs && spent == costs {
        return Vec::new();
    }
    vec![format!(
        "UNBALANCED, {spent} are spent and {held} held, the costs come to {} and those of all runs to {costs}",
        books.costs
    )]
}

#[cfg(test)]
mod tests {
    use airlock::model::budget::Sums;
    use serde_json::json;

    use super::super::calls::Book;
    use super::*;
    use crate::backend::Counts;

    const OK: &str = r#"{"ok":true,"data":{"mail_id":"M-1"},"meta":{"replayed":true}}"#;

    /// A mail under a key, acknowledged, of which the desk has these.
    fn facts(mails: &[Value]) -> Facts {
        let call = Call {
            id: 0,
            does: Does::SendsMail,
            tool: "desk.send_mail".to_owned(),
            input: json!({ "subject": "mark-0" }),
            key: Some("key-0".to_owned()),
            background: false,
        };
        let told = || Told::read(OK).unwrap();
        let mut book = Book::default();
        book.calls.push(call);
        book.acknowledge(0, told());
        Facts {
            book,
            last: [(0, (told(), told()))].into(),
            counts: Counts { mails: mails.to_vec(), ..Counts::default() },
            files: BTreeMap::new(),
            values: BTreeMap::new(),
            runs: Vec::new(),
            books: Books::default(),
        }
    }

    fn finds(facts: &Facts, what: &str) -> bool {
        judge(facts).iter().any(|fault| fault.contains(what))
    }

    #[test]
    fn what_was_acknowledged_and_not_done_is_lost() {
        let mail = |id: &str| json!({ "mail_id": id, "subject": "mark-0" });
        assert!(finds(&facts(&[]), "LOST, acknowledged and not done"));
        assert!(finds(&facts(&[mail("M-2")]), "LOST, what it was told is not there"));
        assert!(finds(&facts(&[mail("M-1")]), "LOST, done, and nothing is recorded"));
        assert!(!finds(&facts(&[mail("M-1")]), "LOST, acknowledged"));
    }

    #[test]
    fn what_was_done_twice_is_doubled() {
        let mail = json!({ "mail_id": "M-1", "subject": "mark-0" });
        assert!(finds(&facts(&[mail.clone(), mail.clone()]), "DOUBLED, done 2 times"));
        assert!(!finds(&facts(&[mail]), "DOUBLED"));
    }

    #[test]
    fn what_its_key_gives_otherwise_is_lost() {
        let mut facts = facts(&[json!({ "mail_id": "M-1", "subject": "mark-0" })]);
        let other = Told::read(r#"{"ok":true,"data":{"mail_id":"M-9"},"meta":{"replayed":true}}"#);
        facts.last.get_mut(&0).unwrap().1 = other.unwrap();
        assert!(finds(&facts, "LOST, its key gave"));
        assert!(finds(&facts, "LOST, acknowledged as"));
    }

    #[test]
    fn one_millionth_too_much_or_held_does_not_balance() {
        let of = |costs, spent, held| Books { costs, budgets: vec![(Budget::All, Sums { spent, held })] };
        assert_eq!(of_books(&of(0, 0, 0), &[]), Vec::<String>::new());
        for books in [of(0, 1, 0), of(1, 0, 0), of(0, 0, 1)] {
            assert_eq!(of_books(&books, &[]).len(), 1, "{books:?}");
        }
    }
}
