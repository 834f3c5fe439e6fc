//! Callers and on whose behalf they ask, scenes, and who is asked for a yes.

mod confirm;
mod scenes;
mod users;

use airlock::host::Request;
use serde_json::{Value, json};

use crate::call::as_caller;

/// A call of a caller for a user.
fn for_user(caller: &str, user: &str, request: Request) -> Request {
    Request { user: Some(user.parse().unwrap()), ..as_caller(caller, request) }
}

/// A call of a caller in a scene.
fn in_scene(caller: &str, scene: &str, request: Request) -> Request {
    Request { scene: Some(scene.parse().unwrap()), ..as_caller(caller, request) }
}

fn order() -> Value {
    json!({ "order_id": "A-1001" })
}

fn ticket() -> Value {
    json!({ "order_id": "A-1001", "subject": "s", "body": "b" })
}

fn mail() -> Value {
    json!({ "to": "ada@example.com", "subject": "s", "body": "b" })
}
