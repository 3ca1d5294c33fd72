//! Host queues: the URLs of one host and crawl in the order of their places, on disk. Nothing is kept in memory.

use prost::Message;
use rocksdb::WriteBatch;
use seine_common::host::HostKey;

use super::place::Place;
use super::record::{QueueEntry, decode};
use super::sieve::Seen;
use super::store::{QUEUE, RETRIES, RocksFrontier, SEEN};
use super::{CrawlId, Queued, Result, Stretch, key};
use crate::MonitorError;
use crate::politeness;

impl RocksFrontier {
    pub(super) fn read_queue(
        &self,
        crawl: CrawlId,
        host: &HostKey,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Stretch> {
        let prefix = self.host_key(crawl, host);
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
        let mut stretch = Stretch { exhausted: true, ..Stretch::default() };
        for item in self.scan(QUEUE, &prefix, &from) {
            let (key, value) = item?;
            if stretch.urls.len() == limit {
                stretch.exhausted = false;
                break;
            }
            let place = Place::from_slice(&key[key::HOST_BYTES..]).ok_or(MonitorError::Corrupt("place"))?;
            stretch.urls.push(Queued { place, entry: decode(&value, "queue entry")? });
        }
        if after.is_none() && limit > 0 {
            self.floors.borrow_mut().saw_queue(prefix, stretch.urls.first().map(|queued| queued.place));
        }
        Ok(stretch)
    }

    pub(super) fn bring_back_retries(&mut self, crawl: CrawlId, host: &HostKey, now_ms: i64) -> Result<()> {
        let prefix = self.host_key(crawl, host);
        let mut batch = WriteBatch::default();
        for item in self.scan(RETRIES, &prefix, &prefix) {
            let (key, value) = item?;
            let rest = &key[key::HOST_BYTES..];
            let due_ms = key::read_time(rest).ok_or(MonitorError::Corrupt("retry"))?;
            // No retry waits for as long as a clock may be wrong by.
            if due_ms > now_ms && politeness::clamp(now_ms, due_ms) == due_ms {
                break;
            }
            let place = Place::from_slice(&rest[8..]).ok_or(MonitorError::Corrupt("retry"))?;
            let entry: QueueEntry = decode(&value, "retry")?;
            let seen = Seen::Queued { depth: entry.depth, place };
            batch.delete_cf(self.table(RETRIES), &key);
            batch.put_cf(self.table(QUEUE), key::queue(&prefix, place), entry.encode_to_vec());
            self.floors.borrow_mut().lower_queue(&prefix, place);
            let url = key::url(&prefix, self.fingerprinter.of(entry.url.as_bytes()));
            batch.put_cf(self.table(SEEN), url, seen.encode());
        }
        Ok(self.db.write(batch)?)
    }

    pub(super) fn first_retry(&self, host: &[u8; key::HOST_BYTES]) -> Result<Option<i64>> {
        let first = self.scan(RETRIES, host, host).next().transpose()?;
        first.map(|(key, _)| key::read_time(&key[key::HOST_BYTES..]).ok_or(MonitorError::Corrupt("retry"))).transpose()
    }
}
