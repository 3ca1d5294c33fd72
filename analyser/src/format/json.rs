//! JSON as text: every string that is a value, each on a line of its own. Broken files give what they have.

use seine_common::limits::MAX_TEXT_BYTES;

use super::{Content, Format, Source};
use crate::charset;
use crate::extract::links::LinkCollector;
use crate::extract::text::TextBuffer;

pub(crate) struct Json;

impl Format for Json {
    fn reads(&self, content_type: &str, _start: &[u8]) -> bool {
        matches!(content_type, "application/json" | "text/json" | "application/x-ndjson")
            || content_type.ends_with("+json")
    }

    fn read(&self, source: &Source<'_>, links: LinkCollector) -> Content {
        let decoded = charset::to_text(source.body, source.charset, |_| None);
        let mut text = TextBuffer::of_lines(MAX_TEXT_BYTES);
        for string in values(decoded.text.as_bytes()) {
            // Quotes included; what is no valid string is left out.
            if let Ok(value) = serde_json::from_slice::<String>(string) {
                text.push(value.as_bytes());
                text.end_line();
            }
        }
        Content { charset: decoded.charset, text: text.finish(), links, ..Content::default() }
    }
}

/// Strings with their quotes, without those that are keys.
fn values(json: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let start = memchr::memchr(b'"', rest)?;
            let end = string_end(&rest[start..])?;
            let string = &rest[start..start + end];
            rest = &rest[start + end..];
            if rest.trim_ascii_start().first() != Some(&b':') {
                return Some(string);
            }
        }
    })
}

/// The length of the string that begins with a quote.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', &text[at..])?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
        if at > text.len() {
            return None;
        }
    }
}
