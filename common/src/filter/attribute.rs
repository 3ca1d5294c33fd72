//! What rules can ask about: the attributes, when each is known, and how it is compared.

use super::facts::Facts;
use super::rule::Phase;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Url,
    Protocol,
    /// With the port, where it is neither 80 nor 443.
    Host,
    Ip,
    Path,
    Query,
    Depth,
    EnumerationFilter,
    GenerationFilter,
    Charset,
    Encoding,
    ContentLength,
    Type,
    Expires,
    LastModified,
    /// A `<meta>` by its name, in lower case.
    Meta(String),
    Lang,
    Title,
    Usability,
    Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Date,
}

/// What is known of an attribute.
pub(super) enum Known<'a> {
    NotYet,
    /// Nothing was stated; for a text, that is the empty one.
    Absent,
    Text(&'a str),
    /// Also dates, in Unix milliseconds.
    Number(f64),
}

const NAMED: [(&str, Attribute); 20] = [
    ("url", Attribute::Url),
    ("protocol", Attribute::Protocol),
    ("host", Attribute::Host),
    ("ip", Attribute::Ip),
    ("path", Attribute::Path),
    ("query", Attribute::Query),
    ("depth", Attribute::Depth),
    ("enumeration-filter", Attribute::EnumerationFilter),
    ("generation-filter", Attribute::GenerationFilter),
    ("charset", Attribute::Charset),
    ("encoding", Attribute::Encoding),
    ("content-length", Attribute::ContentLength),
    ("type", Attribute::Type),
    ("content-type", Attribute::Type),
    ("expires", Attribute::Expires),
    ("last-modified", Attribute::LastModified),
    ("lang", Attribute::Lang),
    ("title", Attribute::Title),
    ("usability", Attribute::Usability),
    ("value", Attribute::Value),
];

const META: &str = "meta.";

impl Attribute {
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        if let Some(name) = word.strip_prefix(META).filter(|name| !name.is_empty()) {
            return Some(Self::Meta(name.to_owned()));
        }
        NAMED.iter().find(|(name, _)| *name == word).map(|(_, attribute)| attribute.clone())
    }

    /// All names, as a person writes them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name).chain(["meta.NAME"])
    }

    pub fn kind(&self) -> Kind {
        match self {
            Self::Depth | Self::ContentLength | Self::Usability | Self::Value => Kind::Number,
            Self::Expires | Self::LastModified => Kind::Date,
            _ => Kind::Text,
        }
    }

    pub fn phase(&self) -> Phase {
        match self {
            Self::Url
            | Self::Protocol
            | Self::Host
            | Self::Ip
            | Self::Path
            | Self::Query
            | Self::Depth
            | Self::EnumerationFilter
            | Self::GenerationFilter => Phase::Metadata,
            _ => Phase::Data,
        }
    }

    /// URLs are compared as they are; of everything else, case says nothing.
    pub fn ignores_case(&self) -> bool {
        !self.is_part_of_url()
    }

    /// Canonical URLs are ASCII, so what they are compared with must be too.
    pub fn is_part_of_url(&self) -> bool {
        matches!(self, Self::Url | Self::Path | Self::Query)
    }

    /// Whether any value of it fulfils the condition; `None` while it is not known.
    pub fn any(&self, facts: &Facts<'_>, fulfils: impl Fn(Known<'_>) -> bool) -> Option<bool> {
        if let Self::Meta(wanted) = self {
            let page = facts.page.as_ref()?;
            let mut named = page.metas.iter().filter(|(name, _)| name == wanted).peekable();
            if named.peek().is_none() {
                return Some(fulfils(Known::Absent));
            }
            return Some(named.any(|(_, content)| fulfils(Known::Text(content))));
        }
        match self.known(facts) {
            Known::NotYet => None,
            known => Some(fulfils(known)),
        }
    }

    fn known<'a>(&self, facts: &'a Facts<'_>) -> Known<'a> {
        let url = facts.url.as_url();
        let of_url = match self {
            Self::Url => facts.url.as_str(),
            Self::Protocol => url.scheme(),
            Self::Host => crate::host::HostKey::text_of(url),
            Self::Path => url.path(),
            Self::Query => url.query().unwrap_or_default(),
            Self::EnumerationFilter => facts.enumeration,
            Self::GenerationFilter => facts.generation,
            Self::Depth => return Known::Number(f64::from(facts.depth)),
            // It is found out between the two phases.
            Self::Ip => return facts.ip.map_or(Known::NotYet, Known::Text),
            _ => return self.known_of_page(facts),
        };
        Known::Text(of_url)
    }

    fn known_of_page<'a>(&self, facts: &'a Facts<'_>) -> Known<'a> {
        let Some(page) = &facts.page else { return Known::NotYet };
        let date = |ms: i64| if ms == 0 { Known::Absent } else { Known::Number(ms as f64) };
        match self {
            Self::Charset => Known::Text(page.charset),
            Self::Encoding => Known::Text(page.encoding),
            Self::ContentLength => Known::Number(page.content_length as f64),
            Self::Type => Known::Text(page.content_type),
            Self::Expires => date(page.expires_ms),
            Self::LastModified => date(page.last_modified_ms),
            Self::Lang => Known::Text(page.lang),
            Self::Title => Known::Text(page.title),
            Self::Usability => Known::Number(page.usability.into()),
            Self::Value => Known::Number(page.value.into()),
            _ => Known::Absent,
        }
    }
}
