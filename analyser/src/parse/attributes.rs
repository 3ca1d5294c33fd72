//! The attributes that an extraction can ask for, in buffers that serve all tags of a page.

use seine_common::url::MAX_URL_BYTES;

use super::Tag;

/// Longer values are cut. Above the longest URL, so that a cut reference is refused and not mistaken for another.
const MAX_VALUE_BYTES: usize = 2 * MAX_URL_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// `href`, or `src` for what has that instead.
    Reference,
    Rel,
    Alt,
    Name,
    HttpEquiv,
    Content,
    Charset,
    Lang,
}

impl Attribute {
    pub const COUNT: usize = 8;

    /// What the attribute is to the tag, if anything.
    pub fn wanted(tag: Tag, name: &[u8]) -> Option<Self> {
        match (tag, name) {
            (Tag::A | Tag::Area | Tag::Base, b"href") | (Tag::Frame | Tag::Iframe, b"src") => Some(Self::Reference),
            (Tag::A | Tag::Area, b"rel") => Some(Self::Rel),
            (Tag::Area | Tag::Img, b"alt") => Some(Self::Alt),
            (Tag::Meta, b"name") => Some(Self::Name),
            (Tag::Meta, b"http-equiv") => Some(Self::HttpEquiv),
            (Tag::Meta, b"content") => Some(Self::Content),
            (Tag::Meta, b"charset") => Some(Self::Charset),
            (Tag::Html, b"lang" | b"xml:lang") => Some(Self::Lang),
            _ => None,
        }
    }
}

/// The wanted attributes of the current tag.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    values: [Vec<u8>; Attribute::COUNT],
    present: [bool; Attribute::COUNT],
}

impl Attributes {
    pub fn clear(&mut self) {
        self.present = [false; Attribute::COUNT];
    }

    /// Starts a value. False when the tag has the attribute already: the first one counts.
    pub fn begin(&mut self, attribute: Attribute) -> bool {
        let index = attribute as usize;
        if self.present[index] {
            return false;
        }
        self.present[index] = true;
        self.values[index].clear();
        true
    }

    pub fn push(&mut self, attribute: Attribute, part: &[u8]) {
        let value = &mut self.values[attribute as usize];
        let room = MAX_VALUE_BYTES.saturating_sub(value.len());
        value.extend_from_slice(&part[..part.len().min(room)]);
    }

    pub fn get(&self, attribute: Attribute) -> Option<&[u8]> {
        let index = attribute as usize;
        self.present[index].then_some(self.values[index].as_slice())
    }

    /// As text; bytes that are not UTF-8 are replaced.
    pub fn text(&self, attribute: Attribute) -> Option<String> {
        self.get(attribute).map(|value| String::from_utf8_lossy(value).into_owned())
    }
}
