//! What can be done for a page before its turn to be written comes: records, index line and log entry made and compressed.
//!
//! All of the CPU work of saving a page, as a function of the page and of what the archive holds already. A visit that was
//! answered 304 leaves records and nothing else; an answer that is no page leaves a line of the index too.

use std::path::Path;
use std::sync::Arc;

use prost::Message;
use seine_proto::common::v1::{ArchivePosition, Description, FetchedPage};
use seine_proto::filesaver::v1::{LogEntry, SaveRequest, log_entry::Entry};

use super::cdxj::{self, Capture, REVISIT_MIME};
use super::description_log::entry::EntryBody;
use super::earlier_record::EarlierRecord;
use super::known_contents::{KnownContents, MIN_BODY_BYTES, Original, PayloadDigest};
use super::read::holds_body;
use super::record;
use super::warc::{PageRecords, payload_digest};
use super::{MAX_DESCRIPTION_BYTES, NOT_MODIFIED};
use crate::error::Error;

/// A page that only needs to be appended.
pub struct PreparedPage {
    pub(crate) records: PageRecords,
    /// `None` for a visit to a page that is as it was, where what is known of it stays as it is, and for what is no page.
    pub(crate) entry: Option<EntryBody>,
    /// Where the body stands already.
    pub(crate) original: Option<Arc<Original>>,
    /// `None` for a visit. The index says where copies are, and replay tools would show an empty page for it.
    capture: Option<Capture>,
    timestamp: String,
    fetched_at_ms: i64,
    content_type: String,
    payload: PayloadDigest,
    is_worth_knowing: bool,
}

impl PreparedPage {
    pub(crate) fn of(request: SaveRequest, known: &KnownContents, archive: &Path) -> Result<Self, Error> {
        let page = request.page.ok_or(Error::Missing("page"))?;
        if page.status == NOT_MODIFIED {
            return Self::of_visit(&page, archive);
        }
        if page.archive_only {
            return Self::of_answer(&page);
        }
        let description = request.description.ok_or(Error::Missing("description"))?;
        let length = description.encoded_len();
        if length > MAX_DESCRIPTION_BYTES {
            return Err(Error::TooLarge(length));
        }
        let payload = payload_digest(&page.body);
        let content_type = record::content_type(&page.response_head);
        let is_worth_knowing = page.body.len() >= MIN_BODY_BYTES;
        let original = is_worth_knowing.then(|| known.find(&payload, &content_type)).flatten();
        let original =
            original.filter(|original| known.confirm(&payload, || holds_body(archive, &original.position(), &payload)));
        let records = PageRecords::of(&page, &description, &payload, original.as_deref())?;
        let mime = if original.is_some() { REVISIT_MIME } else { &content_type };
        let capture = Capture::of(&page.url, mime, page.status, &payload);
        let entry = EntryBody::of(&LogEntry { entry: Some(Entry::Description(description)) });
        Ok(Self {
            records,
            entry: Some(entry),
            original,
            capture: Some(capture),
            timestamp: cdxj::timestamp(page.fetched_at_ms),
            fetched_at_ms: page.fetched_at_ms,
            content_type,
            payload,
            is_worth_knowing,
        })
    }

    fn of_visit(page: &FetchedPage, archive: &Path) -> Result<Self, Error> {
        let earlier = page.known.as_ref().and_then(|position| EarlierRecord::read(archive, position));
        Ok(Self {
            records: PageRecords::of_visit(page, earlier.as_ref())?,
            entry: None,
            original: None,
            capture: None,
            timestamp: String::new(),
            fetched_at_ms: page.fetched_at_ms,
            content_type: String::new(),
            payload: PayloadDigest::default(),
            is_worth_knowing: false,
        })
    }

    /// Kept whole each time, and never what a page refers to: an error page with the bytes of a page is not that page.
    fn of_answer(page: &FetchedPage) -> Result<Self, Error> {
        let payload = payload_digest(&page.body);
        let content_type = record::content_type(&page.response_head);
        let crawl = page.lease.as_ref().map(|lease| lease.crawl.clone()).unwrap_or_default();
        let description = Description { crawl, ..Description::default() };
        Ok(Self {
            records: PageRecords::of(page, &description, &payload, None)?,
            entry: None,
            original: None,
            capture: Some(Capture::of(&page.url, &content_type, page.status, &payload)),
            timestamp: cdxj::timestamp(page.fetched_at_ms),
            fetched_at_ms: page.fetched_at_ms,
            content_type,
            payload,
            is_worth_knowing: false,
        })
    }

    /// The line of the index for the capture, once its place is known.
    pub(crate) fn index_line(&self, position: &ArchivePosition) -> Option<String> {
        Some(self.capture.clone()?.line(&self.timestamp, position))
    }

    /// What others may refer to, once the capture is durable at its place.
    pub(crate) fn new_content(&self, position: &ArchivePosition) -> Option<(PayloadDigest, Original)> {
        let capture = self.capture.as_ref().filter(|_| self.is_worth_knowing && self.original.is_none())?;
        let original = Original {
            url: capture.url.as_str().into(),
            at_ms: self.fetched_at_ms,
            content_type: self.content_type.as_str().into(),
            file: position.file.as_str().into(),
            offset: position.offset,
            length: position.length,
        };
        Some((self.payload, original))
    }

    /// Bytes that will be written.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        let entry = self.entry.as_ref().map_or(0, EntryBody::len);
        self.records.capture.len() + self.records.companions.len() + entry
    }
}
