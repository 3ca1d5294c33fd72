//! `Retry-After`: a number of seconds, or a date.

use std::time::Duration;

use http::HeaderValue;

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

/// Unix seconds of `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that is still sent.
fn http_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split(' ');
    let day: i64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let plausible = (1970..10_000).contains(&year)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..61).contains(&second);
    plausible.then(|| days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Counts years from March, so that the leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
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
