//! Places inside values: JSON pointers in which `*` stands for any item, and what a tool wants unshown there.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Places inside a value: `/customer/name`, `/lines/*/price`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Vec<Token>);

/// One step of a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// Any item, or any field.
    Any,
    /// The field of this name, or the item at this place.
    Named(String),
}

/// What a tool declares that is not to be seen of its input, its output and the details of its errors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unshown {
    /// What nobody but the tool sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Pointer>,
    /// What the caller sees, and logs, lists and screens do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<Pointer>,
}

impl Unshown {
    /// Whether all is shown.
    pub fn is_empty(&self) -> bool {
        self.hidden.is_empty() && self.private.is_empty()
    }

    /// Takes what is hidden out of a value; tells whether there was any.
    pub fn hide(&self, value: &mut Value) -> bool {
        let mut hid = false;
        for pointer in &self.hidden {
            hid |= pointer.take_out(value);
        }
        hid
    }
}

impl Pointer {
    /// Reads a pointer to something inside; none where the text is no such pointer.
    pub fn parse(text: &str) -> Option<Self> {
        let escaped = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        let tokens = text.strip_prefix('/').filter(|_| escaped)?.split('/').map(|token| match token {
            "*" => Token::Any,
            named => Token::Named(named.replace("~1", "/").replace("~0", "~")),
        });
        Some(Self(tokens.collect()))
    }

    /// Does this with all that it points at.
    pub fn each(&self, value: &mut Value, act: &mut dyn FnMut(&mut Value)) {
        each(&self.0, value, act);
    }

    /// Takes out all that it points at; tells whether there was any.
    pub fn take_out(&self, value: &mut Value) -> bool {
        let Some((last, way)) = self.0.split_last() else { return false };
        let mut took = false;
        each(way, value, &mut |holder| took |= last.take_out(holder));
        took
    }

    /// The name of the field that it points at; none where that is whatever there is, or may be an item.
    pub fn field(&self) -> Option<&str> {
        match self.0.last() {
            Some(Token::Named(name)) if name.parse::<usize>().is_err() => Some(name),
            Some(Token::Named(_) | Token::Any) | None => None,
        }
    }
}

impl Token {
    fn take_out(&self, holder: &mut Value) -> bool {
        match (self, holder) {
            (Self::Any, Value::Array(items)) => !std::mem::take(items).is_empty(),
            (Self::Any, Value::Object(fields)) => !std::mem::take(fields).is_empty(),
            (Self::Named(name), Value::Object(fields)) => fields.shift_remove(name).is_some(),
            (Self::Named(place), Value::Array(items)) => match place.parse::<usize>() {
                Ok(place) if place < items.len() => {
                    items.remove(place);
                    true
                }
                Ok(_) | Err(_) => false,
            },
            (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => false,
        }
    }
}

fn each(tokens: &[Token], value: &mut Value, act: &mut dyn FnMut(&mut Value)) {
    let Some((first, rest)) = tokens.split_first() else { return act(value) };
    match (first, value) {
        (Token::Any, Value::Array(items)) => items.iter_mut().for_each(|item| each(rest, item, act)),
        (Token::Any, Value::Object(fields)) => fields.values_mut().for_each(|field| each(rest, field, act)),
        (Token::Named(name), Value::Object(fields)) => {
            fields.get_mut(name).into_iter().for_each(|field| each(rest, field, act));
        }
        (Token::Named(place), Value::Array(items)) => {
            let item = place.parse::<usize>().ok().and_then(|place| items.get_mut(place));
            item.into_iter().for_each(|item| each(rest, item, act));
        }
        (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {}
    }
}

/// One token of a JSON pointer, from a field's name.
pub fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Token::Any => f.write_str("/*"),
            Token::Named(name) => write!(f, "/{}", token(name)),
        })
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("no pointer: {text}")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn without(pointer: &str, mut value: Value) -> Value {
        Pointer::parse(pointer).unwrap().take_out(&mut value);
        value
    }

    #[test]
    fn what_is_pointed_at_is_taken_out_and_nothing_else() {
        let value = json!({ "a": { "b": 1, "c": 2 }, "l": [{ "x": 1, "y": 2 }, { "x": 3 }, 4] });
        assert_eq!(without("/a/b", value.clone()), json!({ "a": { "c": 2 }, "l": value["l"] }));
        assert_eq!(without("/l/*/x", value.clone())["l"], json!([{ "y": 2 }, {}, 4]));
        assert_eq!(without("/l/1", value.clone())["l"], json!([{ "x": 1, "y": 2 }, 4]));
        assert_eq!(without("/l/*", value.clone())["l"], json!([]));
        assert_eq!(without("/*/b", value.clone())["a"], json!({ "c": 2 }));
        for elsewhere in ["/b", "/a/b/c", "/l/9", "/l/x", "/a/*/z", "/"] {
            assert_eq!(without(elsewhere, value.clone()), value, "{elsewhere}");
        }
        assert_eq!(without("/a~1b", json!({ "a/b": 1, "~": 2 })), json!({ "~": 2 }));
        assert_eq!(without("/~0", json!({ "a/b": 1, "~": 2 })), json!({ "a/b": 1 }));
    }

    #[test]
    fn a_pointer_is_written_as_it_was_read() {
        for text in ["/a", "/a/*/b", "/a~1b/~0", "/", "/lines/0"] {
            assert_eq!(Pointer::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "a", "/a~", "/a~2", "~0/a", "#/a"] {
            assert_eq!(Pointer::parse(bad), None, "{bad}");
        }
    }
}
