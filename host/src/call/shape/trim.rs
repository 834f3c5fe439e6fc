//! Cuts a value to a size by its structure: long lists, long texts and many fields, the outermost last.

use serde_json::{Map, Value};

use crate::model::pointer::token;
use crate::model::reply::{Cut, Trimmed};
use crate::plugin::schema::{Guide, Place, SCALAR};

/// Cuts that are told one by one.
const MOST_TOLD: usize = 20;

/// An item of a list is left whole, rather than cut for the sake of the next, up to this part of the room.
const PART: usize = 8;

/// What is told where a text was cut takes this much at most, with its quotes.
const ENDING: usize = 40;

/// Cuts a value so that its text has at most so many bytes; what its schema asks for stays, and with it the value
/// may be larger. None where it fits.
pub(super) fn trim(value: &mut Value, most: usize, guide: Option<&Guide<'_>>) -> Option<Trimmed> {
    let keeps = guide.filter(|guide| guide.least(most).is_some());
    let measured = Measuring(keeps).measure(value, keeps.map(Guide::root).as_ref());
    if measured.size <= most {
        return None;
    }
    let bytes = u64::try_from(measured.size).unwrap_or(u64::MAX);
    let mut cutting =
        Cutting { at: String::new(), trimmed: Trimmed { bytes, cuts: Vec::new(), more_cuts: 0 } };
    cutting.fit(value, &measured, most);
    Some(cutting.trimmed)
}

/// How much text a value is, and how little may be left of it.
struct Measured {
    size: usize,
    least: usize,
    /// Of its fields or items, in their order.
    parts: Vec<Measured>,
    /// Whether the value that holds it must not lose it.
    asked_for: bool,
}

struct Measuring<'a, 's>(Option<&'a Guide<'s>>);

impl<'s> Measuring<'_, 's> {
    fn measure(&self, value: &Value, place: Option<&Place<'s>>) -> Measured {
        let at = self.0.zip(place);
        match value {
            Value::Array(items) => {
                let part = |(index, item): (usize, &Value)| {
                    self.measure(item, at.map(|(guide, place)| guide.item(place, index)).as_ref())
                };
                let parts: Vec<Measured> = items.iter().enumerate().map(part).collect();
                let size = 2 + parts.iter().map(|part| part.size + 1).sum::<usize>();
                Measured { size, least: 2, parts, asked_for: false }
            }
            Value::Object(fields) => {
                let part = |(name, field): (&String, &Value)| {
                    let mut part =
                        self.measure(field, at.map(|(guide, place)| guide.field(place, name)).as_ref());
                    part.asked_for = at.is_some_and(|(guide, place)| guide.asks_for(place, name));
                    part
                };
                let parts: Vec<Measured> = fields.iter().map(part).collect();
                let named = || fields.keys().map(|name| named(name)).zip(&parts);
                let size = 2 + named().map(|(name, part)| name + part.size).sum::<usize>();
                let asked_for = named().filter(|(_, part)| part.asked_for);
                let least = 2 + asked_for.map(|(name, part)| name + part.least).sum::<usize>();
                Measured { size, least, parts, asked_for: false }
            }
            Value::String(text) => {
                let size = written(text);
                Measured { size, least: size.min(SCALAR), parts: Vec::new(), asked_for: false }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                let size = value.to_string().len();
                Measured { size, least: size, parts: Vec::new(), asked_for: false }
            }
        }
    }
}

/// The bytes of a text as JSON writes it.
fn written(text: &str) -> usize {
    2 + text.chars().map(escaped).sum::<usize>()
}

