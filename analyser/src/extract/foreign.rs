//! Pictures and formulas inside the page (`<svg>`, `<math>`), in which other rules hold: tags may close themselves,
//! scripts and styles are read like everything else, and some parts hold HTML again.
//!
//! Keeps only as much as decides how the next tag is read. An element that cannot stand in a picture ends it.

use crate::parse::{Block, Tag};

/// Deeper nesting is read as if it were not there.
const MAX_DEPTH: usize = 64;

#[derive(Default)]
pub(crate) struct Foreign {
    open: Vec<Part>,
    /// How many open parts are not shown: titles, styles, scripts.
    hidden: usize,
}

struct Part {
    kind: Kind,
    is_hidden: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Math,
    /// HTML within a picture.
    Html,
    /// An element that hides its text and nothing else.
    Plain(Tag),
}

impl Foreign {
    #[inline]
    pub fn is_foreign(&self) -> bool {
        self.open.last().is_some_and(|part| part.kind != Kind::Html)
    }

    #[inline]
    pub fn hides_text(&self) -> bool {
        self.hidden > 0
    }

    /// `<svg>` or `<math>` begins.
    pub fn open(&mut self, name: &[u8]) {
        self.push(if name == b"svg" { Kind::Svg } else { Kind::Math }, false);
    }

    /// An HTML element that stands in no picture ends the picture.
    pub fn before_start(&mut self, tag: Tag, name: &[u8]) {
        if self.is_foreign() && breaks_out(tag, name) {
            self.leave();
        }
    }

    /// A start tag inside the picture.
    pub fn start(&mut self, tag: Tag, name: &[u8], self_closing: bool) {
        if self_closing {
            return;
        }
        let is_svg = self.open.iter().rev().find(|part| matches!(part.kind, Kind::Svg | Kind::Math));
        let is_svg = is_svg.is_some_and(|part| part.kind == Kind::Svg);
        match tag {
            Tag::Svg => self.open(name),
            Tag::HtmlInSvg if is_svg => self.push(Kind::Html, name == b"desc"),
            Tag::Title if is_svg => self.push(Kind::Html, true),
            Tag::Script | Tag::Style => self.push(Kind::Plain(tag), true),
            _ => {}
        }
    }

    /// An end tag, `closes_html` where it is that of an HTML block that is open.
    pub fn end(&mut self, tag: Tag, name: &[u8], closes_html: bool) {
        if self.open.is_empty() {
            return;
        }
        match tag {
            Tag::Svg => self.close(if name == b"svg" { Kind::Svg } else { Kind::Math }),
            Tag::HtmlInSvg | Tag::Title => self.close(Kind::Html),
            Tag::Script | Tag::Style => self.close(Kind::Plain(tag)),
            Tag::Block(Block::P) | Tag::Break if self.is_foreign() => self.leave(),
            Tag::Block(_) if closes_html && self.is_foreign() => self.leave(),
            _ => {}
        }
    }

    fn push(&mut self, kind: Kind, is_hidden: bool) {
        if self.open.len() < MAX_DEPTH {
            self.hidden += usize::from(is_hidden);
            self.open.push(Part { kind, is_hidden });
        }
    }

    fn close(&mut self, kind: Kind) {
        if let Some(place) = self.open.iter().rposition(|part| part.kind == kind) {
            self.truncate(place);
        }
    }

    /// Back to the HTML around.
    fn leave(&mut self) {
        let place = self.open.iter().rposition(|part| part.kind == Kind::Html).map_or(0, |place| place + 1);
        self.truncate(place);
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Closes what is open beyond this depth.
    pub fn truncate(&mut self, length: usize) {
        self.hidden -= self.open.drain(length.min(self.open.len())..).filter(|part| part.is_hidden).count();
    }
}

/// The elements that the standard lists as ending foreign content.
fn breaks_out(tag: Tag, name: &[u8]) -> bool {
    match tag {
        Tag::Block(
            Block::P
            | Block::Div
            | Block::List
            | Block::Item
            | Block::Definitions
            | Block::Term
            | Block::Table
            | Block::Quote
            | Block::Pre
            | Block::H1
            | Block::H2
            | Block::H3
            | Block::H4
            | Block::H5
            | Block::H6,
        )
        | Tag::Body
        | Tag::Break
        | Tag::Img
        | Tag::Meta => name != b"dir",
        Tag::Emphasis => name != b"mark",
        Tag::Media => name == b"embed",
        Tag::Block(Block::Other) => name != b"frameset",
        Tag::Inline => matches!(
            name,
            b"code" | b"nobr" | b"ruby" | b"s" | b"small" | b"span" | b"strike" | b"sub" | b"sup" | b"tt" | b"var"
        ),
        _ => false,
    }
}
