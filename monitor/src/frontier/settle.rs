//! The end of a URL's stay in its queue: what became of it, and what that does to the crawl's counters.

use prost::Message;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::key::{HostAt, UrlAt};
use super::sieve::Seen;
use super::{Frontier, Settlement, key};
use crate::Result;
use crate::place::Place;
use crate::record::{CrawlId, CrawlProgress, HostUse, QueueEntry, UrlRecord, decode};
use crate::store::{Batch, Slot, Table};

/// Records that are read together where all are read.
const WALKED_AT_ONCE: usize = 1_000;

impl Frontier {
    /// What became of a URL at its earlier visits, also while it is queued for another.
    pub fn record(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<UrlRecord>> {
        self.record_at(&self.url_at(crawl, url))
    }

    /// Writes the record of a settled URL anew, with its next visit.
    pub fn put_record(&mut self, crawl: CrawlId, url: &CanonicalUrl, record: &UrlRecord) -> Result<()> {
        let at = self.url_at(crawl, url);
        let before = self.record_at(&at)?;
        let mut batch = Batch::at(at.slot);
        self.write_record(&mut batch, &at, before.as_ref(), record);
        self.write(batch)
    }

    /// Every URL of the crawl that is settled. For tests and exports: reads the whole crawl.
    pub fn settled_urls(&self, crawl: CrawlId) -> Result<Vec<UrlRecord>> {
        let (mut records, mut cursor) = (Vec::new(), Vec::new());
        loop {
            let walked = self.store.walk(Table::Records, &cursor, WALKED_AT_ONCE)?;
            let of_crawl = walked.entries.iter().filter(|(_, (key, _))| key.starts_with(&key::crawl(crawl)));
            for (_, (_, value)) in of_crawl {
                records.push(decode(value, "URL record")?);
            }
            cursor = walked.next;
            if cursor.is_empty() {
                return Ok(records);
            }
        }
    }

    /// The first saved page of the crawl whose text has this fingerprint.
    pub fn first_with_content(&self, crawl: CrawlId, fingerprint: u64) -> Result<Option<String>> {
        let found = self.store.get(Slot::of_number(fingerprint), Table::Contents, &key::content(crawl, fingerprint))?;
        Ok(found.and_then(|url| String::from_utf8(url).ok()))
    }

    /// What a host has given the crawl so far.
    pub fn host_use(&self, crawl: CrawlId, host: &HostKey) -> Result<HostUse> {
        self.use_at(&self.host_at(crawl, host))
    }

    /// The sitemaps that the host's robots.txt names are in the crawl.
    pub fn note_sitemaps(&mut self, crawl: CrawlId, host: &HostKey) -> Result<()> {
        let at = self.host_at(crawl, host);
        let host_use = HostUse { sitemaps_queued: true, ..self.use_at(&at)? };
        self.put(at.slot, Table::Uses, at.key, host_use.encode_to_vec())
    }

    /// Ends the stay of a URL in the queue. False when it was not there.
    pub fn settle(&mut self, crawl: CrawlId, host: &HostKey, place: Place, settlement: Settlement) -> Result<bool> {
        let at = self.host_at(crawl, host);
        let queue_key = key::queue(&at.key, place);
        let entry: Option<QueueEntry> = self.read(at.slot, Table::Queue, &queue_key, "queue entry")?;
        let Some(mut entry) = entry else { return Ok(false) };
        let url = at.url(self.fingerprinter.of(entry.url.as_bytes()));
        let mut batch = Batch::at(at.slot);
        // A page that is settled is not read again: its links are safe before.
        batch.after(self.links_written(&at));
        batch.delete(Table::Queue, queue_key);
        match settlement {
            Settlement::Retry { due_ms, outcome } => {
                entry.attempts += 1;
                entry.last_outcome = Some(outcome);
                let seen = Seen::Retrying { depth: entry.depth, due_ms, place };
                batch.put(Table::Seen, url.key, seen.encode());
                batch.put(Table::Retries, key::retry(&at.key, due_ms, place), entry.encode_to_vec());
            }
            Settlement::Done(record) => {
                self.finish(&mut batch, crawl, place, &url, entry.revisit.is_some(), &record)?;
                self.put_progress(&mut batch, crawl);
            }
        }
        self.write(batch)?;
        Ok(true)
    }

    /// Writes what became of a URL that leaves the queue for good.
    fn finish(
        &mut self,
        batch: &mut Batch,
        crawl: CrawlId,
        place: Place,
        url: &UrlAt,
        known: bool,
        record: &UrlRecord,
    ) -> Result<()> {
        let before = if known { self.record_at(url)? } else { None };
        let saved_before = before.as_ref().is_some_and(|before| before.outcome.kind() == OutcomeKind::Saved);
        let first_saved = record.outcome.kind() == OutcomeKind::Saved && !saved_before;
        let duplicate = first_saved && self.repeats_content(batch, crawl, record)?;
        let progress = self.progress.entry(crawl).or_default();
        progress.queued = progress.queued.saturating_sub(1);
        progress.count_class(place.class(), -1);
        // Sitemaps are not among the pages that are counted, whatever becomes of them.
        let is_page = record.entry.sitemap_level == 0;
        if let Some(before) = &before {
            if is_page {
                count(progress, &before.outcome, -1);
            }
            let visited = record.visits != before.visits;
            progress.revisits += u64::from(visited);
            progress.unchanged += u64::from(visited && is_unchanged(before, record));
        }
        if is_page {
            count(progress, &record.outcome, 1);
        }
        progress.duplicates += u64::from(duplicate);
        let received = if before.as_ref().is_none_or(|before| before.outcome.archive != record.outcome.archive) {
            record.outcome.bytes
        } else {
            0
        };
        if record.outcome.kind() == OutcomeKind::Saved {
            progress.bytes += received;
            self.count_use(batch, url, u64::from(first_saved), received)?;
        }
        let seen = Seen::Settled { depth: record.entry.depth };
        batch.put(Table::Seen, url.key, seen.encode());
        self.write_record(batch, url, before.as_ref(), record);
        Ok(())
    }

    /// Stores a record and plans its next visit, in a batch that is at the host's slot.
    pub(super) fn write_record(&self, batch: &mut Batch, url: &UrlAt, before: Option<&UrlRecord>, record: &UrlRecord) {
        if let Some(before) = before {
            batch.delete(Table::Visits, key::visit(&url.key, before.next_visit_ms));
        }
        if record.next_visit_ms > 0 {
            batch.put(Table::Visits, key::visit(&url.key, record.next_visit_ms), b"");
            let crawl = CrawlId(u32::from_be_bytes(*url.key.first_chunk().unwrap_or(&[0; key::CRAWL_BYTES])));
            self.floors.borrow_mut().lower_visits(crawl, record.next_visit_ms);
        }
        batch.put(Table::Records, url.key, record.encode_to_vec());
    }

    pub(super) fn record_at(&self, url: &UrlAt) -> Result<Option<UrlRecord>> {
        self.read(url.slot, Table::Records, &url.key, "URL record")
    }

    fn use_at(&self, host: &HostAt) -> Result<HostUse> {
        Ok(self.read(host.slot, Table::Uses, &host.key, "host use")?.unwrap_or_default())
    }

    fn count_use(&self, batch: &mut Batch, url: &UrlAt, pages: u64, bytes: u64) -> Result<()> {
        let host = HostAt { slot: url.slot, key: url.host() };
        let mut host_use = self.use_at(&host)?;
        host_use.pages += pages;
        host_use.bytes += bytes;
        batch.put(Table::Uses, host.key, host_use.encode_to_vec());
        Ok(())
    }

    /// Settles the first waiting URLs of a host, retries included, with one outcome, and plans their next visit; gives
    /// their number. A page that was saved, or is gone, stays so: nobody has looked whether it is there.
    pub fn settle_rest(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        outcome: &Outcome,
        next_visit_ms: i64,
        limit: usize,
    ) -> Result<usize> {
        self.promote_retries(crawl, host, i64::MAX)?;
        let waiting = self.stretch(crawl, host, None, limit)?.urls;
        let at = self.host_at(crawl, host);
        let mut batch = Batch::at(at.slot);
        for queued in &waiting {
            batch.delete(Table::Queue, key::queue(&at.key, queued.place));
            let url = at.url(self.fingerprinter.of(queued.entry.url.as_bytes()));
            let known = queued.entry.revisit.is_some();
            let record = match known.then(|| self.record_at(&url)).transpose()?.flatten() {
                // Nobody has looked: what was found out about the page still holds.
                Some(before) if matches!(before.outcome.kind(), OutcomeKind::Saved | OutcomeKind::Gone) => {
                    UrlRecord { next_visit_ms, ..before }
                }
                _ => {
                    let entry = QueueEntry { revisit: None, ..queued.entry.clone() };
                    UrlRecord { entry, outcome: outcome.clone(), next_visit_ms, ..UrlRecord::default() }
                }
            };
            self.finish(&mut batch, crawl, queued.place, &url, known, &record)?;
        }
        self.put_progress(&mut batch, crawl);
        self.write(batch)?;
        Ok(waiting.len())
    }

    /// Whether a saved page has the text of an earlier one of the crawl.
    fn repeats_content(&self, batch: &mut Batch, crawl: CrawlId, record: &UrlRecord) -> Result<bool> {
        if record.outcome.fingerprint == 0 {
            return Ok(false);
        }
        let key = key::content(crawl, record.outcome.fingerprint);
        let slot = Slot::of_number(record.outcome.fingerprint);
        if let Some(first) = self.store.get(slot, Table::Contents, &key)? {
            // A page that had left and is back has its own text.
            return Ok(first != record.entry.url.as_bytes());
        }
        // In a slot of its own: when only one of the two is written, the page repeats nobody's text but its own.
        batch.put_at(slot, Table::Contents, key, record.entry.url.as_bytes());
        Ok(false)
    }
}

/// Whether the last visit found a saved page as it was.
fn is_unchanged(before: &UrlRecord, record: &UrlRecord) -> bool {
    let kind = record.visits.first().map(|visit| visit.kind());
    kind == Some(OutcomeKind::NotModified)
        || kind == Some(OutcomeKind::Saved)
            && before.outcome.kind() == OutcomeKind::Saved
            && before.outcome.fingerprint == record.outcome.fingerprint
}

/// Adds the outcome of a URL to the counters, or takes it out again.
pub(super) fn count(progress: &mut CrawlProgress, outcome: &Outcome, change: i64) {
    let counter = match outcome.kind() {
        OutcomeKind::Saved => {
            if !outcome.generate {
                progress.not_indexed = progress.not_indexed.saturating_add_signed(change);
            }
            &mut progress.pages
        }
        OutcomeKind::Redirected => &mut progress.redirected,
        OutcomeKind::RefusedByRobots => &mut progress.refused_by_robots,
        OutcomeKind::UnwantedType => &mut progress.unwanted,
        OutcomeKind::Gone => &mut progress.gone,
        // Counted where it was met, or not at all.
        OutcomeKind::Excluded | OutcomeKind::SitemapRead => return,
        _ => &mut progress.failed,
    };
    *counter = counter.saturating_add_signed(change);
}
