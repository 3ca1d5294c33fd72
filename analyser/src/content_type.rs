//! What the bytes of a page are: by its header, or where that is missing or says nothing by a first look and the URL's
//! suffix.

use crate::document;

pub(crate) struct ContentType {
    /// Without parameters, lower case.
    pub name: String,
    /// The `charset` parameter.
    pub charset: Option<String>,
}

impl ContentType {
    pub fn of(header: Option<&str>, path: &str, body: &[u8]) -> Self {
        let Some(header) = header.filter(|header| header.contains('/')) else {
            return Self { name: guess(path, body).to_owned(), charset: None };
        };
        let (name, parameters) = header.split_once(';').unwrap_or((header, ""));
        let name = name.trim().to_ascii_lowercase();
        let better = match name.as_str() {
            name if says_nothing(name) => document::type_of_bytes(body).or_else(|| by_suffix(path)),
            // A document that its server takes for what it serves by default, or for the archive that it also is.
            "text/plain" | "application/zip" | "application/x-zip-compressed" => document::type_of_bytes(body),
            _ => None,
        };
        Self { name: better.map_or(name, str::to_owned), charset: charset_parameter(parameters) }
    }
}

fn says_nothing(name: &str) -> bool {
    matches!(
        name,
        "application/octet-stream"
            | "binary/octet-stream"
            | "application/binary"
            | "application/download"
            | "application/x-download"
            | "application/force-download"
            | "application/unknown"
    )
}

/// The value of `charset=` in a list of parameters; also how `<meta http-equiv=content-type>` writes it.
pub(crate) fn charset_parameter(parameters: &str) -> Option<String> {
    let value = parameters.split([';', ',']).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    let value = value.trim().trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn guess(path: &str, body: &[u8]) -> &'static str {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    if start.starts_with(b"<?xml")
        && !start[..start.len().min(1024)].windows(5).any(|name| name.eq_ignore_ascii_case(b"<html"))
    {
        return "application/xml";
    }
    if start.starts_with(b"<rss") || start.starts_with(b"<feed") {
        return "application/xml";
    }
    if start.starts_with(b"<") {
        return "text/html";
    }
    document::type_of_bytes(body).or_else(|| by_suffix(path)).unwrap_or("application/octet-stream")
}

fn by_suffix(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap_or_default();
    let (_, suffix) = path.rsplit('/').next()?.rsplit_once('.')?;
    let suffix = suffix.to_ascii_lowercase();
    let text = match suffix.as_str() {
        "html" | "htm" | "xhtml" | "shtml" | "php" | "asp" | "aspx" | "jsp" => "text/html",
        "txt" | "text" | "log" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "csv" => "text/csv",
        "json" => "application/json",
        _ => return document::type_of_suffix(&suffix),
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides_where_there_is_one() {
        let html = ContentType::of(Some("Text/HTML; Charset=\"GB2312\""), "/a.txt", b"plain");
        assert_eq!((html.name.as_str(), html.charset.as_deref()), ("text/html", Some("GB2312")));
        assert_eq!(ContentType::of(Some("image/png"), "/a.html", b"<html>").name, "image/png");
    }

    #[test]
    fn without_a_header_the_bytes_and_the_suffix_tell() {
        let name = |path, body: &[u8]| ContentType::of(None, path, body).name;
        assert_eq!(name("/x", b"\xef\xbb\xbf \n<!doctype html>"), "text/html");
        assert_eq!(name("/x.TXT?a=/b.html", b"words"), "text/plain");
        assert_eq!(name("/x.html", b"words"), "text/html");
        assert_eq!(name("/x", b"<?xml version='1.0'?><rss>"), "application/xml");
        assert_eq!(name("/x", b"<?xml version='1.0'?><html>"), "text/html");
        assert_eq!(name("/x.y/z", b"\x00\x01"), "application/octet-stream");
        assert_eq!(ContentType::of(Some("nonsense"), "/a.md", b"words").name, "text/markdown");
    }

    #[test]
    fn documents_are_known_by_header_suffix_and_bytes() {
        let name = |header, path, body: &[u8]| ContentType::of(header, path, body).name;
        let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        let word = b"PK\x03\x04 \x00 word/document.xml";
        let odt = b"PK\x03\x04\x14\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0mimetypeapplication/vnd.oasis.opendocument.textPK\x03\x04";
        assert_eq!(name(Some("application/pdf"), "/x", b""), "application/pdf");
        for header in [None, Some("application/octet-stream"), Some("application/x-download; a=b")] {
            assert_eq!(name(header, "/get?id=1", b"%PDF-1.4"), "application/pdf", "{header:?}");
            assert_eq!(name(header, "/a/Report.PDF", b"broken"), "application/pdf", "{header:?}");
            assert_eq!(name(header, "/get", word), docx, "{header:?}");
            assert_eq!(name(header, "/get", odt), "application/vnd.oasis.opendocument.text", "{header:?}");
        }
        assert_eq!(name(Some("application/octet-stream"), "/x.bin", b"\0\0"), "application/octet-stream");
        assert_eq!(name(Some("application/zip"), "/get", word), docx);
        assert_eq!(name(Some("application/zip"), "/a.docx", b"PK\x03\x04"), "application/zip");
        assert_eq!(name(Some("text/plain"), "/a", b"%PDF-1.4"), "application/pdf");
        assert_eq!(name(Some("text/html"), "/a.pdf", b"<p>no such file"), "text/html");
    }
}
