//! What is known when a filter is asked.

use crate::url::CanonicalUrl;

/// Known of every URL, and of its page once that was fetched.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub url: &'a CanonicalUrl,
    pub depth: u32,
    /// Names of the crawl's two filters.
    pub enumeration: &'a str,
    pub generation: &'a str,
    /// The address that answered.
    pub ip: Option<&'a str>,
    pub page: Option<PageFacts<'a>>,
}

/// Empty or 0 where nothing was stated.
#[derive(Clone, Debug, Default)]
pub struct PageFacts<'a> {
    pub charset: &'a str,
    /// As `Content-Encoding` names it.
    pub encoding: &'a str,
    /// Of the body as received.
    pub content_length: u64,
    /// Without parameters.
    pub content_type: &'a str,
    /// Unix milliseconds.
    pub expires_ms: i64,
    pub last_modified_ms: i64,
    /// Names in lower case, with what they say.
    pub metas: &'a [(String, String)],
    pub lang: &'a str,
    pub title: &'a str,
    pub usability: f32,
    pub value: f32,
}
