//! All stages of the analysis as one pure function: a page in, everything it says out.
//!
//! Keeps no state and touches no disk or network, so that tests and benches call it directly. Documents leave it half
//! way: [`begin`] finds that a page is one, a worker process converts it, and [`finish`] makes the analysis of that. So do
//! pages that decode to more than their caller has room for: they are begun again when there is room.

use std::sync::Arc;
use std::time::Duration;

use seine_common::url::CanonicalUrl;
use seine_node::limits::{Limit, Limits};
use seine_proto::analyser::v1::ConvertedDocument;
use seine_proto::common::v1::{DescribedLink, Description, FetchedPage, LinkKind};

use crate::content_type::ContentType;
use crate::convert::ConverterConfig;
use crate::dates::parse_date;
use crate::decode::{self, MAX_DECODED_BYTES};
use crate::document;
use crate::error::Error;
use crate::extract::links::{Link, LinkCollector, refresh_target};
use crate::fingerprint::fingerprint;
use crate::format::{self, Content, Source};
use crate::language::language;
use crate::link_header;
use crate::robots_directives::RobotsDirectives;
use crate::simhash::simhash;
use crate::unconverted;
use crate::usability::usability;
use crate::value::value;

#[derive(Clone, Debug)]
pub struct AnalyserConfig {
    /// The crawler's name as robots meta tags use it, where the page does not bring that of its crawl.
    pub product_token: String,
    /// ISO 639-1 codes of the languages whose text is usable; empty means all.
    pub wanted_languages: Vec<String>,
    /// Whether descriptions carry the address that answered.
    pub keeps_ip: bool,
    /// Without one, documents are not converted.
    pub converter: Option<ConverterConfig>,
    /// Threads at work at once.
    pub threads: Arc<Limit>,
    /// Bodies of pages under way that one stream may hold, and as much again of what is read in them.
    pub page_bytes: usize,
    /// How long pages wait for documents that no converter takes, before documents are given up.
    pub document_patience: Duration,
}

impl Default for AnalyserConfig {
    fn default() -> Self {
        Self {
            product_token: "seine".to_owned(),
            wanted_languages: Vec::new(),
            keeps_ip: false,
            converter: None,
            threads: Limits::new(1).analysis,
            page_bytes: 64 << 20,
            document_patience: Duration::from_secs(10),
        }
    }
}

/// What a page says.
#[derive(Debug)]
pub struct Analysis {
    /// For the description log; its archive position is still to be filled in.
    pub description: Description,
    /// The links that a crawl may follow: canonical, each once, in page order.
    pub follow: Vec<String>,
    /// How well it matches what the crawl looks for, from 0 to 1.
    pub value: f32,
    /// Every `<meta>` with its name in lower case; filters may ask for them.
    pub metas: Vec<(String, String)>,
}

/// How far a page comes without leaving this process.
pub(crate) enum Begun {
    Analysed(Box<Analysis>),
    /// It must be converted first.
    Document(Document),
    /// It decodes to more than was allowed.
    Larger,
}

/// What is known of a page that a converter has to read.
pub(crate) struct Document {
    pub format: &'static str,
    pub content_type: ContentType,
}

impl Document {
    /// By the header alone, where that decides; the page is not decoded.
    pub fn of_header(page: &FetchedPage) -> Option<Self> {
        let content_type = ContentType::of(header(page, "content-type").next(), "", b"");
        let format = document::of_content_type(&content_type.name)?;
        (!page.body.is_empty()).then(|| Self { format: format.name(), content_type })
    }
}

/// All but documents: those are described as not converted, because converting them needs a worker process.
pub fn analyse(page: &FetchedPage, config: &AnalyserConfig) -> Result<Analysis, Error> {
    match begin(page, config, MAX_DECODED_BYTES)? {
        Begun::Analysed(analysis) => Ok(*analysis),
        Begun::Document(document) => {
            finish(page, config, document.content_type, Err("no converter is running".to_owned()))
        }
        Begun::Larger => unreachable!("nothing decodes to more than that"),
    }
}

/// `limit` is how much the body may decode to, at most [`MAX_DECODED_BYTES`], where every body is cut.
pub(crate) fn begin(page: &FetchedPage, config: &AnalyserConfig, limit: usize) -> Result<Begun, Error> {
    let url = CanonicalUrl::parse(&page.url)?;
    let encodings: Vec<&str> = header(page, "content-encoding").collect();
    let decoded = decode::decode_up_to(&encodings, &page.body, limit);
    let is_cut = decoded.as_ref().is_some_and(|decoded| decoded.is_cut);
    let decoded = decoded.map(|decoded| decoded.bytes);
    let body = decoded.as_deref().unwrap_or_default();
    let content_type = ContentType::of(header(page, "content-type").next(), url.path_and_query(), body);
    if let Some(format) = document::of_content_type(&content_type.name)
        && !body.is_empty()
    {
        return Ok(Begun::Document(Document { format: format.name(), content_type }));
    }
    if is_cut && limit < MAX_DECODED_BYTES {
        return Ok(Begun::Larger);
    }
    let source =
        Source { body, charset: content_type.charset.as_deref(), url: &url, product_token: token(page, config) };
    let links = header_links(page, &url);
    let content = match format::of(&content_type.name, body) {
        _ if decoded.is_none() => not_converted(links, unconverted::UNKNOWN_ENCODING.to_owned()),
        Some(format) => format.read(&source, links),
        None if body.is_empty() => not_converted(links, "it is empty".to_owned()),
        None => not_converted(links, unconverted::no_converter(&content_type.name)),
    };
    Ok(Begun::Analysed(Box::new(describe(page, config, &url, content_type, content))))
}

