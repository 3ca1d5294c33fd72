//! Reads HTML once, with html5gum, and hands tags and text to [`Extraction`] as they come.
//!
//! The emitter keeps only what an extraction can ask for: the name of the current tag and the few attributes wanted of
//! it. No token is built, nothing is kept of comments, and text goes on in the pieces in which the tokenizer finds it.
//! Not responsible for what a tag means; that is `extract`.

mod tag;
mod attributes;

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

pub(crate) use attributes::{Attribute, Attributes};
pub(crate) use tag::{Block, Cell, Tag};

use crate::extract::Extraction;

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
    let emitter = PageEmitter {
        extraction,
        tag_name: Vec::with_capacity(MAX_NAME_BYTES),
        tag: Tag::Inline,
        tag_is_known: false,
        is_end_tag: false,
        self_closing: false,
        wants_attributes: false,
        attribute_name: Vec::with_capacity(MAX_NAME_BYTES),
        attribute: Current::None,
        attributes: Attributes::default(),
        raw_tag_name: Vec::new(),
    };
    let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
}

struct PageEmitter<'x, 'p> {
    extraction: &'x mut Extraction<'p>,
    tag_name: Vec<u8>,
    tag: Tag,
    tag_is_known: bool,
    is_end_tag: bool,
    self_closing: bool,
    wants_attributes: bool,
    attribute_name: Vec<u8>,
    attribute: Current,
    attributes: Attributes,
    /// The element whose text the tokenizer reads without looking for tags.
    raw_tag_name: Vec<u8>,
}

/// How far the current attribute has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    None,
    Name,
    /// Its value is wanted.
    Value,
}

impl PageEmitter<'_, '_> {
    fn init_tag(&mut self, is_end_tag: bool) {
        self.tag_name.clear();
        self.tag_is_known = false;
        self.is_end_tag = is_end_tag;
        self.self_closing = false;
        self.attribute = Current::None;
        self.attributes.clear();
    }

    /// The name of the attribute is complete; it may have a value or not.
    fn begin_value(&mut self) {
        if self.attribute == Current::Name {
            let wanted = Attribute::wanted(self.tag, &self.attribute_name);
            let begun = wanted.is_some_and(|attribute| self.attributes.begin(attribute));
            self.attribute = if begun { Current::Value } else { Current::None };
        }
    }

    fn tag(&mut self) -> Tag {
        if !self.tag_is_known {
            self.tag = Tag::of(&self.tag_name);
            self.tag_is_known = true;
        }
        self.tag
    }
}

/// Appends to a name, as long as it can still be one that is known.
fn push_name(name: &mut Vec<u8>, part: &[u8]) {
    // One byte beyond the limit stays, so that a cut name equals no known one.
    let room = (MAX_NAME_BYTES + 1).saturating_sub(name.len());
    name.extend_from_slice(&part[..part.len().min(room)]);
}

impl Emitter for PageEmitter<'_, '_> {
    type Token = Infallible;

    #[inline]
    fn emit_string(&mut self, text: &[u8]) {
        self.extraction.text(text);
    }

    fn init_start_tag(&mut self) {
        self.init_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.init_tag(true);
    }

    #[inline]
    fn push_tag_name(&mut self, part: &[u8]) {
        push_name(&mut self.tag_name, part);
    }

    fn init_attribute(&mut self) {
        self.begin_value();
        self.attribute_name.clear();
        self.wants_attributes = !self.is_end_tag && self.tag().wants_attributes();
        self.attribute = if self.wants_attributes { Current::Name } else { Current::None };
    }

    #[inline]
    fn push_attribute_name(&mut self, part: &[u8]) {
        if self.wants_attributes {
            push_name(&mut self.attribute_name, part);
        }
    }

    fn init_attribute_value(&mut self) {
        self.begin_value();
    }

    #[inline]
    fn push_attribute_value(&mut self, part: &[u8]) {
        if self.attribute == Current::Value {
            self.attributes.push(part);
        }
    }

    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        let tag = self.tag();
        if self.is_end_tag {
            self.extraction.end_tag(tag, &self.tag_name);
            if tag == Tag::Fallback {
                read_fallback(self.extraction);
            }
            return None;
        }
        self.begin_value();
        let state = self.extraction.start_tag(tag, &self.tag_name, self.self_closing, &self.attributes);
        if state.is_some() {
            self.raw_tag_name.clone_from(&self.tag_name);
        }
        state
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end_tag && self.tag_name == self.raw_tag_name
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.extraction.is_foreign()
    }

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    #[inline]
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    // Nothing is asked of comments, doctypes and errors.
    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
