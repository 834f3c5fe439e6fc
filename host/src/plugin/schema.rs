//! Input and output against their schemas: every fault in words, and what the schema does not know taken out.

mod accept;
mod advertise;
mod diagnose;
mod effort;
mod fields;
mod guide;
mod places;
mod sample;
mod words;

use jsonschema::Validator;
use serde_json::Value;

pub use self::advertise::{Shaping, advertised};
use self::diagnose::{Diagnosis, Findings};
use self::effort::{Extent, Patterns};
use self::guide::Names;
pub use self::guide::{Guide, Place, SCALAR};
use self::words::Quote;
use crate::model::canonical::{Fault, MOST_FAULTS};

/// Fields are taken out and the rest is looked at again: once, where losing one does not bring the next.
const ROUNDS: usize = 4;

/// So much of the names of fields that are left out is told beside a result, in bytes: a reply stays short.
const MOST_DROPPED: usize = 16 << 10;

const TOO_MANY_UNKNOWN: &str =
    "has too many fields, or too long ones, that its schema does not know; give the known ones alone";

/// Up to so many looks, all faults of a value are gathered; each may hold a copy of a part of it.
const ALL_FAULTS: u64 = 50_000;

/// The same for a long value without alternatives in alternatives, whose faults hold little.
const ALL_FAULTS_OF_LONG: u64 = 250_000;

/// Up to so many looks, which take some milliseconds, a value is checked where it is.
const QUICK: u64 = 100_000;

/// Looks at one part of a value, on average, up to which a value counts as one without.
const LOOKS_AT_A_PART: u64 = 64;

/// A compiled schema of an object.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    root: Value,
    patterns: Patterns,
    extent: Extent,
    names: Names,
}

impl Schema {
    /// Compiles a schema of JSON Schema 2020-12.
    ///
    /// # Errors
    /// Where it is none, its root is no object, it refers outside itself or to itself without end, or has a
    /// pattern that cannot run in linear time; all faults at once, each a sentence about the schema.
    pub fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        let (validator, patterns) = accept::compile(schema)?;
        let extent = Extent::of(schema, &patterns);
        Ok(Self { validator, root: schema.clone(), patterns, extent, names: Names::of(schema) })
    }

    /// Whether checking any JSON of so many bytes takes so little that a thread that serves may do it.
    pub fn is_quick(&self, bytes: usize) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        // A part of a value takes two bytes at least: itself, and what stands between it and the next.
        self.extent.looks(bytes / 2 + 1, bytes).is_some_and(|looks| looks <= QUICK)
    }

    /// Leads through a value and tells what the schema says of each place.
    pub fn guide(&self) -> Guide<'_> {
        Guide::new(&self.root, &self.names)
    }

    /// An object with the fields that it asks for, as an example.
    pub fn sample(&self) -> Value {
        sample::sample(&self.guide())
    }

    /// Checks what a caller gave, and takes out the fields that a closed object does not know; their
    /// pointers are returned. What means to change how the call is done, or resembles a known field, is a
    /// fault and stays.
    ///
    /// # Errors
    /// Where the value does not fit; at most ten faults, and the value is as it was.
    pub fn check_input(&self, value: &mut Value) -> Result<Vec<String>, Vec<Fault>> {
        if self.fits(value)? {
            return Ok(Vec::new());
        }
        let (trimmed, dropped) = self.trim(value.clone(), Quote::Value)?;
        if dropped.iter().map(String::len).sum::<usize>() > MOST_DROPPED {
            return Err(whole(TOO_MANY_UNKNOWN));
        }
        *value = trimmed;
        Ok(dropped)
    }

    /// Checks what a tool returned. Fields that a closed object does not know are no fault: they are kept
    /// and not shown.
    ///
    /// # Errors
    /// Where the value does not fit; at most ten faults, which tell kinds and sizes and no values.
    pub fn check_output(&self, value: &Value) -> Result<(), Vec<String>> {
        let checked = match self.fits(value) {
            Ok(true) => Ok(()),
            Ok(false) => self.trim(value.clone(), Quote::Kind).map(|_| ()),
            Err(faults) => Err(faults),
        };
        checked.map_err(|faults| faults.iter().map(Fault::to_string).collect())
    }

    fn fits(&self, value: &Value) -> Result<bool, Vec<Fault>> {
        if self.looks(value, effort::MOST) > effort::MOST {
            return Err(whole(
                "takes too long to check, for its texts are too long for their patterns, or it has too many \
                 alternatives within alternatives; give less at once",
            ));
        }
        Ok(self.validator.is_valid(value))
    }

    fn looks(&self, value: &Value, enough: u64) -> u64 {
        effort::looks(&self.root, &self.patterns, self.extent, value, enough)
    }

    fn trim(&self, mut value: Value, quote: Quote) -> Result<(Value, Vec<String>), Vec<Fault>> {
        let mut dropped = Vec::new();
        for _ in 0..ROUNDS {
            let Findings { faults, unknown, .. } = self.findings(&value, quote)?;
            if !faults.is_empty() || unknown.is_empty() {
                return Err(first(faults));
            }
            dropped.extend(fields::take_out(&unknown, &mut value));
            if self.validator.is_valid(&value) {
                return Ok((value, dropped));
            }
        }
        Err(whole(TOO_MANY_UNKNOWN))
    }

    fn findings(&self, value: &Value, quote: Quote) -> Result<Findings, Vec<Fault>> {
        let looks = self.looks(value, ALL_FAULTS);
        let long = looks / effort::parts(value) <= LOOKS_AT_A_PART;
        if looks > ALL_FAULTS && !long {
            return Err(whole(
                "does not fit its schema, whose alternatives are too many to say where; give less at once",
            ));
        }
        let all = looks <= if long { ALL_FAULTS_OF_LONG } else { ALL_FAULTS };
        Ok(Diagnosis::new(&self.root, value, quote).findings(&self.validator, all))
    }
}

/// The fields that any part of a schema names at its root.
pub fn fields_at_root(schema: &Value) -> Vec<&str> {
    places::known_fields(schema, "")
}

fn whole(text: &str) -> Vec<Fault> {
    vec![Fault { path: String::new(), text: text.to_owned() }]
}

fn first(faults: Vec<Fault>) -> Vec<Fault> {
    let mut first: Vec<Fault> = Vec::new();
    for fault in faults {
        if first.len() < MOST_FAULTS && !first.contains(&fault) {
            first.push(fault);
        }
    }
    if first.is_empty() { whole("does not fit its schema") } else { first }
}

#[cfg(test)]
mod tests;
