//! What a page says: text, links and metadata, collected while it is read.
//!
//! Told of each tag and each piece of text in page order by `parse`; knows which of them are shown, which are links and
//! which describe the page. Not responsible for resolving links, see `links`, nor for choosing the main text, see
//! `main_text`.

pub(crate) mod text;
pub(crate) mod hints;
pub(crate) mod outline;
pub(crate) mod foreign;
pub(crate) mod links;
pub(crate) mod linked_data;
pub(crate) mod metas;
pub(crate) mod metadata;

use seine_common::limits::MAX_TEXT_BYTES;
use seine_proto::common::v1::LinkKind;

use crate::parse::{Attribute, Attributes, Block, Cell, Tag};
use crate::tokenizer::Content;
use foreign::Foreign;
use links::LinkCollector;
use metadata::Metadata;
use outline::Outline;
use text::TextBuffer;

/// Shorter text in `<noscript>` is left out.
const MIN_FALLBACK_BYTES: usize = 400;

pub(crate) struct Extraction<'p> {
    pub text: TextBuffer,
    pub outline: Outline,
    pub links: LinkCollector,
    pub metadata: Metadata<'p>,
    /// Where text goes while the tokenizer looks for no tags.
    raw: Option<Raw>,
    /// The source of the `<noscript>` or `<noframes>` that is being read.
    fallback: Vec<u8>,
    in_fallback: bool,
    /// Templates are inert: neither their text nor their links are on the page.
    template_depth: u32,
    foreign: Foreign,
    in_anchor: bool,
    emphasis_depth: u32,
}

/// Where the content of a `<noscript>` began.
#[derive(Clone, Copy)]
pub(crate) struct FallbackMark {
    text: text::Mark,
    outline: outline::Mark,
    foreign: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Raw {
    Title,
    LinkedData,
    Fallback,
    Dropped,
}

impl<'p> Extraction<'p> {
    /// `product_token` is the name under which robots meta tags may speak to this crawler alone.
    pub fn new(product_token: &'p str) -> Self {
        Self {
            text: TextBuffer::of_lines(MAX_TEXT_BYTES),
            outline: Outline::default(),
            links: LinkCollector::default(),
            metadata: Metadata::new(product_token),
            raw: None,
            fallback: Vec::new(),
            in_fallback: false,
            template_depth: 0,
            foreign: Foreign::default(),
            in_anchor: false,
            emphasis_depth: 0,
        }
    }

    /// Inside a picture or a formula, where HTML's rules do not hold.
    pub fn is_foreign(&self) -> bool {
        self.foreign.is_foreign()
    }

    #[inline]
    pub fn text(&mut self, piece: &[u8]) {
        match self.raw {
            None if self.template_depth > 0 || self.foreign.hides_text() => {}
            None => {
                let before = self.text.len();
                self.text.push(piece);
                let after = self.text.len();
                if after > before {
                    let gap = usize::from(self.text.is_space_at(before));
                    self.outline.text(before + gap, after, self.in_anchor, self.emphasis_depth > 0);
                }
                self.links.text(piece);
            }
            Some(Raw::Title) => self.metadata.title.push(piece),
            Some(Raw::LinkedData) => self.metadata.linked_data.push(piece),
            Some(Raw::Fallback) => self.fallback.extend_from_slice(piece),
            Some(Raw::Dropped) => {}
        }
    }

    /// Returns how the content must be read, where not as usual.
    pub fn start_tag(&mut self, tag: Tag, name: &[u8], self_closing: bool, attributes: &Attributes) -> Option<Content> {
        // One inside another is as if it were not there.
        if tag == Tag::Fallback && self.in_fallback {
            return None;
        }
        self.foreign.before_start(tag, name);
        if self.foreign.is_foreign() {
            if self.template_depth == 0 {
                self.start_in_picture(tag, attributes);
            }
            self.foreign.start(tag, name, self_closing);
            return None;
        }
        match tag {
            Tag::Svg if !self_closing => self.foreign.open(name),
            // Its end is no end of any other: at no depth there is nothing to come back from.
            Tag::Template if self.template_depth == 0 && is_shadow_root(attributes) => {}
            Tag::Template => self.template_depth += 1,
            _ if self.template_depth > 0 => self.raw = tag.content().map(|_| Raw::Dropped),
            _ => self.start_visible(tag, name, attributes),
        }
        tag.content()
    }

