//! The slots of entries that come from a store without slots.
//!
//! A slot follows from the host's name, and many keys have only its fingerprint. The name stands in what waits on the host, or in
//! what became of its URLs: it is looked up there, and remembered for the entries that follow.

use std::collections::HashMap;

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use super::super::key;
use crate::record::{LeaseRecord, QueueEntry, UrlRecord, decode};
use crate::store::{Slot, Store, Table};
use crate::{MonitorError, Result};

/// Hosts remembered; when there are more, all are forgotten.
const MAX_HOSTS: usize = 65_536;

pub(super) struct Slots<'s> {
    from: &'s dyn Store,
    /// By the fingerprints of their names.
    of_hosts: HashMap<[u8; 8], Slot>,
}

impl<'s> Slots<'s> {
    pub fn new(from: &'s dyn Store) -> Self {
        Self { from, of_hosts: HashMap::new() }
    }

    /// `None` when the entry is of a host that nothing names.
    pub fn of(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<Option<Slot>> {
        let corrupt = MonitorError::Corrupt(table.name());
        Ok(match table {
            Table::Queue | Table::Retries | Table::Records => {
                let host = fingerprint(key, key::CRAWL_BYTES).ok_or(corrupt)?;
                self.remembered(host, || host_of(table, value).map(Some))?
            }
            Table::Ready => Some(Slot::of(&HostKey::from_stored(text(value).ok_or(corrupt)?))),
            Table::Seen | Table::Heads | Table::Uses => {
                let host = fingerprint(key, key::CRAWL_BYTES).ok_or(corrupt)?;
                let crawl = key.first_chunk().ok_or(MonitorError::Corrupt(table.name()))?;
                match self.of_host(*crawl, host)? {
                    // A host may stand in the index for a last time with nothing left of it.
                    None if table == Table::Heads => self.of_head(crawl, host, value)?,
                    found => found,
                }
            }
            Table::Visits => {
                let host = fingerprint(key, key::CRAWL_BYTES + 8).ok_or(corrupt)?;
                let crawl = key.first_chunk().ok_or(MonitorError::Corrupt(table.name()))?;
                self.of_host(*crawl, host)?
            }
            Table::Contents => {
                let number = fingerprint(key, key::CRAWL_BYTES).ok_or(corrupt)?;
                Some(Slot::of_number(u64::from_be_bytes(number)))
            }
            // By name or by address, up to the zero where something follows.
            Table::Hosts | Table::Robots | Table::Addresses | Table::AddressRecords => {
                let name = key.split(|byte| *byte == 0).next().and_then(text).ok_or(corrupt)?;
                Some(Slot::of(&HostKey::from_stored(name)))
            }
            Table::Leases => {
                let lease: LeaseRecord = decode(value, "lease")?;
                Some(Slot::of(&HostKey::from_stored(lease.host)))
            }
            Table::Crawls | Table::Blocks | Table::Forgettings | Table::Counters | Table::Meta => Some(Slot::HOME),
        })
    }

    fn of_host(&mut self, crawl: [u8; key::CRAWL_BYTES], host: [u8; 8]) -> Result<Option<Slot>> {
        let from = self.from;
        let prefix = [&crawl[..], &host].concat();
        self.remembered(host, || {
            for table in [Table::Records, Table::Queue, Table::Retries] {
                if let Some((_, value)) = from.scan(Slot::HOME, table, &prefix, &prefix, 1)?.first() {
                    return host_of(table, value).map(Some);
                }
            }
            Ok(None)
        })
    }

    fn of_head(&self, crawl: &[u8; key::CRAWL_BYTES], host: [u8; 8], head: &[u8]) -> Result<Option<Slot>> {
        let ready_ms = head.get(..8).ok_or(MonitorError::Corrupt("host head"))?;
        let ready = [&crawl[..], ready_ms, &host].concat();
        let name = self.from.get(Slot::HOME, Table::Ready, &ready)?;
        Ok(name.and_then(|name| text(&name)).map(|name| Slot::of(&HostKey::from_stored(name))))
    }

    fn remembered(&mut self, host: [u8; 8], find: impl FnOnce() -> Result<Option<HostKey>>) -> Result<Option<Slot>> {
        if let Some(slot) = self.of_hosts.get(&host) {
            return Ok(Some(*slot));
        }
        let Some(found) = find()? else { return Ok(None) };
        if self.of_hosts.len() >= MAX_HOSTS {
            self.of_hosts.clear();
        }
        let slot = Slot::of(&found);
        self.of_hosts.insert(host, slot);
        Ok(Some(slot))
    }
}

/// Of the URL in a value.
fn host_of(table: Table, value: &[u8]) -> Result<HostKey> {
    let url = match table {
        Table::Records => decode::<UrlRecord>(value, "URL record")?.entry.url,
        _ => decode::<QueueEntry>(value, "queue entry")?.url,
    };
    Ok(CanonicalUrl::parse(&url).map_err(|_| MonitorError::Corrupt("URL"))?.host())
}

fn fingerprint(key: &[u8], at: usize) -> Option<[u8; 8]> {
    key.get(at..at + 8)?.try_into().ok()
}

fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}
