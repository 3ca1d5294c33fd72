//! Forgetting: a URL stays known, so that no link brings it back, but nothing of it is kept and it is never visited, until
//! that is taken back.

use prost::Message;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::key::{HostAt, UrlAt};
use super::settle::count;
use super::sieve::Seen;
use super::{Forgotten, Frontier, Known, Unforgotten, key};
use crate::record::{CrawlId, FORGOTTEN, QueueEntry, UrlRecord, decode};
use crate::store::{Batch, Table};
use crate::{MonitorError, Result};

impl Frontier {
    /// Ends all visits to the URLs of a host, a batch at a time, and names those that had been saved.
    pub fn forget(&mut self, crawl: CrawlId, host: &HostKey, from: &[u8], limit: usize) -> Result<Forgotten> {
        let HostAt { slot, key: host_key } = self.host_at(crawl, host);
        // What waits first, so that it is among the records below.
        while self.settle_rest(crawl, host, &forgotten(), 0, limit)? == limit {}
        let from = if from.is_empty() { host_key.to_vec() } else { from.to_vec() };
        let batch = self.store.scan(slot, Table::Records, &host_key, &from, limit + 1)?;
        let mut told = Forgotten::default();
        for (key, value) in batch.iter().take(limit) {
            let key = key.as_ref().try_into().map_err(|_| MonitorError::Corrupt("URL record"))?;
            let record: UrlRecord = decode(value, "URL record")?;
            if let Some(url) = self.forget_record(crawl, &UrlAt { slot, key }, record)? {
                told.saved.push(url);
            }
        }
        told.next = batch.get(limit).map(|(key, _)| key.to_vec()).unwrap_or_default();
        Ok(told)
    }

    /// Ends all visits to a URL, known or not. True when it had been saved.
    pub fn forget_url(&mut self, crawl: CrawlId, url: &CanonicalUrl) -> Result<bool> {
        let at = self.url_at(crawl, url);
        self.leave_queue(crawl, url, &at)?;
        let unknown = || UrlRecord {
            entry: QueueEntry { url: url.as_str().to_owned(), ..QueueEntry::default() },
            outcome: forgotten(),
            ..UrlRecord::default()
        };
        let record = self.record_at(&at)?.unwrap_or_else(unknown);
        Ok(self.forget_record(crawl, &at, record)?.is_some())
    }

    /// Takes a URL that waits out of its queue; its record follows.
    fn leave_queue(&mut self, crawl: CrawlId, url: &CanonicalUrl, at: &UrlAt) -> Result<()> {
        let host_key = at.host();
        let waiting = match self.known(crawl, url)? {
            Some(Known::Queued(queued)) => {
                Some((Table::Queue, key::queue(&host_key, queued.place).to_vec(), queued.place))
            }
            Some(Known::Retrying(_)) => {
                let seen = self.store.get(at.slot, Table::Seen, &at.key)?;
                match seen.map(|seen| Seen::decode(&seen)).transpose()? {
                    Some(Seen::Retrying { due_ms, place, .. }) => {
                        Some((Table::Retries, key::retry(&host_key, due_ms, place).to_vec(), place))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some((table, key, place)) = waiting {
            let mut batch = Batch::at(at.slot);
            batch.delete(table, key);
            let progress = self.progress.entry(crawl).or_default();
            progress.queued = progress.queued.saturating_sub(1);
            progress.count_class(place.class(), -1);
            self.put_progress(&mut batch, crawl);
            self.write(batch)?;
        }
        Ok(())
    }

    /// The URL, when it may be in the index. One that was forgotten before is told again: its withdrawal may have been
    /// interrupted.
    fn forget_record(&mut self, crawl: CrawlId, at: &UrlAt, record: UrlRecord) -> Result<Option<String>> {
        let was_saved = record.outcome.archive.is_some();
        let url = record.entry.url.clone();
        let mut batch = Batch::at(at.slot);
        let progress = self.progress.entry(crawl).or_default();
        // Sitemaps were not counted.
        if record.entry.sitemap_level == 0 {
            count(progress, &record.outcome, -1);
        }
        batch.delete(Table::Visits, key::visit(&at.key, record.next_visit_ms));
        batch.put(Table::Seen, at.key, Seen::Settled { depth: record.entry.depth }.encode());
        // The archive position stays: it says that the page had been saved.
        let outcome = Outcome { archive: record.outcome.archive.clone(), ..forgotten() };
        let entry = QueueEntry { revisit: None, ..record.entry };
        let kept = UrlRecord { entry, outcome, ..UrlRecord::default() };
        batch.put(Table::Records, at.key, kept.encode_to_vec());
        self.put_progress(&mut batch, crawl);
        self.write(batch)?;
        Ok(was_saved.then_some(url))
    }
}

impl Frontier {
    /// Takes back [`Frontier::forget`], a batch at a time: the URLs that the crawl knew are due from the time given on.
    pub fn unforget(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        from: &[u8],
        limit: usize,
        due_ms: i64,
    ) -> Result<Unforgotten> {
        let HostAt { slot, key: host_key } = self.host_at(crawl, host);
        let from = if from.is_empty() { host_key.to_vec() } else { from.to_vec() };
        let batch = self.store.scan(slot, Table::Records, &host_key, &from, limit + 1)?;
        let mut told = Unforgotten::default();
        for (_, value) in batch.iter().take(limit) {
            let record: UrlRecord = decode(value, "URL record")?;
            let url = CanonicalUrl::parse(&record.entry.url).map_err(|_| MonitorError::Corrupt("URL record"))?;
            told.records.extend(self.unforget_url(crawl, &url, due_ms)?);
        }
        told.next = batch.get(limit).map(|(key, _)| key.to_vec()).unwrap_or_default();
        Ok(told)
    }

    /// The same for one URL; `None` when it was not forgotten, or not known before: one that the crawl never knew is unknown
    /// again.
    pub fn unforget_url(&mut self, crawl: CrawlId, url: &CanonicalUrl, due_ms: i64) -> Result<Option<UrlRecord>> {
        let at = self.url_at(crawl, url);
        let Some(before) = self.record_at(&at)?.filter(|record| is_forgotten(&record.outcome)) else {
            return Ok(None);
        };
        // It may wait to be withdrawn once more.
        self.leave_queue(crawl, url, &at)?;
        let entry = &before.entry;
        let was_known = entry.seed || !entry.discovered_from.is_empty() || entry.sitemap_level > 0;
        let outcome = Outcome { kind: OutcomeKind::Excluded.into(), ..Outcome::default() };
        let record = UrlRecord { next_visit_ms: due_ms.max(1), outcome, ..before.clone() };
        let mut batch = Batch::at(at.slot);
        if was_known {
            batch.put(Table::Seen, at.key, Seen::Settled { depth: record.entry.depth }.encode());
            self.write_record(&mut batch, &at, Some(&before), &record);
        } else {
            batch.delete(Table::Seen, at.key);
            batch.delete(Table::Records, at.key);
        }
        self.write(batch)?;
        Ok(was_known.then_some(record))
    }
}

pub(crate) fn is_forgotten(outcome: &Outcome) -> bool {
    outcome.kind() == OutcomeKind::Excluded && outcome.detail == FORGOTTEN
}

fn forgotten() -> Outcome {
    Outcome { kind: OutcomeKind::Excluded.into(), detail: FORGOTTEN.to_owned(), ..Outcome::default() }
}
