//! The one form of a URL that everything downstream compares, stores and sends.
//!
//! Responsible for: parsing as browsers do, and then removing what does not change the resource: fragment, default
//! port, dot segments, needless percent-encoding, credentials, an empty query, the dot behind a host name.
//! Not responsible for: whether a crawl wants the URL (`scope`, `admission`), nor for stripping query parameters
//! (`admission`).
//!
//! Invariant: canonicalising a canonical URL gives the same URL.

use std::fmt;

use ::url::Url;

use crate::host::HostKey;

/// Longer URLs are refused: real pages have none, traps do.
pub const MAX_URL_BYTES: usize = 4096;

/// An absolute http or https URL in canonical form.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CanonicalUrl(Url);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UrlError {
    #[error("{0:?} is not a URL ({1}); write it with its scheme, such as https://example.org/")]
    Malformed(String, ::url::ParseError),
    #[error("{0:?} has the scheme {1:?}; only http and https are crawled")]
    Scheme(String, String),
    #[error("a URL of {0} bytes is too long; at most {MAX_URL_BYTES} are allowed")]
    TooLong(usize),
}

impl CanonicalUrl {
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        if text.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong(text.len()));
        }
        let url = Url::parse(text).map_err(|error| UrlError::Malformed(text.to_owned(), error))?;
        Self::from_url(url)
    }

    /// Completes a reference from the page (or `<base>`) it stands on.
    pub fn join(base: &Url, reference: &str) -> Result<Self, UrlError> {
        if reference.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong(reference.len()));
        }
        let url = base.join(reference).map_err(|error| UrlError::Malformed(reference.to_owned(), error))?;
        Self::from_url(url)
    }

    fn from_url(mut url: Url) -> Result<Self, UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme(url.as_str().to_owned(), url.scheme().to_owned()));
        }
        url.set_fragment(None);
        if !url.username().is_empty() || url.password().is_some() {
            // Cannot fail: http URLs always have a host.
            let _ = url.set_username("");
            let _ = url.set_password(None);
        }
        if let Some(name) = url.host_str().filter(|name| name.ends_with('.')).map(str::to_owned) {
            // A name that is all dots stays as it is.
            let _ = url.set_host(Some(name.trim_end_matches('.')));
        }
        if let Some(path) = normal_percent_encoding(url.path()) {
            url.set_path(&path);
        }
        match url.query() {
            Some("") => url.set_query(None),
            Some(query) => {
                if let Some(query) = normal_percent_encoding(query) {
                    url.set_query(Some(&query));
                }
            }
            None => {}
        }
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong(url.as_str().len()));
        }
        Ok(Self(url))
    }

    /// The URL after a change to its parts, canonical again. Stays as it was where the result would be refused.
    pub(crate) fn edited(self, edit: impl FnOnce(&mut Url)) -> Self {
        let mut url = self.0.clone();
        edit(&mut url);
        Self::from_url(url).unwrap_or(self)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn as_url(&self) -> &Url {
        &self.0
    }

    pub fn host(&self) -> HostKey {
        HostKey::of(&self.0)
    }

    /// `scheme://name[:port]`, the key of robots.txt.
    pub fn origin(&self) -> String {
        let end = self.0[..::url::Position::BeforePath].len();
        self.0.as_str()[..end].to_owned()
    }

    /// Path and query, as robots.txt rules see them.
    pub fn path_and_query(&self) -> &str {
        &self.0[::url::Position::BeforePath..]
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Upper-case hex digits, and no escape where the character may stand for itself. `None` when nothing changes.
fn normal_percent_encoding(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'%') {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    // Where in `out` a percent sign stands that begins no escape: `%%341` must not become `%41`.
    let mut stray: Option<usize> = None;
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%').then(|| bytes.get(at + 1..at + 3).and_then(hex_pair)).flatten();
        let Some(value) = escape else {
            if bytes[at] == b'%' {
                stray = Some(out.len());
            }
            let length = utf8_length(bytes[at]);
            out.push_str(&text[at..at + length]);
            at += length;
            continue;
        };
        let behind_stray = stray.is_some_and(|stray| out.len() - stray <= 2);
        if !behind_stray && (value.is_ascii_alphanumeric() || matches!(value, b'-' | b'.' | b'_' | b'~')) {
            out.push(value as char);
            changed = true;
        } else {
            let before = out.len();
            out.push_str(&format!("%{value:02X}"));
            changed |= out[before..] != text[at..at + 3];
        }
        at += 3;
    }
    changed.then_some(out)
}

fn hex_pair(pair: &[u8]) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)
}

