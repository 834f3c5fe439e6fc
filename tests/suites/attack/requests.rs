//! Requests that a tool did not declare, or that nobody granted, and where a redirect leads.

use airlock_tests::backend::{Backend, Listener};
use airlock_tests::guests::COURIER;
use airlock_tests::world::{World, body};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Open, get, open, open_world, told};

/// A listener, and a host that may reach it in every way that is not the test's matter.
pub(super) async fn listened(config: impl Fn(&str) -> String) -> (Listener, Open) {
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", listener.address());
    let open = open(&[COURIER], &config(&url)).await;
    (listener, open)
}

/// Every request to this origin.
pub(super) fn everything(url: &str) -> String {
    grant(url, "[\"GET\", \"HEAD\", \"POST\", \"PUT\"]", "")
}

fn grant(url: &str, methods: &str, more: &str) -> String {
    format!(
        "[[plugin.courier.http]]\norigin = \"{url}\"\nmethods = {methods}\naddresses = [\"127.0.0.1\"]\n{more}\n"
    )
}

/// What the model sees, and what is kept for the operator; the port is none of the test's matter.
async fn refused(open: &Open, tool: &str, mut job: Value, url: &str) -> String {
    job["any_answer"] = json!(false);
    let reply = open.call(tool, job).await;
    assert!(!reply.ok(), "it was to be refused: {}", body(&reply));
    let error = body(&reply);
    let model = format!("{}: {}", error["code"].as_str().unwrap(), error["message"].as_str().unwrap());
    for told_to_the_operator_alone in ["[[plugin", "://", "127.0.0.1", "/orders", "/admin"] {
        assert!(!model.contains(told_to_the_operator_alone), "{model}");
    }
    assert_eq!(reply.meta.effects, 0, "it did not leave the sandbox");
    format!("model: {model}\nlog: {}", open.log(&reply).await).replace(url, "ORIGIN")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_is_not_declared_is_refused_though_it_is_granted() {
    let (listener, open) = listened(everything).await;
    let url = format!("http://{}", listener.address());
    let job = get(&format!("{url}/orders/7"));
    assert_snapshot!(refused(&open, "courier.fetch_fixed", job, &url).await, @r"
    model: REQUEST_REFUSED: the tool does not declare this origin
    log: host: refused GET ORIGIN/orders/7: the tool does not declare this origin
    ");
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_whose_configuration_is_missing_is_refused_with_the_line_that_sets_it() {
    let (listener, open) = listened(everything).await;
    let url = format!("http://{}", listener.address());
    let job = get(&format!("{url}/orders/7"));
    assert_snapshot!(refused(&open, "courier.fetch_configured", job.clone(), &url).await, @r#"
    model: REQUEST_REFUSED: the tool does not declare this origin
    log: host: refused GET ORIGIN/orders/7: the tool does not declare this origin; [plugin.courier] config = { backend_url = "ORIGIN" } would allow it
    "#);
    assert_eq!(listener.connections(), 0);

    let backend = Backend::start().await;
    let line = format!("[plugin.courier]\nconfig = {{ backend_url = \"{}\" }}\n", backend.url);
    let twin = super::open(&[COURIER], &(line + &everything(&backend.url))).await;
    let job = get(&format!("{}/orders/A-1002", backend.url));
    assert_eq!(twin.data("courier.fetch_configured", job).await["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_origin_still_needs_its_grant() {
    let line = |url: &str| format!("[plugin.courier]\nconfig = {{ backend_url = \"{url}\" }}\n");
    let (listener, open) = listened(line).await;
    let url = format!("http://{}", listener.address());
    let job = get(&format!("{url}/orders/7"));
    assert_snapshot!(refused(&open, "courier.fetch_configured", job, &url).await, @r#"
    model: REQUEST_REFUSED: the operator has not granted this origin
    log: host: refused GET ORIGIN/orders/7: the operator has not granted this origin; [[plugin.courier.http]] origin = "ORIGIN", methods = ["GET"], paths = ["/orders/7"] would allow it
    "#);
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_is_not_declared_is_refused_though_it_is_granted() {
    let (listener, open) = listened(everything).await;
    let url = format!("http://{}", listener.address());
    let job = json!({ "method": "PUT", "url": format!("{url}/orders/7") });
    assert_snapshot!(refused(&open, "courier.fetch", job, &url).await, @r"
    model: REQUEST_REFUSED: the tool does not declare the method PUT at this origin
    log: host: refused PUT ORIGIN/orders/7: the tool does not declare the method PUT at this origin
    ");
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_not_declared_is_refused_though_it_is_granted() {
    let (listener, open) = listened(everything).await;
    let url = format!("http://{}", listener.address());
    for path in ["/orders", "/orders/", "/orders/7/lines", "/ORDERS/7", "/orders;/7", "/", ""] {
        let reply = open.call("courier.narrow", get(&format!("{url}{path}"))).await;
        let data = body(&reply);
        assert!(
            told(&data).starts_with("Forbidden(\"the tool does not declare this path for GET"),
            "{path}: {data}"
        );
    }
    let job = get(&format!("{url}/orders/7/lines?id=1"));
    assert_snapshot!(refused(&open, "courier.narrow", job, &url).await, @r"
    model: REQUEST_REFUSED: the tool does not declare this path for GET at this origin
    log: host: refused GET ORIGIN/orders/7/lines: the tool does not declare this path for GET at this origin
    ");
    assert_eq!(listener.connections(), 0);

    let backend = Backend::start().await;
    let twin = super::open(&[COURIER], &everything(&backend.url)).await;
    let job = get(&format!("{}/orders/A-1002?id=1", backend.url));
    assert_eq!(twin.data("courier.narrow", job).await["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_nobody_granted_is_refused_with_the_line_that_would_grant_it() {
    let (listener, open) = listened(|_| String::new()).await;
    let url = format!("http://{}", listener.address());
    let job = get(&format!("{url}/orders/7?token=x"));
    assert_snapshot!(refused(&open, "courier.fetch", job, &url).await, @r#"
    model: REQUEST_REFUSED: the operator has not granted this origin
    log: host: refused GET ORIGIN/orders/7: the operator has not granted this origin; [[plugin.courier.http]] origin = "ORIGIN", methods = ["GET"], paths = ["/orders/7"] would allow it
    "#);
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_nobody_granted_is_refused_with_the_line_that_would_grant_it() {
    let (listener, open) = listened(|url| grant(url, "[\"HEAD\"]", "")).await;
    let url = format!("http://{}", listener.address());
    let job = get(&format!("{url}/orders/7"));
    assert_snapshot!(refused(&open, "courier.fetch", job, &url).await, @r#"
    model: REQUEST_REFUSED: the operator has not granted the method GET at this origin
    log: host: refused GET ORIGIN/orders/7: the operator has not granted the method GET at this origin; [[plugin.courier.http]] origin = "ORIGIN", methods = ["GET"], paths = ["/orders/7"] would allow it
    "#);
    assert_eq!(listener.connections(), 0);

    let backend = Backend::start().await;
    let twin = super::open(&[COURIER], &grant(&backend.url, "[\"GET\"]", "")).await;
    assert_eq!(
        twin.data("courier.fetch", get(&format!("{}/orders/A-1002", backend.url))).await["status"],
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_nobody_granted_is_refused_with_the_line_that_would_grant_it() {
    let paths = |url: &str| grant(url, "[\"GET\"]", "paths = [\"/orders/*\", \"/public/**\"]");
    let (listener, open) = listened(paths).await;
    let url = format!("http://{}", listener.address());
    let job = get(&format!("{url}/admin/users"));
    assert_snapshot!(refused(&open, "courier.fetch", job, &url).await, @r#"
    model: REQUEST_REFUSED: the operator has not granted this path for GET at this origin
    log: host: refused GET ORIGIN/admin/users: the operator has not granted this path for GET at this origin; [[plugin.courier.http]] origin = "ORIGIN", methods = ["GET"], paths = ["/admin/users"] would allow it
    "#);
    assert_eq!(listener.connections(), 0);

    let backend = Backend::start().await;
    let twin = super::open(&[COURIER], &paths(&backend.url)).await;
    assert_eq!(
        twin.data("courier.fetch", get(&format!("{}/orders/A-1002", backend.url))).await["status"],
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_that_would_allow_a_request_does_allow_it() {
    let backend = Backend::start().await;
    let ungranted = open(&[COURIER], "").await;
    let job = get(&format!("{}/orders/A-1002?x=1", backend.url));
    let reply = ungranted.call("courier.fetch", job.clone()).await;
    let log = ungranted.log(&reply).await;
    let line = log.lines().find_map(|line| line.split_once("; [[")).expect("a line is offered").1;
    let line = line.strip_suffix(" would allow it").expect("it says what it is");
    // The line is written on one row; in the file each key has its own.
    let (header, keys) = line.split_once("]] ").unwrap();
    let keys = keys.replace(", methods", "\nmethods").replace(", paths", "\npaths");
    let granted = open(&[COURIER], &format!("[[{header}]]\n{keys}\naddresses = [\"127.0.0.1\"]")).await;
    assert_eq!(granted.data("courier.fetch", job).await["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_handed_back_and_what_it_points_to_is_checked_anew() {
    let backend = Backend::start().await;
    let listener = Listener::start_on("127.0.0.2:0".parse().unwrap()).unwrap();
    let open = open(&[COURIER], &everything(&backend.url)).await;
    let target = format!("http://{}/latest/meta-data", listener.address());
    for status in [301, 302, 303, 307, 308] {
        let job = get(&format!("{}/redirect?status={status}&to={target}", backend.url));
        let data = open.data("courier.fetch", job).await;
        assert_eq!(data["status"], status);
        assert!(data["headers"].as_array().unwrap().contains(&json!(["location", target])), "{data}");
    }
    assert_eq!(listener.connections(), 0);
    let data = open.data("courier.fetch", get(&target)).await;
    assert!(told(&data).starts_with("Forbidden("), "{data}");
    assert_eq!(listener.connections(), 0);

    // Granted with its address, the place that was pointed to is reached.
    let other = Backend::start_on("127.0.0.2:0".parse().unwrap()).await;
    let world = World::new().with_plugins(&[COURIER]).with_grant("courier", &other.url, &["127.0.0.2"]);
    let twin = open_world(world).await;
    assert_eq!(twin.data("courier.fetch", get(&format!("{}/orders/A-1002", other.url))).await["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_redirected_was_not_done() {
    let backend = Backend::start().await;
    let listener = Listener::start_on("127.0.0.2:0".parse().unwrap()).unwrap();
    let open = open(&[COURIER], &everything(&backend.url)).await;
    let url = format!("{}/redirect?status=307&to=http://{}/", backend.url, listener.address());
    let job = json!({ "method": "POST", "url": url, "body": "{}", "any_answer": true });
    let reply = open.call("courier.post_once", job).await;
    assert_eq!(body(&reply)["status"], 307);
    let record = open.host.run(&reply.meta.run.unwrap().to_string()).unwrap();
    assert_eq!((record.effects[0].state.word(), record.effects[0].status), ("refused", Some(307)));
    assert_eq!(listener.connections(), 0);
}
