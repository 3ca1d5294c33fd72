//! All stages of the analysis as one pure function: a page in, everything it says out.
//!
//! Keeps no state and touches no disk or network, so that tests and benches call it directly.

use std::borrow::Cow;

use seine_common::limits::MAX_TEXT_BYTES;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::{DescribedLink, Description, FetchedPage};

use crate::charset;
use crate::content_type::{ContentType, Reading};
use crate::decode;
use crate::error::Error;
use crate::extract::Extraction;
use crate::extract::text::cut;
use crate::fingerprint::fingerprint;
use crate::language::language;
use crate::parse::parse;
use crate::robots_directives::RobotsDirectives;

#[derive(Clone, Debug)]
pub struct AnalyserConfig {
    /// The crawler's name as robots meta tags use it: the part of the user agent before `/`.
    pub product_token: String,
}

impl Default for AnalyserConfig {
    fn default() -> Self {
        Self { product_token: "seine".to_owned() }
    }
}

/// What a page says.
#[derive(Debug)]
pub struct Analysis {
    /// For the description log; its archive position is still to be filled in.
    pub description: Description,
    /// The links that a crawl may follow: canonical, each once, in page order.
    pub follow: Vec<String>,
}

/// What can be read in a page, whatever its content type.
#[derive(Default)]
struct Read {
    charset: String,
    title: String,
    description: String,
    lang: Option<String>,
    text: String,
    links: Vec<crate::extract::links::Link>,
    robots: RobotsDirectives,
}

pub fn analyse(page: &FetchedPage, config: &AnalyserConfig) -> Result<Analysis, Error> {
    let url = CanonicalUrl::parse(&page.url)?;
    let header = |name: &'static str| page.headers.iter().filter(move |h| h.name == name).map(|h| h.value.as_str());
    let encodings: Vec<&str> = header("content-encoding").collect();
    let decoded = decode::decode(&encodings, &page.body);
    let body = decoded.as_deref().unwrap_or_default();
    let content_type = ContentType::of(header("content-type").next(), url.path_and_query(), body);

    let mut read = match content_type.reading() {
        Reading::Html => read_html(body, &content_type, &url, config),
        Reading::PlainText => read_plain_text(body, &content_type),
        Reading::Opaque => Read::default(),
    };
    for value in header("x-robots-tag") {
        read.robots |= RobotsDirectives::of_header(value, &config.product_token);
    }

    let succeeded = (200..300).contains(&page.status);
    let says_something = !read.text.is_empty() || !read.title.is_empty();
    let may_follow = succeeded && !read.robots.nofollow;
    let follow = read.links.iter().filter(|link| may_follow && link.follow).map(|link| link.url.clone()).collect();
    let lease = page.lease.as_ref();
    let description = Description {
        url: page.url.clone(),
        crawl: lease.map(|lease| lease.crawl.clone()).unwrap_or_default(),
        token: lease.map_or(0, |lease| lease.token),
        fetched_at_ms: page.fetched_at_ms,
        status: page.status,
        depth: page.depth,
        content_type: content_type.name,
        charset: read.charset,
        lang: if says_something { language(&read.title, &read.text, read.lang.as_deref()) } else { String::new() },
        fingerprint: fingerprint(&read.text),
        title: read.title,
        description: read.description,
        text: read.text,
        links: read.links.into_iter().map(described).collect(),
        generate: succeeded && !read.robots.noindex && says_something,
        bytes: page.body.len() as u64,
        archive: None,
    };
    Ok(Analysis { description, follow })
}

fn described(link: crate::extract::links::Link) -> DescribedLink {
    DescribedLink { url: link.url, text: link.text, kind: link.kind.into() }
}

fn read_html(body: &[u8], content_type: &ContentType, url: &CanonicalUrl, config: &AnalyserConfig) -> Read {
    let decoded = charset::to_text(body, content_type.charset.as_deref(), |prefix| {
        let mut extraction = Extraction::new(&config.product_token);
        parse(prefix, &mut extraction);
        extraction.metadata.charset
    });
    let mut extraction = Extraction::new(&config.product_token);
    parse(decoded.text.as_bytes(), &mut extraction);
    let metadata = extraction.metadata;
    Read {
        charset: decoded.charset,
        title: metadata.title.finish(),
        description: metadata.description,
        lang: metadata.lang,
        text: extraction.text.finish(),
        links: extraction.links.resolve(url, metadata.base.as_deref()),
        robots: metadata.robots,
    }
}

fn read_plain_text(body: &[u8], content_type: &ContentType) -> Read {
    let decoded = charset::to_text(body, content_type.charset.as_deref(), |_| None);
    let text = match decoded.text {
        Cow::Owned(text) if text.len() <= MAX_TEXT_BYTES => text,
        text => cut(&text, MAX_TEXT_BYTES),
    };
    // White space alone is no text.
    let text = if text.trim().is_empty() { String::new() } else { text };
    Read { charset: decoded.charset, text, ..Read::default() }
}

#[cfg(test)]
mod tests;
