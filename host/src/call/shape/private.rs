//! A run as logs, lists and screens show it: what is hidden is not there, and what is private is told by a hash.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::id::Digest;
use crate::model::past::Undone;
use crate::model::pointer::{Pointer, Unshown};
use crate::model::reply::Stored;
use crate::model::run::Record;
use crate::model::secret::Mask;
use crate::sandbox::capability::secrets::derived;
use crate::store::Kept;

/// Whether who looks is to see what is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// They are not.
    Usual,
    /// A person asked for it.
    Private,
}

/// How much of a hash stands in the place of a value, in hexadecimal digits.
const TOLD: usize = 8;

/// Values shorter than this stand in too many texts to be looked for there.
const SHORTEST: usize = 2;

/// The record as it is shown; `secret` makes the hashes, and `kept` is what is kept with the run.
pub fn shown(mut record: Record, look: Look, secret: &[u8; 32], kept: &Kept) -> Record {
    if record.unshown.is_empty() {
        return record;
    }
    let mut found = Found { secret, texts: BTreeMap::new() };
    let unshown = record.unshown.clone();
    for text in kept.whole.iter().chain(&kept.output) {
        if let Ok(mut value) = serde_json::from_str::<Value>(text) {
            found.look(&mut value, &unshown.hidden, &unshown.private, look);
        }
    }
    if let Some(input) = &mut record.input {
        found.rewrite(input, |found, value| {
            found.look(value, &unshown.hidden, &unshown.private, look);
            unshown.hide(value);
        });
    }
    if let Some(Stored { ok, body, .. }) = &mut record.stored {
        found.rewrite(body, |found, value| {
            let place = if *ok { Some(value) } else { value.get_mut("details") };
            if let Some(place) = place {
                found.look(place, &unshown.hidden, &unshown.private, look);
                unshown.hide(place);
            }
        });
    }
    let mask = Mask::by(found.texts.iter().map(|(text, label)| (label.clone(), text.as_str())));
    let rest = |text: &mut String| {
        if let Some(masked) = mask.text(text) {
            *text = masked;
        }
    };
    for attempt in &mut record.attempts {
        rest(&mut attempt.log);
        if let Some(Undone { summary, left }) = &mut attempt.undone {
            rest(summary);
            left.iter_mut().for_each(rest);
        }
    }
    record.fingerprint.iter_mut().for_each(rest);
    record.effects.iter_mut().for_each(|effect| rest(&mut effect.target));
    record.told.reason.iter_mut().for_each(rest);
    if let Some(stored) = record.stored.as_mut().filter(|stored| !stored.ok)
        && let Ok(mut error) = serde_json::from_str::<Value>(&stored.body)
        && mask.json(&mut error)
    {
        stored.body = error.to_string();
    }
    record
}

/// Input as a line of the log has it, and these words about it likewise; none where it is no JSON.
pub fn logged(
    input: &str,
    words: &mut [&mut String],
    unshown: &Unshown,
    mask: &Mask,
    secret: &[u8; 32],
) -> Option<Value> {
    let mut input = serde_json::from_str::<Value>(input).ok();
    let mut found = Found { secret, texts: BTreeMap::new() };
    if let Some(input) = &mut input {
        found.look(input, &unshown.hidden, &unshown.private, Look::Usual);
        unshown.hide(input);
        mask.json(input);
    }
    let private = Mask::by(found.texts.iter().map(|(text, label)| (label.clone(), text.as_str())));
    input.iter_mut().for_each(|input| {
        private.json(input);
    });
    for word in words {
        for mask in [mask, &private] {
            if let Some(masked) = mask.text(word) {
                **word = masked;
            }
        }
    }
    input
}

/// Values that are not to be seen, by the text that they are, and what stands in their place.
struct Found<'a> {
    secret: &'a [u8; 32],
    texts: BTreeMap<String, String>,
}

