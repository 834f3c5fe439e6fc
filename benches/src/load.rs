//! Calls from two callers over two plugins, so many in flight, each under a key of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlock::host::{Host, Request};
use airlock::model::clock::{Clock as _, SystemClock};
use airlock::model::id::CallerName;
use airlock::model::reply::Reply;
use serde_json::{Value, json};

use crate::samples::Samples;

/// What makes the call of a number.
pub type Make = Arc<dyn Fn(usize) -> Request + Send + Sync>;

/// How a load went.
#[derive(Debug)]
pub struct Driven {
    /// From the first call to the last reply.
    pub took: Duration,
    /// How long each call took.
    pub each: Samples,
    calls: usize,
}

impl Driven {
    /// Calls per second.
    pub fn rate(&self) -> f64 {
        rate(self.calls, self.took)
    }
}

/// How many per second.
pub fn rate(count: usize, took: Duration) -> f64 {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    f64::from(count) / took.as_secs_f64()
}

/// Makes these calls, so many in flight at a time, and tells of each good reply.
///
/// # Panics
/// Where a call does not succeed.
pub async fn drive(
    host: &Host,
    calls: usize,
    in_flight: usize,
    make: &Make,
    told: impl Fn(usize, &Reply) + Clone + Send + 'static,
) -> Driven {
    let next = Arc::new(AtomicUsize::new(0));
    let clock = Arc::new(SystemClock::start());
    let mut clients = Vec::new();
    for _ in 0..in_flight {
        let (host, make, told) = (host.clone(), Arc::clone(make), told.clone());
        let (next, clock) = (Arc::clone(&next), Arc::clone(&clock));
        clients.push(tokio::spawn(async move {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return times;
                }
                let start = clock.steady();
                let reply = host.call(make(number)).await;
                times.push(clock.steady() - start);
                assert!(reply.ok(), "a call of the bench failed: {:?}", reply.body);
                told(number, &reply);
            }
        }));
    }
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.await.expect("no call of the bench fails"));
    }
    Driven { took: clock.steady(), each: Samples::of(times), calls }
}

/// Nobody is told.
pub fn nobody(_number: usize, _reply: &Reply) {}

/// Text of 1 KB.
pub fn kilobyte() -> String {
    "All of it is text that somebody could have written. ".repeat(20).chars().take(1000).collect()
}

/// Calls that read, of `echo.echo` and `twoface.say` in turn, 1 KB in and out, under keys with this beginning.
pub fn readings(keys: Option<String>) -> Make {
    let echo = request("first", "echo.echo", &json!({ "text": kilobyte() }));
    let data = json!({ "count": 1, "note": kilobyte() });
    let say = request("second", "twoface.say", &json!({ "say": { "reply": data.to_string() } }));
    in_turn([echo, say], keys)
}

/// Calls with one keyed effect each, of `courier.post_keyed` and `desk.create_ticket` in turn, 1 KB in.
pub fn writings(desk: &str, keys: Option<String>) -> Make {
    let job = json!({ "method": "POST", "url": format!("{desk}/tickets"), "body": kilobyte() });
    let post = request("first", "courier.post_keyed", &job);
    let ticket = json!({ "order_id": "A-1003", "subject": "late", "body": kilobyte() });
    in_turn([post, request("second", "desk.create_ticket", &ticket)], keys)
}

fn in_turn(calls: [Request; 2], keys: Option<String>) -> Make {
    Arc::new(move |number| {
        let [even, odd] = &calls;
        let call = if number.is_multiple_of(2) { even } else { odd };
        Request { key: keys.as_ref().map(|keys| format!("{keys}-{number}")), ..call.clone() }
    })
}

/// A call without a key.
pub fn request(caller: &str, tool: &str, input: &Value) -> Request {
    Request::new(tool, input.to_string(), CallerName(caller.to_owned()))
}
