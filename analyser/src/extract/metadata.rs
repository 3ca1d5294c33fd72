//! What a page says about itself: title, description, author, dates, language, charset, base, and what robots may do
//! with it. Said in `<meta>` tags, in Dublin Core, OpenGraph and article properties, and in JSON-LD.

use super::linked_data::LinkedData;
use super::links::refresh_target;
use super::metas::Metas;
use super::text::{TextBuffer, one_line};
use crate::content_type::charset_parameter;
use crate::dates::parse_date;
use crate::parse::{Attribute, Attributes};
use crate::robots_directives::RobotsDirectives;

pub(crate) const MAX_TITLE_BYTES: usize = 1 << 10;
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 4 << 10;

pub(crate) struct Metadata<'p> {
    product_token: &'p str,
    pub title: TextBuffer,
    has_title: bool,
    /// What `<meta>` tags state in so many words.
    stated: Facts,
    /// What they state for other purposes, for example for being shared; holds where nothing else is stated.
    shared: Facts,
    /// As `<html lang>` says it, or a `<meta>` where that does not.
    pub lang: Option<String>,
    pub charset: Option<String>,
    /// As the first `<base href>` says it.
    pub base: Option<String>,
    pub robots: RobotsDirectives,
    pub linked_data: LinkedData,
    /// As `og:type` says it.
    pub og_type: String,
    /// All of them, for filters.
    pub metas: Metas,
}

/// Facts about the page, empty or 0 where nothing is stated.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub title: String,
    pub description: String,
    pub keywords: String,
    pub author: String,
    /// Unix milliseconds.
    pub published_at_ms: i64,
    pub modified_at_ms: i64,
}

impl Facts {
    fn complete(&mut self, others: Self) {
        fill(&mut self.title, others.title);
        fill(&mut self.description, others.description);
        fill(&mut self.keywords, others.keywords);
        fill(&mut self.author, others.author);
        fill_date(&mut self.published_at_ms, others.published_at_ms);
        fill_date(&mut self.modified_at_ms, others.modified_at_ms);
    }
}

fn fill(field: &mut String, value: String) {
    if field.is_empty() {
        *field = value;
    }
}

fn fill_date(field: &mut i64, value: i64) {
    if *field == 0 {
        *field = value;
    }
}

impl<'p> Metadata<'p> {
    pub fn new(product_token: &'p str) -> Self {
        Self {
            product_token,
            title: TextBuffer::of_one_line(MAX_TITLE_BYTES),
            has_title: false,
            stated: Facts::default(),
            shared: Facts::default(),
            lang: None,
            charset: None,
            base: None,
            robots: RobotsDirectives::default(),
            linked_data: LinkedData::default(),
            og_type: String::new(),
            metas: Metas::default(),
        }
    }

    /// False when the page has a title already: the first one counts.
    pub fn begin_title(&mut self) -> bool {
        !std::mem::replace(&mut self.has_title, true)
    }

    /// The title, which is taken out.
    pub fn title(&mut self) -> String {
        std::mem::replace(&mut self.title, TextBuffer::of_one_line(0)).finish()
    }

    /// All that is stated, the plainest statement first; taken out.
    pub fn facts(&mut self) -> Facts {
        let mut facts = std::mem::take(&mut self.stated);
        self.linked_data.complete(&mut facts);
        facts.complete(std::mem::take(&mut self.shared));
        facts
    }

    pub fn lang(&mut self, lang: Option<String>) {
        if self.lang.is_none() {
            self.lang = lang.filter(|lang| !lang.trim().is_empty());
        }
    }

    pub fn base(&mut self, attributes: &Attributes) {
        if self.base.is_none() {
            self.base = attributes.text(Attribute::Href);
        }
    }

    /// A `<time>` that says what it is the time of.
    pub fn time(&mut self, attributes: &Attributes) {
        if let (Some(datetime), Some(property)) =
            (attributes.get(Attribute::Datetime), attributes.get(Attribute::ItemProperty))
        {
            self.named(property.trim_ascii(), datetime);
        }
    }

    /// Takes a `<meta>`. Where it sends the reader elsewhere, the target is returned.
    pub fn meta(&mut self, attributes: &Attributes) -> Option<Vec<u8>> {
        if self.charset.is_none() {
            self.charset = attributes.text(Attribute::Charset);
        }
        let content = attributes.get(Attribute::Content)?;
        for name in [Attribute::Name, Attribute::Property, Attribute::ItemProperty] {
            if let Some(name) = attributes.get(name) {
                self.metas.add(name.trim_ascii(), content);
                self.named(name.trim_ascii(), content);
            }
        }
        let http_equiv = attributes.get(Attribute::HttpEquiv)?.trim_ascii();
        self.metas.add(http_equiv, content);
        let content = String::from_utf8_lossy(content);
        if http_equiv.eq_ignore_ascii_case(b"refresh") {
            return refresh_target(&content);
        }
        if http_equiv.eq_ignore_ascii_case(b"content-type") && self.charset.is_none() {
            self.charset = charset_parameter(&content);
        }
        if http_equiv.eq_ignore_ascii_case(b"content-language") {
            self.lang(Some(content.split(',').next().unwrap_or_default().to_owned()));
        }
        None
    }

    fn named(&mut self, name: &[u8], content: &[u8]) {
        const MAX_NAME_BYTES: usize = 32;
        if name.len() > MAX_NAME_BYTES {
            return;
        }
        let title = || one_line(content, MAX_TITLE_BYTES);
        let text = || one_line(content, MAX_DESCRIPTION_BYTES);
        let date = || parse_date(&String::from_utf8_lossy(content)).unwrap_or_default();
        match name.to_ascii_lowercase().as_slice() {
            b"description" => fill(&mut self.stated.description, text()),
            b"keywords" | b"news_keywords" => fill(&mut self.stated.keywords, text()),
            b"author" | b"dc.creator" | b"dcterms.creator" => fill(&mut self.stated.author, title()),
            b"article:published_time"
            | b"datepublished"
            | b"dc.date"
            | b"dc.date.issued"
            | b"dcterms.created"
            | b"dcterms.issued"
            | b"date"
            | b"pubdate"
            | b"publish-date"
            | b"citation_publication_date"
            | b"parsely-pub-date" => fill_date(&mut self.stated.published_at_ms, date()),
            b"article:modified_time" | b"datemodified" | b"dcterms.modified" | b"last-modified" | b"revised" => {
                fill_date(&mut self.stated.modified_at_ms, date());
            }
            b"og:updated_time" => fill_date(&mut self.shared.modified_at_ms, date()),
            b"og:title" | b"twitter:title" | b"dc.title" => fill(&mut self.shared.title, title()),
            b"og:description" | b"twitter:description" | b"dc.description" => {
                fill(&mut self.shared.description, text())
            }
            // Often the address of a profile, which is no name.
            b"article:author" if !content.starts_with(b"http") => fill(&mut self.shared.author, title()),
            b"article:tag" => fill(&mut self.shared.keywords, text()),
            b"og:type" => self.og_type = one_line(content, MAX_NAME_BYTES),
            b"robots" => self.robots(content),
            name if name.eq_ignore_ascii_case(self.product_token.as_bytes()) => self.robots(content),
            _ => {}
        }
    }

    fn robots(&mut self, content: &[u8]) {
        self.robots |= RobotsDirectives::of_list(&String::from_utf8_lossy(content));
    }
}
