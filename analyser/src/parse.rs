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
pub(crate) use tag::Tag;

use crate::extract::Extraction;

/// Longer names are no names that anything is known about.
const MAX_NAME_BYTES: usize = 16;

/// Reads a page into the extraction. Bytes that are not UTF-8 are let through as they are.
pub(crate) fn parse(html: &[u8], extraction: &mut Extraction<'_>) {
    let emitter = PageEmitter {
        extraction,
        tag_name: Vec::with_capacity(MAX_NAME_BYTES),
        tag: Tag::Inline,
        tag_is_known: false,
        is_end_tag: false,
        self_closing: false,
        wants_attributes: false,
        attribute_name: Vec::with_capacity(MAX_NAME_BYTES),
        attribute: None,
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
    /// Where the value of the current attribute goes.
    attribute: Option<Attribute>,
    attributes: Attributes,
    /// The element whose text the tokenizer reads without looking for tags.
    raw_tag_name: Vec<u8>,
}

impl PageEmitter<'_, '_> {
    fn init_tag(&mut self, is_end_tag: bool) {
        self.tag_name.clear();
        self.tag_is_known = false;
        self.is_end_tag = is_end_tag;
        self.self_closing = false;
        self.attribute = None;
        self.attributes.clear();
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
        self.attribute_name.clear();
        self.attribute = None;
        self.wants_attributes = !self.is_end_tag && self.tag().wants_attributes();
    }

    #[inline]
    fn push_attribute_name(&mut self, part: &[u8]) {
        if self.wants_attributes {
            push_name(&mut self.attribute_name, part);
        }
    }

    fn init_attribute_value(&mut self) {
        if self.wants_attributes {
            let wanted = Attribute::wanted(self.tag, &self.attribute_name);
            self.attribute = wanted.filter(|&attribute| self.attributes.begin(attribute));
        }
    }

    #[inline]
    fn push_attribute_value(&mut self, part: &[u8]) {
        if let Some(attribute) = self.attribute {
            self.attributes.push(attribute, part);
        }
    }

    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        let tag = self.tag();
        if self.is_end_tag {
            self.extraction.end_tag(tag);
            return None;
        }
        let has_content = !(self.self_closing && self.extraction.is_in_svg());
        self.extraction.start_tag(tag, has_content, &self.attributes);
        let state = tag.content_state(&self.tag_name).filter(|_| has_content);
        if state.is_some() {
            self.raw_tag_name.clone_from(&self.tag_name);
        }
        state
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end_tag && self.tag_name == self.raw_tag_name
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.extraction.is_in_svg()
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
