//! Which addresses are fetched, and where a redirect leads.

use airlock_sdk::ToolError;
use serde_json::json;
use url::Url;

/// How many redirects are followed within one site.
pub(crate) const MOST_REDIRECTS: usize = 5;

/// Where an answer sends its client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// To another page of the same origin.
    Within(Url),
    /// To another origin, which the caller may ask for.
    Elsewhere(Url),
    /// To nothing that can be fetched.
    Nowhere,
}

/// The address that is meant, without its fragment.
///
/// # Errors
/// Where it is no whole address of the web, or holds credentials.
pub(crate) fn read(text: &str) -> Result<Url, ToolError> {
    let wrong = |message: String| Err(ToolError::invalid_input("INVALID_URL", message));
    let text = text.trim();
    let mut url = match Url::parse(text) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            let host = text.split('/').next().is_some_and(|host| host.contains('.'));
            let guess = if host { format!("; is https://{text} meant?") } else { String::new() };
            return wrong(format!("`url` must be a whole address, with https:// and its host{guess}"));
        }
        Err(error) => return wrong(format!("`url` cannot be read: {error}")),
    };
    if !is_web(&url) {
        return wrong(format!("`url` must begin with https:// or http://, and not with {}:", url.scheme()));
    }
    if has_credentials(&url) {
        return wrong("`url` may not hold a user or a password".to_owned());
    }
    url.set_fragment(None);
    Ok(url)
}

/// Where a redirect leads from here.
pub(crate) fn lead(from: &Url, location: &str) -> Lead {
    match from.join(location.trim()) {
        Ok(mut to) if is_web(&to) && !has_credentials(&to) => {
            to.set_fragment(None);
            if to.origin() == from.origin() { Lead::Within(to) } else { Lead::Elsewhere(to) }
        }
        Ok(_) | Err(_) => Lead::Nowhere,
    }
}

/// What the caller is told of a redirect that is not followed.
pub(crate) fn elsewhere(to: &Url) -> ToolError {
    let message = "the page is at another origin; fetch details.location if that is wanted";
    ToolError::rejected("REDIRECTED_ELSEWHERE", message).details(json!({ "location": to.as_str() }))
}

/// What the caller is told when redirects do not end.
pub(crate) fn too_many(to: &Url) -> ToolError {
    let message = format!("the page redirects more than {MOST_REDIRECTS} times");
    ToolError::rejected("TOO_MANY_REDIRECTS", message).details(json!({ "location": to.as_str() }))
}

/// What the caller is told of a redirect that leads nowhere.
pub(crate) fn nowhere() -> ToolError {
    ToolError::rejected("BAD_REDIRECT", "the page redirects to nothing that can be fetched")
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

pub(crate) fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

#[cfg(test)]
mod tests {
    use airlock_sdk::ErrorKind;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn an_address_is_normal_and_without_fragment() {
        for (given, read_as) in [
            ("https://example.com", "https://example.com/"),
            (" HTTPS://Example.COM:443/a b/../c?q=ä#part ", "https://example.com/c?q=%C3%A4"),
            ("https://bücher.example/straße", "https://xn--bcher-kva.example/stra%C3%9Fe"),
        ] {
            assert_eq!(read(given).unwrap().as_str(), read_as);
        }
    }

    #[test]
    fn what_is_no_address_of_the_web_is_told_how_it_should_be() {
        let told = |text: &str| {
            let error = read(text).unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::InvalidInput, "INVALID_URL"));
            error.message().to_owned()
        };
        let whole = "`url` must be a whole address, with https:// and its host";
        assert_eq!(told("example.com/a"), format!("{whole}; is https://example.com/a meant?"));
        assert_eq!(told("/docs/a.html"), whole);
        assert_eq!(
            told("ftp://example.com/"),
            "`url` must begin with https:// or http://, and not with ftp:"
        );
        assert_eq!(
            told("file:///etc/passwd"),
            "`url` must begin with https:// or http://, and not with file:"
        );
        assert_eq!(
            told("javascript:x"),
            "`url` must begin with https:// or http://, and not with javascript:"
        );
        assert_eq!(told("https://"), "`url` cannot be read: empty host");
        for text in ["https://u:p@example.com/", "https://u@example.com/", "https://:p@example.com/"] {
            assert_eq!(told(text), "`url` may not hold a user or a password");
        }
    }

    #[test]
    fn a_redirect_stays_within_its_origin_or_leaves_it() {
        let from = url("https://example.com/a/b?c");
        let within = |text: &str| Lead::Within(url(text));
        let elsewhere = |text: &str| Lead::Elsewhere(url(text));
        assert_eq!(lead(&from, "d"), within("https://example.com/a/d"));
        assert_eq!(lead(&from, " /e#f "), within("https://example.com/e"));
        assert_eq!(lead(&from, "https://example.com:443/x"), within("https://example.com/x"));
        assert_eq!(lead(&from, "//other.example/x"), elsewhere("https://other.example/x"));
        assert_eq!(lead(&from, "http://example.com/a"), elsewhere("http://example.com/a"));
        assert_eq!(lead(&from, "https://example.com:8443/"), elsewhere("https://example.com:8443/"));
        for text in ["javascript:x", "mailto:a@b.example", "https://u:p@example.com/", "http://["] {
            assert_eq!(lead(&from, text), Lead::Nowhere, "{text}");
        }
    }
}
