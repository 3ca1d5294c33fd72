//! Reads the archive: a record by its position, or the copy of a URL at a time.
//!
//! Positions come from other processes, so a position is checked like any input: it names a file of the archive and
//! nothing else, and what is read and decompressed is bounded. A capture that only names an earlier one with the same body
//! is followed to it, which may be one of another host: only the body is taken from there. What a page's links are completed
//! from is the URL of the document that was asked for, always.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::bufread::GzDecoder;
use seine_common::limits::MAX_BODY_BYTES;
use seine_proto::common::v1::ArchivePosition;
use seine_proto::filesaver::v1::{Capture, ReadForm, ReadRequest, ReadResponse, read_request};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_util::sync::CancellationToken;

use super::archive::SEALED_SUFFIX;
use super::archive_index::search;
use super::copy;
use super::known_contents::PayloadDigest;
use super::record::{self, Record};
use super::warc::payload_digest;
use crate::error::Error;
use crate::rewrite::Cancelled;

/// Heads and headers beside a body.
const MAX_HEAD_BYTES: usize = 1 << 20;
const MAX_RECORD_BYTES: usize = MAX_BODY_BYTES + MAX_HEAD_BYTES;
/// Where the records that belong to a capture are looked for, behind it.
const COMPANION_BYTES: usize = 64 << 10;

pub(crate) fn read(dir: &Path, request: ReadRequest, cancelled: &CancellationToken) -> Result<ReadResponse, Error> {
    let form = request.form();
    let mut document = request.document;
    let position = match request.record.ok_or(Error::Missing("record"))? {
        read_request::Record::Position(position) => position,
        read_request::Record::Capture(capture) => {
            let position = find(dir, &capture, form != ReadForm::Records)?;
            document = document.or(Some(capture));
            position
        }
    };
    let compressed = compressed(dir, &position)?;
    let plain = decompressed(&compressed, MAX_RECORD_BYTES).ok_or_else(|| unreadable(&position, "it is damaged"))?;
    let record = Record::parse(&plain).ok_or_else(|| unreadable(&position, "it is no WARC record"))?;
    if !matches!(record.kind(), "response" | "revisit") {
        return Err(unreadable(&position, "it is neither a response nor a revisit"));
    }
    if cancelled.is_cancelled() {
        return Err(Cancelled.into());
    }
    let own = document.as_ref().and_then(|document| own_record(dir, document, &record));
    let (mut head, body) = record.message();
    let mut date = record.field("WARC-Date");
    if let Some(own) = own.as_deref().and_then(Record::parse) {
        (head, date) = (own.message().0, own.field("WARC-Date"));
    }
    let url = document.map_or_else(|| target_of(&record).to_owned(), |document| document.url);
    let date = date.and_then(|date| OffsetDateTime::parse(date, &Rfc3339).ok());
    let mut answer = ReadResponse {
        at_ms: date.map_or(0, |date| (date.unix_timestamp_nanos() / 1_000_000) as i64),
        status: record::status(head),
        head: head.to_vec().into(),
        content_type: record::content_type(head),
        ..ReadResponse::default()
    };
    match form {
        ReadForm::Unspecified | ReadForm::AsReceived => answer.body = body.to_vec().into(),
        ReadForm::Decoded | ReadForm::Safe => {
            let copy = copy::decoded(&url, head, body);
            let copy = if form == ReadForm::Safe { copy.made_safe(&url, cancelled)? } else { copy };
            answer.set_kind(copy.kind);
            answer.content_type = copy.content_type;
            answer.body = copy.body.into();
        }
        ReadForm::Records => {
            let id = record.field("WARC-Record-ID").unwrap_or_default();
            let companions = companions(dir, &position, id)?;
            answer.crawl = companions.crawl;
            answer.body = [compressed, companions.members].concat().into();
        }
    }
    answer.url = url;
    answer.position = Some(position);
    Ok(answer)
}

fn target_of<'r>(record: &Record<'r>) -> &'r str {
    record.field("WARC-Target-URI").unwrap_or_default()
}

/// The document's own record, where the one at hand is that of another page with the same body: its head says how the
/// document itself was sent.
fn own_record(dir: &Path, document: &Capture, with_body: &Record<'_>) -> Option<Vec<u8>> {
    if target_of(with_body) == document.url {
        return None;
    }
    let position = search::find(dir, &document.url, document.at_ms, false).ok()??.position()?;
    let plain = decompressed(&compressed(dir, &position).ok()?, MAX_RECORD_BYTES)?;
    let payload = |record: &Record<'_>| record.field("WARC-Payload-Digest").map(str::to_owned);
    let is_of_this_body = Record::parse(&plain)
        .is_some_and(|own| own.kind() == "revisit" && payload(&own).is_some() && payload(&own) == payload(with_body));
    is_of_this_body.then_some(plain)
}

