//! What attributes are compared with: globs, numbers, dates and stretches of them.

use std::borrow::Cow;
use std::ops::Bound;

use crate::http_date::days_since_1970;

/// `*` stands for any characters and nothing else is special. Matches the whole text.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    text: String,
    /// What stands between the stars.
    pieces: Vec<String>,
    ignores_case: bool,
}

impl Glob {
    pub fn new(text: &str, ignores_case: bool) -> Self {
        let pieces = folded(text, ignores_case).split('*').map(str::to_owned).collect();
        Self { text: text.to_owned(), pieces, ignores_case }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Each piece is looked for behind the one before, so the time grows with the text and not with the stars.
    pub fn matches(&self, text: &str) -> bool {
        let text = folded(text, self.ignores_case);
        let Some((first, others)) = self.pieces.split_first() else { return false };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = others.split_last() else { return left.is_empty() };
        let Some(before_last) = left.strip_suffix(last.as_str()) else { return false };
        left = before_last;
        for piece in middle {
            let Some(at) = left.find(piece.as_str()) else { return false };
            left = &left[at + piece.len()..];
        }
        true
    }
}

/// In lower case, where case says nothing. Nothing is allocated for what is in lower case already.
pub(super) fn folded(text: &str, ignores_case: bool) -> Cow<'_, str> {
    match ignores_case && text.chars().any(|c| !c.is_ascii_lowercase() && c.is_alphabetic()) {
        true => Cow::Owned(text.to_lowercase()),
        false => Cow::Borrowed(text),
    }
}

/// All that a number or a date stands for: a date is a whole day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub first: f64,
    pub last: f64,
}

pub(super) type Span = (Bound<f64>, Bound<f64>);

pub(super) fn number(text: &str) -> Option<Point> {
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let number = text.parse::<f64>().ok().filter(|number| is_plain && number.is_finite())?;
    Some(Point { first: number, last: number })
}

/// A day in UTC: `2024-05-31`.
pub(super) fn date(text: &str) -> Option<Point> {
    const DAY_MS: i64 = 86_400_000;
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let plausible = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let first = plausible.then(|| days_since_1970(year, month, day) * DAY_MS)?;
    Some(Point { first: first as f64, last: (first + DAY_MS - 1) as f64 })
}

/// `FROM..TO`, both included; either may be left out.
pub(super) fn span(text: &str, point: fn(&str) -> Option<Point>) -> Option<Span> {
    let (from, to) = text.split_once("..")?;
    let bound = |text: &str| match text.is_empty() {
        true => Some(None),
        false => point(text).map(Some),
    };
    let (from, to) = (bound(from)?, bound(to)?);
    let holds_something = match (from, to) {
        (None, None) => false,
        (Some(from), Some(to)) => from.first <= to.last,
        _ => true,
    };
    if !holds_something {
        return None;
    }
    let from = from.map_or(Bound::Unbounded, |point| Bound::Included(point.first));
    let to = to.map_or(Bound::Unbounded, |point| Bound::Included(point.last));
    Some((from, to))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_glob_matches_the_whole_text() {
        for (glob, text, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("*/print/*", "/x/print/1", true),
            ("*/print/*", "/x/prints/1", false),
            ("a*a", "a", false),
            ("a*b*c", "aXbYbZc", true),
            ("*.pdf", "/x.pdf.html", false),
            ("Ä*", "äb", true),
        ] {
            assert_eq!(Glob::new(glob, true).matches(text), expected, "{glob} {text}");
        }
        assert!(!Glob::new("/A*", false).matches("/ab"));
    }

    #[test]
    fn a_date_is_a_whole_day() {
        let day = date("2024-05-06").unwrap();
        assert_eq!((day.first, day.last), (1_714_953_600_000.0, 1_715_039_999_999.0));
        for wrong in ["2024", "2024-13-01", "2024-01-32", "06-05-2024", "yesterday", "2024-05-06T01:02", ""] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_span_may_be_open_at_one_end() {
        assert_eq!(span("1..5", number), Some((Bound::Included(1.0), Bound::Included(5.0))));
        assert_eq!(span("..5", number), Some((Bound::Unbounded, Bound::Included(5.0))));
        assert!(span("2024-01-01..", date).is_some());
        for wrong in ["..", "5", "a..b", "1..x", "1...5", "5..1"] {
            assert_eq!(span(wrong, number), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_glob_matches_what_its_expression_matches(glob in "[ab*]{0,8}", text in "[ab]{0,12}") {
            let expression = glob.split('*').map(regex::escape).collect::<Vec<_>>().join(".*");
            let expected = regex::Regex::new(&format!("\\A{expression}\\z")).unwrap().is_match(&text);
            prop_assert_eq!(Glob::new(&glob, false).matches(&text), expected);
        }

        #[test]
        fn no_value_makes_it_panic(glob in ".{0,20}", text in ".{0,20}") {
            Glob::new(&glob, true).matches(&text);
            let _ = (date(&text), number(&text), span(&text, date));
        }
    }
}
