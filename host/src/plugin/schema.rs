//! Input and output against their schemas: every fault in words, and what the schema does not know taken out.

mod accept;
mod diagnose;
mod fields;
mod places;
mod words;

use jsonschema::Validator;
use serde_json::Value;

use self::diagnose::{Diagnosis, Findings};
use self::words::Quote;
use crate::model::canonical::{Fault, MOST_FAULTS};

/// Looks at a value after each time that fields were taken out; a schema in which one loss does not
/// bring the next is done at the second.
const MOST_LOOKS: usize = 16;

/// A compiled schema of an object.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    root: Value,
}

impl Schema {
    /// Compiles a schema of JSON Schema 2020-12.
    ///
    /// # Errors
    /// Where it is none, its root is no object, it refers outside itself or to itself without end, or has a
    /// pattern that cannot run in linear time; all faults at once, each a sentence about the schema.
    pub fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        let validator = accept::compile(schema)?;
        Ok(Self { validator, root: schema.clone() })
    }

    /// Checks what a caller gave, and takes out the fields that a closed object does not know; their
    /// pointers are returned. What means to change how the call is done, or resembles a known field, is a
    /// fault and stays.
    ///
    /// # Errors
    /// Where the value does not fit; at most ten faults, and the value is as it was.
    pub fn check_input(&self, value: &mut Value) -> Result<Vec<String>, Vec<Fault>> {
        if self.validator.is_valid(value) {
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
        if self.validator.is_valid(value) {
            return Ok(());
        }
        match self.trim(value.clone(), Quote::Kind) {
            Ok(_) => Ok(()),
            Err(faults) => Err(faults.iter().map(Fault::to_string).collect()),
        }
    }

    fn trim(&self, mut value: Value, quote: Quote) -> Result<(Value, Vec<String>), Vec<Fault>> {
        let mut dropped = Vec::new();
        for _ in 0..MOST_LOOKS {
            let findings = Diagnosis::new(&self.root, &value, quote).findings(&self.validator);
            let Findings { faults, unknown, .. } = findings;
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
        Err(first(Vec::new()))
    }
}

/// The fields that any part of a schema names at its root.
pub fn fields_at_root(schema: &Value) -> Vec<&str> {
    places::known_fields(schema, "")
}

fn first(faults: Vec<Fault>) -> Vec<Fault> {
    let mut first: Vec<Fault> = Vec::new();
    for fault in faults {
        if first.len() < MOST_FAULTS && !first.contains(&fault) {
            first.push(fault);
        }
    }
    if first.is_empty() {
        first.push(Fault {
            path: String::new(),
            text: "does not fit its schema; give the known fields alone".to_owned(),
        });
    }
    first
}

#[cfg(test)]
mod tests;
