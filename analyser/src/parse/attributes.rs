//! The attributes that an extraction can ask for, in one buffer that serves all tags of a page.

use seine_common::url::MAX_URL_BYTES;

use super::Tag;
use super::tag::{Block, Cell};

/// Longer values are cut. Above the longest URL, so that a cut reference is refused and not mistaken for another.
const MAX_VALUE_BYTES: usize = 2 * MAX_URL_BYTES;
/// Lists of pictures may be longer than one URL.
const MAX_LIST_BYTES: usize = 16 * MAX_URL_BYTES;
/// Wanted attributes of one tag; no element has more.
const MAX_ATTRIBUTES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Href,
    /// `xlink:href`, which means something in pictures only.
    PictureHref,
    Src,
    /// Also `imagesrcset`.
    Srcset,
    Data,
    /// Of applets: files with their classes, the class that runs, and where both are.
    Archive,
    Code,
    Codebase,
    /// `action` and `formaction`.
    Action,
    Cite,
    Background,
    Poster,
    LongDescription,
    Manifest,
    Rel,
    Type,
    Hreflang,
    Alt,
    Title,
    Name,
    /// `property` or `itemprop` of a meta tag.
    Property,
    HttpEquiv,
    Content,
    Charset,
    Lang,
    Datetime,
    /// Names that people give: what an element is for.
    Class,
    Id,
    Role,
    /// `itemprop` and `itemtype` of elements that hold text.
    ItemProperty,
    Hidden,
    AriaHidden,
    Style,
    /// Of a template that the browser shows at once, in its place.
    ShadowRootMode,
}

impl Attribute {
    /// What the attribute is to the tag, if anything.
    pub fn wanted(tag: Tag, name: &[u8]) -> Option<Self> {
        let attribute = Self::of(name)?;
        let wanted = match tag {
            Tag::A | Tag::Area => {
                matches!(attribute, Self::Href | Self::PictureHref | Self::Rel | Self::Alt)
            }
            Tag::Link => {
                matches!(attribute, Self::Href | Self::Rel | Self::Hreflang | Self::Type | Self::Srcset | Self::Title)
            }
            Tag::Base => attribute == Self::Href,
            Tag::SvgPart => matches!(attribute, Self::Href | Self::PictureHref),
            Tag::Frame | Tag::Iframe => matches!(attribute, Self::Src | Self::LongDescription),
            Tag::Img => matches!(attribute, Self::Src | Self::Srcset | Self::LongDescription | Self::Alt),
            Tag::Media => matches!(attribute, Self::Src | Self::Srcset | Self::Poster),
            Tag::Object => {
                matches!(attribute, Self::Data | Self::Archive | Self::Code | Self::Codebase | Self::Alt)
            }
            Tag::Script => matches!(attribute, Self::Src | Self::Type | Self::Href | Self::PictureHref),
            Tag::Meta => matches!(
                attribute,
                Self::Name | Self::Property | Self::ItemProperty | Self::HttpEquiv | Self::Content | Self::Charset
            ),
            Tag::Html => matches!(attribute, Self::Lang | Self::Manifest),
            Tag::Body => matches!(attribute, Self::Background | Self::Class | Self::Id),
            Tag::Quoted => attribute == Self::Cite,
            Tag::Template => attribute == Self::ShadowRootMode,
            Tag::Time => matches!(attribute, Self::Datetime | Self::ItemProperty),
            Tag::Cell(Cell::Input) => matches!(attribute, Self::Src | Self::Action),
            Tag::Cell(Cell::Button) => attribute == Self::Action || attribute.describes_a_container(),
            Tag::Cell(Cell::Data) | Tag::Block(Block::Table | Block::Row | Block::RowGroup) => {
                attribute == Self::Background || attribute.describes_a_container()
            }
            Tag::Block(Block::Quote) => attribute == Self::Cite || attribute.describes_a_container(),
            Tag::Block(Block::Form) => attribute == Self::Action || attribute.describes_a_container(),
            Tag::Block(_) | Tag::Cell(_) | Tag::Custom => attribute.describes_a_container(),
            _ => false,
        };
        wanted.then_some(attribute)
    }

    fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"href" => Self::Href,
            b"xlink:href" => Self::PictureHref,
            b"src" => Self::Src,
            b"srcset" | b"imagesrcset" => Self::Srcset,
            b"data" => Self::Data,
            b"archive" => Self::Archive,
            b"code" => Self::Code,
            b"codebase" => Self::Codebase,
            b"action" | b"formaction" => Self::Action,
            b"cite" => Self::Cite,
            b"background" => Self::Background,
            b"poster" => Self::Poster,
            b"longdesc" => Self::LongDescription,
            b"manifest" => Self::Manifest,
            b"rel" => Self::Rel,
            b"type" => Self::Type,
            b"hreflang" => Self::Hreflang,
            b"alt" => Self::Alt,
            b"title" => Self::Title,
            b"name" => Self::Name,
            b"property" => Self::Property,
            b"http-equiv" => Self::HttpEquiv,
            b"content" => Self::Content,
            b"charset" => Self::Charset,
            b"lang" | b"xml:lang" => Self::Lang,
            b"datetime" => Self::Datetime,
            b"class" => Self::Class,
            b"id" => Self::Id,
            b"role" => Self::Role,
            b"itemprop" | b"itemtype" => Self::ItemProperty,
            b"hidden" => Self::Hidden,
            b"aria-hidden" => Self::AriaHidden,
            b"style" => Self::Style,
            b"shadowrootmode" => Self::ShadowRootMode,
            _ => return None,
        })
    }

    fn describes_a_container(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Id | Self::Role | Self::ItemProperty | Self::Hidden | Self::AriaHidden | Self::Style
        )
    }

    fn limit(self) -> usize {
        if self == Self::Srcset { MAX_LIST_BYTES } else { MAX_VALUE_BYTES }
    }
}

/// The wanted attributes of the current tag, in the order in which they stand.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    bytes: Vec<u8>,
    /// Attribute and where its value ends; it begins where the one before ends.
    entries: Vec<(Attribute, usize)>,
}

impl Attributes {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// Starts a value. False when the tag has the attribute already: the first one counts.
    pub fn begin(&mut self, attribute: Attribute) -> bool {
        if self.entries.len() == MAX_ATTRIBUTES || self.entries.iter().any(|(known, _)| *known == attribute) {
            return false;
        }
        self.entries.push((attribute, self.bytes.len()));
        true
    }

    /// Adds to the value begun last.
    pub fn push(&mut self, part: &[u8]) {
        let start = self.entries.len().checked_sub(2).map_or(0, |before| self.entries[before].1);
        let Some((attribute, end)) = self.entries.last_mut() else { return };
        let room = attribute.limit().saturating_sub(*end - start);
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
        *end = self.bytes.len();
    }

    pub fn iter(&self) -> impl Iterator<Item = (Attribute, &[u8])> {
        let starts = std::iter::once(0).chain(self.entries.iter().map(|(_, end)| *end));
        starts.zip(&self.entries).map(|(start, (attribute, end))| (*attribute, &self.bytes[start..*end]))
    }

    pub fn get(&self, attribute: Attribute) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == attribute).map(|(_, value)| value)
    }

    /// As text; bytes that are not UTF-8 are replaced.
    pub fn text(&self, attribute: Attribute) -> Option<String> {
        self.get(attribute).map(|value| String::from_utf8_lossy(value).into_owned())
    }
}
