//! Input and output against their schemas: every fault in words, and what the schema does not know taken out.

mod accept;
mod diagnose;
mod effort;
mod fields;
mod places;
mod words;

use jsonschema::Validator;
use serde_json::Value;

use self::diagnose::{Diagnosis, Findings};
use self::effort::Extent;
use self::words::Quote;
use crate::model::canonical::{Fault, MOST_FAULTS};

/// Fields are taken out and the rest is looked at again: once, where losing one does not bring the next.
const ROUNDS: usize = 4;

/// Up to so many looks, all faults of a value are gathered; each may hold a copy of a part of it.
const ALL_FAULTS: u64 = 50_000;

/// The same for a long value without alternatives in alternatives, whose faults hold little.
const ALL_FAULTS_OF_LONG: u64 = 250_000;

/// Looks at one part of a value, on average, up to which a value counts as one without.
const LOOKS_AT_A_PART: u64 = 64;

/// A compiled schema of an object.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    root: Value,
    extent: Extent,
}

impl Schema {
    /// Compiles a schema of JSON Schema 2020-12.
    ///
    /// # Errors
    /// Where it is none, its root is no object, it refers outside itself or to itself without end, or has a
    /// pattern that cannot run in linear time; all faults at once, each a sentence about the schema.
    pub fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        let validator = accept::compile(schema)?;
        Ok(Self { validator, root: schema.clone(), extent: Extent::of(schema) })
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
        if effort::looks(&self.root, self.extent, value, effort::MOST) > effort::MOST {
            return Err(whole(
                "has too many alternatives within alternatives to be checked; give less at once",
            ));
        }
        Ok(self.validator.is_valid(value))
    }

    fn trim(&self, mut value: Value, quote: Quote) -> Result<(Value, Vec<String>), Vec<Fault>> {
        let mut dropped = Vec::new();
        for _ in 0..ROUNDS {
            let Findings { faults, unknown, .. } = self.findings(&value, quote)?;
            if !faults.is_empty() || unknown.is_empty() {
                return Err(first(faults));
            }
            for field in unknown {
                if field.take_out(&mut value) {
                    dropped.push(field.pointer());
                }
            }
            if self.validator.is_valid(&value) {
                return Ok((value, dropped));
            }
        }
        Err(whole("has too many fields that its schema does not know; give the known ones alone"))
    }

    fn findings(&self, value: &Value, quote: Quote) -> Result<Findings, Vec<Fault>> {
        let looks = effort::looks(&self.root, self.extent, value, ALL_FAULTS);
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
