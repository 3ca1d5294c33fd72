//! What can be done for a page before its turn to be written comes: records and log entry made and compressed.
//!
//! All of the CPU work of saving a page, as a pure function.

use prost::Message;
use seine_proto::filesaver::v1::{LogEntry, SaveRequest, log_entry::Entry};

use super::MAX_DESCRIPTION_BYTES;
use super::description_log::entry::EntryBody;
use super::warc::PageRecords;
use crate::error::Error;

/// A page that only needs to be appended.
pub struct PreparedPage {
    pub(crate) records: PageRecords,
    pub(crate) entry: EntryBody,
}

impl PreparedPage {
    pub fn of(request: SaveRequest) -> Result<Self, Error> {
        let page = request.page.ok_or(Error::Missing("page"))?;
        let description = request.description.ok_or(Error::Missing("description"))?;
        let length = description.encoded_len();
        if length > MAX_DESCRIPTION_BYTES {
            return Err(Error::TooLarge(length));
        }
        let records = PageRecords::of(&page)?;
        let entry = EntryBody::of(&LogEntry { entry: Some(Entry::Description(description)) });
        Ok(Self { records, entry })
    }

    /// Bytes that will be written.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.records.request.len() + self.records.response.len() + self.entry.len()
    }
}
