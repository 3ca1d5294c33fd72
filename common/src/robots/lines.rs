//! The lines of a robots.txt file, read as forgivingly as the files are written.
//!
//! Line ends are LF, CR or both; `#` begins a comment; a missing colon and the usual misspellings of `user-agent` and
//! `disallow` are understood, because their authors meant to be obeyed. Whatever is not understood is no line at all.

use std::borrow::Cow;

/// One understood line; values without surrounding white space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    UserAgent(&'a [u8]),
    Allow(&'a [u8]),
    Disallow(&'a [u8]),
    /// Seconds: finite and not negative.
    CrawlDelay(f64),
    /// The address of a sitemap, for every robot.
    Sitemap(&'a [u8]),
}

/// The understood lines with their numbers, from 1.
pub fn lines(body: &[u8]) -> impl Iterator<Item = (u32, Line<'_>)> {
    let (mut number, mut after_cr) = (1, false);
    body.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')).filter_map(move |piece| {
        let (text, end) = match piece.split_last() {
            Some((&end @ (b'\n' | b'\r'), text)) => (text, Some(end)),
            _ => (piece, None),
        };
        let here = number;
        let ends_the_line_before = after_cr && text.is_empty() && end == Some(b'\n');
        number += u32::from(end.is_some() && !ends_the_line_before);
        after_cr = end == Some(b'\r');
        Some((here, understand(text)?))
    })
}

fn understand(line: &[u8]) -> Option<Line<'_>> {
    let line = line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii();
    // Some files are written in HTML.
    let line = match line.split_last_chunk::<4>() {
        Some((text, end)) if end.eq_ignore_ascii_case(b"<br>") => text.trim_ascii_end(),
        _ => line,
    };
    let (key, value) = key_and_value(line)?;
    let is = |names: &[&str]| names.iter().any(|name| key.eq_ignore_ascii_case(name.as_bytes()));
    if is(&["user-agent", "useragent", "user agent"]) {
        return Some(Line::UserAgent(value));
    }
    if is(&["allow"]) {
        return Some(Line::Allow(value));
    }
    if is(&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow"]) {
        return Some(Line::Disallow(value));
    }
    if is(&["crawl-delay", "crawldelay", "crawl delay"]) {
        return seconds(value).map(Line::CrawlDelay);
    }
    if is(&["sitemap", "site-map"]) {
        return Some(Line::Sitemap(value));
    }
    None
}

/// `key: value`, or `key value` when the line is exactly two words.
fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(colon) = line.iter().position(|&byte| byte == b':') {
        return Some((line[..colon].trim_ascii_end(), line[colon + 1..].trim_ascii_start()));
    }
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    match (words.next(), words.next(), words.next()) {
        (Some(key), Some(value), None) => Some((key, value)),
        _ => None,
    }
}

/// The number that the value begins with. Words such as `inf` are no numbers.
fn seconds(value: &[u8]) -> Option<f64> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let number: f64 = std::str::from_utf8(&value[..digits]).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// The file as UTF-8 bytes without a byte order mark.
pub fn unmarked(body: &[u8]) -> Cow<'_, [u8]> {
    let wide = |read: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let units = bytes.as_chunks::<2>().0.iter().map(|pair| read(*pair));
        char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
            .into_bytes()
    };
    match body {
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(rest),
        [0xfe, 0xff, 0, ..] => Cow::Owned(wide(u16::from_be_bytes, &body[2..])),
        [0xff, 0xfe, _, 0, ..] => Cow::Owned(wide(u16::from_le_bytes, &body[2..])),
        // A mark that lies: what follows is ASCII.
        [0xfe, 0xff, rest @ ..] | [0xff, 0xfe, rest @ ..] => Cow::Borrowed(rest),
        _ => Cow::Borrowed(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Option<Line<'_>> {
        understand(line.as_bytes())
    }

    #[test]
    fn misspelt_and_bare_lines_are_understood() {
        assert_eq!(one("  Useragent : Foo # me"), Some(Line::UserAgent(b"Foo")));
        assert_eq!(one("disalow /x"), Some(Line::Disallow(b"/x")));
        assert_eq!(one("Disallow:"), Some(Line::Disallow(b"")));
        assert_eq!(one("allow: /a b"), Some(Line::Allow(b"/a b")));
        assert_eq!(one("noindex: /a"), None);
        assert_eq!(one("disallow /a /b"), None);
    }

    #[test]
    fn lines_are_numbered_whatever_ends_them() {
        let numbers = |body: &str| lines(body.as_bytes()).map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers("allow: a\n\nallow: b\nallow: c"), [1, 3, 4]);
        assert_eq!(numbers("allow: a\r\n\r\nallow: b\r\n"), [1, 3]);
        assert_eq!(numbers("allow: a\rallow: b\r\rallow: c"), [1, 2, 4]);
    }

    #[test]
    fn only_real_numbers_are_delays() {
        assert_eq!(one("Crawl-delay: 2.5"), Some(Line::CrawlDelay(2.5)));
        assert_eq!(one("Crawl-delay: 10<BR>"), Some(Line::CrawlDelay(10.0)));
        for word in ["inf", "nan", "-1", "", "ten", "1.2.3"] {
            assert_eq!(one(&format!("Crawl-delay: {word}")), None, "{word}");
        }
        assert_eq!(one(&format!("Crawl-delay: {}", "9".repeat(400))), None);
    }

    #[test]
    fn byte_order_marks_are_taken_off() {
        assert_eq!(&*unmarked(b"\xef\xbb\xbfa"), b"a");
        assert_eq!(&*unmarked(b"\xff\xfea\0"), b"a");
        assert_eq!(&*unmarked(b"\xfe\xff\0a\0"), b"a");
        assert_eq!(&*unmarked(b"\xff\xfeab"), b"ab");
    }
}
