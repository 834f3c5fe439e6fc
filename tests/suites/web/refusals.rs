//! What a caller is told where there is no page to read.

use airlock_tests::backend::{Backend, Fault, Listener, Moment};
use airlock_tests::guests::WEB;
use airlock_tests::site::{Page, Site};
use airlock_tests::world::World;
use insta::assert_snapshot;
use serde_json::json;

use super::{granted, refused, shown, told, toward};
use crate::attack::open_world;

#[tokio::test(flavor = "multi_thread")]
async fn each_status_means_something_to_the_caller() {
    let mut site = Site::start().await;
    let statuses = [400, 401, 403, 404, 405, 410, 418, 451];
    for status in statuses {
        site = site.with(&format!("/{status}"), Page::status(status));
    }
    let open = toward(&site).await;
    let mut said = Vec::new();
    for status in statuses {
        let error = refused(&open, &site.at(&format!("/{status}"))).await;
        assert_eq!(error["details"]["status"], status);
        said.push(format!("{status} {}", told(&error)));
    }
    assert_snapshot!(said.join("\n"), @r#"
    400 rejected PAGE_REFUSED: the site gives no page; it answers with status 400
    401 denied PAGE_DENIED: the site does not give this page out
    403 denied PAGE_DENIED: the site does not give this page out
    404 rejected NOT_FOUND: the site has no such page
    405 rejected PAGE_REFUSED: the site gives no page; it answers with status 405
    410 rejected NOT_FOUND: the site has no such page
    418 rejected PAGE_REFUSED: the site gives no page; it answers with status 418
    451 rejected PAGE_REFUSED: the site gives no page; it answers with status 451
    "#);
    assert_snapshot!(shown(&refused(&open, &site.at("/404")).await, &site), @r#"
    {
      "code": "NOT_FOUND",
      "kind": "rejected",
      "message": "the site has no such page",
      "retryable": false,
      "action": "tell_user",
      "retry_after_ms": 0,
      "details": {
        "status": 404
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_asks_to_wait_is_given_the_time_that_it_names() {
    let site = Site::start().await.with("/busy", Page::status(429).header("retry-after", "3600"));
    let open = toward(&site).await;
    assert_snapshot!(shown(&refused(&open, &site.at("/busy")).await, &site), @r#"
    {
      "code": "BACKEND_THROTTLED",
      "kind": "throttled",
      "message": "the backend asks to slow down",
      "retryable": true,
      "action": "retry_later",
      "retry_after_ms": 3600000
    }
    "#);
    assert_eq!(site.targets().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_fails_or_is_not_there_may_be_asked_again_later() {
    let backend = Backend::start().await;
    let gone = Site::start().await;
    let nobody = gone.url.clone();
    drop(gone);
    let open = granted(&[&backend.url, &nobody], &crate::call::singly("")).await;
    let place = format!("{}/orders/A-1002", backend.url);
    let mut said = Vec::new();
    for (fault, times) in [
        (Fault::status(Moment::BeforeWork, 500), 10),
        (Fault::status(Moment::BeforeWork, 503), 10),
        (Fault::status(Moment::BeforeWork, 408), 10),
        (Fault::cut(Moment::BeforeWork), 10),
        (Fault::cut(Moment::AfterHead), 10),
    ] {
        let name = fault.to_string();
        backend.fault("/orders", fault, times);
        let error = refused(&open, &place).await;
        assert!(
            error["retryable"].as_bool().unwrap() && error["details"].get("location").is_none(),
            "{error}"
        );
        said.push(format!("{name}\n  {}", told(&error)));
        backend.clear_faults();
    }
    said.push(format!("nobody listens\n  {}", told(&refused(&open, &format!("{nobody}/")).await)));
    assert_snapshot!(said.join("\n"), @r#"
    status 500 before the work
      transient BACKEND_FAILED: the backend failed, and nothing was done
    status 503 before the work
      transient BACKEND_FAILED: the backend failed, and nothing was done
    status 408 before the work
      transient BACKEND_FAILED: the backend failed, and nothing was done
    line cut before the work
      transient ANSWER_BROKEN: the answer broke off
    line cut after the head of the answer
      transient ANSWER_BROKEN: the answer broke off
    nobody listens
      transient BACKEND_UNREACHABLE: the backend cannot be reached
    "#);
    assert_eq!(open.code("web.fetch", json!({ "url": place })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_granted_is_refused_with_the_rule() {
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let (address, port) = (listener.address().to_string(), listener.address().port());
    let site = Site::start().await;
    let open = toward(&site).await;
    let error = refused(&open, &format!("http://{address}/secret?key=1")).await;
    assert_snapshot!(shown(&error, &site).replace(&address, "OTHER"), @r#"
    {
      "code": "REQUEST_REFUSED",
      "kind": "denied",
      "message": "the operator has not granted this origin",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    // A name that leads to this machine, granted by name alone.
    let by_name =
        World::new().with_plugins(&[WEB]).with_grant("web", &format!("http://localhost:{port}"), &[]);
    let open = open_world(by_name).await;
    let error = refused(&open, &format!("http://localhost:{port}/")).await;
    assert_snapshot!(told(&error), @"denied REQUEST_REFUSED: the name leads to a loopback address, which must be granted by address");
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_is_refused_by_its_type() {
    let site = Site::start()
        .await
        .with("/pdf", Page::new("application/pdf", b"%PDF-1.7".to_vec()))
        .with("/png", Page::new("Image/PNG", b"\x89PNG".to_vec()))
        .with("/svg", Page::new("image/svg+xml", "<svg/>"))
        .with("/zip", Page::html("x").header("content-encoding", "gzip"))
        .with("/unknown", Page::new("", b"\x7fELF\0\xff".to_vec()));
    let open = toward(&site).await;
    let mut said = Vec::new();
    for place in ["/pdf", "/png", "/svg", "/zip", "/unknown"] {
        let error = refused(&open, &site.at(place)).await;
        said.push(format!("{} {}", told(&error), error["details"]));
    }
    assert_snapshot!(said.join("\n"), @r#"
    rejected UNSUPPORTED_TYPE: only pages, JSON and plain text can be read, and this is application/pdf {"content_type":"application/pdf"}
    rejected UNSUPPORTED_TYPE: only pages, JSON and plain text can be read, and this is Image/PNG {"content_type":"Image/PNG"}
    rejected UNSUPPORTED_TYPE: only pages, JSON and plain text can be read, and this is image/svg+xml {"content_type":"image/svg+xml"}
    rejected UNSUPPORTED_TYPE: only pages, JSON and plain text can be read, and this is compressed with gzip {"content_encoding":"gzip"}
    rejected UNSUPPORTED_TYPE: only pages, JSON and plain text can be read, and this is of no known type null
    "#);
}
