//! Results in the form in which people read them: addresses, dates, types and languages.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::texts::Texts;
use crate::details::HitDetails;
use crate::response::{Hit, date};

/// Parts of an address shown behind the host.
const SHOWN_PARTS: usize = 3;
const SHOWN_PART_CHARACTERS: usize = 40;

#[derive(Debug)]
pub struct ResultView {
    /// Only http and https addresses are links.
    pub href: Option<String>,
    pub title: String,
    pub host: String,
    /// What is shown behind the host, the most general first.
    pub path: Vec<String>,
    /// Escaped already.
    pub snippet: String,
    /// For the `lang` attribute; empty when unknown.
    pub lang: String,
    /// Named where it is not the one of the interface; else empty.
    pub language: String,
    /// Named where it is not an ordinary web page; else empty.
    pub kind: String,
    pub date: String,
    /// The same for programs, as 2026-03-09.
    pub date_stamp: String,
    /// Address of our own copy of the page, where there is one.
    pub cached: Option<String>,
    /// Leads to further results of the same host, where some were left out.
    pub more_of_host: Option<(String, String)>,
}

impl ResultView {
    pub fn of(hit: &Hit, details: &HitDetails, more_of_host: Option<String>, texts: &Texts) -> Self {
        let url = Url::parse(&hit.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let lang = hit.lang.clone().unwrap_or_default();
        let date = date(details.date_ms).date();
        let is_ordinary = matches!(details.content_type.as_str(), "" | "text/html" | "application/xhtml+xml");
        let host = url.as_ref().map_or_else(|| hit.url.clone(), host_with_port);
        Self {
            href: url.as_ref().map(|url| url.as_str().to_owned()),
            title: hit.title.clone(),
            path: url.as_ref().map(path_parts).unwrap_or_default(),
            snippet: hit.snippet.clone(),
            language: if lang == texts.code { String::new() } else { texts.language_or_code(&lang) },
            kind: if is_ordinary { String::new() } else { texts.type_name(&details.content_type) },
            lang,
            date: (texts.date)(date),
            date_stamp: format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day()),
            cached: hit.has_cached.then(|| format!("/cached/{}", hit.id)),
            more_of_host: more_of_host.map(|href| (href, (texts.more_from)(&host))),
            host,
        }
    }
}

/// As the `site` parameter takes it.
pub fn host_with_port(url: &Url) -> String {
    let host = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(address) => address.to_string(),
        None => String::new(),
    };
    match url.port() {
        Some(port) if !matches!(port, 80 | 443) => format!("{host}:{port}"),
        _ => host,
    }
}

fn path_parts(url: &Url) -> Vec<String> {
    let mut parts: Vec<String> =
        url.path_segments().into_iter().flatten().filter(|part| !part.is_empty()).map(readable).collect();
    if let Some(query) = url.query() {
        let query = readable(&format!("?{query}"));
        match parts.last_mut() {
            Some(last) => *last = shortened(&format!("{last}{query}")),
            None => parts.push(query),
        }
    }
    if parts.len() > SHOWN_PARTS {
        // The first says where, the last what.
        let last = parts.split_off(parts.len() - (SHOWN_PARTS - 1));
        parts.truncate(1);
        parts.push("…".to_owned());
        parts.extend(last);
    }
    parts
}

/// Percent-encoding undone where that gives plain text; what could reorder or hide characters stays encoded.
fn readable(part: &str) -> String {
    let decoded = percent_decode_str(part).decode_utf8().ok().filter(|text| !text.chars().any(is_deceptive));
    shortened(&decoded.unwrap_or(Cow::Borrowed(part)))
}

fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '/' | '›')
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_PART_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::http::texts;

    fn view(url: &str) -> ResultView {
        let hit = Hit {
            url: url.to_owned(),
            title: "T".to_owned(),
            snippet: String::new(),
            score: 1.0,
            lang: None,
            fetched_at: "2026-03-09T10:00:00Z".to_owned(),
            ..Hit::default()
        };
        let details = HitDetails { date_ms: 1_773_050_400_000, ..HitDetails::default() };
        ResultView::of(&hit, &details, None, texts::default())
    }

    #[test]
    fn addresses_are_shown_as_a_path_that_can_be_read() {
        let shown = view("https://example.org/a/%C5%99eka/c/d/last.html?x=1");
        assert_eq!(
            (shown.host.as_str(), shown.path),
            ("example.org", ["a", "…", "d", "last.html?x=1"].map(str::to_owned).to_vec())
        );
        assert_eq!(view("https://example.org/%C5%99eka/").path, ["řeka"]);
        assert_eq!(view("http://example.org:8080/").host, "example.org:8080");
        let dated = view("http://example.org:8080/");
        assert_eq!((dated.date.as_str(), dated.date_stamp.as_str()), ("9 Mar 2026", "2026-03-09"));
    }

    #[test]
    fn an_address_cannot_pretend_to_be_another() {
        assert_eq!(view("http://a.example/%E2%80%AEmoc.knab").path, ["%E2%80%AEmoc.knab"]);
        assert_eq!(view("http://a.example/x%2Fy").path, ["x%2Fy"]);
        assert_eq!(view("javascript:alert(1)").href, None);
        assert_eq!(view("data:text/html,x").href, None);
    }

    proptest! {
        #[test]
        fn any_address_can_be_shown(url: String, path in "[%a-fA-F0-9/?&=.]{0,80}") {
            let shown = view(&url);
            prop_assert!(shown.href.is_none_or(|href| href.starts_with("http://") || href.starts_with("https://")));
            let longer = format!("http://example.org/{path}");
            prop_assert!(view(&longer).path.len() <= SHOWN_PARTS + 1);
        }
    }
}
