//! What an answer says about its own life: the marks to send back at the next visit, and how long it holds.

use http::HeaderMap;
use http::header::{CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderName, LAST_MODIFIED};

use seine_common::http_date::http_date;

/// Longer marks are not kept: they would be stored with every page.
const MAX_MARK_BYTES: usize = 256;
/// Nothing holds longer than a year.
const LONGEST_S: i64 = 366 * 24 * 3600;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freshness {
    pub etag: String,
    pub last_modified: String,
    /// Unix milliseconds; 0 when the answer does not say.
    pub expires_ms: i64,
}

impl Freshness {
    pub fn of(headers: &HeaderMap, now_ms: i64) -> Self {
        let mark = |name: HeaderName| {
            let text = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
            if text.len() <= MAX_MARK_BYTES { text.to_owned() } else { String::new() }
        };
        let holds_s = max_age(headers).or_else(|| expires(headers, now_ms));
        Self {
            etag: mark(ETAG),
            last_modified: mark(LAST_MODIFIED),
            expires_ms: holds_s.map_or(0, |seconds| now_ms + seconds.clamp(0, LONGEST_S) * 1000),
        }
    }
}

fn max_age(headers: &HeaderMap) -> Option<i64> {
    let lists = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut directives = lists.flat_map(|list| list.split(',')).map(str::trim);
    directives.find_map(|directive| {
        let (name, value) = directive.split_once('=')?;
        name.eq_ignore_ascii_case("max-age").then(|| value.trim_matches('"').parse().ok())?
    })
}

/// Seconds from the answer's own date, so that a server's wrong clock does not matter.
fn expires(headers: &HeaderMap, now_ms: i64) -> Option<i64> {
    let date = |name: HeaderName| http_date(headers.get(name)?.to_str().ok()?);
    Some(date(EXPIRES)? - date(DATE).unwrap_or(now_ms / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freshness(pairs: &[(&'static str, &'static str)]) -> Freshness {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Freshness::of(&headers, 1_000_000)
    }

    #[test]
    fn marks_are_kept_as_they_were_sent() {
        let found = freshness(&[("etag", "W/\"a b\""), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")]);
        assert_eq!((found.etag.as_str(), found.expires_ms), ("W/\"a b\"", 0));
        assert_eq!(found.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn max_age_wins_over_expires_and_expires_counts_from_the_servers_date() {
        assert_eq!(freshness(&[("cache-control", "public, Max-Age=60")]).expires_ms, 1_060_000);
        let dates = [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("expires", "Sun, 06 Nov 1994 08:50:37 GMT")];
        assert_eq!(freshness(&dates).expires_ms, 1_060_000);
        assert_eq!(freshness(&[dates[0], dates[1], ("cache-control", "max-age=5")]).expires_ms, 1_005_000);
        assert_eq!(freshness(&[("expires", "0")]).expires_ms, 0, "not a date");
        assert_eq!(freshness(&[("cache-control", "max-age=99999999999")]).expires_ms, 1_000_000 + LONGEST_S * 1000);
    }
}
