//! From a validator's errors to faults in words, and to the fields that can be taken out.

mod sentence;

use std::cell::RefCell;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use super::fields::{Meant, Unknown};
use super::places::{Known, token};
use super::words::Quote;
use crate::model::canonical::{Fault, MOST_FAULTS};

/// Faults that are read, equal ones among them, when no more than ten are told.
const ENOUGH: usize = 4 * MOST_FAULTS;

/// What is wrong with a value.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What the sender has to mend.
    pub(super) faults: Vec<Fault>,
    /// Fields that can go.
    pub(super) unknown: Vec<Unknown>,
    /// Faults that may only follow from others.
    following: Vec<Fault>,
}

impl Findings {
    fn mend(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.faults.push(Fault { path: path.into(), text: text.into() });
    }

    fn fits_but_for_unknown(&self) -> bool {
        self.faults.is_empty() && self.following.is_empty() && !self.unknown.is_empty()
    }

    fn append(&mut self, mut other: Self) {
        self.faults.append(&mut other.faults);
        self.unknown.append(&mut other.unknown);
        self.following.append(&mut other.following);
    }
}

/// Reads a validator's errors about one value.
#[derive(Debug)]
pub(super) struct Diagnosis<'s> {
    root: &'s Value,
    value: &'s Value,
    quote: Quote,
    known: RefCell<Known<'s>>,
}

impl<'s> Diagnosis<'s> {
    /// Reads errors of this value against this schema; what came is quoted or not.
    pub(super) fn new(root: &'s Value, value: &'s Value, quote: Quote) -> Self {
        Self { root, value, quote, known: RefCell::new(Known::new(root)) }
    }

    /// All that is wrong with the value, or the first of it.
    pub(super) fn findings(&self, validator: &Validator, all: bool) -> Findings {
        let mut findings = Findings::default();
        if all {
            for error in validator.iter_errors(self.value) {
                self.read(&error, &mut findings);
                if findings.faults.len() >= ENOUGH {
                    break;
                }
            }
        } else if let Err(error) = validator.validate(self.value) {
            self.read(&error, &mut findings);
        }
        if findings.faults.is_empty() && findings.unknown.is_empty() {
            findings.faults.append(&mut findings.following);
        }
        findings
    }

    fn read(&self, error: &ValidationError<'_>, findings: &mut Findings) {
        let place = error.instance_path().as_str();
        if let Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } =
            error.kind()
        {
            self.unexpected(place, unexpected.iter().map(String::as_str), findings);
        } else if let Some(closed) = self.closed_without_fields(error) {
            self.unexpected(place, closed.keys().map(String::as_str), findings);
        } else if let Kind::AnyOf { context } = error.kind() {
            self.alternatives(error, context, false, findings);
        } else if let Kind::OneOfNotValid { context } = error.kind() {
            self.alternatives(error, context, true, findings);
        } else if let Kind::Required { property } = error.kind() {
            let name = property.as_str().unwrap_or_default();
            let path = format!("{place}/{}", token(name));
            let text = self.missing(error, &path);
            findings.mend(path, text);
        } else {
            findings.mend(place, self.sentence(error));
        }
    }

    /// The object that may have no fields at all; the validator tells of its first field, at the object's place.
    fn closed_without_fields(&self, error: &ValidationError<'_>) -> Option<&'s Map<String, Value>> {
        let closed = matches!(error.kind(), Kind::FalseSchema)
            && error.schema_path().as_str().ends_with("/additionalProperties");
        let here = self
            .value
            .pointer(error.instance_path().as_str())
            .filter(|here| closed && *here != error.instance().as_ref());
        here.and_then(Value::as_object)
    }

    fn unexpected<'n>(&self, object: &str, names: impl Iterator<Item = &'n str>, findings: &mut Findings) {
        let known = self.known.borrow_mut().fields(object);
        for name in names {
            let field = Unknown { object: object.to_owned(), name: name.to_owned() };
            if known.contains(&name) {
                let text = "does not go with the other fields; leave it out, or them".to_owned();
                findings.following.push(Fault { path: field.pointer(), text });
                continue;
            }
            match (self.quote, Meant::by(name, &known)) {
                (Quote::Kind, _) | (Quote::Value, Meant::Nothing) => findings.unknown.push(field),
                (Quote::Value, Meant::Field(meant)) => {
                    findings.mend(field.pointer(), format!("is no field here; did you mean `{meant}`?"));
                }
                (Quote::Value, Meant::Steering) => findings.mend(
                    field.pointer(),
                    "is no field here, and the input does not decide how the call is done; leave it out",
                ),
            }
        }
    }

    /// Where no alternative fits: what can go so that one does, else what is wrong with the one that was
    /// meant, else the choice in words.
    fn alternatives(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
        only_one: bool,
        findings: &mut Findings,
    ) {
        let mut branches: Vec<Findings> = context.iter().map(|errors| self.branch(errors)).collect();
        let mut nearly = branches.iter_mut().filter(|branch| branch.fits_but_for_unknown());
        if let Some(branch) = nearly.next()
            && !(only_one && nearly.next().is_some())
        {
            findings.unknown.append(&mut branch.unknown);
            return;
        }
        let place = error.instance_path().as_str();
        if let Some(text) = self.message(error) {
            return findings.mend(place, text);
        }
        match meant(context, place) {
            Some(meant) => findings.append(branches.swap_remove(meant)),
            None => findings.mend(place, self.choice(error)),
        }
    }

    fn branch(&self, errors: &[ValidationError<'static>]) -> Findings {
        let mut findings = Findings::default();
        errors.iter().for_each(|error| self.read(error, &mut findings));
        findings
    }
}

/// The alternative that the value was meant to fit: the only one of its kind, with its mark.
fn meant(context: &[Vec<ValidationError<'static>>], place: &str) -> Option<usize> {
    let single = |apart: fn(&ValidationError<'_>, &str) -> bool| {
        let mut alike =
            (0..context.len()).filter(|branch| !context[*branch].iter().any(|error| apart(error, place)));
        alike.next().filter(|_| alike.next().is_none())
    };
    single(|error, place| of_another_kind(error, place) || of_another_mark(error, place))
        .or_else(|| single(of_another_kind))
}

fn of_another_kind(error: &ValidationError<'_>, place: &str) -> bool {
    let here = error.instance_path().as_str() == place;
    here && matches!(error.kind(), Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. })
}

/// Whether a field directly inside says that another alternative is meant.
fn of_another_mark(error: &ValidationError<'_>, place: &str) -> bool {
    let field = error.instance_path().as_str().strip_prefix(place).and_then(|rest| rest.strip_prefix('/'));
    field.is_some_and(|field| !field.contains('/'))
        && matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })
}
