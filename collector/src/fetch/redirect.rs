//! Where an answer redirects to. Nothing is followed here: the target becomes a discovery of its own.

use http::HeaderMap;
use http::header::LOCATION;
use seine_common::url::CanonicalUrl;

/// Redirects in a row before a URL is given up.
pub const MAX_REDIRECTS: u32 = 10;

/// The target, when the status is a redirect and the target is a URL that can be crawled.
pub fn target(asked: &CanonicalUrl, status: u16, headers: &HeaderMap) -> Option<CanonicalUrl> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    // Servers write UTF-8 here, whatever the standard says.
    let location = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes());
    CanonicalUrl::join(asked.as_url(), location.trim()).ok()
}
