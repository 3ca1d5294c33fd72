//! In which language a page answers: the one in its address (`?ui=cs`), else the one that the browser prefers, else
//! English. A choice in the address is carried on by the links of the page; nothing is remembered elsewhere.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use url::form_urlencoded;

use super::texts::{self, Texts};

/// Languages of the browser that are looked at.
const MAX_PREFERENCES: usize = 32;

#[derive(Clone, Copy)]
pub struct Ui {
    pub texts: &'static Texts,
    /// Whether the address says so.
    pub chosen: bool,
}

impl Ui {
    pub fn of(query_string: Option<&str>, headers: &HeaderMap) -> Self {
        let pairs = form_urlencoded::parse(query_string.unwrap_or_default().as_bytes());
        let chosen = pairs.filter(|(name, _)| name == "ui").last().and_then(|(_, code)| speaking(&code));
        if let Some(texts) = chosen {
            return Self { texts, chosen: true };
        }
        let preferences = headers.get_all(header::ACCEPT_LANGUAGE).into_iter().filter_map(|value| value.to_str().ok());
        Self { texts: preferred(preferences.flat_map(|value| value.split(','))), chosen: false }
    }

    /// For `ui` in further addresses.
    pub fn parameter(&self) -> Option<&'static str> {
        self.chosen.then_some(self.texts.code)
    }
}

impl<S: Sync> FromRequestParts<S> for Ui {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.query(), &parts.headers))
    }
}

/// `zh`, `zh-CN` and `zh-Hans-CN` are the same to us.
fn speaking(tag: &str) -> Option<&'static Texts> {
    let language = tag.trim().split('-').next().unwrap_or_default();
    texts::ALL.into_iter().find(|texts| texts.code.eq_ignore_ascii_case(language))
}

/// The first of those with the greatest `q`; what does not say is 1, and 0 means "not this one".
fn preferred<'a>(preferences: impl Iterator<Item = &'a str>) -> &'static Texts {
    let mut best: Option<(f32, &'static Texts)> = None;
    for preference in preferences.take(MAX_PREFERENCES) {
        let (tag, parameters) = preference.split_once(';').unwrap_or((preference, ""));
        let quality = match parameters.trim().strip_prefix("q=") {
            Some(quality) => quality.trim().parse().unwrap_or(0.0),
            None => 1.0_f32,
        };
        let Some(texts) = (if tag.trim() == "*" { Some(texts::default()) } else { speaking(tag) }) else { continue };
        if quality > 0.0 && best.is_none_or(|(best, _)| quality > best) {
            best = Some((quality, texts));
        }
    }
    best.map_or(texts::default(), |(_, texts)| texts)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn spoken(query_string: &str, accept_language: &str) -> &'static str {
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_str(accept_language) {
            headers.insert(header::ACCEPT_LANGUAGE, value);
        }
        Ui::of(Some(query_string), &headers).texts.code
    }

    #[test]
    fn the_browser_is_answered_in_the_language_that_it_prefers() {
        for (accepted, code) in [
            ("", "en"),
            ("cs", "cs"),
            ("cs-CZ,cs;q=0.9,en;q=0.8", "cs"),
            ("de,cs;q=0.7,en;q=0.8", "en"),
            ("zh-CN,zh;q=0.9", "zh"),
            ("ZH-hant-TW", "zh"),
            ("en;q=0.2, cs ; q=0.5", "cs"),
            ("cs;q=0, *;q=0.1", "en"),
            ("fr, de", "en"),
            ("cs;q=x", "en"),
            ("*", "en"),
        ] {
            assert_eq!(spoken("q=x", accepted), code, "{accepted}");
        }
    }

    #[test]
    fn a_choice_in_the_address_wins_and_an_unknown_one_does_not() {
        assert_eq!(spoken("q=x&ui=zh", "cs"), "zh");
        assert_eq!(spoken("ui=zh&ui=en", "cs"), "en");
        assert_eq!(spoken("ui=tlh", "cs"), "cs");
        assert_eq!(spoken("ui=", "cs"), "cs");
    }

    proptest! {
        #[test]
        fn whatever_browsers_send_there_is_a_language(query_string: String, accepted: String) {
            prop_assert!(!spoken(&query_string, &accepted).is_empty());
        }
    }
}
