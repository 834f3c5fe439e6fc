//! What waits for a person: runs that nobody else can settle, backends that are left alone.

use std::time::{Duration, UNIX_EPOCH};

use super::Found;
use crate::model::id::ToolName;
use crate::store::sqlite::Waits;

/// What the store says that somebody should look at.
pub(super) fn waits(waits: &Waits) -> Vec<Found> {
    suspended(waits).into_iter().chain(waits.open.iter().map(left_alone)).collect()
}

fn suspended(Waits { suspended, oldest, .. }: &Waits) -> Option<Found> {
    let count = match suspended {
        0 => return None,
        1 => "1 run waits".to_owned(),
        many => format!("{many} runs wait"),
    };
    let since = oldest.map(|at| UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0)));
    let since = since.map(|at| match suspended {
        1 => format!(", since {}", humantime::format_rfc3339_seconds(at)),
        _ => format!(", the oldest since {}", humantime::format_rfc3339_seconds(at)),
    });
    let text = format!("{count} for a person{}", since.unwrap_or_default());
    let mend = "`airlock runs --state suspended` lists them; `airlock runs RUN` shows what was done, and how it is settled";
    Some(Found::doubtful("runs", text, mend))
}

fn left_alone((tool, origin, by_operator): &(ToolName, String, bool)) -> Found {
    let text = match (origin.as_str(), by_operator) {
        ("", true) => format!("an operator lets no call of {tool} through"),
        (origin, true) => format!("an operator lets no call of {tool} through to {origin}"),
        ("", false) => format!("{tool} fails again and again, so its calls are refused for a while"),
        (origin, false) => format!("{origin} fails again and again, so {tool} leaves it alone for a while"),
    };
    let mend = if *by_operator {
        format!("`airlock breakers auto {tool}` leaves it to the host again")
    } else {
        format!(
            "`airlock breakers` shows until when; look at the backend, then `airlock breakers close {tool}` or wait"
        )
    };
    Found::doubtful("breakers", text, mend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Timestamp;

    #[test]
    fn what_waits_is_counted_and_what_is_left_alone_is_told_each_with_what_to_do() {
        let tool = || "desk.send_mail".parse::<ToolName>().unwrap();
        let open = [("https://desk.test", false), ("", false), ("https://desk.test", true), ("", true)];
        let open = open.map(|(origin, by_operator)| (tool(), origin.to_owned(), by_operator)).to_vec();
        let some = Waits { suspended: 1, oldest: Some(Timestamp(1_700_000_000_000)), open: Vec::new() };
        let many = Waits { suspended: 3, open, ..some.clone() };
        let found = [waits(&Waits::default()), waits(&some), waits(&many)].concat();
        let told = found
            .iter()
            .map(|one| format!("{}: {}\n  {}", one.about, one.text, one.mend.as_deref().unwrap_or_default()));
        insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
        runs: 1 run waits for a person, since 2023-11-14T22:13:20Z
          `airlock runs --state suspended` lists them; `airlock runs RUN` shows what was done, and how it is settled
        runs: 3 runs wait for a person, the oldest since 2023-11-14T22:13:20Z
          `airlock runs --state suspended` lists them; `airlock runs RUN` shows what was done, and how it is settled
        breakers: https://desk.test fails again and again, so desk.send_mail leaves it alone for a while
          `airlock breakers` shows until when; look at the backend, then `airlock breakers close desk.send_mail` or wait
        breakers: desk.send_mail fails again and again, so its calls are refused for a while
          `airlock breakers` shows until when; look at the backend, then `airlock breakers close desk.send_mail` or wait
        breakers: an operator lets no call of desk.send_mail through to https://desk.test
          `airlock breakers auto desk.send_mail` leaves it to the host again
        breakers: an operator lets no call of desk.send_mail through
          `airlock breakers auto desk.send_mail` leaves it to the host again
        ");
    }
}
