//! What waits in queues and among the retries: the crawl must know it, at just that place, and its host must come up.

use prost::Message;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use super::super::key::{self, HOST_BYTES, HostAt, UrlAt};
use super::super::sieve::Seen;
use super::{Check, Damage, crawl_of};
use crate::place::Place;
use crate::record::{CrawlId, QueueEntry, decode};
use crate::store::{Batch, Entry, Slot, Table};
use crate::{MonitorError, Result};

/// One entry of either table.
struct Waiting<'e> {
    crawl: CrawlId,
    slot: Slot,
    key: &'e [u8],
    host: HostKey,
    url: UrlAt,
    /// As the sieve should have it.
    seen: Seen,
    entry: QueueEntry,
}

impl Check<'_> {
    pub(super) fn waiting(&mut self, table: Table, entries: &[(Slot, Entry)]) -> Result<()> {
        let read = entries.iter().map(|(slot, (key, value))| self.read_waiting(table, *slot, key, value));
        let waiting: Vec<Waiting<'_>> = read.collect::<Result<_>>()?;
        let keys: Vec<(Slot, &[u8])> = waiting.iter().map(|item| (item.url.slot, &item.url.key[..])).collect();
        let seen = self.values(Table::Seen, &keys)?;
        for (item, seen) in waiting.iter().zip(seen) {
            if let (_, Some(place)) = place_of(item.seen) {
                self.note_sequence(item.crawl, place);
            }
            let seen = seen.map(|bytes| Seen::decode(&bytes)).transpose()?;
            if seen.map(place_of) != Some(place_of(item.seen)) {
                self.wrongly_known(table, item, seen)?;
            }
        }
        self.hosts_of(&waiting)
    }

    fn read_waiting<'e>(&self, table: Table, slot: Slot, key: &'e [u8], value: &[u8]) -> Result<Waiting<'e>> {
        let corrupt = || MonitorError::Corrupt(table.name());
        let entry: QueueEntry = decode(value, table.name())?;
        let url = CanonicalUrl::parse(&entry.url).map_err(|_| corrupt())?;
        let (crawl, host) = (crawl_of(key)?, url.host());
        let at = self.frontier.url_at(crawl, &url);
        if !key.starts_with(&at.host()) {
            return Err(corrupt());
        }
        let rest = &key[HOST_BYTES..];
        let depth = entry.depth;
        let seen = match table {
            Table::Queue => Seen::Queued { depth, place: Place::from_slice(rest).ok_or_else(corrupt)? },
            _ => Seen::Retrying {
                depth,
                due_ms: key::read_time(rest).ok_or_else(corrupt)?,
                place: rest.get(8..).and_then(Place::from_slice).ok_or_else(corrupt)?,
            },
        };
        Ok(Waiting { crawl, slot, key, host, url: at, seen, entry })
    }

    fn wrongly_known(&mut self, table: Table, item: &Waiting<'_>, seen: Option<Seen>) -> Result<()> {
        let is_visit = item.entry.revisit.is_some();
        let (damage, stays) = match seen {
            None => (Damage::WaitsUnknown, true),
            Some(Seen::Settled { .. }) if is_visit => (Damage::WaitsSettled, true),
            Some(Seen::Settled { .. }) => {
                let has_record = self.frontier.record_at(&item.url)?.is_some();
                (Damage::WaitsSettled, !has_record)
            }
            Some(other) => (Damage::WaitsTwice, !self.stands_at(item, other)?),
        };
        self.found(damage, || item.entry.url.clone());
        if self.mends {
            let mut batch = Batch::at(item.slot);
            if stays {
                batch.turn_to(item.url.slot);
                batch.put(Table::Seen, item.url.key, item.seen.encode());
                self.woken.insert(item.crawl);
            } else {
                batch.delete(table, item.key);
            }
            self.frontier.write(batch)?;
        }
        Ok(())
    }

    /// Whether the same URL waits at the place that the sieve has.
    fn stands_at(&self, item: &Waiting<'_>, seen: Seen) -> Result<bool> {
        let host = item.url.host();
        let entry: Option<QueueEntry> = match seen {
            Seen::Queued { place, .. } => {
                self.frontier.read(item.url.slot, Table::Queue, &key::queue(&host, place), "queue entry")?
            }
            Seen::Retrying { due_ms, place, .. } => {
                self.frontier.read(item.url.slot, Table::Retries, &key::retry(&host, due_ms, place), "retry")?
            }
            Seen::Settled { .. } => None,
        };
        Ok(entry.is_some_and(|entry| entry.url == item.entry.url))
    }

    /// A host with something waiting has a head, leased or not.
    fn hosts_of(&mut self, waiting: &[Waiting<'_>]) -> Result<()> {
        let mut hosts: Vec<(HostAt, &Waiting<'_>)> = Vec::new();
        for item in waiting {
            let at = HostAt { slot: item.url.slot, key: item.url.host() };
            if hosts.last().is_none_or(|(last, _)| *last != at) {
                hosts.push((at, item));
            }
        }
        let keys: Vec<(Slot, &[u8])> = hosts.iter().map(|(at, _)| (at.slot, &at.key[..])).collect();
        let heads = self.values(Table::Heads, &keys)?;
        for ((at, item), head) in hosts.into_iter().zip(heads) {
            // One of a host that stands here twice has been put back already.
            if head.is_some() || (self.mends && self.frontier.has_work(item.crawl, &item.host)?) {
                continue;
            }
            self.found(Damage::HostMissing, || item.host.as_str().to_owned());
            if self.mends {
                let mut batch = Batch::at(at.slot);
                self.frontier.enter_ready(&mut batch, item.crawl, &item.host, self.now_ms);
                self.frontier.write(batch)?;
                self.woken.insert(item.crawl);
            }
        }
        Ok(())
    }

    /// Puts a host into the index by what it has waiting, or takes out its head when it has nothing.
    pub(super) fn put_back(&mut self, host: HostAt) -> Result<()> {
        let crawl = crawl_of(&host.key)?;
        let mut batch = Batch::at(host.slot);
        let first = |table| self.frontier.store.scan(host.slot, table, &host.key, &host.key, 1);
        let (queued, retry) = (first(Table::Queue)?, first(Table::Retries)?);
        let waiting = queued.first().or(retry.first());
        match waiting {
            Some((key, value)) => {
                let entry: QueueEntry = decode(value, "queue entry")?;
                let url = CanonicalUrl::parse(&entry.url).map_err(|_| MonitorError::Corrupt("queue entry"))?;
                let due_ms = match queued.is_empty() {
                    true => key::read_time(&key[HOST_BYTES..]).ok_or(MonitorError::Corrupt("retry"))?,
                    false => self.now_ms,
                };
                self.frontier.enter_ready(&mut batch, crawl, &url.host(), due_ms);
                self.woken.insert(crawl);
            }
            None => batch.delete(Table::Heads, host.key),
        }
        self.frontier.write(batch)
    }

    /// The entry of a URL that waits, if it does.
    pub(super) fn rewrite_waiting(&mut self, at: &UrlAt, change: impl FnOnce(&mut QueueEntry)) -> Result<bool> {
        let seen = self.frontier.store.get(at.slot, Table::Seen, &at.key)?;
        let host = at.host();
        let (table, key) = match seen.map(|seen| Seen::decode(&seen)).transpose()? {
            Some(Seen::Queued { place, .. }) => (Table::Queue, key::queue(&host, place).to_vec()),
            Some(Seen::Retrying { due_ms, place, .. }) => (Table::Retries, key::retry(&host, due_ms, place).to_vec()),
            _ => return Ok(false),
        };
        let Some(mut entry) = self.frontier.read::<QueueEntry>(at.slot, table, &key, "queue entry")? else {
            return Ok(false);
        };
        change(&mut entry);
        self.frontier.put(at.slot, table, key, entry.encode_to_vec())?;
        Ok(true)
    }
}

/// Where the sieve has a URL, whatever its depth.
fn place_of(seen: Seen) -> (Option<i64>, Option<Place>) {
    match seen {
        Seen::Queued { place, .. } => (None, Some(place)),
        Seen::Retrying { due_ms, place, .. } => (Some(due_ms), Some(place)),
        Seen::Settled { .. } => (None, None),
    }
}
