//! Sends the requests that it is told to, and ends as it is told to.

mod job;

use airlock_sdk::{Cleanup, Context, Declaration, HttpNeed, Origin, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use job::{Answer, Job};

airlock_sdk::export!(
    reader courier:
    Fetch,
    FetchConfigured,
    FetchFixed,
    Narrow,
    Put,
    PostKeyed,
    PostOnce,
    Sequence,
    SequenceKeyed,
);

/// Every path.
const ALL: [&str; 0] = [];

fn granted(method: &str) -> HttpNeed {
    Origin::granted().request(method, ALL)
}

fn reading(title: &str) -> Declaration {
    Declaration::new(title)
        .description(format!("{title}, as the job says."))
        .risk(Risk::BusinessRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
}

fn writing(title: &str, repeat: Repeat) -> Declaration {
    Declaration::new(title)
        .description(format!("{title}, as the job says."))
        .risk(Risk::LowRiskWrite)
        .repeat(repeat)
        .cleanup(Cleanup::Manual)
}

/// Reads, from wherever it is granted.
struct Fetch;

impl Tool for Fetch {
    const NAME: &'static str = "fetch";
    type Input = Job;
    type Output = Answer;

    fn declare() -> Declaration {
        reading("Fetch")
            .http(granted("GET"))
            .http(granted("HEAD"))
            .http(Origin::granted().post(["/search"]).reads())
    }

    fn call(job: Job, context: &Context) -> Result<Answer, ToolError> {
        job.run(context)
    }
}

/// Reads, from one configured origin.
struct FetchConfigured;

impl Tool for FetchConfigured {
    const NAME: &'static str = "fetch_configured";
    type Input = Job;
    type Output = Answer;

    fn declare() -> Declaration {
        reading("Fetch from a configured origin").http(Origin::configured("backend_url").get(ALL))
    }

    fn call(job: Job, context: &Context) -> Result<Answer, ToolError> {
        job.run(context)
    }
}

/// Reads, from origins that are written down.
struct FetchFixed;

impl Tool for FetchFixed {
    const NAME: &'static str = "fetch_fixed";
    type Input = Job;
    type Output = Answer;

    fn declare() -> Declaration {
        reading("Fetch from fixed origins")
            .http(Origin::fixed("http://allowed.test").get(ALL))
            .http(Origin::fixed("http://*.allowed.test:8080").get(ALL))
    }

    fn call(job: Job, context: &Context) -> Result<Answer, ToolError> {
        job.run(context)
    }
}

/// Reads orders by number and nothing else.
struct Narrow;

impl Tool for Narrow {
    const NAME: &'static str = "narrow";
    type Input = Job;
    type Output = Answer;

    fn declare() -> Declaration {
        reading("Fetch an order").http(Origin::granted().get(["/orders/*"]))
    }

    fn call(job: Job, context: &Context) -> Result<Answer, ToolError> {
        job.run(context)
    }
}

/// Writes what may be written twice.
struct Put;

impl Tool for Put {
    const NAME: &'static str = "put";
    type Input = Job;
    type Output = Answer;

    fn declare() -> Declaration {
        writing("Put", Repeat::Idempotent)
            .http(granted("PUT").idempotent())
            .http(granted("DELETE").idempotent())
    }

    fn call(job: Job, context: &Context) -> Result<Answer, ToolError> {
        job.run(context)
    }
}

/// Writes under a key.
struct PostKeyed;

impl Tool for PostKeyed {
    const NAME: &'static str = "post_keyed";
    type Input = Job;
    type Output = Answer;

    fn declare() -> Declaration {
        writing("Post under a key", Repeat::Keyed)
            .http(granted("POST").keyed("Idempotency-Key").clean_statuses([503]))
    }

    fn call(job: Job, context: &Context) -> Result<Answer, ToolError> {
        job.clean_statuses([503]).run(context)
    }
}

/// Writes what must not be written twice.
struct PostOnce;

impl Tool for PostOnce {
    const NAME: &'static str = "post_once";
    type Input = Job;
    type Output = Answer;

    fn declare() -> Declaration {
        writing("Post", Repeat::Once).http(granted("POST").clean_statuses([503])).http(granted("PATCH"))
    }

    fn call(job: Job, context: &Context) -> Result<Answer, ToolError> {
        job.clean_statuses([503]).run(context)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Jobs {
    jobs: Vec<Job>,
}

#[derive(Serialize, JsonSchema)]
struct Answers {
    answers: Vec<Answer>,
}

impl Jobs {
    fn run(self, context: &Context) -> Result<Answers, ToolError> {
        let answers = self.jobs.into_iter().map(|job| job.run(context));
        Ok(Answers { answers: answers.collect::<Result<_, _>>()? })
    }
}

/// Does several jobs of every kind; a POST to `/tickets` is keyed.
struct Sequence;

impl Tool for Sequence {
    const NAME: &'static str = "sequence";
    type Input = Jobs;
    type Output = Answers;

    fn declare() -> Declaration {
        writing("Do several jobs", Repeat::Once)
            .http(granted("GET"))
            .http(granted("PUT").idempotent())
            .http(Origin::granted().post(["/search"]).reads())
            .http(Origin::granted().post(["/tickets"]).keyed("Idempotency-Key"))
            .http(granted("POST"))
    }

    fn call(jobs: Jobs, context: &Context) -> Result<Answers, ToolError> {
        jobs.run(context)
    }
}

/// Does several jobs, of which each POST is keyed.
struct SequenceKeyed;

impl Tool for SequenceKeyed {
    const NAME: &'static str = "sequence_keyed";
    type Input = Jobs;
    type Output = Answers;

    fn declare() -> Declaration {
        writing("Do several jobs under keys", Repeat::Keyed)
            .http(granted("GET"))
            .http(granted("PUT").idempotent())
            .http(granted("POST").keyed("Idempotency-Key"))
    }

    fn call(jobs: Jobs, context: &Context) -> Result<Answers, ToolError> {
        jobs.run(context)
    }
}