fn escaped(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// The bytes of a field beside its value: its name, a colon and a comma.
fn named(name: &str) -> usize {
    written(name) + 2
}

struct Cutting {
    at: String,
    trimmed: Trimmed,
}

impl Cutting {
    /// Cuts a value to this size; gives how large it is then.
    fn fit(&mut self, value: &mut Value, measured: &Measured, most: usize) -> usize {
        if measured.size <= most {
            return measured.size;
        }
        match value {
            Value::String(text) => cut(text, most),
            Value::Array(items) => self.fit_items(items, measured, most),
            Value::Object(fields) => self.fit_fields(fields, measured, most),
            Value::Null | Value::Bool(_) | Value::Number(_) => measured.size,
        }
    }

    fn fit_items(&mut self, items: &mut Vec<Value>, measured: &Measured, most: usize) -> usize {
        let worth = |part: &Measured| part.size.min(part.least.max(most / PART)) + 1;
        let mut room = most.saturating_sub(2);
        let fits =
            |room: &mut usize, bytes: usize| room.checked_sub(bytes).map(|left| *room = left).is_some();
        let mut kept = measured.parts.iter().take_while(|part| fits(&mut room, worth(part))).count();
        // One that is cut short tells more than none.
        if kept == 0 && measured.parts.first().is_some_and(|first| first.least + 3 <= most) {
            kept = 1;
        }
        let left_out = items.len() - kept;
        items.truncate(kept);
        self.note(left_out, |at, items| Cut { at, items, fields: 0 });
        let parts = &measured.parts[..kept];
        let shares = share(parts, most.saturating_sub(2 + kept));
        let mut size = 2 + kept;
        let mut spare = 0;
        for (index, item) in items.iter_mut().enumerate() {
            size += self.fit_part(item, &parts[index], shares[index], &mut spare, &index.to_string());
        }
        size
    }

    fn fit_fields(&mut self, fields: &mut Map<String, Value>, measured: &Measured, most: usize) -> usize {
        let mut room = most.saturating_sub(measured.least);
        let mut keeps = fields.keys().zip(&measured.parts).map(|(name, part)| {
            let bytes = named(name) + part.least;
            let fits = part.asked_for || room >= bytes;
            if fits && !part.asked_for {
                room -= bytes;
            }
            fits
        });
        let keeps: Vec<bool> = keeps.by_ref().collect();
        let before = fields.len();
        let mut kept = keeps.iter().copied();
        fields.retain(|_, _| kept.next().unwrap_or(true));
        self.note(before - fields.len(), |at, fields| Cut { at, items: 0, fields });
        let parts: Vec<&Measured> =
            measured.parts.iter().zip(&keeps).filter(|(_, keeps)| **keeps).map(|(part, _)| part).collect();
        let names = 2 + fields.keys().map(|name| named(name)).sum::<usize>();
        let shares = share(&parts, most.saturating_sub(names));
        let (mut size, mut spare) = (names, 0);
        for (index, (name, field)) in fields.iter_mut().enumerate() {
            size += self.fit_part(field, parts[index], shares[index], &mut spare, name);
        }
        size
    }

    /// Cuts one part to its share and what those before it did not use.
    fn fit_part(
        &mut self,
        part: &mut Value,
        measured: &Measured,
        share: usize,
        spare: &mut usize,
        name: &str,
    ) -> usize {
        let room = share + *spare;
        let before = self.at.len();
        self.at.push('/');
        self.at.push_str(&token(name));
        let size = self.fit(part, measured, room);
        self.at.truncate(before);
        *spare = room.saturating_sub(size);
        size
    }

    fn note(&mut self, left_out: usize, cut: impl FnOnce(String, u64) -> Cut) {
        if left_out == 0 {
            return;
        }
        if self.trimmed.cuts.len() < MOST_TOLD {
            let cut = cut(self.at.clone(), u64::try_from(left_out).unwrap_or(u64::MAX));
            self.trimmed.cuts.push(cut);
        } else {
            self.trimmed.more_cuts += 1;
        }
    }
}

/// Shares room among parts: small ones have what they are, and the others as much as each other.
fn share<M: std::borrow::Borrow<Measured>>(parts: &[M], room: usize) -> Vec<usize> {
    let of = |level: usize| {
        let one = move |part: &M| {
            let part = part.borrow();
            part.size.min(level.max(part.least))
        };
        parts.iter().map(one)
    };
    let (mut low, mut high) = (0, room);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if of(middle).sum::<usize>() <= room { low = middle } else { high = middle - 1 }
    }
    of(low).collect()
}

/// Cuts a text between two characters, and says how many are left out.
fn cut(text: &mut String, most: usize) -> usize {
    let most = most.max(SCALAR);
    let mut bytes = ENDING;
    let end = text.char_indices().find(|(_, letter)| {
        bytes += escaped(*letter);
        bytes > most
    });
    let Some((end, _)) = end else { return written(text) };
    let left_out = text[end..].chars().count();
    text.truncate(end);
    text.push_str(&format!("… [{left_out} characters more]"));
    written(text)
}

#[cfg(test)]
mod tests;
