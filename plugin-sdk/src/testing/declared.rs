//! Whether what a tool asks for is among what it declares.

use std::collections::BTreeMap;

use crate::Access;
use crate::bindings::reader::airlock::plugin::types::{HttpNeed, Need, Origin};

/// Whether a need of this list is meant by a request.
pub(super) fn sends(needs: &[Need], config: &BTreeMap<String, String>, method: &str, url: &str) -> bool {
    let (origin, path) = parts(url);
    let covers = |need: &HttpNeed| {
        at(&need.origin, config, &origin)
            && need.methods.iter().any(|one| one == method)
            && (need.paths.is_empty() || need.paths.iter().any(|pattern| matches(pattern, path)))
    };
    needs.iter().any(|need| matches!(need, Need::Http(need) if covers(need)))
}

/// Whether the secret is declared.
pub(super) fn uses(needs: &[Need], secret: &str) -> bool {
    needs.iter().any(|need| matches!(need, Need::Secret(need) if need.name == secret))
}

/// Whether the configuration value is declared, by itself or as a place that is sent to.
pub(super) fn reads(needs: &[Need], key: &str) -> bool {
    needs.iter().any(|need| matches!(need, Need::Config(declared) if declared == key))
}

/// Whether the plugin's own store is declared.
pub(super) fn keeps(needs: &[Need]) -> bool {
    needs.iter().any(|need| matches!(need, Need::KeyValue))
}

/// What the folder is declared for.
pub(super) fn borrows(needs: &[Need], folder: &str) -> Option<Access> {
    needs.iter().find_map(|need| match need {
        Need::Directory(need) if need.name == folder => Some(need.access),
        Need::Directory(_) | Need::Http(_) | Need::Secret(_) | Need::Config(_) | Need::KeyValue => None,
    })
}

/// The origin of a URL, without a port that goes without saying, and its path.
fn parts(url: &str) -> (String, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, after) = rest.split_at(end);
    let path = after.split(['?', '#']).next().unwrap_or_default();
    (plain(&format!("{scheme}://{host}")), if path.is_empty() { "/" } else { path })
}

fn plain(origin: &str) -> String {
    let origin = origin.trim_end_matches('/').to_ascii_lowercase();
    let usual = if origin.starts_with("https:") { ":443" } else { ":80" };
    origin.strip_suffix(usual).map(str::to_owned).unwrap_or(origin)
}

fn at(declared: &Origin, config: &BTreeMap<String, String>, origin: &str) -> bool {
    let pattern = match declared {
        Origin::Granted => return true,
        Origin::Fixed(pattern) => Some(pattern.as_str()),
        Origin::Configured(key) => config.get(key).map(String::as_str),
    };
    let Some(pattern) = pattern.map(plain) else { return false };
    match pattern.split_once("://*.") {
        None => pattern == origin,
        Some((scheme, domain)) => {
            let label =
                origin.strip_prefix(&format!("{scheme}://")).and_then(|host| host.strip_suffix(domain));
            let label = label.and_then(|label| label.strip_suffix('.'));
            label.is_some_and(|label| !label.is_empty() && !label.contains('.'))
        }
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let (fixed, rest) = match pattern.strip_suffix("/**") {
        Some(fixed) => (fixed, true),
        None => (pattern, false),
    };
    let (wanted, given): (Vec<&str>, Vec<&str>) = (fixed.split('/').collect(), path.split('/').collect());
    let long = given.len() == wanted.len() || rest && given.len() > wanted.len();
    long && wanted
        .iter()
        .zip(given)
        .all(|(wanted, given)| (*wanted == "*" && !given.is_empty()) || *wanted == given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_meant_as_the_host_means_it() {
        let at = |pattern: &str, url: &str| {
            at(&Origin::Fixed(pattern.to_owned()), &BTreeMap::new(), &parts(url).0)
        };
        assert!(at("https://desk.test", "https://desk.test:443/a?b"));
        assert!(at("https://Desk.test/", "https://desk.test"));
        assert!(!at("https://desk.test", "http://desk.test"));
        assert!(!at("https://desk.test", "https://desk.test.evil.test/"));
        assert!(at("https://*.desk.test", "https://a.desk.test/"));
        assert!(!at("https://*.desk.test", "https://a.b.desk.test/"));
        assert!(!at("https://*.desk.test", "https://desk.test/"));
        assert!(at("http://127.0.0.1:8080", "http://127.0.0.1:8080/a"));
    }

    #[test]
    fn a_path_is_meant_as_the_host_means_it() {
        assert!(matches("/orders/*", "/orders/1"));
        assert!(!matches("/orders/*", "/orders/"));
        assert!(!matches("/orders/*", "/orders/1/lines"));
        assert!(matches("/orders/**", "/orders/1/lines"));
        assert!(matches("/orders/**", "/orders"));
        assert!(!matches("/orders", "/orders/1"));
        assert!(matches("/**", "/"));
    }
}
