//! Changes the files that it is told to, and ends as it is told to.

use std::collections::BTreeMap;
use std::hint::black_box;

use airlock_sdk::files::{self, Error};
use airlock_sdk::{
    Access, Cleanup, Context, Declaration, Origin, Repeat, Risk, Tool, ToolError, http, saved,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

airlock_sdk::export!(reader scribe: Change);

/// One thing to do.
#[derive(Deserialize, JsonSchema)]
struct Step {
    r#do: Do,
    #[serde(default = "outbox")]
    directory: String,
    #[serde(default)]
    path: String,
    /// Where something moves to, or a request goes.
    #[serde(default)]
    to: String,
    #[serde(default)]
    text: String,
    /// How often the text is written one after the other.
    #[serde(default = "one")]
    repeated: usize,
    /// How often it is done.
    #[serde(default = "one")]
    times: usize,
    /// From which attempt on it is done.
    #[serde(default)]
    from: u32,
}

fn outbox() -> String {
    "outbox".to_owned()
}

fn one() -> usize {
    1
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Do {
    Write,
    Append,
    Make,
    Move,
    Remove,
    Read,
    /// As programs read, without the SDK.
    Std,
    Look,
    Post,
    /// Saves the text for the next attempt.
    Save,
    /// Tells what was saved.
    Saved,
}

/// How a call can end other than well.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum End {
    Trap,
    Loop,
    Rejected,
    Transient,
    Foreign,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: Vec<Step>,
    /// How it ends after all is done.
    then: Option<End>,
    /// In how many attempts it ends so; in all of them where absent.
    attempts: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    /// What came of each step; where it was done several times, how often each thing was said.
    said: Vec<String>,
}

impl Step {
    fn once(&self, context: &Context) -> Result<String, Error> {
        let directory = files::directory(&self.directory);
        match self.r#do {
            Do::Write => directory.write(&self.path, self.text.repeat(self.repeated))?,
            Do::Append => directory.append(&self.path, self.text.repeat(self.repeated))?,
            Do::Make => directory.create_directory(&self.path)?,
            Do::Move => directory.rename(&self.path, &self.to)?,
            Do::Remove => directory.remove(&self.path)?,
            Do::Read => return directory.text(&self.path),
            Do::Std => {
                let read = std::fs::read_to_string(format!("{}/{}", self.directory, self.path));
                return read.map_err(|error| Error::Other(format!("{:?}", error.kind())));
            }
            Do::Look => return directory.stat(&self.path).map(|entry| format!("{:?}", entry.kind)),
            Do::Post => {
                let sent = http::post(&self.to).body(self.text.as_bytes()).send();
                return Ok(sent.map_or_else(|error| format!("{error:?}"), |answer| answer.status.to_string()));
            }
            Do::Save => saved::save(&self.text).map_err(|error| Error::Other(error.message().to_owned()))?,
            Do::Saved => {
                let saved = context.saved.as_deref().map(String::from_utf8_lossy);
                return Ok(saved.map_or_else(|| "nothing".to_owned(), |saved| saved.into_owned()));
            }
        }
        Ok("done".to_owned())
    }

    fn run(&self, context: &Context) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..self.times {
            *counts.entry(self.once(context).unwrap_or_else(|error| format!("{error:?}"))).or_default() += 1;
        }
        let said: Vec<String> = counts
            .into_iter()
            .map(|(said, count)| if self.times == 1 { said } else { format!("{count} × {said}") })
            .collect();
        said.join("; ")
    }
}

/// Does several things, one after the other.
struct Change;

impl Tool for Change {
    const NAME: &'static str = "change";
    type Input = Steps;
    type Output = Answer;

    fn declare() -> Declaration {
        Declaration::new("Change files")
            .description("Changes files, as it is told.")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Once)
            .cleanup(Cleanup::Manual)
            .directory("outbox", Access::Write)
            .directory("archive", Access::Write)
            .directory("shelf", Access::Write)
            .directory("manuals", Access::Read)
            .http(Origin::granted().post([] as [&str; 0]))
    }

    fn call(steps: Steps, context: &Context) -> Result<Answer, ToolError> {
        let now = steps.steps.iter().filter(|step| step.from <= context.attempt);
        let said = now.map(|step| step.run(context)).collect();
        let ends = steps.attempts.is_none_or(|attempts| context.attempt <= attempts);
        match steps.then.filter(|_| ends) {
            None => Ok(Answer { said }),
            Some(End::Trap) => panic!("as it is told"),
            Some(End::Loop) => loop {
                black_box(());
            },
            Some(End::Rejected) => Err(ToolError::rejected("TOLD_REJECTED", "as it is told")),
            Some(End::Transient) => Err(ToolError::transient("TOLD_TRANSIENT", "as it is told")),
            Some(End::Foreign) => Err(std::io::Error::other("as it is told").into()),
        }
    }
}
