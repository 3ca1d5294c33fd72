//! Reads the content of elements that hold text alone: passes it on up to the element's end tag.
//!
//! The end tag itself is left to be read like any other. No other tag ends such content: what is compared is the name of
//! the start tag, letter by letter.

use std::ops::Range;

use super::bytes::{ends_tag_name, find, find_either};
use super::character_reference::CharacterReference;
use super::{Content, MAX_NAME_BYTES, Nul, Sink, Tokenizer};

impl<S: Sink> Tokenizer<'_, S> {
    /// Passes on the content of an element whose name stands at `name` in the source.
    pub(super) fn content(&mut self, content: Content, name: Range<usize>) {
        let source = self.source;
        let start = self.position;
        let name = &source[name];
        match content {
            Content::RcData => return self.text_with_references(name),
            Content::RawText => self.position = end_of_raw_text(source, start, name),
            Content::ScriptData => self.position = end_of_script(source, start, name),
            Content::PlainText => self.position = source.len(),
        }
        self.text(start..self.position, Nul::Replaced);
    }

    fn text_with_references(&mut self, name: &[u8]) {
        let source = self.source;
        let mut start = self.position;
        while let Some(found) = find_either(b'<', b'&', source, self.position) {
            if source[found] == b'<' && is_end_tag(source, found, name) {
                self.text(start..found, Nul::Replaced);
                self.position = found;
                return;
            }
            self.position = found + 1;
            if source[found] == b'&'
                && let Some(reference) = CharacterReference::in_text(&source[found + 1..])
            {
                self.text(start..found, Nul::Replaced);
                self.reference(&reference);
                start = self.position;
            }
        }
        self.position = source.len();
        self.text(start..self.position, Nul::Replaced);
    }
}

/// Whether the end tag of the element begins at the `<` at this position.
#[inline]
fn is_end_tag(source: &[u8], position: usize, name: &[u8]) -> bool {
    source.get(position + 1) == Some(&b'/') && is_named(source, position + 2, name)
}

/// Whether the name of a tag stands at the position, and ends there.
fn is_named(source: &[u8], position: usize, name: &[u8]) -> bool {
    let end = position + name.len();
    // Known names are short. To compare long ones again and again would take more than linear time.
    name.len() <= MAX_NAME_BYTES
        && source.get(position..end).is_some_and(|found| found.eq_ignore_ascii_case(name))
        && source.get(end).is_some_and(|byte| ends_tag_name(*byte))
}

fn end_of_raw_text(source: &[u8], from: usize, name: &[u8]) -> usize {
    let mut position = from;
    while let Some(found) = find(b'<', source, position) {
        if is_end_tag(source, found, name) {
            return found;
        }
        position = found + 1;
    }
    source.len()
}

/// How far a script has hidden itself from browsers without scripts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hiding {
    /// Not within `<!--` and `-->`.
    None,
    Escaped,
    /// Within `<script>` in addition, where no end tag counts.
    DoubleEscaped,
}

fn end_of_script(source: &[u8], from: usize, name: &[u8]) -> usize {
    let mut hiding = Hiding::None;
    let mut position = from;
    loop {
        let found = match hiding {
            Hiding::None => find(b'<', source, position),
            Hiding::Escaped | Hiding::DoubleEscaped => find_either(b'<', b'>', source, position),
        };
        let Some(found) = found else { return source.len() };
        position = found + 1;
        if source[found] == b'>' {
            // The dashes that begin the comment may be the ones that end it.
            if source[..found].ends_with(b"--") {
                hiding = Hiding::None;
            }
            continue;
        }
        match hiding {
            Hiding::None | Hiding::Escaped if is_end_tag(source, found, name) => return found,
            Hiding::None if source[position..].starts_with(b"!--") => {
                hiding = Hiding::Escaped;
                position += 3;
            }
            Hiding::Escaped if is_named(source, position, b"script") => {
                hiding = Hiding::DoubleEscaped;
                position += b"script>".len();
            }
            Hiding::DoubleEscaped if is_end_tag(source, found, b"script") => {
                hiding = Hiding::Escaped;
                position += b"/script>".len();
            }
            _ => {}
        }
    }
}
