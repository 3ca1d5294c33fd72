//! Which answers are pages: decided from `Content-Type`, before the body is read.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// Text, markup, JSON and PDF are kept; so is what has no type, for the analyser to look at.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let media_type = value.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let media_type = String::from_utf8_lossy(media_type).to_ascii_lowercase();
    match media_type.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", kind)) => {
            matches!(kind, "xml" | "json" | "pdf") || kind.ends_with("+xml") || kind.ends_with("+json")
        }
        Some(_) => false,
        None => media_type.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(value: &str) -> bool {
        is_wanted(&[(CONTENT_TYPE, value.parse().unwrap())].into_iter().collect())
    }

    #[test]
    fn texts_are_wanted_and_pictures_are_not() {
        for kind in [
            "text/html; charset=utf-8",
            "TEXT/PLAIN",
            "application/xhtml+xml",
            "application/rss+xml",
            "application/ld+json",
        ] {
            assert!(wanted(kind), "{kind}");
        }
        for kind in ["application/xml", "application/json", "application/pdf;x", ""] {
            assert!(wanted(kind), "{kind}");
        }
        for kind in ["image/png", "application/octet-stream", "application/zip", "video/mp4", "html"] {
            assert!(!wanted(kind), "{kind}");
        }
        assert!(is_wanted(&HeaderMap::new()));
    }
}
