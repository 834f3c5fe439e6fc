//! What a tool needs, as it declares it: requests, secrets, folders, configuration.

use super::{Faults, MOST_LISTED, listed, shown, text};
use crate::model::manifest::{DeclaredOrigin, HttpNeed, Need, Repeat, SecretNeed};
use crate::model::method;
use crate::model::origin::{OriginPattern, PathPattern};
use crate::sandbox::capability::http::OWN;
use crate::sandbox::wit::types as declared;

/// Headers that have a use of their own, beside those that are the host's to write.
const TAKEN: &[&str] = &["authorization", "content-length", "content-type", "cookie"];

/// A name that an operator writes into the configuration.
const NAME_CHARS: usize = 128;

/// Reads all needs of a tool; those that cannot be read are left out, with a fault.
pub(super) fn read(faults: &mut Faults, needs: Vec<declared::Need>) -> Vec<Need> {
    listed(faults, "needs", needs.len());
    needs.into_iter().take(MOST_LISTED).filter_map(|need| read_one(faults, need)).collect()
}

fn read_one(faults: &mut Faults, need: declared::Need) -> Option<Need> {
    match need {
        declared::Need::Http(need) => http(faults, need).map(Need::Http),
        declared::Need::Directory(need) => {
            operators_name(faults, "the name of a directory", &need.name);
            let written = match need.access {
                declared::Access::Read => false,
                declared::Access::Write => true,
            };
            Some(Need::Directory(need.name, written))
        }
        declared::Need::Secret(need) => secret(faults, need).map(Need::Secret),
        declared::Need::Config(key) => {
            operators_name(faults, "a configuration key", &key);
            Some(Need::Config(key))
        }
        declared::Need::KeyValue => Some(Need::KeyValue),
    }
}

fn has_a_use(header: &str) -> bool {
    let lower = header.to_ascii_lowercase();
    OWN.contains(&lower.as_str()) || TAKEN.contains(&lower.as_str())
}

fn operators_name(faults: &mut Faults, what: &str, name: &str) {
    let unseen = |char: char| char.is_whitespace() || text::is_hidden(char);
    if name.is_empty() || name.chars().count() > NAME_CHARS || name.contains(unseen) {
        faults.add(format!(
            "{what} has 1 to {NAME_CHARS} visible characters and no space, and is {}",
            shown(name)
        ));
    }
}

fn origin(faults: &mut Faults, origin: declared::Origin) -> Option<DeclaredOrigin> {
    match origin {
        declared::Origin::Fixed(text) => match text.parse::<OriginPattern>() {
            Ok(pattern) => Some(DeclaredOrigin::Fixed(pattern)),
            Err(error) => {
                faults.add(format!("{error}, and one is {}", shown(&text)));
                None
            }
        },
        declared::Origin::Configured(key) => {
            operators_name(faults, "the configuration key of an origin", &key);
            Some(DeclaredOrigin::Configured(key))
        }
        declared::Origin::Granted => Some(DeclaredOrigin::Granted),
    }
}

fn http(faults: &mut Faults, need: declared::HttpNeed) -> Option<HttpNeed> {
    let origin = origin(faults, need.origin);
    listed(faults, "methods in one need", need.methods.len());
    listed(faults, "paths in one need", need.paths.len());
    methods(faults, &need.methods);
    let mut paths = Vec::new();
    for path in &need.paths {
        match path.parse::<PathPattern>() {
            Ok(pattern) => paths.push(pattern),
            Err(error) => faults.add(format!("{error}, and one is {}", shown(path))),
        }
    }
    let repeat: Repeat = need.repeat.into();
    idempotency_header(faults, repeat, need.idempotency_header.as_deref());
    for status in need.clean_statuses.iter().filter(|status| !(500..=599).contains(*status)) {
        faults.add(format!("`clean-statuses` holds statuses from 500 to 599, and one is {status}"));
    }
    Some(HttpNeed {
        origin: origin?,
        methods: need.methods,
        paths,
        repeat,
        idempotency_header: need.idempotency_header,
        clean_statuses: need.clean_statuses,
    })
}

fn methods(faults: &mut Faults, methods: &[String]) {
    if methods.is_empty() {
        faults.add("the methods of an HTTP need must be listed, such as GET, and the list is empty");
    }
    for method in methods {
        if let Err(why) = method::read(method) {
            faults.add(format!("{why}, and one is {}", shown(method)));
        }
    }
}

fn idempotency_header(faults: &mut Faults, repeat: Repeat, header: Option<&str>) {
    match (repeat, header) {
        (Repeat::Keyed, Some(header)) if !is_token(header) => {
            faults.add(format!("`idempotency-header` must be the name of a header, and is {}", shown(header)));
        }
        (Repeat::Keyed, Some(header)) if has_a_use(header) => {
            faults.add(format!(
                "`idempotency-header` must be a header of its own, such as Idempotency-Key, and is {}, which has another use",
                shown(header)
            ));
        }
        (Repeat::Keyed, None) => faults.add(
            "an HTTP need that repeats as keyed must name its `idempotency-header`, such as Idempotency-Key, and names none",
        ),
        (Repeat::Reads | Repeat::Idempotent | Repeat::Once, Some(header)) => faults.add(format!(
            "an HTTP need with an `idempotency-header` ({}) must repeat as keyed, and repeats as {}",
            shown(header),
            repeat.word()
        )),
        (Repeat::Keyed, Some(_)) | (Repeat::Reads | Repeat::Idempotent | Repeat::Once, None) => {}
    }
}

/// Whether a text is a token of RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn secret(faults: &mut Faults, need: declared::SecretNeed) -> Option<SecretNeed> {
    operators_name(faults, "the name of a secret", &need.name);
    if need.origins.is_empty() {
        faults.add(format!(
            "the secret {} must name the origins that it is sent to, and names none",
            shown(&need.name)
        ));
    }
    let count = need.origins.len();
    let origins: Vec<DeclaredOrigin> =
        need.origins.into_iter().filter_map(|one| origin(faults, one)).collect();
    (origins.len() == count).then_some(SecretNeed { name: need.name, origins, in_body: need.in_body })
}

/// A tool repeats at least as strictly as the strictest of its requests.
pub(super) fn as_strict(faults: &mut Faults, tool: Repeat, needs: &[Need]) {
    let strictest = needs.iter().filter_map(strictness).max_by_key(|(repeat, _)| *repeat);
    if let Some((repeat, what)) = strictest.filter(|(repeat, _)| *repeat > tool) {
        faults.add(format!(
            "it repeats as {}, which is looser than what it does: {what} repeats as {}; declare {}",
            tool.word(),
            repeat.word(),
            repeat.word()
        ));
    }
}

fn strictness(need: &Need) -> Option<(Repeat, String)> {
    match need {
        Need::Http(http) if http.methods.iter().all(|method| method::reads(method)) => None,
        Need::Http(http) => {
            Some((http.repeat, format!("{} to {}", http.methods.join(", "), place(&http.origin))))
        }
        Need::Directory(name, true) => {
            Some((Repeat::Idempotent, format!("writing in the folder {}", shown(name))))
        }
        Need::Directory(_, false) | Need::Secret(_) | Need::Config(_) | Need::KeyValue => None,
    }
}

fn place(origin: &DeclaredOrigin) -> String {
    match origin {
        DeclaredOrigin::Fixed(pattern) => pattern.to_string(),
        DeclaredOrigin::Configured(key) => format!("the origin in {}", shown(key)),
        DeclaredOrigin::Granted => "a granted origin".to_owned(),
    }
}
