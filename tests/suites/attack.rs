//! Hostile guests: each is stopped, and each has a twin that succeeds once it is granted what it asks for.

mod addresses;
mod answers;
mod heap;
mod hoards;
mod languages;
mod limits;
mod malformed;
mod memories;
mod names;
mod output;
mod requests;
mod secrets;
mod texts;
mod wire;

use airlock::host::Host;
use airlock::model::reply::Reply;
use airlock_tests::world::{World, body, code, request};
use serde_json::{Value, json};

/// A world and a host on it; the world goes last.
pub(crate) struct Open {
    pub(crate) host: Host,
    pub(crate) world: World,
}

/// Opens a host on a world with these plugins and this configuration.
pub(crate) async fn open(plugins: &[&str], config: &str) -> Open {
    open_world(World::new().with_plugins(plugins).with_config(config)).await
}

pub(crate) async fn open_world(world: World) -> Open {
    let host = world.open().await;
    assert_eq!(host.faults(), [], "every plugin loads");
    Open { host, world }
}

impl Open {
    pub(crate) async fn call(&self, tool: &str, input: Value) -> Reply {
        self.host.call(request(tool, &input)).await
    }

    /// `ok`, or the code of the error.
    pub(crate) async fn code(&self, tool: &str, input: Value) -> String {
        code(&self.call(tool, input).await)
    }

    /// What a call gives where it must succeed.
    pub(crate) async fn data(&self, tool: &str, input: Value) -> Value {
        let reply = self.call(tool, input).await;
        assert!(reply.ok(), "{tool}: {}", body(&reply));
        body(&reply)
    }

    /// Everything that is kept of a call: its record, and the log of its last attempt.
    pub(crate) async fn log(&self, reply: &Reply) -> String {
        let run = reply.meta.run.expect("the call was carried out");
        // What only reads is recorded without being waited for.
        self.host.clone().close().await;
        let record = self.host.run(&run.to_string()).expect("the run is kept");
        record.attempts.last().expect("an attempt was made").log.clone()
    }
}

/// A GET that takes every answer for one.
pub(crate) fn get(url: &str) -> Value {
    json!({ "method": "GET", "url": url, "any_answer": true })
}

/// What the guest was told where it got no answer.
pub(crate) fn told(data: &Value) -> &str {
    assert_eq!(data["status"], 0, "no answer was to come: {data}");
    data["body"].as_str().expect("the guest says why")
}