fn utf8_length(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        CanonicalUrl::parse(text).unwrap().as_str().to_owned()
    }

    #[test]
    fn what_does_not_change_the_resource_is_removed() {
        assert_eq!(canonical("HTTP://Example.ORG:80/a/./b/../c#part"), "http://example.org/a/c");
        assert_eq!(canonical("https://user:secret@example.org:443/?"), "https://example.org/");
        assert_eq!(canonical("http://example.org./x"), "http://example.org/x");
        assert_eq!(canonical("http://example.org/%7euser/%e4%bd%a0%2f"), "http://example.org/~user/%E4%BD%A0%2F");
        assert_eq!(canonical("http://example.org/?q=%61%2b"), "http://example.org/?q=a%2B");
    }

    #[test]
    fn no_escape_appears_that_was_not_there() {
        assert_eq!(canonical("http://example.org/%%34%31"), "http://example.org/%%341");
        assert_eq!(canonical("http://example.org/%2%35"), "http://example.org/%2%35");
        assert_eq!(canonical("http://example.org/100%?q=%zz%41"), "http://example.org/100%?q=%zzA");
        assert_eq!(canonical("http://example.org../"), "http://example.org/");
    }

    #[test]
    fn what_changes_the_resource_is_kept() {
        assert_eq!(canonical("http://example.org:8080/a//b/?b=2&a=1"), "http://example.org:8080/a//b/?b=2&a=1");
        assert_ne!(canonical("http://example.org/a"), canonical("http://example.org/a/"));
        assert_ne!(canonical("http://example.org/a"), canonical("https://example.org/a"));
    }

    #[test]
    fn other_schemes_and_endless_urls_are_refused() {
        assert!(matches!(CanonicalUrl::parse("mailto:a@example.org"), Err(UrlError::Scheme(..))));
        assert!(matches!(CanonicalUrl::parse("example.org"), Err(UrlError::Malformed(..))));
        let long = format!("http://example.org/{}", "a".repeat(MAX_URL_BYTES));
        assert!(matches!(CanonicalUrl::parse(&long), Err(UrlError::TooLong(_))));
    }

    #[test]
    fn origin_and_path_split_the_url() {
        let url = CanonicalUrl::parse("https://example.org:8443/a?b").unwrap();
        assert_eq!(url.origin(), "https://example.org:8443");
        assert_eq!(url.path_and_query(), "/a?b");
    }

    proptest! {
        #[test]
        fn canonical_form_is_a_fixed_point(text in "https?://[a-z]{1,8}\\.org(:[0-9]{1,4})?(/[a-zA-Z0-9%./;=~\u{e4}-]{0,12}){0,4}(\\?[a-z0-9%&=+]{0,12})?") {
            if let Ok(once) = CanonicalUrl::parse(&text) {
                let twice = CanonicalUrl::parse(once.as_str()).unwrap();
                prop_assert_eq!(once, twice);
            }
        }

        #[test]
        fn hostile_text_has_a_fixed_point_too(host in "[a-zA-Z0-9.%@:\\[\\]ä_-]{1,10}", rest in "([%/.\\\\?#;&=\t' ]|[2346][0-9a-fA-F]|%[2346][0-9a-fA-F]|\\PC){0,12}") {
            if let Ok(once) = CanonicalUrl::parse(&format!("http://{host}/{rest}")) {
                let twice = CanonicalUrl::parse(once.as_str()).unwrap();
                prop_assert_eq!(&once, &twice);
                prop_assert!(once.as_str().is_ascii() && !once.as_str().contains('#') && !once.origin().contains('@'));
            }
        }

        #[test]
        fn a_default_port_changes_nothing(host in "[a-z]{1,8}\\.org", path in "[a-z0-9/]{0,10}") {
            for (scheme, port) in [("http", 80), ("https", 443)] {
                let with = canonical(&format!("{scheme}://{host}:{port}/{path}"));
                prop_assert_eq!(with, canonical(&format!("{scheme}://{host}/{path}")));
            }
            prop_assert_eq!(canonical(&format!("http://{host}:443/{path}")), format!("http://{host}:443/{path}"));
        }

        #[test]
        fn dot_segments_change_nothing(segments in prop::collection::vec("[a-z0-9]{1,4}", 0..5), at in 0usize..5, detour in "\\./|%2e/|[a-z]{1,3}/\\.\\./|[a-z]/%2E\\./") {
            let at = at.min(segments.len());
            let (before, after) = segments.split_at(at);
            let before: String = before.iter().map(|segment| format!("{segment}/")).collect();
            let straight = format!("http://example.org/{before}{}", after.join("/"));
            let winding = format!("http://example.org/{before}{detour}{}", after.join("/"));
            prop_assert_eq!(canonical(&winding), straight);
        }

        #[test]
        fn needless_escapes_change_nothing_and_needed_ones_stay(text in "[a-zA-Z0-9_~-]{1,8}", which in 0usize..8, reserved in "[%/?#&=+ ;]") {
            let which = which % text.len();
            let (lower, upper) = (format!("%{:02x}", text.as_bytes()[which]), format!("%{:02X}", text.as_bytes()[which]));
            for escape in [lower, upper] {
                let escaped = format!("{}{escape}{}", &text[..which], &text[which + 1..]);
                prop_assert_eq!(canonical(&format!("http://a/{escaped}?{escaped}")), format!("http://a/{text}?{text}"));
            }
            let byte = reserved.as_bytes()[0];
            let kept = format!("http://a/{text}%{byte:02X}?{text}%{byte:02X}");
            prop_assert_eq!(canonical(&kept.to_lowercase()), kept.to_lowercase().replace(&format!("%{byte:02x}"), &format!("%{byte:02X}")));
        }

        #[test]
        fn joining_its_own_path_to_a_page_gives_the_page(path in "/[a-z0-9/.;=%-]{0,12}(\\?[a-z0-9&=%]{1,8})?") {
            if let Ok(page) = CanonicalUrl::parse(&format!("https://example.org:8443{path}")) {
                prop_assume!(!page.path_and_query().starts_with("//"));
                let joined = CanonicalUrl::join(page.as_url(), page.path_and_query()).unwrap();
                prop_assert_eq!(&joined, &page);
                prop_assert_eq!(format!("{}{}", page.origin(), page.path_and_query()), page.as_str());
            }
        }

        #[test]
        fn no_text_makes_parsing_panic(text in ".{0,200}") {
            let _ = CanonicalUrl::parse(&text);
            let _ = CanonicalUrl::parse(&format!("http://a/{text}"));
        }
    }
}
