//! What a search answers, in the form of the outside contract.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::facet::FacetCounts;

/// Serialises to the body of `GET /api/v1/search`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResponse {
    /// Every match, also beyond this page.
    pub total: u64,
    pub took_ms: f64,
    pub hits: Vec<Hit>,
    /// The query as it may have been meant, where words of it are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    /// For the next page of results; absent after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Present when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facets: Option<FacetCounts>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The document's [`DocumentId`](seine_common::document_id::DocumentId).
    #[serde(default)]
    pub id: String,
    pub url: String,
    /// Plain text; the URL where the page has no title.
    pub title: String,
    /// Escaped HTML with `<mark>` around matches.
    pub snippet: String,
    pub score: f32,
    /// ISO 639-1.
    pub lang: Option<String>,
    /// RFC 3339, UTC.
    pub fetched_at: String,
    /// Whether the page as it was received may be shown from the archive.
    #[serde(default)]
    pub has_cached: bool,
}

/// Milliseconds since 1970 as RFC 3339; what no calendar has becomes its first second.
pub fn rfc3339(unix_ms: i64) -> String {
    date(unix_ms).format(&Rfc3339).unwrap_or_else(|_| "1970-01-01T00:00:00Z".to_owned())
}

pub fn date(unix_ms: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000)
        .ok()
        .filter(|date| (0..=9999).contains(&date.year()))
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_written_as_the_contract_says() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(rfc3339(i64::MAX), "1970-01-01T00:00:00Z");
    }

    proptest! {
        #[test]
        fn any_time_gives_a_date_that_can_be_read_back(unix_ms: i64) {
            prop_assert!(OffsetDateTime::parse(&rfc3339(unix_ms), &Rfc3339).is_ok());
        }
    }
}
