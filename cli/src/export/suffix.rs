//! The suffix of a file in a mirror, which is all that a browser knows a file from the disk by.
//!
//! It follows from the type that the page was sent with, whatever its URL ends with: `/x.html` that was sent as text is
//! text. Invariant: of the suffixes given here, a browser runs scripts in `html` alone, and those files are sanitised. So
//! XML of all kinds, in which scripts may stand too, is shown as the text that it is.

/// For what is neither known nor harmless by its name; browsers offer to save it.
const UNKNOWN: &str = "bin";

/// Suffixes of files that nothing runs in. They are kept where the type says nothing.
const HARMLESS: [&str; 24] = [
    "avif", "bmp", "csv", "docx", "gif", "gz", "ico", "jpeg", "jpg", "json", "mp3", "mp4", "ods", "odt", "ogg", "pdf",
    "png", "tif", "txt", "webm", "webp", "woff2", "xlsx", "zip",
];

pub fn suffix(content_type: &str, path: &str) -> &'static str {
    match content_type {
        "text/html" | "application/xhtml+xml" => "html",
        "text/css" => "css",
        "text/csv" => "csv",
        "text/markdown" | "text/x-markdown" => "md",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/avif" => "avif",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        "application/pdf" | "application/x-pdf" => "pdf",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "docx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
        "application/vnd.oasis.opendocument.text" => "odt",
        "application/vnd.oasis.opendocument.spreadsheet" => "ods",
        name if name == "application/json" || name.ends_with("+json") => "json",
        name if name.starts_with("text/") || name.ends_with("xml") || name.ends_with("script") => "txt",
        _ => of_path(path),
    }
}

fn of_path(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((_, stated)) = name.rsplit_once('.') else { return UNKNOWN };
    HARMLESS.into_iter().find(|known| stated.eq_ignore_ascii_case(known)).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_sanitised_as_html_gets_a_suffix_that_browsers_run_scripts_in() {
        for (content_type, path, expected) in [
            ("text/html", "/x.txt", "html"),
            ("application/xhtml+xml", "/x.xhtml", "html"),
            ("text/plain", "/x.html", "txt"),
            ("image/svg+xml", "/x.svg", "txt"),
            ("application/xml", "/x.xhtml", "txt"),
            ("application/rss+xml", "/feed", "txt"),
            ("text/xsl", "/x.xsl", "txt"),
            ("application/javascript", "/x.js", "txt"),
            ("image/png", "/x.html", "png"),
            ("application/octet-stream", "/x.html", "bin"),
            ("application/octet-stream", "/x.SVG", "bin"),
            ("application/octet-stream", "/x.mhtml", "bin"),
            ("application/octet-stream", "/photo.GIF", "gif"),
            ("", "/x", "bin"),
        ] {
            assert_eq!(suffix(content_type, path), expected, "{content_type} {path}");
        }
    }
}
