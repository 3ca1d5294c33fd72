//! What a page says about itself: title, description, language, charset, base, and what robots may do with it.

use super::links::refresh_target;
use super::text::{TextBuffer, one_line};
use crate::content_type::charset_parameter;
use crate::parse::{Attribute, Attributes};
use crate::robots_directives::RobotsDirectives;

pub(crate) const MAX_TITLE_BYTES: usize = 1 << 10;
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 4 << 10;

pub(crate) struct Metadata<'p> {
    product_token: &'p str,
    pub title: TextBuffer,
    has_title: bool,
    pub description: String,
    /// As `<html lang>` says it.
    pub lang: Option<String>,
    pub charset: Option<String>,
    /// As the first `<base href>` says it.
    pub base: Option<String>,
    pub robots: RobotsDirectives,
}

impl<'p> Metadata<'p> {
    pub fn new(product_token: &'p str) -> Self {
        Self {
            product_token,
            title: TextBuffer::of_one_line(MAX_TITLE_BYTES),
            has_title: false,
            description: String::new(),
            lang: None,
            charset: None,
            base: None,
            robots: RobotsDirectives::default(),
        }
    }

    /// False when the page has a title already: the first one counts.
    pub fn begin_title(&mut self) -> bool {
        !std::mem::replace(&mut self.has_title, true)
    }

    pub fn lang(&mut self, lang: Option<String>) {
        if self.lang.is_none() {
            self.lang = lang.filter(|lang| !lang.trim().is_empty());
        }
    }

    pub fn base(&mut self, attributes: &Attributes) {
        if self.base.is_none() {
            self.base = attributes.text(Attribute::Reference);
        }
    }

    /// Takes a `<meta>`. Where it sends the reader elsewhere, the target is returned.
    pub fn meta(&mut self, attributes: &Attributes) -> Option<Vec<u8>> {
        if self.charset.is_none() {
            self.charset = attributes.text(Attribute::Charset);
        }
        let content = attributes.get(Attribute::Content)?;
        if let Some(name) = attributes.get(Attribute::Name) {
            self.named(name.trim_ascii(), content);
        }
        let http_equiv = attributes.get(Attribute::HttpEquiv)?.trim_ascii();
        let content = String::from_utf8_lossy(content);
        if http_equiv.eq_ignore_ascii_case(b"refresh") {
            return refresh_target(&content);
        }
        if http_equiv.eq_ignore_ascii_case(b"content-type") && self.charset.is_none() {
            self.charset = charset_parameter(&content);
        }
        None
    }

    fn named(&mut self, name: &[u8], content: &[u8]) {
        if name.eq_ignore_ascii_case(b"description") && self.description.is_empty() {
            self.description = one_line(content, MAX_DESCRIPTION_BYTES);
        } else if name.eq_ignore_ascii_case(b"robots") || name.eq_ignore_ascii_case(self.product_token.as_bytes()) {
            self.robots |= RobotsDirectives::of_list(&String::from_utf8_lossy(content));
        }
    }
}
