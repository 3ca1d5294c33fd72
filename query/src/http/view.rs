//! Results in the form in which people read them: addresses, dates, numbers and languages.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use url::{Host, Url};

use crate::response::Hit;

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
    pub language: String,
    pub date: String,
    /// Leads to further results of the same host, where some were left out.
    pub more_of_host: Option<String>,
}

impl ResultView {
    pub fn of(hit: &Hit, more_of_host: Option<String>) -> Self {
        let url = Url::parse(&hit.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let lang = hit.lang.clone().unwrap_or_default();
        Self {
            href: url.as_ref().map(|url| url.as_str().to_owned()),
            title: hit.title.clone(),
            host: url.as_ref().map_or_else(|| hit.url.clone(), host_with_port),
            path: url.as_ref().map(path_parts).unwrap_or_default(),
            snippet: hit.snippet.clone(),
            language: language_name(&lang).to_owned(),
            lang,
            date: short_date(&hit.fetched_at),
            more_of_host,
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
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.filter(|_| first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    let decoded = String::from_utf8(bytes).ok().filter(|text| !text.chars().any(is_deceptive));
    shortened(&decoded.unwrap_or_else(|| part.to_owned()))
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

fn short_date(rfc3339: &str) -> String {
    OffsetDateTime::parse(rfc3339, &Rfc3339)
        .ok()
        .and_then(|date| date.format(format_description!("[day padding:none] [month repr:short] [year]")).ok())
        .unwrap_or_default()
}

/// 1234567 → 1,234,567
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// In English, as the page is; the code itself for languages not listed.
fn language_name(code: &str) -> &str {
    match code {
        "ar" => "Arabic",
        "bg" => "Bulgarian",
        "cs" => "Czech",
        "da" => "Danish",
        "de" => "German",
        "el" => "Greek",
        "en" => "English",
        "es" => "Spanish",
        "fi" => "Finnish",
        "fr" => "French",
        "he" => "Hebrew",
        "hi" => "Hindi",
        "hr" => "Croatian",
        "hu" => "Hungarian",
        "it" => "Italian",
        "ja" => "Japanese",
        "ko" => "Korean",
        "nl" => "Dutch",
        "no" | "nb" => "Norwegian",
        "pl" => "Polish",
        "pt" => "Portuguese",
        "ro" => "Romanian",
        "ru" => "Russian",
        "sk" => "Slovak",
        "sl" => "Slovenian",
        "sv" => "Swedish",
        "tr" => "Turkish",
        "uk" => "Ukrainian",
        "vi" => "Vietnamese",
        "zh" => "Chinese",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        ResultView::of(&hit, None)
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
        assert_eq!(view("http://example.org:8080/").date, "9 Mar 2026");
    }

    #[test]
    fn an_address_cannot_pretend_to_be_another() {
        assert_eq!(view("http://a.example/%E2%80%AEmoc.knab").path, ["%E2%80%AEmoc.knab"]);
        assert_eq!(view("http://a.example/x%2Fy").path, ["x%2Fy"]);
        assert_eq!(view("javascript:alert(1)").href, None);
        assert_eq!(view("data:text/html,x").href, None);
    }

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(grouped), ["0", "12", "999", "1,000", "1,234,567"]);
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
