//! How a request ended, when it did not bring a page: classification of statuses and errors.
//!
//! An ending is data for the Monitor, which alone decides what happens to the URL next.

use std::error::Error;
use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::freshness::Freshness;
use super::{redirect, retry_after};

/// The page is as it was.
pub const NOT_MODIFIED: u16 = 304;

/// A request that brought no page, or was never made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub kind: OutcomeKind,
    /// 0 without an answer.
    pub status: u16,
    /// For a person; where to, for a redirect.
    pub detail: String,
    pub retry_after: Option<Duration>,
    /// With [`OutcomeKind::NotModified`] only.
    pub freshness: Freshness,
    /// With [`OutcomeKind::Redirected`] only.
    pub redirect_to: Option<CanonicalUrl>,
}

impl Ending {
    pub fn new(kind: OutcomeKind, detail: impl Into<String>) -> Self {
        let freshness = Freshness::default();
        Self { kind, status: 0, detail: detail.into(), retry_after: None, freshness, redirect_to: None }
    }

    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// What an answer outside 2xx means.
    pub fn of_answer(asked: &CanonicalUrl, status: u16, headers: &HeaderMap, now_ms: i64) -> Self {
        if let Some(target) = redirect::target(asked, status, headers) {
            let detail = target.as_str().to_owned();
            return Self {
                redirect_to: Some(target),
                ..Self::new(OutcomeKind::Redirected, detail).with_status(status)
            };
        }
        let (kind, detail) = match status {
            NOT_MODIFIED => (OutcomeKind::NotModified, ""),
            404 | 410 => (OutcomeKind::NotFound, ""),
            429 | 503 => (OutcomeKind::SlowDown, ""),
            300..=399 => (OutcomeKind::ClientError, "a redirect without a place to go to"),
            400..=499 => (OutcomeKind::ClientError, ""),
            _ => (OutcomeKind::ServerError, ""),
        };
        let retry_after = match kind {
            OutcomeKind::SlowDown => headers.get(RETRY_AFTER).and_then(|value| retry_after::parse(value, now_ms)),
            _ => None,
        };
        let freshness = match kind {
            OutcomeKind::NotModified => Freshness::of(headers, now_ms),
            _ => Freshness::default(),
        };
        Self { retry_after, freshness, ..Self::new(kind, detail).with_status(status) }
    }

    /// What went wrong below HTTP.
    pub fn of_error(error: &reqwest::Error) -> Self {
        let kind = if error.is_timeout() { OutcomeKind::Timeout } else { OutcomeKind::ConnectionFailed };
        Self::new(kind, chain(error))
    }

    pub fn timed_out(after: Duration) -> Self {
        Self::new(OutcomeKind::Timeout, format!("not complete after {} s", after.as_secs_f32()))
    }

    pub fn to_outcome(&self, fetched_at_ms: i64) -> Outcome {
        Outcome {
            kind: self.kind.into(),
            status: self.status.into(),
            fetched_at_ms,
            detail: self.detail.clone(),
            etag: self.freshness.etag.clone(),
            last_modified: self.freshness.last_modified.clone(),
            expires_ms: self.freshness.expires_ms,
            retry_after_s: self.retry_after.map_or(0, |after| u32::try_from(after.as_secs()).unwrap_or(u32::MAX)),
            ..Outcome::default()
        }
    }
}

/// The label of an outcome in metrics and logs.
pub fn label(kind: OutcomeKind) -> &'static str {
    kind.label()
}

/// An error with its causes; the outermost ones say little.
fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn Error> = error.source();
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() { error.to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(status: u16, headers: &[(&'static str, &'static str)]) -> Ending {
        let asked = CanonicalUrl::parse("http://example.org/a/b").unwrap();
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Ending::of_answer(&asked, status, &headers, 0)
    }

    #[test]
    fn every_status_has_its_outcome() {
        use OutcomeKind::*;
        let cases = [
            (404, NotFound),
            (410, NotFound),
            (429, SlowDown),
            (503, SlowDown),
            (400, ClientError),
            (403, ClientError),
            (451, ClientError),
            (500, ServerError),
            (502, ServerError),
            (599, ServerError),
            (600, ServerError),
            (100, ServerError),
            (304, NotModified),
            (305, ClientError),
        ];
        for (status, kind) in cases {
            let ending = ending(status, &[("location", "/c"), ("retry-after", "7")]);
            assert_eq!((ending.kind, ending.status), (kind, status));
            assert_eq!(ending.retry_after.is_some(), kind == SlowDown);
        }
    }

    #[test]
    fn a_redirect_says_where_to() {
        for status in [301, 302, 303, 307, 308] {
            let ending = ending(status, &[("location", "../c?d#e")]);
            assert_eq!((ending.kind, ending.detail.as_str()), (OutcomeKind::Redirected, "http://example.org/c?d"));
        }
        assert_eq!(ending(301, &[]).kind, OutcomeKind::ClientError);
        assert_eq!(ending(301, &[("location", "mailto:me")]).kind, OutcomeKind::ClientError);
    }

    #[test]
    fn patience_is_passed_on_in_seconds() {
        assert_eq!(ending(503, &[("retry-after", "120")]).to_outcome(5).retry_after_s, 120);
        assert_eq!(ending(503, &[]).to_outcome(5).retry_after_s, 0);
    }
}
