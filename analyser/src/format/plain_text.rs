//! Plain text, kept as it is.

use std::borrow::Cow;

use seine_common::limits::MAX_TEXT_BYTES;

use super::{Content, Format, Source};
use crate::charset;
use crate::extract::links::LinkCollector;
use crate::extract::text::cut;

pub(crate) struct PlainText;

impl Format for PlainText {
    fn reads(&self, content_type: &str, _start: &[u8]) -> bool {
        matches!(content_type, "text/plain" | "text/x-rst" | "text/csv" | "text/tab-separated-values")
    }

    fn read(&self, source: &Source<'_>, links: LinkCollector) -> Content {
        let decoded = charset::to_text(source.body, source.charset, |_| None);
        let text = match decoded.text {
            Cow::Owned(text) if text.len() <= MAX_TEXT_BYTES => text,
            text => cut(&text, MAX_TEXT_BYTES),
        };
        // White space alone is no text.
        let text = if text.trim().is_empty() { String::new() } else { text };
        Content { charset: decoded.charset, text, links, ..Content::default() }
    }
}
