//! The elements that mean something to an extraction; all others are inline.

use html5gum::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    A,
    Area,
    Frame,
    Iframe,
    Img,
    Base,
    Meta,
    Html,
    Body,
    Title,
    Template,
    /// `<noscript>` and `<noframes>`: for clients such as this one, but what they say is mostly a complaint.
    Fallback,
    Svg,
    /// Content that is not for reading: scripts, styles.
    Code,
    /// Shown as it is, tags included.
    Verbatim,
    Plaintext,
    Textarea,
    /// Ends a line.
    Block,
    /// Ends a word, not a line.
    Cell,
    Inline,
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
            b"base" => Self::Base,
            b"meta" => Self::Meta,
            b"html" => Self::Html,
            b"body" => Self::Body,
            b"title" => Self::Title,
            b"template" => Self::Template,
            b"noscript" | b"noframes" => Self::Fallback,
            b"svg" | b"math" => Self::Svg,
            b"script" | b"style" | b"noembed" => Self::Code,
            b"xmp" => Self::Verbatim,
            b"plaintext" => Self::Plaintext,
            b"textarea" => Self::Textarea,
            b"td" | b"th" | b"button" | b"input" | b"select" => Self::Cell,
            b"p" | b"div" | b"li" | b"ul" | b"ol" | b"br" | b"tr" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6"
            | b"table" | b"tbody" | b"thead" | b"tfoot" | b"caption" | b"section" | b"article" | b"aside"
            | b"header" | b"footer" | b"main" | b"nav" | b"hgroup" | b"search" | b"address" | b"blockquote"
            | b"center" | b"dd" | b"dl" | b"dt" | b"details" | b"summary" | b"dialog" | b"dir" | b"fieldset"
            | b"legend" | b"figure" | b"figcaption" | b"form" | b"frameset" | b"head" | b"hr" | b"menu"
            | b"optgroup" | b"option" | b"pre" | b"listing" => Self::Block,
            _ => Self::Inline,
        }
    }

    /// Whether any attribute of it is asked for.
    pub fn wants_attributes(self) -> bool {
        matches!(
            self,
            Self::A | Self::Area | Self::Frame | Self::Iframe | Self::Img | Self::Base | Self::Meta | Self::Html
        )
    }

    /// How the tokenizer must read what follows the start tag, where not as usual.
    pub fn content_state(self, name: &[u8]) -> Option<State> {
        match self {
            Self::Title | Self::Textarea => Some(State::RcData),
            Self::Code if name == b"script" => Some(State::ScriptData),
            Self::Code | Self::Verbatim | Self::Iframe => Some(State::RawText),
            Self::Plaintext => Some(State::PlainText),
            _ => None,
        }
    }
}
