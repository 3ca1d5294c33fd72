//! `seine export links`: which page points where, one link a line.

use seine_proto::common::v1::Description;
use serde_json::json;

use super::descriptions::kind_name;
use super::sink::Sink;
use crate::failure::Result;

pub fn write(page: &Description, sink: &mut Sink) -> Result<u64> {
    for link in &page.links {
        let kind = kind_name(link.kind());
        sink.json(&json!({ "from": page.url, "to": link.url, "text": link.text, "kind": kind }))?;
    }
    Ok(page.links.len() as u64)
}
