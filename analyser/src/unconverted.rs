//! Pages whose content was not read: why not, and what they are called nevertheless.
//!
//! They stay in the archive. Files that somebody may look for by name become documents of the index with that name as
//! their title; parts of pages, such as pictures and scripts, do not.

use seine_common::url::CanonicalUrl;

use crate::extract::metadata::MAX_TITLE_BYTES;
use crate::extract::text::one_line;

pub(crate) const UNKNOWN_ENCODING: &str = "its content encoding cannot be undone";

pub(crate) fn no_converter(content_type: &str) -> String {
    format!("there is no converter for {content_type}")
}

/// Whether a file of this type is looked for by its name.
pub(crate) fn is_listed(content_type: &str) -> bool {
    let Some(kind) = content_type.strip_prefix("application/") else { return false };
    let is_part = matches!(kind, "javascript" | "x-javascript" | "ecmascript" | "wasm" | "x-shockwave-flash")
        || kind.starts_with("font")
        || kind.starts_with("x-font")
        || kind == "vnd.ms-fontobject";
    !is_part
}

/// The file name that the server gives, or that stands in the URL; empty where that is no file name.
pub(crate) fn file_name(disposition: Option<&str>, url: &CanonicalUrl) -> String {
    let stated = disposition.and_then(disposition_name);
    let path = url.as_url().path();
    let last = path.rsplit('/').next().unwrap_or_default();
    let in_url = last.contains('.').then(|| unescaped(last));
    let name = stated.or(in_url).unwrap_or_default();
    // Names may come with a path, in either way of writing one.
    one_line(name.rsplit(['/', '\\']).next().unwrap_or_default().as_bytes(), MAX_TITLE_BYTES)
}

/// `filename*=UTF-8''…`, which goes before `filename="…"`.
fn disposition_name(header: &str) -> Option<String> {
    let value = |name: &str| {
        let parameters = header.split(';').skip(1);
        let mut found = parameters.filter_map(|parameter| parameter.split_once('='));
        found
            .find(|(known, _)| known.trim().eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().trim_matches('"'))
    };
    let extended = value("filename*").and_then(|value| value.splitn(3, '\'').nth(2)).map(unescaped);
    extended.or_else(|| value("filename").map(str::to_owned)).filter(|name| !name.is_empty())
}

/// Percent escapes undone; bytes that are no UTF-8 are replaced.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%').then(|| bytes.get(at + 1..at + 3)).flatten();
        let byte = escaped.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_the_header_or_the_url() {
        let name = |header, url: &str| file_name(header, &CanonicalUrl::parse(url).unwrap());
        assert_eq!(name(None, "http://a.example/x/V%C3%BDro%C4%8Dn%C3%AD%20zpr%C3%A1va.pdf?v=1"), "Výroční zpráva.pdf");
        assert_eq!(name(Some("attachment; filename=\"a b.zip\""), "http://a.example/get"), "a b.zip");
        let both = "attachment; filename=\"x.pdf\"; filename*=UTF-8''%E6%B2%B3.pdf";
        assert_eq!(name(Some(both), "http://a.example/get"), "河.pdf");
        assert_eq!(name(Some("attachment; filename=\"C:\\dir\\y.pdf\""), "http://a.example/"), "y.pdf");
        assert_eq!(name(Some("inline"), "http://a.example/download"), "");
    }

    #[test]
    fn parts_of_pages_are_not_listed() {
        assert!(["application/pdf", "application/zip", "application/octet-stream"].into_iter().all(is_listed));
        assert!(!["image/png", "text/css", "application/javascript", "font/woff2"].into_iter().any(is_listed));
    }
}
