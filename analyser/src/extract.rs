//! What a page says: text, links and metadata, collected while it is read.
//!
//! Told of each tag and each piece of text in page order by `parse`; knows which of them are shown, which are links and
//! which describe the page. Not responsible for resolving links; see `links`.

pub(crate) mod text;
pub(crate) mod links;
pub(crate) mod metadata;

use seine_common::limits::MAX_TEXT_BYTES;
use seine_proto::common::v1::LinkKind;

use crate::parse::{Attribute, Attributes, Tag};
use links::LinkCollector;
use metadata::Metadata;
use text::TextBuffer;

pub(crate) struct Extraction<'p> {
    pub text: TextBuffer,
    pub links: LinkCollector,
    pub metadata: Metadata<'p>,
    /// Where text goes while the tokenizer looks for no tags.
    raw: Option<Raw>,
    /// Inside `<noscript>` or `<noframes>`: its links count, its text does not.
    in_fallback: bool,
    /// Templates are inert: neither their text nor their links are on the page.
    template_depth: u32,
    svg_depth: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Raw {
    Title,
    Dropped,
}

impl<'p> Extraction<'p> {
    /// `product_token` is the name under which robots meta tags may speak to this crawler alone.
    pub fn new(product_token: &'p str) -> Self {
        Self {
            text: TextBuffer::of_lines(MAX_TEXT_BYTES),
            links: LinkCollector::default(),
            metadata: Metadata::new(product_token),
            raw: None,
            in_fallback: false,
            template_depth: 0,
            svg_depth: 0,
        }
    }

    pub fn is_in_svg(&self) -> bool {
        self.svg_depth > 0
    }

    #[inline]
    pub fn text(&mut self, piece: &[u8]) {
        match self.raw {
            None if self.template_depth > 0 => {}
            None => {
                if !self.in_fallback {
                    self.text.push(piece);
                }
                self.links.text(piece);
            }
            Some(Raw::Title) => self.metadata.title.push(piece),
            Some(Raw::Dropped) => {}
        }
    }

    /// `has_content` is false for a self-closing tag where that means something.
    pub fn start_tag(&mut self, tag: Tag, has_content: bool, attributes: &Attributes) {
        match tag {
            Tag::Template if has_content => self.template_depth += 1,
            // Scripts and styles end at their own end tag wherever they stand.
            Tag::Code => self.raw = has_content.then_some(Raw::Dropped),
            _ if self.template_depth > 0 => self.start_raw_in_template(tag),
            _ => self.start_visible(tag, has_content, attributes),
        }
    }

    fn start_raw_in_template(&mut self, tag: Tag) {
        if matches!(tag, Tag::Title | Tag::Textarea | Tag::Iframe | Tag::Verbatim) {
            self.raw = Some(Raw::Dropped);
        }
    }

    fn start_visible(&mut self, tag: Tag, has_content: bool, attributes: &Attributes) {
        match tag {
            Tag::Inline | Tag::Template | Tag::Code => {}
            Tag::Block => self.end_line(),
            Tag::Cell | Tag::Textarea => self.end_word(),
            Tag::Verbatim | Tag::Plaintext => self.end_line(),
            Tag::A => self.links.open_anchor(attributes),
            Tag::Area => self.links.add(LinkKind::Area, attributes),
            Tag::Frame => self.links.add(LinkKind::Frame, attributes),
            Tag::Iframe => {
                self.links.add(LinkKind::Frame, attributes);
                self.raw = Some(Raw::Dropped);
            }
            Tag::Img => self.links.image(attributes),
            Tag::Base => self.metadata.base(attributes),
            Tag::Meta => {
                if let Some(target) = self.metadata.meta(attributes) {
                    self.links.add_reference(LinkKind::Refresh, target);
                }
            }
            Tag::Html => self.metadata.lang(attributes.text(Attribute::Lang)),
            Tag::Body => {
                self.in_fallback = false;
                self.end_line();
            }
            Tag::Title => {
                let is_title = !self.is_in_svg() && self.metadata.begin_title();
                self.raw = has_content.then_some(if is_title { Raw::Title } else { Raw::Dropped });
            }
            Tag::Fallback => self.in_fallback = true,
            Tag::Svg if has_content => self.svg_depth += 1,
            Tag::Svg => {}
        }
    }

    pub fn end_tag(&mut self, tag: Tag) {
        self.raw = None;
        match tag {
            Tag::Template => self.template_depth = self.template_depth.saturating_sub(1),
            _ if self.template_depth > 0 => {}
            Tag::A => self.links.close_anchor(),
            Tag::Block | Tag::Body | Tag::Html | Tag::Verbatim => self.end_line(),
            Tag::Cell | Tag::Textarea => self.end_word(),
            Tag::Fallback => self.in_fallback = false,
            Tag::Svg => self.svg_depth = self.svg_depth.saturating_sub(1),
            _ => {}
        }
    }

    fn end_line(&mut self) {
        self.text.end_line();
        self.links.end_word();
    }

    fn end_word(&mut self) {
        self.text.end_word();
        self.links.end_word();
    }
}

#[cfg(test)]
mod tests;