    /// Of what stands in a picture, only the links are asked for.
    fn start_in_picture(&mut self, tag: Tag, attributes: &Attributes) {
        match tag {
            Tag::A => self.open_anchor(attributes),
            Tag::SvgPart => self.links.add(LinkKind::Image, attributes),
            Tag::Script => self.links.add(LinkKind::Script, attributes),
            _ => {}
        }
    }

    fn start_visible(&mut self, tag: Tag, name: &[u8], attributes: &Attributes) {
        self.text.element_begins();
        self.links.element_begins();
        match tag {
            Tag::Inline | Tag::Template | Tag::Svg | Tag::SvgPart | Tag::HtmlInSvg => {}
            Tag::Style => self.raw = Some(Raw::Dropped),
            Tag::Script => {
                self.links.add(LinkKind::Script, attributes);
                let is_data = attributes.get(Attribute::Type).is_some_and(is_linked_data);
                self.raw = Some(if is_data { Raw::LinkedData } else { Raw::Dropped });
                if is_data {
                    self.metadata.linked_data.begin();
                }
            }
            Tag::Block(block) => {
                self.end_line();
                if block == Block::Form {
                    self.links.add(LinkKind::Form, attributes);
                } else {
                    self.links.add(LinkKind::Other, attributes);
                }
                self.outline.start(block, name, attributes);
            }
            Tag::Break => {
                self.outline.end_line();
                self.end_line();
            }
            Tag::Cell(cell) => self.start_cell(cell, name, attributes),
            Tag::Custom => self.outline.start(Block::Custom, name, attributes),
            Tag::Emphasis => self.emphasis_depth += 1,
            Tag::Textarea => self.end_word(),
            Tag::Verbatim | Tag::Plaintext => self.end_line(),
            Tag::A => self.open_anchor(attributes),
            Tag::Area => self.links.add(LinkKind::Area, attributes),
            Tag::Frame => self.links.add(LinkKind::Frame, attributes),
            Tag::Iframe => {
                self.links.add(LinkKind::Frame, attributes);
                self.raw = Some(Raw::Dropped);
            }
            Tag::Img => {
                self.links.image(attributes);
                self.outline.image();
            }
            Tag::Media => self.links.add(LinkKind::Media, attributes),
            Tag::Object => self.links.object(attributes),
            Tag::Quoted => self.links.add(LinkKind::Other, attributes),
            Tag::Link => self.links.link_element(attributes),
            Tag::Time => self.metadata.time(attributes),
            Tag::Base => self.metadata.base(attributes),
            Tag::Meta => {
                if let Some(target) = self.metadata.meta(attributes) {
                    self.links.add_reference(LinkKind::Refresh, &target);
                }
            }
            Tag::Html => {
                self.metadata.lang(attributes.text(Attribute::Lang));
                self.links.add(LinkKind::Other, attributes);
            }
            Tag::Body => {
                self.outline.page_hints(attributes);
                self.links.add(LinkKind::Image, attributes);
                self.end_line();
            }
            Tag::Title => self.raw = Some(if self.metadata.begin_title() { Raw::Title } else { Raw::Dropped }),
            Tag::Fallback => self.raw = Some(Raw::Fallback),
        }
    }

