//! The elements that mean something to an extraction; all others are inline.

use crate::tokenizer::Content;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    A,
    Area,
    Frame,
    Iframe,
    Img,
    Link,
    Base,
    Meta,
    Html,
    Body,
    Title,
    Template,
    /// `<noscript>` and `<noframes>`: for clients such as this one, but what they say is mostly a complaint.
    Fallback,
    Svg,
    /// A part of a picture that names a resource: `<use>`, `<image>` and the like.
    SvgPart,
    /// A part of a picture within which HTML is HTML again.
    HtmlInSvg,
    Script,
    /// Content that is not for reading: styles and the like.
    Style,
    /// Shown as it is, tags included.
    Verbatim,
    Plaintext,
    Textarea,
    /// `<video>`, `<source>`, `<embed>`, `<track>` …: other resources shown on the page.
    Media,
    Object,
    /// `<b>`, `<strong>`, `<em>` …
    Emphasis,
    /// `<q>`, `<ins>`, `<del>`: may name a source.
    Quoted,
    Time,
    /// Ends a line within its block.
    Break,
    /// Ends a line, and holds text of its own.
    Block(Block),
    /// Ends a word, not a line, and holds text of its own.
    Cell(Cell),
    /// An element the page defines itself, such as `<product-card>`.
    Custom,
    Inline,
}

/// What a block element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Block {
    Root,
    P,
    Div,
    Section,
    Article,
    Main,
    Nav,
    Aside,
    Header,
    Footer,
    H1,
    H2,
    H3,
    H4,
    H5,
    H6,
    List,
    Item,
    Definitions,
    Term,
    Table,
    Row,
    RowGroup,
    Caption,
    Quote,
    Pre,
    Figure,
    FigCaption,
    Form,
    Fieldset,
    Details,
    Summary,
    Dialog,
    Address,
    Option,
    Other,
    // What follows ends no line, but is a container all the same.
    Data,
    Button,
    Label,
    Select,
    Custom,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Data,
    Button,
    Label,
    Select,
    Input,
}

impl Tag {
    /// By lower-case name.
    pub fn of(name: &[u8]) -> Self {
        match name {
            b"a" => Self::A,
            b"area" => Self::Area,
            b"frame" => Self::Frame,
            b"iframe" => Self::Iframe,
            b"img" => Self::Img,
            b"link" => Self::Link,
            b"base" => Self::Base,
            b"meta" => Self::Meta,
            b"html" => Self::Html,
            b"body" => Self::Body,
            b"title" => Self::Title,
            b"template" => Self::Template,
            b"noscript" | b"noframes" => Self::Fallback,
            b"svg" | b"math" => Self::Svg,
            b"image" | b"use" | b"feimage" => Self::SvgPart,
            b"foreignobject" | b"desc" => Self::HtmlInSvg,
            b"script" => Self::Script,
            b"style" | b"noembed" => Self::Style,
            b"xmp" => Self::Verbatim,
            b"plaintext" => Self::Plaintext,
            b"textarea" => Self::Textarea,
            b"video" | b"audio" | b"source" | b"track" | b"embed" => Self::Media,
            b"object" | b"applet" => Self::Object,
            b"b" | b"strong" | b"em" | b"i" | b"u" | b"mark" | b"big" => Self::Emphasis,
            b"q" | b"ins" | b"del" => Self::Quoted,
            b"time" => Self::Time,
            b"br" => Self::Break,
            b"td" | b"th" => Self::Cell(Cell::Data),
            b"button" => Self::Cell(Cell::Button),
            b"label" => Self::Cell(Cell::Label),
            b"select" => Self::Cell(Cell::Select),
            b"input" => Self::Cell(Cell::Input),
            _ => Block::of(name).map_or(if name.contains(&b'-') { Self::Custom } else { Self::Inline }, Self::Block),
        }
    }

    /// Whether any attribute of it is asked for.
    pub fn wants_attributes(self) -> bool {
        !matches!(
            self,
            Self::Inline
                | Self::Emphasis
                | Self::Break
                | Self::Title
                | Self::Fallback
                | Self::Style
                | Self::Verbatim
                | Self::Plaintext
                | Self::Textarea
                | Self::Svg
                | Self::HtmlInSvg
        )
    }

    /// How the content of the element is read, where not as usual.
    pub fn content(self) -> Option<Content> {
        match self {
            Self::Title | Self::Textarea => Some(Content::RcData),
            Self::Script => Some(Content::ScriptData),
            Self::Style | Self::Verbatim | Self::Iframe | Self::Fallback => Some(Content::RawText),
            Self::Plaintext => Some(Content::PlainText),
            _ => None,
        }
    }
}

impl Block {
    pub const COUNT: usize = Self::Custom as usize + 1;

    fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"p" => Self::P,
            b"div" => Self::Div,
            b"section" => Self::Section,
            b"article" => Self::Article,
            b"main" => Self::Main,
            b"nav" => Self::Nav,
            b"aside" => Self::Aside,
            b"header" | b"hgroup" => Self::Header,
            b"footer" => Self::Footer,
            b"h1" => Self::H1,
            b"h2" => Self::H2,
            b"h3" => Self::H3,
            b"h4" => Self::H4,
            b"h5" => Self::H5,
            b"h6" => Self::H6,
            b"ul" | b"ol" | b"menu" | b"dir" => Self::List,
            b"li" => Self::Item,
            b"dl" => Self::Definitions,
            b"dt" | b"dd" => Self::Term,
            b"table" => Self::Table,
            b"tr" => Self::Row,
            b"tbody" | b"thead" | b"tfoot" => Self::RowGroup,
            b"caption" => Self::Caption,
            b"blockquote" => Self::Quote,
            b"pre" | b"listing" => Self::Pre,
            b"figure" => Self::Figure,
            b"figcaption" => Self::FigCaption,
            b"form" | b"search" => Self::Form,
            b"fieldset" | b"legend" => Self::Fieldset,
            b"details" => Self::Details,
            b"summary" => Self::Summary,
            b"dialog" => Self::Dialog,
            b"address" => Self::Address,
            b"option" | b"optgroup" => Self::Option,
            b"center" | b"frameset" | b"head" | b"hr" => Self::Other,
            _ => return None,
        })
    }

    /// 1 to 6 for headings, 0 for everything else.
    pub fn heading_level(self) -> u8 {
        match self {
            Self::H1 => 1,
            Self::H2 => 2,
            Self::H3 => 3,
            Self::H4 => 4,
            Self::H5 => 5,
            Self::H6 => 6,
            _ => 0,
        }
    }
}
