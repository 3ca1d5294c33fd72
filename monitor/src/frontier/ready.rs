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
/// The ready time of a host that is not to come up until somebody puts it back: no clock gets there.
pub const PARKED: i64 = TAKEN - 1;

impl RocksFrontier {
    /// Puts a host into the index that is not in it.
    pub(super) fn enter_ready(&mut self, batch: &mut WriteBatch, crawl: CrawlId, host: &HostKey, ready_ms: i64) {
        let fingerprint = self.fingerprinter.of(host.as_str().as_bytes());
        let ready_ms = ready_ms.clamp(0, PARKED);
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

    pub(super) fn parked_hosts(&self, crawl: CrawlId, after: Option<&HostKey>, limit: usize) -> Result<Vec<HostKey>> {
        let after = after.map(|host| self.fingerprinter.of(host.as_str().as_bytes()).saturating_add(1));
        let from = key::ready(crawl, PARKED, after.unwrap_or(0));
        let entries = self.scan(READY, &key::crawl(crawl), &from).take(limit);
        entries.map(|item| host_name(item?.1)).collect()
    }

    pub(super) fn hosts_with_work(&self, from: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, HostKey)>> {
        let behind = |key: &[u8]| [key, &[0]].concat();
        let entries = self.scan(READY, &[], from).take(limit);
        entries.map(|item| item.and_then(|(key, host)| Ok((behind(&key), host_name(host)?)))).collect()
    }

    pub(super) fn hasten_hosts(&mut self, crawl: CrawlId, latest_ms: i64, limit: usize) -> Result<Vec<HostKey>> {
        let late = self.ready_from_key(crawl, &key::ready(crawl, latest_ms.saturating_add(1), 0), limit)?;
        let late: Vec<HostKey> =
            late.into_iter().take_while(|(ready_ms, _)| *ready_ms < PARKED).map(|(_, host)| host).collect();
        let mut batch = WriteBatch::default();
        for host in &late {
            self.remove_from_index(&mut batch, crawl, host)?;
            self.enter_ready(&mut batch, crawl, host, latest_ms);
        }
        self.db.write(batch)?;
        Ok(late)
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
        self.ready_from_key(crawl, &from, limit)
    }

    fn ready_from_key(&self, crawl: CrawlId, from: &[u8], limit: usize) -> Result<Vec<(i64, HostKey)>> {
        let entries = self.scan(READY, &key::crawl(crawl), from).take(limit);
        let parse = |item: Result<KeyValue>| {
            let (key, host) = item?;
            let ready_ms = key::read_time(&key[key::CRAWL_BYTES..]).ok_or(MonitorError::Corrupt("ready host"))?;
            Ok((ready_ms, host_name(host)?))
        };
        entries.map(parse).collect()
    }
}

fn host_name(value: Box<[u8]>) -> Result<HostKey> {
    let name = String::from_utf8(value.into_vec()).map_err(|_| MonitorError::Corrupt("ready host"))?;
    Ok(HostKey::from_stored(name))
}
