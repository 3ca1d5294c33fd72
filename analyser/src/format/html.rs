//! HTML and XHTML: one pass for text, links and metadata, then the choice of the main text.

use seine_common::url::CanonicalUrl;

use super::{Content, Format, Source};
use crate::blocks::blocks;
use crate::charset;
use crate::extract::links::LinkCollector;
use crate::extract::metadata::Metadata;
use crate::extract::outline::Outline;
use crate::extract::{Extraction, hints, linked_data};
use crate::main_text::{PageView, main_units};
use crate::parse::parse;

/// Bytes of a page for each byte of its text, on most pages.
const MARKUP_PER_TEXT: usize = 4;

pub(crate) struct Html;

impl Format for Html {
    fn reads(&self, content_type: &str, _start: &[u8]) -> bool {
        matches!(content_type, "text/html" | "application/xhtml+xml")
    }

    fn read(&self, source: &Source<'_>, links: LinkCollector) -> Content {
        let page = HtmlPage::read(source.body, source.charset, source.product_token, links);
        let is_main = main_units(&page.view(source.url));
        page.into_content(&is_main)
    }
}

/// An HTML page once it is read.
pub(crate) struct HtmlPage<'p> {
    charset: String,
    title: String,
    text: String,
    outline: Outline,
    links: LinkCollector,
    metadata: Metadata<'p>,
}

impl<'p> HtmlPage<'p> {
    pub fn read(body: &[u8], charset: Option<&str>, product_token: &'p str, links: LinkCollector) -> Self {
        let decoded = charset::to_text(body, charset, |prefix| {
            let mut extraction = Extraction::new(product_token);
            parse(prefix, &mut extraction);
            extraction.metadata.charset
        });
        let mut page = Self::of_text(&decoded.text, product_token, links);
        page.charset = decoded.charset;
        page
    }

    pub fn of_text(html: &str, product_token: &'p str, links: LinkCollector) -> Self {
        let mut extraction = Extraction::new(product_token);
        extraction.text.reserve(html.len() / MARKUP_PER_TEXT);
        extraction.links = links;
        parse(html.as_bytes(), &mut extraction);
        let (text, mut outline, mut metadata) = (extraction.text.finish(), extraction.outline, extraction.metadata);
        outline.fit(&text);
        let title = metadata.title();
        Self { charset: String::new(), title, text, outline, links: extraction.links, metadata }
    }

    /// As the choice of the main text sees it.
    pub fn view(&self, url: &CanonicalUrl) -> PageView<'_> {
        let mut kind_hints = self.outline.nodes[0].hints | hints::of_names(url.path_and_query().as_bytes());
        kind_hints |= hints::of_names(self.metadata.og_type.as_bytes());
        for script in self.metadata.linked_data.scripts() {
            kind_hints |= linked_data::declared_types(script);
        }
        PageView { text: &self.text, outline: &self.outline, title: &self.title, kind_hints }
    }

    pub fn units(&self) -> usize {
        self.outline.units.len()
    }

    /// `is_main` says of each unit whether it is main text.
    pub fn into_content(mut self, is_main: &[bool]) -> Content {
        let blocks = blocks(&self.text, &self.title, &self.outline, is_main);
        let facts = self.metadata.facts();
        Content {
            charset: self.charset,
            title: if self.title.is_empty() { facts.title } else { self.title },
            description: facts.description,
            keywords: facts.keywords,
            author: facts.author,
            published_at_ms: facts.published_at_ms,
            modified_at_ms: facts.modified_at_ms,
            declared_lang: self.metadata.lang,
            text: self.text,
            blocks,
            links: self.links,
            base: self.metadata.base,
            robots: self.metadata.robots,
            metas: self.metadata.metas.into_all(),
            not_converted: String::new(),
        }
    }
}
