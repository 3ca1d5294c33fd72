//! RSS and Atom feeds: titles and texts of the entries, and where they lead.
//!
//! Texts of entries are HTML, written as text; they are read as such, with their links.

use seine_common::limits::MAX_TEXT_BYTES;
use seine_proto::common::v1::LinkKind;

use super::markup::{self, MarkupAttributes, Reader};
use super::{Content, Format, HtmlPage, Source};
use crate::charset;
use crate::dates::parse_date;
use crate::extract::links::{LinkCollector, MAX_ANCHOR_BYTES, kind_of_rel};
use crate::extract::metadata::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES};
use crate::extract::text::{cut, one_line};

pub(crate) struct Feed;

impl Format for Feed {
    fn reads(&self, content_type: &str, start: &[u8]) -> bool {
        let is_general = matches!(content_type, "text/xml" | "application/xml" | "application/rdf+xml");
        let has = |name: &[u8]| memchr::memmem::find(start, name).is_some();
        matches!(content_type, "application/rss+xml" | "application/atom+xml")
            || (is_general && (has(b"<rss") || has(b"<feed") || has(b"http://purl.org/rss/")))
    }

    fn read(&self, source: &Source<'_>, links: LinkCollector) -> Content {
        let decoded = charset::to_text(source.body, source.charset, markup::declared_charset);
        let mut reader = FeedReader::new(links, source.product_token);
        markup::read(decoded.text.as_bytes(), &mut reader);
        let mut content = reader.content;
        content.charset = decoded.charset;
        content.text.truncate(content.text.trim_ascii_end().len());
        content
    }
}

/// Text of one element that is kept.
const MAX_FIELD_BYTES: usize = 1 << 20;

struct FeedReader<'p> {
    content: Content,
    product_token: &'p str,
    /// The text of the element that is open.
    field: Vec<u8>,
    in_entry: bool,
    entry_title: String,
    /// Links of the entry wait for its title, which is their text.
    entry_links: Vec<(LinkKind, Vec<u8>)>,
    in_image: bool,
}

impl<'p> FeedReader<'p> {
    fn new(links: LinkCollector, product_token: &'p str) -> Self {
        Self {
            content: Content { links, ..Content::default() },
            product_token,
            field: Vec::new(),
            in_entry: false,
            entry_title: String::new(),
            entry_links: Vec::new(),
            in_image: false,
        }
    }

    fn link(&mut self, kind: LinkKind, target: &[u8]) {
        if self.in_entry {
            const MAX_ENTRY_LINKS: usize = 64;
            if self.entry_links.len() < MAX_ENTRY_LINKS {
                self.entry_links.push((kind, target.to_vec()));
            }
        } else {
            self.content.links.add_reference(kind, target);
        }
    }

    fn end_entry(&mut self) {
        for (kind, target) in std::mem::take(&mut self.entry_links) {
            self.content.links.add_described(kind, &target, self.entry_title.as_bytes());
        }
        self.entry_title.clear();
        self.in_entry = false;
    }

    fn line(&mut self, text: &str) {
        if !text.is_empty() && self.content.text.len() + text.len() < MAX_TEXT_BYTES {
            self.content.text.push_str(text);
            self.content.text.push('\n');
        }
    }

    /// Text that may hold tags.
    fn html(&mut self) {
        if self.field.trim_ascii().is_empty() {
            return;
        }
        let source = String::from_utf8_lossy(&self.field).into_owned();
        let page = HtmlPage::of_text(&source, self.product_token, std::mem::take(&mut self.content.links));
        let read = page.into_content(&[]);
        self.content.links = read.links;
        self.line(&read.text);
    }

    fn one_line(&self, limit: usize) -> String {
        one_line(&self.field, limit)
    }

    fn date(&self) -> i64 {
        parse_date(&String::from_utf8_lossy(&self.field)).unwrap_or_default()
    }
}

impl Reader for FeedReader<'_> {
    fn start(&mut self, name: &[u8], attributes: &MarkupAttributes) {
        match name {
            b"item" | b"entry" => {
                self.end_entry();
                self.in_entry = true;
            }
            b"image" => self.in_image = true,
            b"link" | b"atom:link" => {
                if let Some(target) = attributes.get(b"href") {
                    let text = |name| attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
                    let rel = text(b"rel").unwrap_or_default();
                    let kind = match rel.as_str() {
                        "" | "alternate" if self.in_entry => LinkKind::Anchor,
                        "self" => LinkKind::Feed,
                        "enclosure" => LinkKind::Media,
                        rel => kind_of_rel(rel, text(b"type").as_deref(), false),
                    };
                    self.link(kind, target);
                }
            }
            b"enclosure" | b"media:content" | b"media:thumbnail" => {
                if let Some(target) = attributes.get(b"url") {
                    self.link(LinkKind::Media, target);
                }
            }
            _ => {}
        }
        if !matches!(name, b"b" | b"i" | b"a" | b"em" | b"strong" | b"span") {
            self.field.clear();
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"title" if self.in_image => {}
            b"title" => {
                let title = self.one_line(MAX_TITLE_BYTES);
                self.line(&title);
                if self.in_entry {
                    self.entry_title = cut(&title, MAX_ANCHOR_BYTES);
                } else if self.content.title.is_empty() {
                    self.content.title = title;
                }
            }
            b"link" | b"guid" | b"comments" if !self.field.trim_ascii().is_empty() => {
                let target = self.field.trim_ascii().to_vec();
                let is_url = target.starts_with(b"http://") || target.starts_with(b"https://") || name == b"link";
                if is_url {
                    self.link(LinkKind::Anchor, &target);
                }
            }
            b"description" | b"subtitle" | b"itunes:summary" if !self.in_entry => {
                if self.content.description.is_empty() {
                    self.content.description = self.one_line(MAX_DESCRIPTION_BYTES);
                }
                self.html();
            }
            b"description" | b"summary" | b"content" | b"content:encoded" => self.html(),
            b"language" | b"dc:language" if !self.in_entry => self.content.declared_lang = Some(self.one_line(32)),
            b"name" | b"managingeditor" if self.content.author.is_empty() && !self.in_entry => {
                self.content.author = self.one_line(MAX_TITLE_BYTES);
            }
            b"pubdate" if !self.in_entry => self.content.published_at_ms = self.date(),
            b"lastbuilddate" | b"updated" if !self.in_entry => self.content.modified_at_ms = self.date(),
            b"image" => self.in_image = false,
            b"item" | b"entry" => self.end_entry(),
            b"b" | b"i" | b"a" | b"em" | b"strong" | b"span" => return,
            _ => {}
        }
        self.field.clear();
    }

    fn text(&mut self, piece: &[u8]) {
        let room = MAX_FIELD_BYTES.saturating_sub(self.field.len());
        self.field.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}
