//! One error of the validator as one sentence: what is expected, what came, an example.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "kinds of errors are worded in groups, the rest together"
)]

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::Diagnosis;
use crate::plugin::schema::places::{known_fields, reached, schemas_at};
use crate::plugin::schema::words::{
    choices, count, either, example, fields, format_example, format_word, kinds, short, wanted,
};

/// The keyword by which a schema's author words a fault.
const MESSAGE: &str = "x-message";

/// Names that are close enough to be offered.
const OFFERED: usize = 1;

impl<'s> Diagnosis<'s> {
    /// What the schema itself says where this error is, or where it refers to that place.
    pub(super) fn message(&self, error: &ValidationError<'_>) -> Option<&'s str> {
        let path = reached(self.root, error.evaluation_path().as_str());
        path.iter().rev().find_map(|schema| schema.get(MESSAGE)?.as_str())
    }

    /// An example that the schema gives where this error is, or where it refers to that place.
    fn example(&self, error: &ValidationError<'_>) -> Option<&'s Value> {
        let path = reached(self.root, error.evaluation_path().as_str());
        path.iter().rev().find_map(|schema| example(schema))
    }

    fn schema(&self, error: &ValidationError<'_>) -> &'s Value {
        reached(self.root, error.evaluation_path().as_str()).last().copied().unwrap_or(self.root)
    }

    /// That the field at this path is missing.
    pub(super) fn missing(&self, error: &ValidationError<'_>, path: &str) -> String {
        let field = schemas_at(self.root, path);
        if let Some(text) =
            field.iter().find_map(|schema| schema.get(MESSAGE)?.as_str()).or_else(|| self.message(error))
        {
            return text.to_owned();
        }
        let wanted = field.iter().find_map(|schema| wanted(self.root, schema));
        let example = field.iter().find_map(|schema| example(schema));
        let what = wanted.map(|wanted| format!("; give {wanted}")).unwrap_or_default();
        format!("is required and missing{what}{}", for_example(example))
    }

    /// The alternatives of which none fits.
    pub(super) fn choice(&self, error: &ValidationError<'_>) -> String {
        let schema = self.schema(error);
        let parts = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(*keyword)?.as_array());
        let parts = parts.into_iter().flatten().enumerate();
        let words: Vec<String> = parts
            .map(|(place, part)| {
                wanted(self.root, part).unwrap_or_else(|| format!("alternative {} of the schema", place + 1))
            })
            .fold(Vec::new(), |mut words, word| {
                if !words.contains(&word) {
                    words.push(word);
                }
                words
            });
        let came = self.quote.came(error.instance());
        format!("must be {} and is {came}{}", either(&words), for_example(self.example(error)))
    }

    /// Any other error.
    pub(super) fn sentence(&self, error: &ValidationError<'_>) -> String {
        if let Some(text) = self.message(error) {
            return text.to_owned();
        }
        let text =
            self.of_value(error).or_else(|| self.of_size(error)).unwrap_or_else(|| self.of_parts(error));
        let example = match error.kind() {
            Kind::Enum { .. } | Kind::Constant { .. } | Kind::FalseSchema => None,
            Kind::Format { format } => {
                self.example(error).cloned().or_else(|| format_example(format).map(Value::from))
            }
            _ => self.example(error).cloned(),
        };
        format!("{text}{}", for_example(example.as_ref()))
    }

    /// Of what a value is.
    fn of_value(&self, error: &ValidationError<'_>) -> Option<String> {
        let (came, is) = (self.quote.came(error.instance()), self.quote.value(error.instance()));
        Some(match error.kind() {
            Kind::Type { kind } => format!("must be {} and is {came}", kinds(kind)),
            Kind::Enum { options } => {
                let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
                format!("must be {} and is {is}{}", choices(options), meant(error.instance(), options))
            }
            Kind::Constant { expected_value } => format!("must be {} and is {is}", short(expected_value)),
            Kind::Format { format } => format!("must be {} and is {is}", format_word(format)?),
            Kind::Pattern { pattern } => format!("must match the pattern {pattern} and is {is}"),
            Kind::Minimum { limit } => format!("must be at least {limit} and is {is}"),
            Kind::Maximum { limit } => format!("must be at most {limit} and is {is}"),
            Kind::ExclusiveMinimum { limit } => format!("must be more than {limit} and is {is}"),
            Kind::ExclusiveMaximum { limit } => format!("must be less than {limit} and is {is}"),
            Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of} and is {is}"),
            _ => return None,
        })
    }

    /// Of how much a value holds.
    fn of_size(&self, error: &ValidationError<'_>) -> Option<String> {
        let value = error.instance().as_ref();
        let has = size(value);
        let must = |bound: &str, limit: u64, what: &str| {
            let limit = count(usize::try_from(limit).unwrap_or(usize::MAX), what);
            format!("must have {bound} {limit} and has {has}")
        };
        Some(match error.kind() {
            Kind::MinLength { limit } => must("at least", *limit, "character"),
            Kind::MaxLength { limit } => must("at most", *limit, "character"),
            Kind::MinItems { limit } => must("at least", *limit, "item"),
            Kind::MaxItems { limit } => must("at most", *limit, "item"),
            Kind::MaxProperties { limit } => must("at most", *limit, "field"),
            Kind::MinProperties { limit } => {
                let known = known_fields(self.root, error.instance_path().as_str());
                let choice =
                    if known.is_empty() { String::new() } else { format!("; there are {}", fields(known)) };
                format!("{}{choice}", must("at least", *limit, "field"))
            }
            Kind::AdditionalItems { limit } => {
                must("at most", u64::try_from(*limit).unwrap_or(u64::MAX), "item")
            }
            _ => return None,
        })
    }

    /// Of what a value is made of.
    fn of_parts(&self, error: &ValidationError<'_>) -> String {
        let schema = self.schema(error);
        match error.kind() {
            Kind::UniqueItems => format!("must hold no item twice{}", twin(error.instance())),
            Kind::FalseSchema => "must not be given; leave it out".to_owned(),
            Kind::Contains => {
                let what = schema.get("contains").and_then(|part| wanted(self.root, part));
                let what = what.unwrap_or_else(|| "what the schema asks for".to_owned());
                let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
                match (bound("minContains"), bound("maxContains")) {
                    (None, None) => format!("must hold {what} among its items"),
                    (Some(least), None) => format!("must hold {what} at least {least} times among its items"),
                    (least, Some(most)) => format!(
                        "must hold {what} at least {} and at most {most} times among its items",
                        least.unwrap_or(1)
                    ),
                }
            }
            Kind::Not { schema } => match wanted(self.root, schema) {
                Some(what) => format!("must not be {what}"),
                None => format!("must not be {}", self.quote.came(error.instance())),
            },
            Kind::OneOfMultipleValid { .. } => {
                let parts = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
                let words: Option<Vec<String>> = parts.map(|part| wanted(self.root, part)).collect();
                let which = words.map(|words| format!(": {}", either(&words))).unwrap_or_default();
                format!("fits more than one alternative; give the fields of one alone{which}")
            }
            Kind::PropertyNames { error } => {
                format!(
                    "has a field that may not be named so: {} {}",
                    short(error.instance()),
                    self.sentence(error)
                )
            }
            Kind::UnevaluatedItems { .. } => "holds more items than the schema speaks of".to_owned(),
            _ => format!(
                "does not fit `{}` of its schema and is {}",
                error.kind().keyword(),
                self.quote.came(error.instance())
            ),
        }
    }
}

fn for_example(value: Option<&Value>) -> String {
    value.map(|value| format!("; for example {}", short(value))).unwrap_or_default()
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

fn meant(given: &Value, options: &[Value]) -> String {
    let Some(given) = given.as_str() else { return String::new() };
    let near = crate::model::nearest::nearest(given, options.iter().filter_map(Value::as_str));
    near.into_iter().take(OFFERED).map(|option| format!("; did you mean \"{option}\"?")).collect()
}

fn twin(value: &Value) -> String {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let twin = |(place, item): (usize, &Value)| {
        let earlier = items[..place].iter().position(|other| other == item)?;
        Some(format!(", and items {earlier} and {place} are equal"))
    };
    items.iter().enumerate().take(1_000).find_map(twin).unwrap_or_default()
}
