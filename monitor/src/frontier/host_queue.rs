//! Host queues: the URLs of one host and crawl in the order of their places, on disk. Nothing is kept in memory.

use prost::Message;
use seine_common::host::HostKey;

use super::key::HostAt;
use super::sieve::Seen;
use super::{Frontier, Queued, Stretch, key};
use crate::place::Place;
use crate::politeness;
use crate::record::{CrawlId, QueueEntry, decode};
use crate::store::{Batch, Table};
use crate::{MonitorError, Result};

/// Retries that are written together.
const RETRIES_AT_ONCE: usize = 256;

impl Frontier {
    /// The URLs of a host behind a place, in order.
    pub fn stretch(&self, crawl: CrawlId, host: &HostKey, after: Option<Place>, limit: usize) -> Result<Stretch> {
        let HostAt { slot, key: prefix } = self.host_at(crawl, host);
        let floor = self.floors.borrow().queue(&prefix);
        let from = match (after, floor) {
            (Some(place), _) => {
                // The next possible key behind the place.
                let mut key = key::queue(&prefix, place).to_vec();
                key.push(0);
                key
            }
            (None, Some(floor)) => key::queue(&prefix, floor).to_vec(),
            (None, None) => prefix.to_vec(),
        };
        let mut entries = self.store.scan(slot, Table::Queue, &prefix, &from, limit.saturating_add(1))?;
        let mut stretch = Stretch { exhausted: entries.len() <= limit, ..Stretch::default() };
        entries.truncate(limit);
        for (key, value) in entries {
            let place = Place::from_slice(&key[key::HOST_BYTES..]).ok_or(MonitorError::Corrupt("place"))?;
            stretch.urls.push(Queued { place, entry: decode(&value, "queue entry")? });
        }
        if after.is_none() && limit > 0 {
            self.floors.borrow_mut().saw_queue(prefix, stretch.urls.first().map(|queued| queued.place));
        }
        Ok(stretch)
    }

    pub fn queued(&self, crawl: CrawlId, host: &HostKey, place: Place) -> Result<Option<QueueEntry>> {
        let HostAt { slot, key } = self.host_at(crawl, host);
        self.read(slot, Table::Queue, &key::queue(&key, place), "queue entry")
    }

    /// Brings due retries of a host back to their places.
    pub fn promote_retries(&mut self, crawl: CrawlId, host: &HostKey, now_ms: i64) -> Result<()> {
        while self.promote_some(crawl, host, now_ms)? == RETRIES_AT_ONCE {}
        Ok(())
    }

    fn promote_some(&mut self, crawl: CrawlId, host: &HostKey, now_ms: i64) -> Result<usize> {
        let at = self.host_at(crawl, host);
        let HostAt { slot, key: prefix } = at;
        let mut batch = Batch::at(slot);
        let mut promoted = 0;
        for (key, value) in self.store.scan(slot, Table::Retries, &prefix, &prefix, RETRIES_AT_ONCE)? {
            let rest = &key[key::HOST_BYTES..];
            let due_ms = key::read_time(rest).ok_or(MonitorError::Corrupt("retry"))?;
            // No retry waits for as long as a clock may be wrong by.
            if due_ms > now_ms && politeness::clamp(now_ms, due_ms) == due_ms {
                break;
            }
            let place = Place::from_slice(&rest[8..]).ok_or(MonitorError::Corrupt("retry"))?;
            let entry: QueueEntry = decode(&value, "retry")?;
            let seen = Seen::Queued { depth: entry.depth, place };
            batch.delete(Table::Retries, &key);
            batch.put(Table::Queue, key::queue(&prefix, place), entry.encode_to_vec());
            self.floors.borrow_mut().lower_queue(&prefix, place);
            batch.put(Table::Seen, at.url(self.fingerprinter.of(entry.url.as_bytes())).key, seen.encode());
            promoted += 1;
        }
        if promoted > 0 {
            self.write(batch)?;
        }
        Ok(promoted)
    }

    pub(super) fn first_retry(&self, host: &HostAt) -> Result<Option<i64>> {
        let first = self.store.scan(host.slot, Table::Retries, &host.key, &host.key, 1)?;
        first
            .first()
            .map(|(key, _)| key::read_time(&key[key::HOST_BYTES..]).ok_or(MonitorError::Corrupt("retry")))
            .transpose()
    }
}
