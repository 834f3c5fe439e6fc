//! What the backend answers where: the desk's routes, some for tests, and those that steer it.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{any, get, post, put};
use serde_json::{Map, Value, json};

use super::Shared;
use super::desk::{self, Changed, Opened};
use super::fault::Asked;
use super::stream::Flood;

type Shop = State<Arc<Shared>>;
type Fields = Query<HashMap<String, String>>;

/// Marks an answer that did no work, since its key had done it before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replayed;

/// Everything that the backend answers.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/orders", get(find_orders))
        .route("/orders/{id}", get(get_order))
        .route("/tickets", get(list_tickets).post(open_ticket))
        .route("/tickets/{id}", get(get_ticket))
        .route("/tickets/{id}/assignee", put(assign_ticket))
        .route("/tickets/{id}/cancel", post(cancel_ticket))
        .route("/mails", get(list_mails).post(send_mail))
        .route("/settings/{name}", put(put_setting).get(get_setting))
        .route("/help", get(help))
        .route("/search", post(search))
        .route("/echo", get(echo).post(echo))
        .route("/things/{*path}", any(thing))
        .route("/bytes", get(bytes))
        .route("/endless", get(endless))
        .route("/slow-body", get(slow_body))
        .route("/redirect", any(redirect))
        .route("/faults", get(list_faults).post(ask_fault).delete(clear_faults))
        .route("/counts", get(counts))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .with_state(shared)
}

/// Whether a path steers the backend: such requests are neither counted nor do they go wrong.
pub(super) fn is_control(path: &str) -> bool {
    matches!(path, "/faults" | "/counts")
}

/// The key of a request, as far as it is text.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The one form of every error.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({ "error": { "code": code, "message": message } }))).into_response()
}

/// Prints a line; standard output that is closed is nobody's fault here.
pub(super) fn print(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

async fn find_orders(Query(query): Fields) -> Response {
    let name = query.get("name").map_or("", String::as_str);
    Json(json!({ "orders": desk::orders_of(name) })).into_response()
}

async fn get_order(Path(id): Path<String>) -> Response {
    match desk::order_of(&id) {
        Some(order) => Json(order).into_response(),
        None => error(StatusCode::NOT_FOUND, "ORDER_NOT_FOUND", &format!("no order has the number {id}")),
    }
}

async fn search(body: Bytes) -> Response {
    match object(&body) {
        Ok(fields) => {
            let name = fields.get("query").and_then(Value::as_str).unwrap_or_default();
            Json(json!({ "orders": desk::orders_of(name) })).into_response()
        }
        Err(refusal) => refusal,
    }
}

async fn open_ticket(State(shop): Shop, headers: HeaderMap, body: Bytes) -> Response {
    if !may_write(&headers, shop.token.as_deref()) {
        let mut refusal = error(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "a bearer token is needed");
        refusal.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refusal;
    }
    let fields = match object(&body) {
        Ok(fields) => fields,
        Err(refusal) => return refusal,
    };
    let key = idempotency_key(&headers);
    let opened = shop.lock().desk.open_ticket(key.as_deref(), &body, &fields);
    match opened {
        Opened::Fresh(ticket) => created(&ticket),
        Opened::Again(ticket) => {
            let mut answer = created(&ticket);
            answer.extensions_mut().insert(Replayed);
            answer
        }
        Opened::OtherBody => error(
            StatusCode::UNPROCESSABLE_ENTITY,
            "KEY_REUSED",
            "this key opened a ticket with another body",
        ),
    }
}

/// The same bytes and headers each time for the same ticket.
fn created(ticket: &Value) -> Response {
    let id = ticket["ticket_id"].as_str().unwrap_or_default();
    let headers = [(header::LOCATION, format!("/tickets/{id}")), (header::ETAG, format!("\"{id}-1\""))];
    (StatusCode::CREATED, headers, Json(ticket)).into_response()
}

async fn list_tickets(State(shop): Shop, Query(query): Fields) -> Response {
    let state = shop.lock();
    let tickets = match query.get("key") {
        Some(key) => state.desk.ticket_of_key(key).into_iter().collect(),
        None => state.desk.tickets(),
    };
    Json(json!({ "tickets": tickets })).into_response()
}

async fn get_ticket(State(shop): Shop, Path(id): Path<String>) -> Response {
    match shop.lock().desk.ticket(&id) {
        Some((ticket, state)) => ([(header::ETAG, state)], Json(ticket)).into_response(),
        None => no_ticket(&id),
    }
}

async fn assign_ticket(
    State(shop): Shop,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match object(&body) {
        Ok(mut fields) => {
            let who = fields.remove("assignee").unwrap_or_default();
            change(&shop, &id, ("assignee", who), &headers)
        }
        Err(refusal) => refusal,
    }
}

async fn cancel_ticket(State(shop): Shop, Path(id): Path<String>, headers: HeaderMap) -> Response {
    change(&shop, &id, ("status", "cancelled".into()), &headers)
}

/// Changes a ticket, where it is in the state that `If-Match` names; what is so already is no work.
fn change(shop: &Shared, id: &str, field: (&str, Value), headers: &HeaderMap) -> Response {
    let asked = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
    let changed = shop.lock().desk.change_ticket(id, field, asked);
    match changed {
        Changed::Now(ticket, state) => ([(header::ETAG, state)], Json(ticket)).into_response(),
        Changed::Already(ticket, state) => {
            let mut answer = ([(header::ETAG, state)], Json(ticket)).into_response();
            answer.extensions_mut().insert(Replayed);
            answer
        }
        Changed::Otherwise => {
            error(StatusCode::PRECONDITION_FAILED, "TICKET_CHANGED", "the ticket is in another state")
        }
        Changed::Missing => no_ticket(id),
    }
}

fn no_ticket(id: &str) -> Response {
    error(StatusCode::NOT_FOUND, "TICKET_NOT_FOUND", &format!("no ticket has the number {id}"))
}

async fn list_mails(State(shop): Shop, Query(query): Fields) -> Response {
    let state = shop.lock();
    let wanted = |mail: &&Value| {
        query.get("reference").is_none_or(|reference| mail["reference"] == reference.as_str())
    };
    let mails: Vec<Value> = state.desk.mails().iter().filter(wanted).cloned().collect();
    Json(json!({ "mails": mails })).into_response()
}

async fn send_mail(State(shop): Shop, body: Bytes) -> Response {
    match object(&body) {
        Ok(fields) => {
            let mail = shop.lock().desk.send_mail(&fields);
            (StatusCode::ACCEPTED, Json(mail)).into_response()
        }
        Err(refusal) => refusal,
    }
}

/// A page for people, who see neither its script nor what is hidden.
async fn help() -> Response {
    Html(include_str!("help.html")).into_response()
}

async fn put_setting(State(shop): Shop, Path(name): Path<String>, body: Bytes) -> Response {
    let Ok(value) = serde_json::from_slice::<Value>(&body) else {
        return error(StatusCode::BAD_REQUEST, "BAD_REQUEST", "the body is not JSON");
    };
    shop.lock().desk.set(&name, value.clone());
    Json(json!({ "name": name, "value": value })).into_response()
}

async fn get_setting(State(shop): Shop, Path(name): Path<String>) -> Response {
    match shop.lock().desk.settings().get(&name) {
        Some(setting) => Json(json!({ "name": name, "value": setting.value })).into_response(),
        None => error(StatusCode::NOT_FOUND, "SETTING_NOT_FOUND", &format!("no setting is named {name}")),
    }
}

async fn echo(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let mut told = Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter();
        let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        told.insert(name.to_string(), Value::from(values.join(", ")));
    }
    Json(json!({
        "method": method.as_str(),
        "path": uri.path(),
        "query": uri.query(),
        "headers": told,
        "body": String::from_utf8_lossy(&body),
    }))
    .into_response()
}

