//! Hosts: one that is not leased stands in the index at the time that its head has, and one that is leased does not.

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use super::super::key::{self, CRAWL_BYTES, HOST_BYTES, HostAt};
use super::super::ready::TAKEN;
use super::{Check, Damage};
use crate::record::{CrawlId, QueueEntry, decode};
use crate::store::{Batch, Entry, Slot, Table};
use crate::{MonitorError, Result};

impl Check<'_> {
    pub(super) fn leases(&mut self) -> Result<()> {
        for lease in self.frontier.leases()? {
            let (crawl, host) = (CrawlId(lease.crawl), HostKey::from_stored(lease.host));
            let at = self.frontier.host_at(crawl, &host);
            self.leased.insert(at.key);
            let head = self.frontier.store.get(at.slot, Table::Heads, &at.key)?;
            if head.as_deref().and_then(key::read_time) == Some(TAKEN) {
                continue;
            }
            self.found(Damage::LeasedAndReady, || host.as_str().to_owned());
            if self.mends {
                let mut batch = Batch::at(at.slot);
                self.frontier.leave_ready(&mut batch, crawl, &host)?;
                self.frontier.write(batch)?;
            }
        }
        Ok(())
    }

    pub(super) fn heads(&mut self, _: Table, entries: &[(Slot, Entry)]) -> Result<()> {
        let read = entries.iter().map(|(slot, (key, value))| {
            let key: [u8; HOST_BYTES] = key.as_ref().try_into().map_err(|_| MonitorError::Corrupt("host head"))?;
            let ready_ms = key::read_time(value).ok_or(MonitorError::Corrupt("host head"))?;
            Ok((HostAt { slot: *slot, key }, ready_ms))
        });
        let heads: Vec<(HostAt, i64)> = read.collect::<Result<_>>()?;
        let keys: Vec<_> = heads.iter().map(|(at, ready_ms)| (at.slot, ready_key(&at.key, *ready_ms))).collect();
        let keys: Vec<(Slot, &[u8])> = keys.iter().map(|(slot, key)| (*slot, &key[..])).collect();
        let ready = self.values(Table::Ready, &keys)?;
        for ((at, ready_ms), ready) in heads.into_iter().zip(ready) {
            let damage = match ready {
                None if ready_ms != TAKEN => Damage::HostNotReady,
                _ if ready_ms == TAKEN && !self.leased.contains(&at.key) => Damage::HostTaken,
                _ => continue,
            };
            let host = self.host_name(at)?;
            self.found(damage, || host.unwrap_or_else(|| "a host with nothing waiting".to_owned()));
            if self.mends {
                self.put_back(at)?;
            }
        }
        Ok(())
    }

    pub(super) fn ready(&mut self, _: Table, entries: &[(Slot, Entry)]) -> Result<()> {
        let read = entries.iter().map(|(slot, (key, _))| {
            let ready_ms =
                key.get(CRAWL_BYTES..).and_then(key::read_time).ok_or(MonitorError::Corrupt("ready host"))?;
            let host = [&key[..CRAWL_BYTES], key.get(CRAWL_BYTES + 8..).unwrap_or_default()].concat();
            Ok((*slot, host, ready_ms))
        });
        let ready: Vec<(Slot, Vec<u8>, i64)> = read.collect::<Result<_>>()?;
        let keys: Vec<(Slot, &[u8])> = ready.iter().map(|(slot, host, _)| (*slot, &host[..])).collect();
        let heads = self.values(Table::Heads, &keys)?;
        for (((slot, _, ready_ms), head), (_, (key, name))) in ready.iter().zip(heads).zip(entries) {
            if head.as_deref().and_then(key::read_time) == Some(*ready_ms) {
                continue;
            }
            self.found(Damage::ReadyOfNothing, || String::from_utf8_lossy(name).into_owned());
            if self.mends {
                self.frontier.delete(*slot, Table::Ready, key)?;
            }
        }
        Ok(())
    }

    /// By what waits on the host.
    fn host_name(&self, at: HostAt) -> Result<Option<String>> {
        for table in [Table::Queue, Table::Retries] {
            if let Some((_, value)) = self.frontier.store.scan(at.slot, table, &at.key, &at.key, 1)?.first() {
                let entry: QueueEntry = decode(value, "queue entry")?;
                let url = CanonicalUrl::parse(&entry.url).ok();
                return Ok(url.map(|url| url.host().as_str().to_owned()));
            }
        }
        Ok(None)
    }
}

fn ready_key(host: &[u8; HOST_BYTES], ready_ms: i64) -> Vec<u8> {
    let (crawl, host) = host.split_at(CRAWL_BYTES);
    [crawl, &key::time(ready_ms), host].concat()
}
