//! Reads HTML once and hands tags and text to [`Extraction`] as they come.
//!
//! Keeps only what an extraction can ask for: the name of the current tag and the few attributes wanted of it. No token
//! is built, nothing is kept of comments, and text goes on in the pieces in which the tokenizer finds it.
//! Not responsible for what a tag means; that is `extract`.

mod tag;
mod attributes;

pub(crate) use attributes::{Attribute, Attributes};
pub(crate) use tag::{Block, Cell, Tag};

use crate::extract::Extraction;
use crate::tokenizer::{Content, Sink, tokenize};

/// Longer names are no names that anything is known about.
const MAX_NAME_BYTES: usize = 24;

/// Reads a page into the extraction. Bytes that are not UTF-8 are let through as they are.
pub(crate) fn parse(html: &[u8], extraction: &mut Extraction<'_>) {
    read(html, extraction);
    extraction.end_raw();
    read_fallback(extraction);
}

/// What is said to clients without scripts is read like browsers with scripts delimit it: it ends at its own end tag
/// whatever it holds.
fn read_fallback(extraction: &mut Extraction<'_>) {
    if let Some(source) = extraction.take_fallback() {
        let mark = extraction.begin_fallback();
        read(&source, extraction);
        extraction.end_fallback(mark);
    }
}

fn read(html: &[u8], extraction: &mut Extraction<'_>) {
    let mut page = PageSink {
        extraction,
        tag_name: Vec::with_capacity(MAX_NAME_BYTES),
        tag: Tag::Inline,
        is_end_tag: false,
        attributes: Attributes::default(),
    };
    tokenize(html, &mut page);
}

struct PageSink<'x, 'p> {
    extraction: &'x mut Extraction<'p>,
    tag_name: Vec<u8>,
    tag: Tag,
    is_end_tag: bool,
    attributes: Attributes,
}

impl Sink for PageSink<'_, '_> {
    #[inline]
    fn text(&mut self, piece: &[u8]) {
        self.extraction.text(piece);
    }

    #[inline]
    fn begin_tag(&mut self, name: &[u8], is_end_tag: bool) -> bool {
        self.tag_name.clear();
        // One byte beyond the limit stays, so that a cut name equals no known one.
        self.tag_name.extend_from_slice(&name[..name.len().min(MAX_NAME_BYTES + 1)]);
        self.tag = Tag::of(&self.tag_name);
        self.is_end_tag = is_end_tag;
        self.attributes.clear();
        !is_end_tag && self.tag.wants_attributes()
    }

    #[inline]
    fn attribute(&mut self, name: &[u8]) -> bool {
        Attribute::wanted(self.tag, name).is_some_and(|attribute| self.attributes.begin(attribute))
    }

    #[inline]
    fn value(&mut self, piece: &[u8]) {
        self.attributes.push(piece);
    }

    fn finish_tag(&mut self, self_closing: bool) -> Option<Content> {
        if !self.is_end_tag {
            return self.extraction.start_tag(self.tag, &self.tag_name, self_closing, &self.attributes);
        }
        self.extraction.end_tag(self.tag, &self.tag_name);
        if self.tag == Tag::Fallback {
            read_fallback(self.extraction);
        }
        None
    }

    fn is_foreign(&mut self) -> bool {
        self.extraction.is_foreign()
    }
}
