//! Which answers are pages: decided from `Content-Type`, before the body is read.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// Text, markup and files of all kinds are kept; so is what has no type, for the analyser to look at. Pictures, sound, fonts
/// and scripts are parts of pages and no pages.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let media_type = value.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let media_type = String::from_utf8_lossy(media_type).to_ascii_lowercase();
    match media_type.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", kind)) => {
            let is_script = matches!(kind, "javascript" | "x-javascript" | "ecmascript" | "wasm" | "x-shockwave-flash");
            let is_font = kind.starts_with("font") || kind.starts_with("x-font") || kind == "vnd.ms-fontobject";
            !is_script && !is_font
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
        for kind in ["application/xml", "application/json", "application/pdf;x", "application/octet-stream", ""] {
            assert!(wanted(kind), "{kind}");
        }
        for kind in ["image/png", "application/javascript", "application/font-woff", "video/mp4", "html"] {
            assert!(!wanted(kind), "{kind}");
        }
        assert!(is_wanted(&HeaderMap::new()));
    }
}
