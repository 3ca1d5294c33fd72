//! Reads XML leniently: as HTML's tokenizer sees it, without HTML's elements. Broken files give what they have.
//!
//! Names come in lower case. Only the few attributes that a feed can have meaning in are kept.

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

/// Told of tags and text in order.
pub(crate) trait Reader {
    fn start(&mut self, name: &[u8], attributes: &MarkupAttributes);
    fn end(&mut self, name: &[u8]);
    fn text(&mut self, piece: &[u8]);
}

#[derive(Default)]
pub(crate) struct MarkupAttributes {
    values: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Of one element; more is an attack.
const MAX_ATTRIBUTES: usize = 32;
const MAX_NAME_BYTES: usize = 64;
const MAX_VALUE_BYTES: usize = 8 << 10;

impl MarkupAttributes {
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}

pub(crate) fn read(source: &[u8], reader: &mut impl Reader) {
    let emitter = MarkupEmitter {
        reader,
        name: Vec::new(),
        attributes: MarkupAttributes::default(),
        is_end_tag: false,
        is_self_closing: false,
    };
    let Ok(()) = Tokenizer::new_with_emitter(source, emitter).finish();
}

struct MarkupEmitter<'r, R> {
    reader: &'r mut R,
    name: Vec<u8>,
    attributes: MarkupAttributes,
    is_end_tag: bool,
    is_self_closing: bool,
}

impl<R> MarkupEmitter<'_, R> {
    fn begin(&mut self, is_end_tag: bool) {
        self.name.clear();
        self.attributes.values.clear();
        self.is_end_tag = is_end_tag;
        self.is_self_closing = false;
    }
}

fn push(buffer: &mut Vec<u8>, part: &[u8], limit: usize) {
    let room = limit.saturating_sub(buffer.len());
    buffer.extend_from_slice(&part[..part.len().min(room)]);
}

impl<R: Reader> Emitter for MarkupEmitter<'_, R> {
    type Token = Infallible;

    fn emit_string(&mut self, text: &[u8]) {
        self.reader.text(text);
    }

    fn init_start_tag(&mut self) {
        self.begin(false);
    }

    fn init_end_tag(&mut self) {
        self.begin(true);
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        push(&mut self.name, part, MAX_NAME_BYTES);
    }

    fn init_attribute(&mut self) {
        if self.attributes.values.len() < MAX_ATTRIBUTES {
            self.attributes.values.push(Default::default());
        }
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        if let Some((name, _)) = self.attributes.values.last_mut() {
            push(name, part, MAX_NAME_BYTES);
        }
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        if let Some((_, value)) = self.attributes.values.last_mut() {
            push(value, part, MAX_VALUE_BYTES);
        }
    }

    fn set_self_closing(&mut self) {
        self.is_self_closing = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        if !self.is_end_tag {
            self.reader.start(&self.name, &self.attributes);
        }
        if self.is_end_tag || self.is_self_closing {
            self.reader.end(&self.name);
        }
        None
    }

    // So that `<![CDATA[` is read as such.
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        true
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        false
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

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

/// The `encoding` of an XML declaration.
pub(crate) fn declared_charset(prefix: &[u8]) -> Option<String> {
    let declaration = prefix.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.iter().position(|byte| *byte == b'>')?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
    let value = &value[..value.iter().position(|byte| byte == quote)?];
    Some(String::from_utf8_lossy(value).into_owned())
}
