//! Reads XML leniently: as HTML's tokenizer sees it, without HTML's elements. Broken files give what they have.
//!
//! Names come in lower case. Only the few attributes that a feed can have meaning in are kept.

use crate::tokenizer::{Content, Sink, tokenize};

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
    let mut markup =
        MarkupSink { reader, name: Vec::new(), attributes: MarkupAttributes::default(), is_end_tag: false };
    tokenize(source, &mut markup);
}

struct MarkupSink<'r, R> {
    reader: &'r mut R,
    name: Vec<u8>,
    attributes: MarkupAttributes,
    is_end_tag: bool,
}

fn cut(part: &[u8], limit: usize) -> &[u8] {
    &part[..part.len().min(limit)]
}

impl<R: Reader> Sink for MarkupSink<'_, R> {
    fn text(&mut self, piece: &[u8]) {
        self.reader.text(piece);
    }

    fn begin_tag(&mut self, name: &[u8], is_end_tag: bool) -> bool {
        self.name.clear();
        self.name.extend_from_slice(cut(name, MAX_NAME_BYTES));
        self.attributes.values.clear();
        self.is_end_tag = is_end_tag;
        !is_end_tag
    }

    fn attribute(&mut self, name: &[u8]) -> bool {
        let has_room = self.attributes.values.len() < MAX_ATTRIBUTES;
        if has_room {
            self.attributes.values.push((cut(name, MAX_NAME_BYTES).to_vec(), Vec::new()));
        }
        has_room
    }

    fn value(&mut self, piece: &[u8]) {
        if let Some((_, value)) = self.attributes.values.last_mut() {
            let room = MAX_VALUE_BYTES.saturating_sub(value.len());
            value.extend_from_slice(cut(piece, room));
        }
    }

    fn finish_tag(&mut self, self_closing: bool) -> Option<Content> {
        if !self.is_end_tag {
            self.reader.start(&self.name, &self.attributes);
        }
        if self.is_end_tag || self_closing {
            self.reader.end(&self.name);
        }
        None
    }

    // So that `<![CDATA[` is read as such.
    fn is_foreign(&mut self) -> bool {
        true
    }
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
