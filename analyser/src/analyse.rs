//! All stages of the analysis as one pure function: a page in, everything it says out.
//!
//! Keeps no state and touches no disk or network, so that tests and benches call it directly.

use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::{DescribedLink, Description, FetchedPage, LinkKind};

use crate::content_type::ContentType;
use crate::dates::parse_date;
use crate::decode;
use crate::error::Error;
use crate::extract::links::{Link, LinkCollector, refresh_target};
use crate::fingerprint::fingerprint;
use crate::format::{self, Content, Source};
use crate::language::language;
use crate::link_header;
use crate::robots_directives::RobotsDirectives;
use crate::simhash::simhash;
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
}

impl Default for AnalyserConfig {
    fn default() -> Self {
        Self { product_token: "seine".to_owned(), wanted_languages: Vec::new(), keeps_ip: false }
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

pub fn analyse(page: &FetchedPage, config: &AnalyserConfig) -> Result<Analysis, Error> {
    let url = CanonicalUrl::parse(&page.url)?;
    let header = |name: &'static str| page.headers.iter().filter(move |h| h.name == name).map(|h| h.value.as_str());
    let encodings: Vec<&str> = header("content-encoding").collect();
    let decoded = decode::decode(&encodings, &page.body);
    let body = decoded.as_deref().unwrap_or_default();
    let content_type = ContentType::of(header("content-type").next(), url.path_and_query(), body);

    let mut header_links = LinkCollector::default();
    for (kind, target) in header("link").flat_map(link_header::links) {
        header_links.add_absolute(kind, &url, target);
    }
    if let Some(target) = header("refresh").next().and_then(refresh_target) {
        header_links.add_absolute(LinkKind::Refresh, &url, &String::from_utf8_lossy(&target));
    }
    let product_token = if page.robots_name.is_empty() { &config.product_token } else { &page.robots_name };
    let source = Source { body, charset: content_type.charset.as_deref(), url: &url, product_token };
    let mut content = match format::of(&content_type.name, body) {
        Some(format) => format.read(&source, header_links),
        None => Content { links: header_links, ..Content::default() },
    };
    for value in header("x-robots-tag") {
        content.robots |= RobotsDirectives::of_header(value, product_token);
    }
    let declared_lang = content.declared_lang.take().or_else(|| header("content-language").next().map(str::to_owned));
    let declared_lang = declared_lang.unwrap_or_default();
    let canonical_url = content.links.canonical(&url, content.base.as_deref()).unwrap_or_default();
    let links = content.links.resolve(&url, content.base.as_deref());

    let succeeded = (200..300).contains(&page.status);
    let says_something = !content.text.is_empty() || !content.title.is_empty();
    let may_follow = succeeded && !content.robots.nofollow;
    let follow = links.iter().filter(|link| may_follow && link.follow).map(|link| link.url.clone()).collect();
    let date = |name| header(name).next().and_then(parse_date).unwrap_or_default();
    let lease = page.lease.as_ref();
    let mut description = Description {
        url: page.url.clone(),
        crawl: lease.map(|lease| lease.crawl.clone()).unwrap_or_default(),
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
    Ok(Analysis { description, follow, value, metas: content.metas })
}

/// Main text that tells the language by itself.
const MIN_TELLING_BYTES: usize = 200;

fn described(link: Link) -> DescribedLink {
    DescribedLink { url: link.url, text: link.text, kind: link.kind.into() }
}

#[cfg(test)]
mod tests;
