//! Style, script and icon of the pages. Their addresses carry a stamp of their content, so browsers may keep them.

use std::sync::OnceLock;

use axum::extract::RawQuery;
use axum::http::header;
use axum::response::{IntoResponse, Response};

const STYLE: &str = include_str!("../../assets/seine.css");
const SCRIPT: &str = include_str!("../../assets/seine.js");
const ICON: &str = include_str!("../../assets/icon.svg");

const KEEP: &str = "public, max-age=31536000, immutable";
const KEEP_A_DAY: &str = "public, max-age=86400";
const ASK_AGAIN: &str = "no-cache";

/// Changes with the content of any of them.
pub fn stamp() -> &'static str {
    static STAMP: OnceLock<String> = OnceLock::new();
    STAMP.get_or_init(|| {
        let content = [STYLE, SCRIPT, ICON];
        let bytes = content.iter().flat_map(|text| text.bytes());
        let hash =
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        format!("{hash:016x}")
    })
}

/// Kept for ever only under the stamp of this content: during an upgrade a page of the next version may ask us for its
/// own style, and the browser must not keep ours under that name.
fn stamped(query: Option<&str>, content_type: &'static str, content: &'static str) -> Response {
    let is_ours = query.and_then(|query| query.strip_prefix("v=")) == Some(stamp());
    let caching = if is_ours { KEEP } else { ASK_AGAIN };
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, caching)], content).into_response()
}

pub async fn style(RawQuery(query): RawQuery) -> Response {
    stamped(query.as_deref(), "text/css; charset=utf-8", STYLE)
}

pub async fn script(RawQuery(query): RawQuery) -> Response {
    stamped(query.as_deref(), "text/javascript; charset=utf-8", SCRIPT)
}

pub async fn icon() -> Response {
    ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, KEEP_A_DAY)], ICON).into_response()
}
