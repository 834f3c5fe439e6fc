//! Redirects: followed within a site, told where they leave it.

use airlock_tests::backend::Listener;
use airlock_tests::guests::WEB;
use airlock_tests::site::{Page, Site};
use airlock_tests::world::World;
use insta::assert_snapshot;
use serde_json::json;

use super::{fetched, granted, refused, shown, told, toward};
use crate::attack::open_world;

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_within_the_site_is_followed_and_the_last_address_is_told() {
    let mut site = Site::start().await.with("/docs/6", Page::new("text/plain", "there"));
    for (at, status) in [(1, 301), (2, 302), (3, 303), (4, 307), (5, 308)] {
        site = site.with(&format!("/docs/{at}"), Page::redirect(status, &format!("{}#part", at + 1)));
    }
    let open = toward(&site).await;
    let page = fetched(&open, &site.at("/docs/1")).await;
    assert_eq!((&page["text"], &page["url"]), (&json!("there"), &json!(site.at("/docs/6"))));
    assert_eq!(site.targets(), ["/docs/1", "/docs/2", "/docs/3", "/docs/4", "/docs/5", "/docs/6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_without_an_end_end() {
    let site = Site::start().await.with("/loop", Page::redirect(302, "/loop"));
    let open = toward(&site).await;
    assert_snapshot!(shown(&refused(&open, &site.at("/loop")).await, &site), @r#"
    {
      "code": "TOO_MANY_REDIRECTS",
      "kind": "rejected",
      "message": "the page redirects more than 5 times",
      "retryable": false,
      "action": "tell_user",
      "retry_after_ms": 0,
      "details": {
        "location": "SITE/loop"
      }
    }
    "#);
    assert_eq!(site.targets().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_another_origin_is_told_and_not_followed() {
    let other = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let elsewhere = format!("http://{}/moved?x=1#part", other.address());
    let same_host = format!("https://127.0.0.1:{}/", other.address().port());
    let site = Site::start()
        .await
        .with("/out", Page::redirect(301, &elsewhere))
        .with("/secure", Page::redirect(301, &same_host))
        .with("/first", Page::redirect(302, "/out"));
    // Also where the other origin is granted: it is the caller who decides to go there.
    let open = granted(&[&site.url, &format!("http://{}", other.address())], "").await;
    let error = refused(&open, &site.at("/out")).await;
    assert_snapshot!(shown(&error, &site).replace(&other.address().to_string(), "OTHER"), @r#"
    {
      "code": "REDIRECTED_ELSEWHERE",
      "kind": "rejected",
      "message": "the page is at another origin; fetch details.location if that is wanted",
      "retryable": false,
      "action": "tell_user",
      "retry_after_ms": 0,
      "details": {
        "location": "http://OTHER/moved?x=1"
      }
    }
    "#);
    assert_eq!(refused(&open, &site.at("/first")).await, error);
    let error = refused(&open, &site.at("/secure")).await;
    assert_eq!(
        (&error["code"], &error["details"]["location"]),
        (&json!("REDIRECTED_ELSEWHERE"), &json!(same_host))
    );
    assert_eq!(other.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_of_a_redirect_must_be_granted() {
    let site = Site::start()
        .await
        .with("/open/a", Page::redirect(302, "/closed/b"))
        .with("/closed/b", Page::new("text/plain", "secret"));
    let grant = format!(
        "[[plugin.web.http]]\norigin = \"{}\"\nmethods = [\"GET\"]\npaths = [\"/open/**\"]\naddresses = [\"127.0.0.1\"]",
        site.url
    );
    let open = open_world(World::new().with_plugins(&[WEB]).with_config(&grant)).await;
    let error = refused(&open, &site.at("/open/a")).await;
    assert_snapshot!(told(&error).replace(&site.url, "SITE"), @"denied REQUEST_REFUSED: the operator has not granted this path for GET at this origin");
    assert_eq!(site.targets(), ["/open/a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_that_leads_nowhere_is_said_to() {
    let site = Site::start()
        .await
        .with("/none", Page::status(302))
        .with("/script", Page::redirect(302, "javascript:alert(1)"))
        .with("/file", Page::redirect(302, "file:///etc/passwd"))
        .with("/credentials", Page::redirect(302, "http://user:password@127.0.0.1/"))
        .with("/not-modified", Page::status(304))
        .with("/choices", Page::status(300));
    let open = toward(&site).await;
    let mut said = Vec::new();
    for place in ["/none", "/script", "/file", "/credentials", "/not-modified", "/choices"] {
        said.push(format!("{place}\n  {}", told(&refused(&open, &site.at(place)).await)));
    }
    assert_snapshot!(said.join("\n"), @r#"
    /none
      rejected BAD_REDIRECT: the page redirects to nothing that can be fetched
    /script
      rejected BAD_REDIRECT: the page redirects to nothing that can be fetched
    /file
      rejected BAD_REDIRECT: the page redirects to nothing that can be fetched
    /credentials
      rejected BAD_REDIRECT: the page redirects to nothing that can be fetched
    /not-modified
      rejected PAGE_REFUSED: the site gives no page; it answers with status 304
    /choices
      rejected PAGE_REFUSED: the site gives no page; it answers with status 300
    "#);
}