fn find(dir: &Path, wanted: &Capture, with_body: bool) -> Result<ArchivePosition, Error> {
    let not_found = || Error::NotArchived(format!("of {}", wanted.url));
    let found = search::find(dir, &wanted.url, wanted.at_ms, false)?.ok_or_else(not_found)?;
    let position = found.position().ok_or_else(not_found)?;
    if !found.is_revisit() || !with_body {
        return Ok(position);
    }
    let plain = decompressed(&compressed(dir, &position)?, MAX_RECORD_BYTES);
    let plain = plain.ok_or_else(|| unreadable(&position, "it is damaged"))?;
    let record = Record::parse(&plain).ok_or_else(|| unreadable(&position, "it is no WARC record"))?;
    let url = record.field("WARC-Refers-To-Target-URI").ok_or_else(not_found)?;
    let date = record.field("WARC-Refers-To-Date").and_then(|date| OffsetDateTime::parse(date, &Rfc3339).ok());
    let at_ms = date.map_or(0, |date| date.unix_timestamp() * 1000);
    let original = search::find(dir, url, at_ms, true)?;
    original.and_then(|original| original.position()).ok_or_else(not_found)
}

/// Whether a body with this digest can be read at a position.
pub(super) fn holds_body(dir: &Path, position: &ArchivePosition, digest: &PayloadDigest) -> bool {
    let plain = compressed(dir, position).ok().and_then(|member| decompressed(&member, MAX_RECORD_BYTES));
    let record = plain.as_deref().and_then(Record::parse);
    record.is_some_and(|record| record.kind() == "response" && payload_digest(record.message().1) == *digest)
}

pub(super) fn open(dir: &Path, position: &ArchivePosition) -> Result<File, Error> {
    let name = &position.file;
    if name.contains(['/', '\\', '\0']) || !name.ends_with(SEALED_SUFFIX) {
        return Err(not_archived(position));
    }
    // A file may be sealed between two looks, so the first name is tried once more.
    for name in [name.clone(), format!("{name}.open"), name.clone()] {
        if let Ok(file) = File::open(dir.join(name)) {
            return Ok(file);
        }
    }
    Err(not_archived(position))
}

fn compressed(dir: &Path, position: &ArchivePosition) -> Result<Vec<u8>, Error> {
    let file = open(dir, position)?;
    let length = usize::try_from(position.length).ok().filter(|length| *length <= MAX_RECORD_BYTES);
    let length = length.ok_or_else(|| unreadable(position, "it is too long"))?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, position.offset).map_err(|_| unreadable(position, "it is not whole"))?;
    Ok(bytes)
}

/// One member, which may be followed by others.
fn decompressed(member: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(member).take(limit as u64).read_to_end(&mut plain).ok()?;
    Some(plain)
}

/// The members behind a capture that name it as theirs.
struct Companions {
    /// As they are.
    members: Vec<u8>,
    /// As the metadata state it.
    crawl: String,
}

fn companions(dir: &Path, position: &ArchivePosition, id: &str) -> Result<Companions, Error> {
    let file = open(dir, position)?;
    let mut bytes = vec![0; COMPANION_BYTES];
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], position.offset + position.length + length as u64) {
            Ok(0) | Err(_) => break,
            Ok(read) => length += read,
        }
    }
    bytes.truncate(length);
    let (mut taken, mut crawl) = (0, String::new());
    while taken < bytes.len() {
        let mut member = GzDecoder::new(&bytes[taken..]);
        let mut plain = Vec::new();
        if member.by_ref().take(MAX_HEAD_BYTES as u64).read_to_end(&mut plain).is_err() {
            break;
        }
        let record = Record::parse(&plain).filter(|record| record.field("WARC-Concurrent-To") == Some(id));
        let Some(record) = record else { break };
        if record.kind() == "metadata" {
            crawl = record::header(record.block, "crawl").unwrap_or_default().to_owned();
        }
        taken = bytes.len() - member.into_inner().len();
    }
    bytes.truncate(taken);
    Ok(Companions { members: bytes, crawl })
}

fn name(position: &ArchivePosition) -> String {
    format!("at {} in {:?}", position.offset, position.file)
}

fn not_archived(position: &ArchivePosition) -> Error {
    Error::NotArchived(name(position))
}

fn unreadable(position: &ArchivePosition, reason: &'static str) -> Error {
    Error::UnreadableRecord(name(position), reason)
}
