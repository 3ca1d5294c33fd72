//! What the bytes of a page are: by its header, or where that is missing by a first look and the URL's suffix.

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
        Self { name: name.trim().to_ascii_lowercase(), charset: charset_parameter(parameters) }
    }
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
    let path = path.split('?').next().unwrap_or_default();
    let suffix = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, suffix)| suffix);
    match suffix.unwrap_or_default().to_ascii_lowercase().as_str() {
        "html" | "htm" | "xhtml" | "shtml" | "php" | "asp" | "aspx" | "jsp" => "text/html",
        "txt" | "text" | "log" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "csv" => "text/csv",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
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
}
