//! `Retry-After`: a number of seconds, or a date.

use std::time::Duration;

use http::HeaderValue;
use seine_common::http_date::http_date;

/// Longer waits are cut: the Monitor visits again before.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long the server asks to wait, from `now_ms` in Unix milliseconds. `None` when it cannot be told.
pub fn parse(value: &HeaderValue, now_ms: i64) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(LONGEST, Duration::from_secs).min(LONGEST));
    }
    let until_ms = http_date(text)? * 1000;
    let wait_ms = u64::try_from(until_ms - now_ms).unwrap_or(0);
    Some(Duration::from_millis(wait_ms).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(text: &str, now_ms: i64) -> Option<u64> {
        parse(&HeaderValue::from_str(text).unwrap(), now_ms).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_taken_as_they_are_within_a_week() {
        assert_eq!(wait(" 120 ", 0), Some(120));
        assert_eq!(wait("99999999999999999999999", 0), Some(LONGEST.as_secs()));
        for nonsense in ["", "-5", "1.5", "soon", "Sun, 06 Nov", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(wait(nonsense, 0), None, "{nonsense:?}");
        }
    }

    #[test]
    fn a_date_is_taken_from_now() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_770_000), Some(7));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_999_000), Some(0));
    }
}
