//! Dates as pages and headers write them: ISO 8601 in its many lengths, and the forms of mail and HTTP.
//!
//! Without a time zone, UTC is meant; without a time, midnight.

use time::format_description::well_known::Rfc2822;
use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

/// Longer text is no date.
const MAX_BYTES: usize = 64;

/// Unix milliseconds.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > MAX_BYTES || !text.is_ascii() {
        return None;
    }
    let date = iso(text).or_else(|| http(text))?;
    i64::try_from(date.unix_timestamp_nanos() / 1_000_000).ok()
}

fn http(text: &str) -> Option<OffsetDateTime> {
    // GMT is not among the names that RFC 2822 parsers must know.
    let text =
        text.strip_suffix("GMT").or(text.strip_suffix("UTC")).map_or(text.to_owned(), |text| format!("{text}+0000"));
    OffsetDateTime::parse(&text, &Rfc2822).ok()
}

/// `2024-05-06`, `2024-05-06T07:08`, `2024-05-06 07:08:09.123+02:00`, `20240506` and what lies between.
fn iso(text: &str) -> Option<OffsetDateTime> {
    let mut rest = text;
    let year = digits(&mut rest, 4)?;
    let has_dash = skip(&mut rest, &['-', '/']);
    let month = digits(&mut rest, 2).unwrap_or(1);
    if has_dash {
        skip(&mut rest, &['-', '/']);
    }
    let day = digits(&mut rest, 2).unwrap_or(1);
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()?;
    let mut time = Time::MIDNIGHT;
    let mut offset = UtcOffset::UTC;
    if skip(&mut rest, &['T', 't', ' ']) {
        let hour = digits(&mut rest, 2)?;
        skip(&mut rest, &[':']);
        let minute = digits(&mut rest, 2).unwrap_or(0);
        skip(&mut rest, &[':']);
        let second = digits(&mut rest, 2).unwrap_or(0).min(59);
        time = Time::from_hms(u8::try_from(hour).ok()?, u8::try_from(minute).ok()?, u8::try_from(second).ok()?).ok()?;
        if skip(&mut rest, &['.', ',']) {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        offset = zone(rest.trim_start())?;
    } else if !rest.is_empty() {
        return None;
    }
    Some(date.with_time(time).assume_offset(offset))
}

fn zone(text: &str) -> Option<UtcOffset> {
    let (sign, mut rest) = match text.as_bytes().first() {
        None | Some(b'Z' | b'z' | b'U' | b'G') => return Some(UtcOffset::UTC),
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        Some(_) => return None,
    };
    let hours = digits(&mut rest, 2)?;
    skip(&mut rest, &[':']);
    let minutes = digits(&mut rest, 2).unwrap_or(0);
    UtcOffset::from_hms(sign * i8::try_from(hours).ok()?, sign * i8::try_from(minutes).ok()?, 0).ok()
}

fn digits(rest: &mut &str, count: usize) -> Option<u32> {
    let (number, behind) = rest.split_at_checked(count)?;
    let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()?;
    *rest = behind;
    Some(number)
}

fn skip(rest: &mut &str, signs: &[char]) -> bool {
    let behind = rest.strip_prefix(signs);
    *rest = behind.unwrap_or(rest);
    behind.is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 1_714_953_600_000;

    #[test]
    fn dates_are_read_in_every_common_form() {
        let seconds = |h: i64, m: i64, s: i64| DAY + ((h * 60 + m) * 60 + s) * 1000;
        for (text, expected) in [
            ("2024-05-06", DAY),
            ("20240506", DAY),
            ("2024/05/06", DAY),
            ("2024-05-06T07:08Z", seconds(7, 8, 0)),
            (" 2024-05-06 07:08:09 ", seconds(7, 8, 9)),
            ("2024-05-06T07:08:09.123456+02:00", seconds(5, 8, 9)),
            ("2024-05-06T07:08:09-0130", seconds(8, 38, 9)),
            ("2024-05-06 07:08:09 UTC", seconds(7, 8, 9)),
            ("Mon, 06 May 2024 07:08:09 GMT", seconds(7, 8, 9)),
            ("Mon, 06 May 2024 07:08:09 +0200", seconds(5, 8, 9)),
        ] {
            assert_eq!(parse_date(text), Some(expected), "{text}");
        }
        assert_eq!(parse_date("2024-05"), parse_date("2024-05-01"));
    }

    #[test]
    fn what_is_no_date_gives_none() {
        for text in ["", "yesterday", "2024-13-01", "2024-02-30", "2024-05-06T25:00", "0", "12", "99999999999999"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}", number in "[0-9TZ:+. -]{0,30}") {
            parse_date(&text);
            parse_date(&number);
        }
    }
}
