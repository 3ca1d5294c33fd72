//! The end of a URL's stay in its queue: what became of it, and what that does to the crawl's counters.

use prost::Message;
use rocksdb::WriteBatch;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::place::Place;
use super::record::{CrawlProgress, HostUse, QueueEntry, UrlRecord, decode};
use super::sieve::Seen;
use super::store::{CONTENTS, QUEUE, RECORDS, RETRIES, RocksFrontier, SEEN, USES, VISITS};
use super::{CrawlId, Result, Settlement, key};
use crate::MonitorError;

impl RocksFrontier {
    pub(super) fn end_stay(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        place: Place,
        settlement: Settlement,
    ) -> Result<bool> {
        let host_key = self.host_key(crawl, host);
        let queue_key = key::queue(&host_key, place);
        let Some(bytes) = self.db.get_pinned_cf(self.table(QUEUE), queue_key)? else { return Ok(false) };
        let mut entry: QueueEntry = decode(&bytes, "queue entry")?;
        drop(bytes);
        let url_key = key::url(&host_key, self.fingerprinter.of(entry.url.as_bytes()));
        let mut batch = WriteBatch::default();
        batch.delete_cf(self.table(QUEUE), queue_key);
        match settlement {
            Settlement::Retry { due_ms, outcome } => {
                entry.attempts += 1;
                entry.last_outcome = Some(outcome);
                let seen = Seen::Retrying { depth: entry.depth, due_ms, place };
                batch.put_cf(self.table(SEEN), url_key, seen.encode());
                batch.put_cf(self.table(RETRIES), key::retry(&host_key, due_ms, place), entry.encode_to_vec());
            }
            Settlement::Done(record) => {
                self.finish(&mut batch, crawl, place, &url_key, entry.revisit.is_some(), &record)?;
                self.put_progress(&mut batch, crawl);
            }
        }
        self.db.write(batch)?;
        Ok(true)
    }

    /// Writes what became of a URL that leaves the queue for good.
    fn finish(
        &mut self,
        batch: &mut WriteBatch,
        crawl: CrawlId,
        place: Place,
        url_key: &[u8; key::URL_BYTES],
        known: bool,
        record: &UrlRecord,
    ) -> Result<()> {
        let before = if known { self.record_at(url_key)? } else { None };
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
            self.count_use(batch, url_key, u64::from(first_saved), received)?;
        }
        let seen = Seen::Settled { depth: record.entry.depth };
        batch.put_cf(self.table(SEEN), url_key, seen.encode());
        self.write_record(batch, url_key, before.as_ref(), record);
        Ok(())
    }

    /// Stores a record and plans its next visit.
    pub(super) fn write_record(
        &self,
        batch: &mut WriteBatch,
        url_key: &[u8; key::URL_BYTES],
        before: Option<&UrlRecord>,
        record: &UrlRecord,
    ) {
        if let Some(before) = before {
            batch.delete_cf(self.table(VISITS), key::visit(url_key, before.next_visit_ms));
        }
        if record.next_visit_ms > 0 {
            batch.put_cf(self.table(VISITS), key::visit(url_key, record.next_visit_ms), b"");
            let crawl = CrawlId(u32::from_be_bytes(*url_key.first_chunk().unwrap_or(&[0; key::CRAWL_BYTES])));
            self.floors.borrow_mut().lower_visits(crawl, record.next_visit_ms);
        }
        batch.put_cf(self.table(RECORDS), url_key, record.encode_to_vec());
    }

    pub(super) fn record_at(&self, url_key: &[u8; key::URL_BYTES]) -> Result<Option<UrlRecord>> {
        let found = self.db.get_pinned_cf(self.table(RECORDS), url_key)?;
        found.map(|bytes| decode(&bytes, "URL record")).transpose()
    }

    pub(super) fn read_use(&self, host_key: &[u8; key::HOST_BYTES]) -> Result<HostUse> {
        let found = self.db.get_pinned_cf(self.table(USES), host_key)?;
        found.map_or(Ok(HostUse::default()), |bytes| decode(&bytes, "host use"))
    }

    fn count_use(&self, batch: &mut WriteBatch, url_key: &[u8], pages: u64, bytes: u64) -> Result<()> {
        let host_key = *url_key.first_chunk().ok_or(MonitorError::Corrupt("URL key"))?;
        let mut host_use = self.read_use(&host_key)?;
        host_use.pages += pages;
        host_use.bytes += bytes;
        batch.put_cf(self.table(USES), host_key, host_use.encode_to_vec());
        Ok(())
    }

    pub(super) fn end_all_stays(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        outcome: &Outcome,
        next_visit_ms: i64,
        limit: usize,
    ) -> Result<usize> {
        self.bring_back_retries(crawl, host, i64::MAX)?;
        let waiting = self.read_queue(crawl, host, None, limit)?.urls;
        let host_key = self.host_key(crawl, host);
        let mut batch = WriteBatch::default();
        for queued in &waiting {
            batch.delete_cf(self.table(QUEUE), key::queue(&host_key, queued.place));
            let url_key = key::url(&host_key, self.fingerprinter.of(queued.entry.url.as_bytes()));
            let known = queued.entry.revisit.is_some();
            let record = match known.then(|| self.record_at(&url_key)).transpose()?.flatten() {
                // Nobody has looked: what was found out about the page still holds.
                Some(before) if matches!(before.outcome.kind(), OutcomeKind::Saved | OutcomeKind::Gone) => {
                    UrlRecord { next_visit_ms, ..before }
                }
                _ => {
                    let entry = QueueEntry { revisit: None, ..queued.entry.clone() };
                    UrlRecord { entry, outcome: outcome.clone(), next_visit_ms, ..UrlRecord::default() }
                }
            };
            self.finish(&mut batch, crawl, queued.place, &url_key, known, &record)?;
        }
        self.put_progress(&mut batch, crawl);
        self.db.write(batch)?;
        Ok(waiting.len())
    }

    /// Whether a saved page has the text of an earlier one of the crawl.
    fn repeats_content(&self, batch: &mut WriteBatch, crawl: CrawlId, record: &UrlRecord) -> Result<bool> {
        if record.outcome.fingerprint == 0 {
            return Ok(false);
        }
        let key = key::content(crawl, record.outcome.fingerprint);
        if let Some(first) = self.db.get_pinned_cf(self.table(CONTENTS), key)? {
            // A page that had left and is back has its own text.
            return Ok(*first != *record.entry.url.as_bytes());
        }
        batch.put_cf(self.table(CONTENTS), key, record.entry.url.as_bytes());
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
