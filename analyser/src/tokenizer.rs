//! Splits HTML into tags and text, as the tokenizer of the WHATWG specification does, in one pass over a byte slice.
//!
//! Nothing is built: names, values and text go to a [`Sink`] as slices of the source wherever the source has them as
//! they must be. Comments, doctypes and processing instructions are delimited and skipped. Not responsible for what a
//! tag means; the sink says how the content of an element must be read.
//!
//! Every byte is looked at a bounded number of times whatever the input is: a search goes on from where the last one
//! ended, and one that finds nothing ends the reading.

mod bytes;
mod tag;
mod raw_text;
mod declaration;
mod character_reference;
#[cfg(test)]
mod tests;

use std::ops::Range;

use character_reference::CharacterReference;

/// Told of tags and text in order.
pub(crate) trait Sink {
    /// A piece of text, character references resolved. One text may come in several pieces.
    fn text(&mut self, piece: &[u8]);

    /// A tag begins, with its name in lower case. Says whether any attribute of it is wanted.
    fn begin_tag(&mut self, name: &[u8], is_end_tag: bool) -> bool;

    /// An attribute of the tag begun last, by its name in lower case. Says whether its value is wanted. A tag may have
    /// several of one name; the first one counts.
    fn attribute(&mut self, name: &[u8]) -> bool;

    /// A piece of the wanted value, character references resolved. An empty value has none.
    fn value(&mut self, piece: &[u8]);

    /// The tag is complete; one that the source ends in never is. Says how the content of the element must be read,
    /// where not as usual; of an end tag the answer is ignored.
    fn finish_tag(&mut self, self_closing: bool) -> Option<Content>;

    /// Whether `<![CDATA[` begins text here: the current element is one of SVG or MathML.
    fn is_foreign(&mut self) -> bool;
}

/// How the content of an element is read, where not as usual. All but the last end at the element's end tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Without tags, with character references.
    RcData,
    /// Without tags and character references.
    RawText,
    /// Like [`Content::RawText`], with the exceptions for scripts within comments.
    ScriptData,
    /// All that follows is text.
    PlainText,
}

/// Longer names of tags and attributes come cut to one byte more, so that a cut name equals no known one.
pub(crate) const MAX_NAME_BYTES: usize = 64;

/// Reads all of the source. Bytes that are not UTF-8 are let through as they are.
pub(crate) fn tokenize(source: &[u8], sink: &mut impl Sink) {
    let mut tokenizer = Tokenizer { source, position: 0, sink, next_special: 0, name: Vec::new() };
    tokenizer.find_special(0);
    tokenizer.read();
}

struct Tokenizer<'x, S> {
    source: &'x [u8],
    /// What lies before has been read.
    position: usize,
    sink: &'x mut S,
    /// Where the next carriage return or NUL is, which are passed on as something else; beyond the source if there is
    /// none. Lags behind the position where such a byte was not passed on.
    next_special: usize,
    /// The current name, where it differs from the source.
    name: Vec<u8>,
}

/// What a NUL is passed on as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nul {
    Kept,
    Replaced,
}

/// Stands for NULs.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

impl<S: Sink> Tokenizer<'_, S> {
    fn read(&mut self) {
        let source = self.source;
        // Text from here on has not been passed on.
        let mut start = 0;
        loop {
            let found = match source.get(self.position) {
                // Many tags follow one another.
                Some(b'<') => Some(self.position),
                _ => bytes::find_either_near(b'<', b'&', source, self.position),
            };
            let Some(found) = found else {
                return self.text(start..source.len(), Nul::Kept);
            };
            self.position = found + 1;
            if source[found] == b'&' {
                if let Some(reference) = CharacterReference::in_text(&source[found + 1..]) {
                    self.text(start..found, Nul::Kept);
                    self.reference(&reference);
                    start = self.position;
                }
                continue;
            }
            let after_slash = || source.get(found + 2).copied();
            match source.get(found + 1) {
                Some(b'a'..=b'z' | b'A'..=b'Z') => {
                    self.text(start..found, Nul::Kept);
                    self.start_tag();
                }
                Some(b'/') if after_slash().is_some() => {
                    self.text(start..found, Nul::Kept);
                    self.position = found + 2;
                    if after_slash().is_some_and(|byte| byte.is_ascii_alphabetic()) {
                        self.end_tag();
                    } else {
                        self.skip_to_greater_than();
                    }
                }
                Some(b'!') => {
                    self.text(start..found, Nul::Kept);
                    self.position = found + 2;
                    self.declaration();
                }
                Some(b'?') => {
                    self.text(start..found, Nul::Kept);
                    self.skip_to_greater_than();
                }
                // It is text, as the end of a source in `</` is.
                _ => continue,
            }
            start = self.position;
        }
    }

    /// Passes on a piece of the source as text.
    #[inline]
    fn text(&mut self, range: Range<usize>, nul: Nul) {
        if range.is_empty() {
            return;
        }
        if range.end <= self.next_special {
            self.sink.text(&self.source[range]);
        } else {
            self.clean(range, nul, S::text);
        }
    }

    /// Passes on what a reference in text stands for. The position is after its ampersand.
    fn reference(&mut self, reference: &CharacterReference) {
        self.sink.text(reference.characters());
        self.position += reference.len();
    }

    /// Passes on a piece of the source in pieces, with all ends of lines as line feeds. No piece of the source ends
    /// between a carriage return and a line feed.
    #[inline(never)]
    fn clean(&mut self, range: Range<usize>, nul: Nul, pass_on: impl Fn(&mut S, &[u8])) {
        let source = self.source;
        let mut start = range.start;
        if self.next_special < start {
            self.find_special(start);
        }
        while self.next_special < range.end {
            let found = self.next_special;
            self.find_special(found + 1);
            let replacement: &[u8] = match source[found] {
                b'\r' if source.get(found + 1) == Some(&b'\n') => b"",
                b'\r' => b"\n",
                0 if nul == Nul::Replaced => REPLACEMENT,
                _ => continue,
            };
            if start < found {
                pass_on(self.sink, &source[start..found]);
            }
            if !replacement.is_empty() {
                pass_on(self.sink, replacement);
            }
            start = found + 1;
        }
        if start < range.end {
            pass_on(self.sink, &source[start..range.end]);
        }
    }

    fn find_special(&mut self, from: usize) {
        self.next_special = bytes::find_either(b'\r', 0, self.source, from).unwrap_or(usize::MAX);
    }
}
