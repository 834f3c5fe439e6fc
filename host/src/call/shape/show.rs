//! What a caller is shown of an output: the fields that its schema names, with every known secret value masked.

use serde_json::{Map, Value};

use crate::model::secret::Mask;
use crate::plugin::schema::{Guide, Place};

/// What became of a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shown {
    /// Whether fields were taken out.
    pub(super) lost: bool,
    /// Whether something was masked.
    pub(super) masked: bool,
}

/// Takes out the fields that the schema does not name, and masks the rest.
pub(super) fn show(value: &mut Value, guide: &Guide<'_>, mask: &Mask) -> Shown {
    let mut showing = Showing { guide, mask, shown: Shown::default() };
    showing.show(value, &guide.root());
    showing.shown
}

struct Showing<'a, 's> {
    guide: &'a Guide<'s>,
    mask: &'a Mask,
    shown: Shown,
}

impl<'s> Showing<'_, 's> {
    fn show(&mut self, value: &mut Value, place: &Place<'s>) {
        match value {
            Value::Object(fields) => {
                let before = fields.len();
                fields.retain(|name, _| self.guide.names(place, name));
                self.shown.lost |= fields.len() < before;
                for (name, field) in fields.iter_mut() {
                    let place = self.guide.field(place, name);
                    self.show(field, &place);
                }
                self.mask_names(fields, place);
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let place = self.guide.item(place, index);
                    self.show(item, &place);
                }
            }
            Value::String(_) | Value::Number(_) => self.shown.masked |= self.mask.json(value),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Masks the names of fields, but for those that the schema says in public.
    fn mask_names(&mut self, fields: &mut Map<String, Value>, place: &Place<'s>) {
        if self.mask.is_empty() {
            return;
        }
        let (guide, mask) = (self.guide, self.mask);
        let masked = |name: &str| if guide.spells(place, name) { None } else { mask.text(name) };
        if fields.keys().any(|name| masked(name).is_some()) {
            let all = std::mem::take(fields);
            fields.extend(all.into_iter().map(|(name, field)| (masked(&name).unwrap_or(name), field)));
            self.shown.masked = true;
        }
    }
}
