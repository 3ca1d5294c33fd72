//! The URLs of a lease that were taken and are not settled yet.
//!
//! Life of one: fetching → fetched (with the analyser) → parsed (links sent) → saved → settled; one that is as it was skips
//! the parsing. Other endings settle at once, or when the archive has the answer. A page leaves when the Monitor has
//! acknowledged its settlement.

use std::collections::HashMap;

use seine_proto::common::v1::ArchivePosition;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::events::{PageId, Parsed};
use super::window::QueuedUrl;
use crate::fetch::freshness::Freshness;
use crate::fetch::outcome::Ending;

/// Pages of one lease between request and acknowledged settlement.
pub const MAX_UNSETTLED: usize = 256;

#[derive(Debug)]
pub struct Page {
    pub queued: QueuedUrl,
    /// Its connection is not free for another URL yet.
    pub holds_slot: bool,
    /// It counts against the new pages that may be saved.
    pub may_be_saved: bool,
    pub status: u16,
    pub bytes: u64,
    pub at_ms: i64,
    pub freshness: Freshness,
    pub parsed: Option<Parsed>,
    /// The outcome to settle with once the page has left the index.
    pub withdraws_as: Option<Outcome>,
    /// How the request ended, to go on with once the archive has the answer.
    pub awaits_record: Option<Box<Ended>>,
}

/// A request that brought no page.
#[derive(Debug)]
pub struct Ended {
    pub ending: Ending,
    pub at_ms: i64,
    /// It confirms that the page is gone.
    pub is_gone: bool,
}

impl Page {
    /// The archive has it as it is, and has noted the visit.
    pub fn visited_outcome(&mut self) -> Outcome {
        Outcome {
            kind: OutcomeKind::NotModified.into(),
            status: self.status.into(),
            fetched_at_ms: self.at_ms,
            etag: std::mem::take(&mut self.freshness.etag),
            last_modified: std::mem::take(&mut self.freshness.last_modified),
            expires_ms: self.freshness.expires_ms,
            ..Outcome::default()
        }
    }

    pub fn saved_outcome(&mut self, archive: Option<ArchivePosition>) -> Outcome {
        let parsed = self.parsed.get_or_insert_default();
        let kind = if self.queued.is_sitemap { OutcomeKind::SitemapRead } else { OutcomeKind::Saved };
        Outcome {
            kind: kind.into(),
            status: self.status.into(),
            fetched_at_ms: self.at_ms,
            bytes: self.bytes,
            archive,
            fingerprint: parsed.fingerprint,
            generate: parsed.generate,
            title: std::mem::take(&mut parsed.title),
            usability: parsed.usability,
            generation_rule: std::mem::take(&mut parsed.generation_rule),
            enumeration_rule: std::mem::take(&mut parsed.enumeration_rule),
            not_converted: std::mem::take(&mut parsed.not_converted),
            etag: std::mem::take(&mut self.freshness.etag),
            last_modified: std::mem::take(&mut self.freshness.last_modified),
            expires_ms: self.freshness.expires_ms,
            ..Outcome::default()
        }
    }
}

#[derive(Debug, Default)]
pub struct Pages {
    last: PageId,
    unsettled: HashMap<PageId, Page>,
    slots_held: u32,
    may_be_saved: u64,
    saved: u64,
}

impl Pages {
    /// A URL is taken: to be fetched, or only to be settled.
    pub fn take(&mut self, queued: QueuedUrl, fetch: bool) -> PageId {
        self.last += 1;
        let may_be_saved = fetch && !queued.is_saved_already() && !queued.is_sitemap;
        self.slots_held += u32::from(fetch);
        self.may_be_saved += u64::from(may_be_saved);
        let page = Page {
            queued,
            holds_slot: fetch,
            may_be_saved,
            status: 0,
            bytes: 0,
            at_ms: 0,
            freshness: Freshness::default(),
            parsed: None,
            withdraws_as: None,
            awaits_record: None,
        };
        self.unsettled.insert(self.last, page);
        self.last
    }

    pub fn get(&self, page: PageId) -> Option<&Page> {
        self.unsettled.get(&page)
    }

    pub fn get_mut(&mut self, page: PageId) -> Option<&mut Page> {
        self.unsettled.get_mut(&page)
    }

    /// The connection is free again.
    pub fn release_slot(&mut self, page: PageId) {
        if let Some(page) = self.unsettled.get_mut(&page)
            && std::mem::take(&mut page.holds_slot)
        {
            self.slots_held -= 1;
        }
    }

    /// It will not be saved after all.
    pub fn release_allowance(&mut self, page: PageId) {
        if let Some(page) = self.unsettled.get_mut(&page)
            && std::mem::take(&mut page.may_be_saved)
        {
            self.may_be_saved -= 1;
        }
    }

    pub fn saved(&mut self, page: PageId) {
        let is_new = self.unsettled.get(&page).is_some_and(|page| page.may_be_saved);
        self.release_allowance(page);
        self.saved += u64::from(is_new);
    }

    pub fn remove(&mut self, page: PageId) -> Option<Page> {
        self.release_slot(page);
        self.release_allowance(page);
        self.unsettled.remove(&page)
    }

    pub fn slots_held(&self) -> u32 {
        self.slots_held
    }

    /// New pages saved under the lease.
    pub fn count_saved(&self) -> u64 {
        self.saved
    }

    /// Pages saved, or fetched and perhaps saved later.
    pub fn count_committed(&self) -> u64 {
        self.saved + self.may_be_saved
    }

    pub fn is_full(&self) -> bool {
        self.unsettled.len() >= MAX_UNSETTLED
    }

    pub fn is_empty(&self) -> bool {
        self.unsettled.is_empty()
    }
}
