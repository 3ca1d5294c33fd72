//! The formats that can be read, one file each, behind one small trait.
//!
//! A new format is a file here and a line in [`FORMATS`]. Documents such as PDF, which worker processes read, are in
//! `document`. What neither reads is kept in the archive and not converted.

mod html;
mod markdown;
mod plain_text;
mod feed;
mod xml;
mod json;
pub(crate) mod markup;

use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::TextBlock;

use crate::extract::links::LinkCollector;
use crate::robots_directives::RobotsDirectives;

pub(crate) use html::HtmlPage;

/// The bytes of a page and what is known of them before they are read.
pub(crate) struct Source<'a> {
    /// Content encoding undone.
    pub body: &'a [u8],
    /// As the content type states it.
    pub charset: Option<&'a str>,
    pub url: &'a CanonicalUrl,
    /// The name under which a page may speak to this crawler alone.
    pub product_token: &'a str,
}

/// What can be read in a page, whatever its format.
#[derive(Default)]
pub(crate) struct Content {
    pub charset: String,
    pub title: String,
    pub description: String,
    pub keywords: String,
    pub author: String,
    /// Unix milliseconds; 0 when not stated.
    pub published_at_ms: i64,
    pub modified_at_ms: i64,
    /// As the page states it.
    pub declared_lang: Option<String>,
    pub text: String,
    /// Empty where all of the text is main text.
    pub blocks: Vec<TextBlock>,
    pub links: LinkCollector,
    /// What incomplete links are completed from, where not from the page.
    pub base: Option<String>,
    pub robots: RobotsDirectives,
    /// Every `<meta>` with its name in lower case, as far as they are kept.
    pub metas: Vec<(String, String)>,
    /// Why the content was not read; empty where it was.
    pub not_converted: String,
}

pub(crate) trait Format: Sync {
    /// Whether pages of this content type, or with these first bytes under a general type, are of this format.
    fn reads(&self, content_type: &str, start: &[u8]) -> bool;

    /// `links` holds what the headers link to.
    fn read(&self, source: &Source<'_>, links: LinkCollector) -> Content;
}

/// The first that reads a page counts: the special ones stand before the general.
static FORMATS: [&dyn Format; 6] =
    [&html::Html, &markdown::Markdown, &plain_text::PlainText, &feed::Feed, &xml::Xml, &json::Json];

/// `None` for what is not converted.
pub(crate) fn of(content_type: &str, body: &[u8]) -> Option<&'static dyn Format> {
    const LOOK_BYTES: usize = 512;
    let start = &body[..body.len().min(LOOK_BYTES)];
    FORMATS.iter().find(|format| format.reads(content_type, start)).copied()
}

#[cfg(test)]
mod tests;
