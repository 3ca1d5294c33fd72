//! Reads tags: names, attributes and what ends them.
//!
//! A tag that the source ends in leaves the position at the end of the source and is never finished.

use std::ops::Range;

use super::bytes::{
    ENDS_ATTRIBUTE_NAME, ENDS_TAG_NAME, find, find_either_near, find_near, name_end, skip_whitespace,
    unquoted_value_end,
};
use super::character_reference::CharacterReference;
use super::{Content, MAX_NAME_BYTES, Nul, REPLACEMENT, Sink, Tokenizer};

/// How a complete tag ends.
struct TagEnd {
    self_closing: bool,
    /// After the `>`.
    position: usize,
}

impl<S: Sink> Tokenizer<'_, S> {
    /// Reads a start tag from its name on, and the content of its element where that has no tags.
    #[inline]
    pub(super) fn start_tag(&mut self) {
        let start = self.position;
        let (end, content) = self.tag(false);
        if let Some(content) = content {
            self.content(content, start..end);
        }
    }

    /// Reads an end tag from its name on.
    #[inline]
    pub(super) fn end_tag(&mut self) {
        self.tag(true);
    }

    /// Reads a tag from its name on. Returns where the name ends, and what the sink says of the content.
    #[inline(always)]
    fn tag(&mut self, is_end_tag: bool) -> (usize, Option<Content>) {
        let source = self.source;
        let start = self.position;
        let (end, is_changed) = name_end(source, start, ENDS_TAG_NAME);
        let name = name(&source[start..end], is_changed, &mut self.name);
        let wants_attributes = self.sink.begin_tag(name, is_end_tag);
        let tag_end = match source.get(end) {
            Some(b'>') => Some(TagEnd { self_closing: false, position: end + 1 }),
            None => None,
            Some(_) if wants_attributes => self.attributes::<true>(end),
            Some(_) => self.attributes::<false>(end),
        };
        let Some(tag_end) = tag_end else {
            self.position = source.len();
            return (end, None);
        };
        self.position = tag_end.position;
        (end, self.sink.finish_tag(tag_end.self_closing))
    }

    /// Reads from the end of the tag's name, or of an attribute, to the end of the tag.
    #[inline(never)]
    fn attributes<const WANTED: bool>(&mut self, from: usize) -> Option<TagEnd> {
        let source = self.source;
        let mut position = from;
        loop {
            match skip_whitespace(source, &mut position)? {
                b'>' => return Some(TagEnd { self_closing: false, position: position + 1 }),
                b'/' => {
                    position += 1;
                    if *source.get(position)? == b'>' {
                        return Some(TagEnd { self_closing: true, position: position + 1 });
                    }
                    continue;
                }
                _ => {}
            }
            let start = position;
            // The first byte belongs to the name even where it is an equals sign.
            let (end, is_changed) = name_end(source, start + usize::from(source[start] == b'='), ENDS_ATTRIBUTE_NAME);
            let wanted = WANTED && self.sink.attribute(name(&source[start..end], is_changed, &mut self.name));
            position = end;
            if skip_whitespace(source, &mut position)? == b'=' {
                position += 1;
                position = match skip_whitespace(source, &mut position)? {
                    quote @ (b'"' | b'\'') if wanted => self.quoted_value(quote, position + 1)?,
                    quote @ (b'"' | b'\'') => find_near(quote, source, position + 1)? + 1,
                    b'>' => position,
                    _ => self.unquoted_value(wanted, position),
                };
            }
        }
    }

    /// Passes on a value that begins at `from`. Returns what is after its closing quote.
    #[inline]
    fn quoted_value(&mut self, quote: u8, from: usize) -> Option<usize> {
        let found = find_either_near(quote, b'&', self.source, from)?;
        if self.source[found] == quote {
            self.value(from..found);
            return Some(found + 1);
        }
        self.quoted_value_with_references(quote, from, found)
    }

    /// The same, where the first ampersand is known.
    #[inline(never)]
    fn quoted_value_with_references(&mut self, quote: u8, from: usize, ampersand: usize) -> Option<usize> {
        let source = self.source;
        let mut start = from;
        let mut found = ampersand;
        while source[found] != quote {
            let mut position = found + 1;
            if let Some(reference) = CharacterReference::in_value(&source[position..]) {
                self.value(start..found);
                self.sink.value(reference.characters());
                position += reference.len();
                start = position;
            }
            found = find_either_near(quote, b'&', source, position)?;
        }
        self.value(start..found);
        Some(found + 1)
    }

    /// Reads a value that begins at `from` and has a byte at least. Returns where it ends.
    fn unquoted_value(&mut self, wanted: bool, from: usize) -> usize {
        let source = self.source;
        let end = unquoted_value_end(source, from);
        if !wanted {
            return end;
        }
        let mut start = from;
        let mut position = from;
        // No reference reaches beyond the end of the value.
        while let Some(found) = find(b'&', &source[..end], position) {
            position = found + 1;
            if let Some(reference) = CharacterReference::in_value(&source[position..]) {
                self.value(start..found);
                self.sink.value(reference.characters());
                position += reference.len();
                start = position;
            }
        }
        self.value(start..end);
        end
    }

    #[inline]
    fn value(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        if range.end <= self.next_special {
            self.sink.value(&self.source[range]);
        } else {
            self.clean(range, Nul::Replaced, S::value);
        }
    }
}

/// A name as it is passed on.
#[inline]
fn name<'x>(source: &'x [u8], is_changed: bool, buffer: &'x mut Vec<u8>) -> &'x [u8] {
    if is_changed { changed_name(source, buffer) } else { &source[..source.len().min(MAX_NAME_BYTES + 1)] }
}

#[cold]
fn changed_name<'x>(source: &[u8], buffer: &'x mut Vec<u8>) -> &'x [u8] {
    buffer.clear();
    for byte in &source[..source.len().min(MAX_NAME_BYTES + 1)] {
        match byte {
            0 => buffer.extend_from_slice(REPLACEMENT),
            byte => buffer.push(byte.to_ascii_lowercase()),
        }
    }
    buffer.truncate(MAX_NAME_BYTES + 1);
    buffer
}
