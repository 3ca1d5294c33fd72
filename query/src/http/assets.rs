//! Style, script and icon of the pages. Their addresses carry a stamp of their content, so browsers may keep them.

use std::sync::OnceLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};

const STYLE: &str = include_str!("../../assets/seine.css");
const SCRIPT: &str = include_str!("../../assets/seine.js");
const ICON: &str = include_str!("../../assets/icon.svg");

const KEEP: &str = "public, max-age=31536000, immutable";
const KEEP_A_DAY: &str = "public, max-age=86400";

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

pub async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, KEEP)], STYLE).into_response()
}

pub async fn script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8"), (header::CACHE_CONTROL, KEEP)], SCRIPT).into_response()
}

pub async fn icon() -> Response {
    ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, KEEP_A_DAY)], ICON).into_response()
}