async fn thing(method: Method, uri: Uri) -> Response {
    Json(json!({ "method": method.as_str(), "path": uri.path() })).into_response()
}

async fn bytes(Query(query): Fields) -> Response {
    let Some(length) = number(&query, "n") else {
        return error(StatusCode::BAD_REQUEST, "BAD_REQUEST", "n says how many bytes");
    };
    flood(Flood::fast(Some(length)))
}

async fn endless() -> Response {
    flood(Flood::fast(None))
}

async fn slow_body(Query(query): Fields) -> Response {
    let Some(ms) = number(&query, "ms") else {
        return error(StatusCode::BAD_REQUEST, "BAD_REQUEST", "ms says how long each byte takes");
    };
    flood(Flood::slow(number(&query, "n"), Duration::from_millis(ms)))
}

fn flood(body: Flood) -> Response {
    ([(header::CONTENT_TYPE, "text/plain")], Body::new(body)).into_response()
}

async fn redirect(Query(query): Fields) -> Response {
    let status = number(&query, "status").and_then(|status| u16::try_from(status).ok()).unwrap_or(302);
    let status = StatusCode::from_u16(status).ok().filter(StatusCode::is_redirection);
    match (status, query.get("to")) {
        (Some(status), Some(to)) => (status, [(header::LOCATION, to.as_str())]).into_response(),
        (None, _) => error(StatusCode::BAD_REQUEST, "BAD_REQUEST", "status is one that redirects"),
        (_, None) => error(StatusCode::BAD_REQUEST, "BAD_REQUEST", "to says where"),
    }
}

async fn list_faults(State(shop): Shop) -> Response {
    let faults = shop.lock().faults.pending();
    Json(json!({ "faults": faults })).into_response()
}

async fn ask_fault(State(shop): Shop, body: Bytes) -> Response {
    let asked = serde_json::from_slice::<Asked>(&body).map_err(|fault| fault.to_string());
    match asked.and_then(|asked| Ok((asked.fault()?, asked))) {
        Ok((fault, asked)) => {
            let mut state = shop.lock();
            state.faults.push(&asked.path, fault, asked.times);
            (StatusCode::CREATED, Json(json!({ "faults": state.faults.pending() }))).into_response()
        }
        Err(reason) => error(StatusCode::BAD_REQUEST, "BAD_REQUEST", &reason),
    }
}

async fn clear_faults(State(shop): Shop) -> Response {
    shop.lock().faults.clear();
    StatusCode::NO_CONTENT.into_response()
}

async fn counts(State(shop): Shop, Query(query): Fields) -> Response {
    let mut state = shop.lock();
    let counts = state.counts();
    if query.contains_key("reset") {
        state.reset();
    }
    Json(counts).into_response()
}

async fn unknown_path(request: Request) -> Response {
    let message = format!("nothing is at {}", request.uri().path());
    error(StatusCode::NOT_FOUND, "NOT_FOUND", &message)
}

async fn unknown_method(method: Method, uri: Uri) -> Response {
    let message = format!("{} does not take {method}", uri.path());
    error(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", &message)
}

fn may_write(headers: &HeaderMap, token: Option<&str>) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim).unwrap_or_default();
    token.map_or(!given.is_empty(), |token| token == given)
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Response> {
    let refusal = || error(StatusCode::BAD_REQUEST, "BAD_REQUEST", "the body is not a JSON object");
    serde_json::from_slice(body).map_err(|_| refusal())
}

fn number(query: &HashMap<String, String>, name: &str) -> Option<u64> {
    query.get(name).and_then(|value| value.parse().ok())
}
