//! Turns a message of the archive into something that can be shown: encoding undone, text as UTF-8, HTML made safe.

use std::borrow::Cow;

use seine_common::limits::MAX_BODY_BYTES;
use seine_proto::filesaver::v1::CopyKind;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::record;
use crate::charset;
use crate::content_type::ContentType;
use crate::decode;
use crate::extract::Extraction;
use crate::parse::parse;
use crate::rewrite::{Cancelled, rewrite_html};

/// Longer text is cut: nobody reads more in a browser.
const MAX_SAFE_BYTES: usize = 4 << 20;

pub(crate) struct PageCopy {
    pub kind: CopyKind,
    pub content_type: String,
    pub body: Vec<u8>,
}

pub(crate) fn decoded(url: &str, head: &[u8], body: &[u8]) -> PageCopy {
    let encodings: Vec<&str> = record::headers(head, "content-encoding").collect();
    let body = decode::decode(&encodings, body).unwrap_or(Cow::Borrowed(body));
    let path = Url::parse(url).map(|url| url.path().to_owned()).unwrap_or_default();
    let content_type = ContentType::of(record::header(head, "content-type"), &path, &body);
    let kind = kind(&content_type.name);
    let mut body = match kind {
        CopyKind::Html | CopyKind::Text => {
            let decoded = charset::to_text(&body, content_type.charset.as_deref(), |prefix| {
                let mut extraction = Extraction::new("");
                parse(prefix, &mut extraction);
                extraction.metadata.charset
            });
            decoded.text.into_owned().into_bytes()
        }
        _ => body.into_owned(),
    };
    body.truncate(MAX_BODY_BYTES);
    PageCopy { kind, content_type: content_type.name, body }
}

fn kind(content_type: &str) -> CopyKind {
    match content_type {
        "text/html" | "application/xhtml+xml" => CopyKind::Html,
        "application/json" | "application/xml" | "application/javascript" => CopyKind::Text,
        name if name.starts_with("text/") || name.ends_with("+xml") || name.ends_with("+json") => CopyKind::Text,
        _ => CopyKind::Other,
    }
}

impl PageCopy {
    /// HTML from which nothing runs, posts or refreshes, with absolute links. Other kinds stay as they are.
    pub fn made_safe(self, url: &str, cancelled: &CancellationToken) -> Result<Self, Cancelled> {
        let (CopyKind::Html, Ok(base)) = (self.kind, Url::parse(url)) else { return Ok(self) };
        let text = String::from_utf8_lossy(&self.body);
        let text = &text[..text.floor_char_boundary(MAX_SAFE_BYTES)];
        let body = rewrite_html(text, base, &mut |target, _| Some(target.as_str().to_owned()), cancelled)?.into_bytes();
        Ok(Self { body, ..self })
    }
}
