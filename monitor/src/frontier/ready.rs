//! The clock-ordered index of hosts that have something to fetch.
//!
//! A host with waiting URLs has a head; unless it is leased, the head stands in the index under its ready time. A leased
//! host keeps its head, marked as taken, so that links to it do not make it ready meanwhile.

use seine_common::host::HostKey;

use super::key::HostAt;
use super::{Frontier, key};
use crate::record::CrawlId;
use crate::store::{Batch, Entry, Slot, Table};
use crate::{MonitorError, Result};

/// The ready time of a host that is leased.
pub(super) const TAKEN: i64 = i64::MAX;
/// The ready time of a host that is not to come up until somebody puts it back: no clock gets there.
pub const PARKED: i64 = TAKEN - 1;

impl Frontier {
    /// Hosts of a crawl in the order in which they may be visited, with that time.
    pub fn ready(&self, crawl: CrawlId, limit: usize) -> Result<Vec<(i64, HostKey)>> {
        self.ready_after(crawl, None, limit)
    }

    /// The same behind a host, as long as it stays where it was.
    pub fn ready_after(
        &self,
        crawl: CrawlId,
        after: Option<&(i64, HostKey)>,
        limit: usize,
    ) -> Result<Vec<(i64, HostKey)>> {
        let from = match after {
            None => key::ready(crawl, 0, 0).to_vec(),
            Some((ready_ms, host)) => {
                // The next possible key behind the host.
                let fingerprint = self.fingerprinter.of(host.as_str().as_bytes());
                [&key::ready(crawl, *ready_ms, fingerprint)[..], &[0]].concat()
            }
        };
        self.ready_from_key(crawl, &from, limit)
    }

    /// True while anything of the host waits, retries included.
    pub fn has_work(&self, crawl: CrawlId, host: &HostKey) -> Result<bool> {
        let HostAt { slot, key } = self.host_at(crawl, host);
        self.store.has(slot, Table::Heads, &key)
    }

    /// Puts a host into the index that is not in it; the batch is at the host's slot.
    pub(super) fn enter_ready(&self, batch: &mut Batch, crawl: CrawlId, host: &HostKey, ready_ms: i64) {
        let fingerprint = self.fingerprinter.of(host.as_str().as_bytes());
        let ready_ms = ready_ms.clamp(0, PARKED);
        batch.put(Table::Ready, key::ready(crawl, ready_ms, fingerprint), host.as_str());
        batch.put(Table::Heads, key::host(crawl, fingerprint), key::time(ready_ms));
    }

    /// Takes a host out of the index because it is leased.
    pub(super) fn leave_ready(&mut self, batch: &mut Batch, crawl: CrawlId, host: &HostKey) -> Result<()> {
        self.remove_from_index(batch, crawl, host)?;
        batch.put(Table::Heads, self.host_at(crawl, host).key, key::time(TAKEN));
        Ok(())
    }

    fn remove_from_index(&self, batch: &mut Batch, crawl: CrawlId, host: &HostKey) -> Result<()> {
        let fingerprint = self.fingerprinter.of(host.as_str().as_bytes());
        if let Some(head) = self.store.get(Slot::of(host), Table::Heads, &key::host(crawl, fingerprint))? {
            let ready_ms = key::read_time(&head).ok_or(MonitorError::Corrupt("host head"))?;
            if ready_ms != TAKEN {
                batch.delete(Table::Ready, key::ready(crawl, ready_ms, fingerprint));
            }
        }
        Ok(())
    }

    /// Puts a host back by what it still has: ready at the time given, later when only retries are left, or done. One that
    /// is ready at [`PARKED`] stands behind all others and never comes up.
    pub fn requeue_host(&mut self, crawl: CrawlId, host: &HostKey, ready_ms: i64) -> Result<()> {
        let at = self.host_at(crawl, host);
        self.links_of.remove(&at);
        let has_urls = !self.stretch(crawl, host, None, 1)?.urls.is_empty();
        let ready_ms = if has_urls { Some(ready_ms) } else { self.first_retry(&at)?.map(|due| due.max(ready_ms)) };
        let mut batch = Batch::at(at.slot);
        self.remove_from_index(&mut batch, crawl, host)?;
        match ready_ms {
            Some(ready_ms) => self.enter_ready(&mut batch, crawl, host, ready_ms),
            None => batch.delete(Table::Heads, at.key),
        }
        self.write(batch)
    }

    /// Parked hosts of a crawl, in the order of their keys, behind the one given.
    pub fn parked(&self, crawl: CrawlId, after: Option<&HostKey>, limit: usize) -> Result<Vec<HostKey>> {
        let after = after.map(|host| self.fingerprinter.of(host.as_str().as_bytes()).saturating_add(1));
        let from = key::ready(crawl, PARKED, after.unwrap_or(0));
        let entries = self.store.scan_all(Table::Ready, &key::crawl(crawl), &from, limit)?;
        entries.into_iter().map(|(_, (_, host))| host_name(host)).collect()
    }

    /// Hosts with something waiting and without a lease, over all crawls, some at a time, and the cursor of those behind them.
    pub fn waiting_hosts(&self, cursor: &[u8], limit: usize) -> Result<(Vec<HostKey>, Vec<u8>)> {
        let walked = self.store.walk(Table::Ready, cursor, limit)?;
        let hosts = walked.entries.into_iter().map(|(_, (_, host))| host_name(host));
        Ok((hosts.collect::<Result<_>>()?, walked.next))
    }

    /// Hosts that would be ready later than `latest_ms`, and are not parked, are ready then: some of them.
    pub fn pull_in_hosts(&mut self, crawl: CrawlId, latest_ms: i64, limit: usize) -> Result<Vec<HostKey>> {
        let late = self.ready_from_key(crawl, &key::ready(crawl, latest_ms.saturating_add(1), 0), limit)?;
        let late: Vec<HostKey> =
            late.into_iter().take_while(|(ready_ms, _)| *ready_ms < PARKED).map(|(_, host)| host).collect();
        let mut batch = Batch::at_home();
        for host in &late {
            batch.turn_to(Slot::of(host));
            self.remove_from_index(&mut batch, crawl, host)?;
            self.enter_ready(&mut batch, crawl, host, latest_ms);
        }
        self.write(batch)?;
        Ok(late)
    }

    fn ready_from_key(&self, crawl: CrawlId, from: &[u8], limit: usize) -> Result<Vec<(i64, HostKey)>> {
        let entries = self.store.scan_all(Table::Ready, &key::crawl(crawl), from, limit)?;
        let parse = |(_, (key, host)): (Slot, Entry)| {
            let ready_ms = key::read_time(&key[key::CRAWL_BYTES..]).ok_or(MonitorError::Corrupt("ready host"))?;
            Ok((ready_ms, host_name(host)?))
        };
        entries.into_iter().map(parse).collect()
    }
}

fn host_name(value: Box<[u8]>) -> Result<HostKey> {
    let name = String::from_utf8(value.into_vec()).map_err(|_| MonitorError::Corrupt("ready host"))?;
    Ok(HostKey::from_stored(name))
}
