//! The clock-ordered index of hosts that have something to fetch.
//!
//! A host with waiting URLs has a head; unless it is leased, the head stands in the index under its ready time. A leased
//! host keeps its head, marked as taken, so that links to it do not make it ready meanwhile.

use rocksdb::WriteBatch;
use seine_common::host::HostKey;

use super::store::{HEADS, KeyValue, READY, RocksFrontier};
use super::{CrawlId, Result, key};
use crate::MonitorError;

/// The ready time of a host that is leased.
const TAKEN: i64 = i64::MAX;

impl RocksFrontier {
    /// Puts a host into the index that is not in it.
    pub(super) fn enter_ready(&mut self, batch: &mut WriteBatch, crawl: CrawlId, host: &HostKey, ready_ms: i64) {
        let fingerprint = self.fingerprinter.of(host.as_str().as_bytes());
        let ready_ms = ready_ms.clamp(0, TAKEN - 1);
        batch.put_cf(self.table(READY), key::ready(crawl, ready_ms, fingerprint), host.as_str());
        batch.put_cf(self.table(HEADS), key::host(crawl, fingerprint), key::time(ready_ms));
        let from = self.ready_from.entry(crawl).or_insert(0);
        *from = (*from).min(ready_ms);
    }

    /// Takes a host out of the index because it is leased.
    pub(super) fn leave_ready(&mut self, batch: &mut WriteBatch, crawl: CrawlId, host: &HostKey) -> Result<()> {
        self.remove_from_index(batch, crawl, host)?;
        batch.put_cf(self.table(HEADS), self.host_key(crawl, host), key::time(TAKEN));
        Ok(())
    }

    fn remove_from_index(&self, batch: &mut WriteBatch, crawl: CrawlId, host: &HostKey) -> Result<()> {
        let fingerprint = self.fingerprinter.of(host.as_str().as_bytes());
        if let Some(head) = self.db.get_pinned_cf(self.table(HEADS), key::host(crawl, fingerprint))? {
            let ready_ms = key::read_time(&head).ok_or(MonitorError::Corrupt("host head"))?;
            if ready_ms != TAKEN {
                batch.delete_cf(self.table(READY), key::ready(crawl, ready_ms, fingerprint));
            }
        }
        Ok(())
    }

    pub(super) fn place_in_ready(&mut self, crawl: CrawlId, host: &HostKey, ready_ms: i64) -> Result<()> {
        let host_key = self.host_key(crawl, host);
        let has_urls = !self.read_queue(crawl, host, None, 1)?.urls.is_empty();
        let ready_ms =
            if has_urls { Some(ready_ms) } else { self.first_retry(&host_key)?.map(|due| due.max(ready_ms)) };
        let mut batch = WriteBatch::default();
        self.remove_from_index(&mut batch, crawl, host)?;
        match ready_ms {
            Some(ready_ms) => self.enter_ready(&mut batch, crawl, host, ready_ms),
            None => batch.delete_cf(self.table(HEADS), host_key),
        }
        Ok(self.db.write(batch)?)
    }

    pub(super) fn first_ready(
        &self,
        crawl: CrawlId,
        after: Option<&(i64, HostKey)>,
        limit: usize,
    ) -> Result<Vec<(i64, HostKey)>> {
        let from = match after {
            None => key::ready(crawl, self.ready_from.get(&crawl).copied().unwrap_or(0), 0).to_vec(),
            Some((ready_ms, host)) => {
                // The next possible key behind the host.
                let fingerprint = self.fingerprinter.of(host.as_str().as_bytes());
                [&key::ready(crawl, *ready_ms, fingerprint)[..], &[0]].concat()
            }
        };
        let entries = self.scan(READY, &key::crawl(crawl), &from).take(limit);
        let parse = |item: Result<KeyValue>| {
            let (key, host) = item?;
            let ready_ms = key::read_time(&key[key::CRAWL_BYTES..]).ok_or(MonitorError::Corrupt("ready host"))?;
            let host = String::from_utf8(host.into_vec()).map_err(|_| MonitorError::Corrupt("ready host"))?;
            Ok((ready_ms, HostKey::from_stored(host)))
        };
        entries.map(parse).collect()
    }
}