impl Found<'_> {
    fn rewrite(&mut self, text: &mut String, change: impl FnOnce(&mut Self, &mut Value)) {
        let Ok(mut value) = serde_json::from_str::<Value>(text) else { return };
        let before = value.clone();
        change(self, &mut value);
        // What nobody changed keeps every character.
        if value != before {
            *text = value.to_string();
        }
    }

    /// Notes what is hidden, and puts hashes in the place of what is private.
    fn look(&mut self, value: &mut Value, hidden: &[Pointer], private: &[Pointer], look: Look) {
        for pointer in hidden {
            pointer.each(value, &mut |value| self.note(value, "[hidden]"));
        }
        if look == Look::Private {
            return;
        }
        for pointer in private {
            pointer.each(value, &mut |value| {
                let label = self.label(value);
                self.note(value, &label);
                *value = Value::from(label);
            });
        }
    }

    /// What stands in the place of a private value: equal for equal values.
    fn label(&self, value: &Value) -> String {
        let digest = Digest::of_parts(&[value.to_string().as_bytes()]);
        let hash = derived(self.secret, &[b"private", &digest.0]);
        format!("[private {}]", hash.get(..TOLD).unwrap_or_default())
    }

    /// Notes the texts and numbers within a value, for the texts that repeat them.
    fn note(&mut self, value: &Value, label: &str) {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Array(items) => return items.iter().for_each(|item| self.note(item, label)),
            Value::Object(fields) => return fields.values().for_each(|field| self.note(field, label)),
            Value::Null | Value::Bool(_) => return,
        };
        if text.chars().count() >= SHORTEST {
            self.texts.entry(text).or_insert_with(|| label.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Timestamp;
    use crate::model::effect::{Effect, EffectState};
    use crate::model::id::{CallerName, ProcessId, RunId, TraceId};
    use crate::model::manifest::Repeat;
    use crate::model::reply::Usage;
    use crate::model::run::{Lease, Summary, Told};
    use crate::model::state::RunState;

    fn record(input: &str, target: &str) -> Record {
        let run = RunId::from_bytes([1; 16]);
        let pointers = |texts: &[&str]| texts.iter().filter_map(|text| Pointer::parse(text)).collect();
        Record {
            summary: Summary {
                run,
                state: RunState::Completed,
                tool: "desk.find".parse().unwrap(),
                caller: CallerName("local".into()),
                user: None,
                attempts: 1,
                began: Timestamp(0),
                ended: None,
                code: None,
            },
            lease: Lease { run, number: 1 },
            owner: ProcessId([1; 16]),
            wakes: None,
            background: None,
            key: None,
            action: Digest([2; 32]),
            repeat: Repeat::Once,
            trace: TraceId::new([3; 16]),
            told: Told::default(),
            input: Some(input.to_owned()),
            unshown: Unshown { hidden: pointers(&["/pin"]), private: pointers(&["/who/*", "/age"]) },
            stored: None,
            removed: None,
            fingerprint: None,
            cleanup: None,
            rearms: false,
            undelivered: false,
            usage: Usage::default(),
            attempts: Vec::new(),
            effects: vec![Effect {
                attempt: 1,
                ordinal: 1,
                repeat: Repeat::Once,
                method: "POST".to_owned(),
                target: target.to_owned(),
                request: Digest([4; 32]),
                key: None,
                state: EffectState::Done,
                status: None,
            }],
            late: Vec::new(),
            costs: Vec::new(),
            saved: None,
            events: Vec::new(),
        }
    }

    #[test]
    fn what_is_private_is_told_by_a_hash_where_a_url_repeats_it_too() {
        let input = r#"{"who":["Li Wong","li@example.com"],"age":41,"pin":"0042","x":"Liam","n":1.50}"#;
        let target = "https://a.example/li%40example.com/41?pin=0042&name=Li+Wong&x=Liam";
        let shown = shown(record(input, target), Look::Usual, &[9; 32], &Kept::default());
        let input: Value = serde_json::from_str(&shown.input.unwrap()).unwrap();
        let hash = |place: &str| input.pointer(place).and_then(Value::as_str).unwrap_or_default();
        let (name, mail, age) = (hash("/who/0"), hash("/who/1"), hash("/age"));
        assert!([name, mail, age].iter().all(|hash| hash.starts_with("[private ")) && name != mail);
        assert_eq!(input, serde_json::json!({ "who": [name, mail], "age": age, "x": "Liam", "n": 1.5 }));
        let url = format!("https://a.example/{mail}/{age}?pin=[hidden]&name={name}&x=Liam");
        assert_eq!(shown.effects[0].target, url, "a word that contains a private one is left alone");
    }

    #[test]
    fn a_person_who_asks_sees_all_but_what_is_hidden() {
        let input = r#"{"who":["Li Wong"],"n":1.50}"#;
        let target = "https://a.example/Li+Wong";
        let shown = shown(record(input, target), Look::Private, &[9; 32], &Kept::default());
        assert_eq!((shown.input.as_deref(), &*shown.effects[0].target), (Some(input), target));
    }
}
