//! `seine export urls`: where the pages are.

use seine_proto::common::v1::Description;
use serde_json::json;

use super::sink::Sink;
use crate::failure::Result;
use crate::output::time_text;

pub fn write(page: &Description, as_json: bool, sink: &mut Sink) -> Result<u64> {
    if as_json {
        sink.json(&json!({
            "url": page.url,
            "status": page.status,
            "content_type": page.content_type,
            "lang": Some(&page.lang).filter(|lang| !lang.is_empty()),
            "bytes": page.bytes,
            "fetched_at": time_text(page.fetched_at_ms),
        }))?;
    } else {
        sink.write(page.url.as_bytes())?;
        sink.write(b"\n")?;
    }
    Ok(1)
}
