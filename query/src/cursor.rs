//! Where a page of results ended, as text that the next question gives back.
//!
//! It names the [view](crate::views) of the index that was searched, so that the next page is cut from the same list. When
//! that view is no longer kept, it goes on after the last rank that was shown. It holds nothing secret, and a forged one
//! can only ask for another page.

use crate::error::QueryError;
use crate::rank::Match;
use crate::request::{CheckedRequest, MAX_OFFSET, Sort};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cursor {
    pub view: u64,
    /// Matches shown so far.
    pub offset: usize,
    /// Of the last one.
    pub position: Position,
    /// Of what was asked for, so that a cursor is not taken into another search.
    asked: u64,
}

/// A place in the order of matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    pub has_all_words: bool,
    pub order: f64,
    /// How many of those shown have this same rank.
    pub equals: usize,
}

/// Hexadecimal digits of each part, in the order written.
const PARTS: [usize; 6] = [16, 4, 1, 16, 4, 16];
const DIGITS: usize = 16 + 4 + 1 + 16 + 4 + 16;

impl Position {
    /// Of the last of these matches.
    pub fn of(shown: &[(Match, u64)]) -> Option<Self> {
        let last = &shown.last()?.0;
        let equals = shown.iter().rev().take_while(|(found, _)| found.is_as_good_as(last)).count();
        Some(Self { has_all_words: last.has_all_words, order: last.order, equals })
    }

    /// How many of these, the best first, stand before the next page.
    pub fn skipped(&self, matches: &[(Match, u64)]) -> usize {
        let better = |found: &Match| {
            let as_words = found.has_all_words.cmp(&self.has_all_words);
            as_words.then(found.order.total_cmp(&self.order)).is_gt()
        };
        matches.iter().take_while(|(found, _)| better(found)).count() + self.equals
    }
}

impl Cursor {
    pub fn new(view: u64, offset: usize, position: Position, request: &CheckedRequest) -> Self {
        Self { view, offset, position, asked: asked(request) }
    }

    pub fn write(&self) -> String {
        let Position { has_all_words, order, equals } = self.position;
        let (words, equals) = (u8::from(has_all_words), equals.min(0xffff));
        let (view, offset, order, asked) = (self.view, self.offset, order.to_bits(), self.asked);
        format!("{view:016x}{offset:04x}{words:x}{order:016x}{equals:04x}{asked:016x}")
    }

    pub fn read(text: &str, request: &CheckedRequest) -> Result<Self, QueryError> {
        let Some(cursor) = Self::parse(text) else {
            let message = "the cursor is not one that an answer gave; begin without it";
            return Err(QueryError::invalid("invalid_cursor", message));
        };
        if cursor.asked != asked(request) {
            let message =
                "the cursor belongs to another search; repeat the same words and filters, or begin without it";
            return Err(QueryError::invalid("invalid_cursor", message));
        }
        Ok(cursor)
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() != DIGITS || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut numbers = [0u64; PARTS.len()];
        let mut rest = text;
        for (number, digits) in numbers.iter_mut().zip(PARTS) {
            let (part, after) = rest.split_at(digits);
            *number = u64::from_str_radix(part, 16).ok()?;
            rest = after;
        }
        let [view, offset, words, order, equals, asked] = numbers;
        let offset = usize::try_from(offset).ok().filter(|offset| *offset <= MAX_OFFSET)?;
        let (order, equals) = (f64::from_bits(order), usize::try_from(equals).ok()?);
        Some(Self { view, offset, position: Position { has_all_words: words != 0, order, equals }, asked })
    }
}

/// What must stay the same from page to page; how many hits a page has may change.
fn asked(request: &CheckedRequest) -> u64 {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let parts = format!(
        "{}\0{}\0{}\0{}\0{}\0{:?}\0{:?}\0{}\0{:?}",
        request.query,
        text(&request.site),
        text(&request.lang),
        text(&request.content_type),
        request.per_host,
        request.after,
        request.before,
        request.sort == Sort::Date,
        request.freshness,
    );
    parts.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::request::SearchRequest;

    proptest! {
        #[test]
        fn a_cursor_is_read_back_as_it_was_written(
            view: u64, offset in 0..=MAX_OFFSET, has_all_words: bool, order: f64, equals in 0..0x1_0000usize
        ) {
            let request = SearchRequest::new("river").check().unwrap();
            let cursor = Cursor::new(view, offset, Position { has_all_words, order, equals }, &request);
            let read = Cursor::read(&cursor.write(), &request).unwrap();
            prop_assert_eq!(read.write(), cursor.write());
        }

        #[test]
        fn any_text_is_a_cursor_or_refused(text: String) {
            let request = SearchRequest::new("river").check().unwrap();
            prop_assert!(Cursor::read(&text, &request).is_err());
        }
    }

    #[test]
    fn a_cursor_of_another_search_is_refused() {
        let request = SearchRequest::new("river").check().unwrap();
        let position = Position { has_all_words: true, order: 1.0, equals: 1 };
        let written = Cursor::new(1, 10, position, &request).write();
        let other = SearchRequest { lang: Some("en".into()), ..SearchRequest::new("river") }.check().unwrap();
        assert_eq!(Cursor::read(&written, &other).unwrap_err().code(), "invalid_cursor");
    }
}