/// The analysis of a document, once it is converted or has turned out not to be convertible.
pub(crate) fn finish(
    page: &FetchedPage,
    config: &AnalyserConfig,
    content_type: ContentType,
    converted: Result<ConvertedDocument, String>,
) -> Result<Analysis, Error> {
    let url = CanonicalUrl::parse(&page.url)?;
    let mut links = header_links(page, &url);
    let content = match converted {
        Ok(document) => {
            for link in &document.links {
                links.add_described(LinkKind::Anchor, link.target.as_bytes(), link.text.as_bytes());
            }
            Content {
                charset: "utf-8".to_owned(),
                title: document.title,
                description: document.description,
                keywords: document.keywords,
                author: document.author,
                published_at_ms: document.published_at_ms,
                modified_at_ms: document.modified_at_ms,
                declared_lang: Some(document.lang).filter(|lang| !lang.is_empty()),
                text: document.text,
                blocks: document.blocks,
                links,
                ..Content::default()
            }
        }
        Err(reason) => not_converted(links, reason),
    };
    Ok(describe(page, config, &url, content_type, content))
}

pub(crate) fn header<'p>(page: &'p FetchedPage, name: &'static str) -> impl Iterator<Item = &'p str> {
    page.headers.iter().filter(move |header| header.name == name).map(|header| header.value.as_str())
}

fn token<'p>(page: &'p FetchedPage, config: &'p AnalyserConfig) -> &'p str {
    if page.robots_name.is_empty() { &config.product_token } else { &page.robots_name }
}

fn header_links(page: &FetchedPage, url: &CanonicalUrl) -> LinkCollector {
    let mut links = LinkCollector::default();
    for (kind, target) in header(page, "link").flat_map(link_header::links) {
        links.add_absolute(kind, url, target);
    }
    if let Some(target) = header(page, "refresh").next().and_then(refresh_target) {
        links.add_absolute(LinkKind::Refresh, url, &String::from_utf8_lossy(&target));
    }
    links
}

fn not_converted(links: LinkCollector, reason: String) -> Content {
    Content { links, not_converted: reason, ..Content::default() }
}

fn describe(
    page: &FetchedPage,
    config: &AnalyserConfig,
    url: &CanonicalUrl,
    content_type: ContentType,
    mut content: Content,
) -> Analysis {
    let is_document = document::of_content_type(&content_type.name).is_some();
    if content.title.is_empty()
        && (is_document || (!content.not_converted.is_empty() && unconverted::is_listed(&content_type.name)))
    {
        content.title = unconverted::file_name(header(page, "content-disposition").next(), url);
    }
    for value in header(page, "x-robots-tag") {
        content.robots |= RobotsDirectives::of_header(value, token(page, config));
    }
    let declared_lang =
        content.declared_lang.take().or_else(|| header(page, "content-language").next().map(str::to_owned));
    let declared_lang = declared_lang.unwrap_or_default();
    let canonical_url = content.links.canonical(url, content.base.as_deref()).unwrap_or_default();
    let links = content.links.resolve(url, content.base.as_deref());

    let succeeded = (200..300).contains(&page.status);
    let says_something = !content.text.is_empty() || !content.title.is_empty();
    let may_follow = succeeded && !content.robots.nofollow;
    let follow = links.iter().filter(|link| may_follow && link.follow).map(|link| link.url.clone()).collect();
    let date = |name| header(page, name).next().and_then(parse_date).unwrap_or_default();
    let lease = page.lease.as_ref();
    let mut description = Description {
        url: page.url.clone(),
        crawl: lease.map(|lease| lease.crawl.clone()).unwrap_or_default(),
        epoch: lease.map_or(0, |lease| lease.epoch),
        token: lease.map_or(0, |lease| lease.token),
        fetched_at_ms: page.fetched_at_ms,
        status: page.status,
        depth: page.depth,
        content_type: content_type.name,
        charset: content.charset,
        fingerprint: fingerprint(&content.text),
        title: content.title,
        description: content.description,
        text: content.text,
        blocks: content.blocks,
        links: links.into_iter().map(described).collect(),
        generate: succeeded && !content.robots.noindex && says_something,
        bytes: page.body.len() as u64,
        keywords: content.keywords,
        author: content.author,
        published_at_ms: content.published_at_ms,
        modified_at_ms: content.modified_at_ms,
        canonical_url,
        robots: content.robots.names().map(str::to_owned).collect(),
        last_modified_ms: date("last-modified"),
        expires_ms: date("expires"),
        ip: if config.keeps_ip { page.ip.clone() } else { String::new() },
        not_converted: content.not_converted,
        ..Description::default()
    };
    if says_something {
        let main = description.main_text();
        // Where the main text is short, menus tell the language as well.
        let telling = if main.len() >= MIN_TELLING_BYTES { &main } else { &description.text };
        description.lang = language(&description.title, telling, Some(&declared_lang));
        description.simhash = simhash(&main);
        description.usability = usability(&main, &description.lang, &config.wanted_languages);
    }
    description.declared_lang = declared_lang;
    let value = value(&page.keywords, &description);
    Analysis { description, follow, value, metas: content.metas }
}

/// Main text that tells the language by itself.
const MIN_TELLING_BYTES: usize = 200;

fn described(link: Link) -> DescribedLink {
    DescribedLink { url: link.url, text: link.text, kind: link.kind.into() }
}

#[cfg(test)]
mod tests;