    fn start_cell(&mut self, cell: Cell, name: &[u8], attributes: &Attributes) {
        self.end_word();
        let block = match cell {
            Cell::Data => {
                self.links.add(LinkKind::Image, attributes);
                Block::Data
            }
            Cell::Button => {
                self.links.add(LinkKind::Form, attributes);
                Block::Button
            }
            Cell::Label => Block::Label,
            Cell::Select => Block::Select,
            Cell::Input => return self.links.add(LinkKind::Form, attributes),
        };
        self.outline.start(block, name, attributes);
    }

    fn open_anchor(&mut self, attributes: &Attributes) {
        self.in_anchor = self.links.open_anchor(attributes, self.foreign.is_foreign());
        if self.in_anchor {
            self.outline.link();
        }
    }

    pub fn end_tag(&mut self, tag: Tag, name: &[u8]) {
        self.raw = None;
        if tag == Tag::Template && !self.foreign.is_foreign() {
            self.template_depth = self.template_depth.saturating_sub(1);
            return;
        }
        let closes_html = matches!(tag, Tag::Block(block) if self.outline.is_open(block));
        self.foreign.end(tag, name, closes_html);
        if self.template_depth > 0 {
            return;
        }
        self.text.element_ended();
        self.links.element_ended();
        match tag {
            Tag::A => {
                self.links.close_anchor();
                self.in_anchor = false;
            }
            Tag::Block(block) => {
                self.end_line();
                self.outline.end(block, name);
            }
            Tag::Body | Tag::Html | Tag::Verbatim => self.end_line(),
            Tag::Custom => self.outline.end(Block::Custom, name),
            Tag::Cell(cell) => {
                self.end_word();
                let block = match cell {
                    Cell::Data => Block::Data,
                    Cell::Button => Block::Button,
                    Cell::Label => Block::Label,
                    Cell::Select => Block::Select,
                    Cell::Input => return,
                };
                self.outline.end(block, name);
            }
            Tag::Textarea => self.end_word(),
            Tag::Emphasis => self.emphasis_depth = self.emphasis_depth.saturating_sub(1),
            _ => {}
        }
    }

    /// The source of the `<noscript>` that just ended. To be read by itself, between [`Extraction::begin_fallback`] and
    /// [`Extraction::end_fallback`]: nothing that is open in it reaches into the page.
    pub fn take_fallback(&mut self) -> Option<Vec<u8>> {
        let is_over = self.raw != Some(Raw::Fallback) && !self.fallback.is_empty();
        is_over.then(|| std::mem::take(&mut self.fallback))
    }

    /// As when the page ends: what was begun is over.
    pub fn end_raw(&mut self) {
        self.raw = None;
    }

    pub fn begin_fallback(&mut self) -> FallbackMark {
        self.in_fallback = true;
        FallbackMark { text: self.text.mark(), outline: self.outline.mark(), foreign: self.foreign.depth() }
    }

    /// What is said to clients without scripts is mostly a complaint. Where it is long, it is the page itself.
    pub fn end_fallback(&mut self, mark: FallbackMark) {
        self.in_fallback = false;
        self.raw = None;
        self.template_depth = 0;
        self.foreign.truncate(mark.foreign);
        let is_kept = self.text.since(mark.text) >= MIN_FALLBACK_BYTES;
        self.outline.leave(mark.outline, is_kept);
        if !is_kept {
            self.text.rewind(mark.text);
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

/// Whether a template is the visible content of the element it stands in (a declarative shadow root), and not a pattern for
/// scripts. A browser takes only the first of an element, and only of elements that can have one; that is not looked at.
fn is_shadow_root(attributes: &Attributes) -> bool {
    let mode = attributes.get(Attribute::ShadowRootMode).unwrap_or_default();
    mode.eq_ignore_ascii_case(b"open") || mode.eq_ignore_ascii_case(b"closed")
}

fn is_linked_data(kind: &[u8]) -> bool {
    kind.trim_ascii().get(..19).is_some_and(|name| name.eq_ignore_ascii_case(b"application/ld+json"))
}

#[cfg(test)]
mod tests;
