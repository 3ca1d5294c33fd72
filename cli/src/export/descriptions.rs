//! `seine export descriptions`: all that is known about a page.

use prost::Message;
use seine_proto::common::v1::{Description, LinkKind};
use serde_json::{Value, json};

use super::sink::Sink;
use crate::failure::Result;
use crate::output::time_text;

pub fn write_json(page: &Description, sink: &mut Sink) -> Result<u64> {
    sink.json(&as_json(page))?;
    Ok(1)
}

/// Behind its length as a varint, as protobuf libraries read a file of messages.
pub fn write_protobuf(page: &Description, sink: &mut Sink) -> Result<u64> {
    sink.write(&page.encode_length_delimited_to_vec())?;
    Ok(1)
}

fn as_json(page: &Description) -> Value {
    let archive = page.archive.as_ref().filter(|position| !position.file.is_empty());
    let links =
        page.links.iter().map(|link| json!({ "url": link.url, "text": link.text, "kind": kind_name(link.kind()) }));
    json!({
        "url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        "charset": page.charset,
        "title": page.title,
        "description": page.description,
        "lang": said(&page.lang),
        "main_text": page.main_text(),
        "full_text": page.text,
        "links": links.collect::<Vec<_>>(),
        "fetched_at": time_text(page.fetched_at_ms),
        "fingerprint": format!("{:016x}", page.fingerprint),
        "simhash": format!("{:016x}", page.simhash),
        "usability": page.usability,
        "crawl": page.crawl,
        "depth": page.depth,
        "bytes": page.bytes,
        "indexed": page.generate,
        "declared_lang": said(&page.declared_lang),
        "canonical_url": said(&page.canonical_url),
        "keywords": said(&page.keywords),
        "author": said(&page.author),
        "published_at": time_text(page.published_at_ms),
        "modified_at": time_text(page.modified_at_ms),
        "last_modified": time_text(page.last_modified_ms),
        "expires": time_text(page.expires_ms),
        "robots": page.robots,
        "not_converted": said(&page.not_converted),
        "ip": said(&page.ip),
        "archive": archive.map(|position| {
            json!({
                "filesaver": position.filesaver,
                "file": position.file,
                "offset": position.offset,
                "length": position.length,
            })
        }),
    })
}

/// `LINK_KIND_ANCHOR` in a word: `anchor`.
pub fn kind_name(kind: LinkKind) -> String {
    kind.as_str_name().trim_start_matches("LINK_KIND_").to_ascii_lowercase()
}

fn said(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_sixteen_digits_and_kinds_are_words() {
        let link = seine_proto::common::v1::DescribedLink { kind: LinkKind::Anchor.into(), ..Default::default() };
        let page = Description {
            fingerprint: 0xab,
            fetched_at_ms: 1_700_000_000_123,
            links: vec![link],
            ..Default::default()
        };
        let json = as_json(&page);
        assert_eq!((json["fingerprint"].as_str(), json["lang"].is_null()), (Some("00000000000000ab"), true));
        assert_eq!(
            (json["links"][0]["kind"].as_str(), json["fetched_at"].as_str()),
            (Some("anchor"), Some("2023-11-14T22:13:20Z"))
        );
    }
}
