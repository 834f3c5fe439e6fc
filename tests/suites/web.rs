//! The plugin `web` through the sandbox: what it reads, what it refuses, and what no page can make it do.

mod hostile;
mod pages;
mod redirects;
mod refusals;

use airlock_tests::guests::WEB;
use airlock_tests::site::Site;
use airlock_tests::world::{World, body};
use serde_json::{Value, json};

use crate::attack::{Open, open_world};

/// A host whose `web` may fetch whatever is at these places.
async fn granted(urls: &[&str], config: &str) -> Open {
    let grant = |world: World, url: &&str| world.with_grant("web", url, &["127.0.0.1"]);
    open_world(urls.iter().fold(World::new().with_plugins(&[WEB]), grant).with_config(config)).await
}

async fn toward(site: &Site) -> Open {
    granted(&[&site.url], "").await
}

/// What is fetched from there.
async fn fetched(open: &Open, url: &str) -> Value {
    open.data("web.fetch", json!({ "url": url })).await
}

/// The error of a fetch that must fail, with the site's address made out.
async fn refused(open: &Open, url: &str) -> Value {
    let reply = open.call("web.fetch", json!({ "url": url })).await;
    assert!(!reply.ok(), "{}", body(&reply));
    body(&reply)
}

/// A value as it is shown, with a site's address made out.
fn shown(value: &Value, site: &Site) -> String {
    serde_json::to_string_pretty(value).unwrap().replace(&site.url, "SITE")
}

/// Code, kind and message of an error, on one line.
fn told(error: &Value) -> String {
    let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
    format!("{} {}: {}", text("kind"), text("code"), text("message"))
}
