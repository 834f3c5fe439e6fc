//! Tools that ask the host for what they are told to, one thing after another, and tell what they were given.

use airlock_sdk::bindings::reader::airlock::plugin::{host, key_value};
use airlock_sdk::{Cleanup, Context, Declaration, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked for.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Page {
    /// A line each, in words: `set a 1`, `get a`, `fill a 65536`, `delete a`, `keys a`, `keys a after a/1`,
    /// `many m 1500`, `save x`, `bulk 1048577`, `saved`, `spend 20 tea`; and `fail`, `reject`, `trap`, `spin`.
    lines: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Answers {
    answers: Vec<String>,
}

pub(crate) struct Write;
pub(crate) struct Read;
pub(crate) struct Bare;
pub(crate) struct Priced;

fn writes(title: &str) -> Declaration {
    let declared = Declaration::new(title).description("Does what the lines say.");
    declared.risk(Risk::LowRiskWrite).repeat(Repeat::Idempotent).cleanup(Cleanup::Manual)
}

impl Tool for Write {
    const NAME: &'static str = "write";
    type Input = Page;
    type Output = Answers;

    fn declare() -> Declaration {
        writes("Write").key_value()
    }

    fn call(page: Page, context: &Context) -> Result<Answers, ToolError> {
        follow(&page, context)
    }
}

impl Tool for Read {
    const NAME: &'static str = "read";
    type Input = Page;
    type Output = Answers;

    fn declare() -> Declaration {
        let declared = Declaration::new("Read").description("Does what the lines say, and only reads.");
        declared.risk(Risk::BusinessRead).repeat(Repeat::Reads).cleanup(Cleanup::Nothing).key_value()
    }

    fn call(page: Page, context: &Context) -> Result<Answers, ToolError> {
        follow(&page, context)
    }
}

impl Tool for Bare {
    const NAME: &'static str = "bare";
    type Input = Page;
    type Output = Answers;

    fn declare() -> Declaration {
        writes("Bare")
    }

    fn call(page: Page, context: &Context) -> Result<Answers, ToolError> {
        follow(&page, context)
    }
}

impl Tool for Priced {
    const NAME: &'static str = "priced";
    type Input = Page;
    type Output = Answers;

    fn declare() -> Declaration {
        writes("Priced").cost_micros(500)
    }

    fn call(page: Page, context: &Context) -> Result<Answers, ToolError> {
        follow(&page, context)
    }
}

fn follow(page: &Page, context: &Context) -> Result<Answers, ToolError> {
    let mut answers = Vec::new();
    for line in &page.lines {
        answers.push(asked(line, context)?.unwrap_or_else(|refusal| format!("refused: {refusal}")));
    }
    Ok(Answers { answers })
}

/// What the host gives; or how the call ends.
fn asked(line: &str, context: &Context) -> Result<Result<String, String>, ToolError> {
    let words: Vec<&str> = line.split(' ').collect();
    let number = |text: &str| text.parse::<usize>().unwrap_or_default();
    let done = |told: Result<(), String>| told.map(|()| "done".to_owned());
    Ok(match words.as_slice() {
        ["set", key, value] => done(key_value::set(key, value.as_bytes())),
        ["fill", key, size] => done(key_value::set(key, &vec![b'x'; number(size)])),
        ["many", prefix, count] => {
            done((0..number(count)).try_for_each(|n| key_value::set(&format!("{prefix}{n:04}"), b"x")))
        }
        ["delete", key] => done(key_value::delete(key)),
        ["get", key] => key_value::get(key).map(|value| value.map_or("nothing".to_owned(), text)),
        ["longkey", size] => done(key_value::set(&"k".repeat(number(size)), b"x")),
        ["keys", prefix] => key_value::keys(prefix, None).map(|keys| keys.join(" ")),
        ["keys", prefix, "after", after] => key_value::keys(prefix, Some(after)).map(|keys| keys.join(" ")),
        ["count", prefix] => key_value::keys(prefix, None).map(|keys| keys.len().to_string()),
        ["save", saved] => done(host::save(saved.as_bytes())),
        ["bulk", size] => done(host::save(&vec![b's'; number(size)])),
        ["saved"] => Ok(context.saved.clone().map_or("nothing".to_owned(), text)),
        ["attempt"] => Ok(context.attempt.to_string()),
        ["spend", micros, what] => done(host::spend(micros.parse().unwrap_or_default(), what)),
        ["fail"] if context.attempt == 1 => return Err(ToolError::transient("NOT_NOW", "not now")),
        ["reject"] => return Err(ToolError::rejected("NEVER", "never")),
        ["trap"] => panic!("as it was told to"),
        ["spin"] => loop {
            std::hint::black_box(());
        },
        _ => Ok("nothing is asked for".to_owned()),
    })
}

fn text(bytes: Vec<u8>) -> String {
    if bytes.len() > 100 {
        format!("{} bytes", bytes.len())
    } else {
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
