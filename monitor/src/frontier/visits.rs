//! Known URLs and their next visits: the clock-ordered index of what is due, and the way back into the queue.
//!
//! A settled URL stands in `visits` under the time from which it is due. Queued again, it leaves that index and its
//! record stays, so that what is known of it is not lost while it waits; settling writes both anew.

use prost::Message;
use seine_common::host::HostKey;

use super::key::HostAt;
use super::sieve::Seen;
use super::{Candidate, Frontier, key};
use crate::place::{Class, Place};
use crate::record::{CrawlId, QueueEntry, UrlRecord, decode};
use crate::store::{Batch, Slot, Table};
use crate::{MonitorError, Result};

impl Frontier {
    /// Settled URLs whose next visit was due before a time, the longest due first.
    pub fn due_visits(&self, crawl: CrawlId, before_ms: i64, limit: usize) -> Result<Vec<UrlRecord>> {
        let prefix = key::crawl(crawl);
        if self.next_due(crawl)?.is_none_or(|earliest| earliest >= before_ms) {
            return Ok(Vec::new());
        }
        let from = key::visits_from(crawl, self.floors.borrow().visits(crawl));
        let mut due = Vec::new();
        for (slot, (key, _)) in self.store.scan_all(Table::Visits, &prefix, &from, limit)? {
            let (due_ms, url) = key::read_visit(slot, &key).ok_or(MonitorError::Corrupt("visit"))?;
            if due_ms >= before_ms {
                break;
            }
            due.push(self.record_at(&url)?.ok_or(MonitorError::Corrupt("visit"))?);
        }
        Ok(due)
    }

    pub fn next_due(&self, crawl: CrawlId) -> Result<Option<i64>> {
        let prefix = key::crawl(crawl);
        let from = self.floors.borrow().visits(crawl);
        if from == i64::MAX {
            return Ok(None);
        }
        let first = self.store.scan_all(Table::Visits, &prefix, &key::visits_from(crawl, from), 1)?;
        let due_ms = |slot, key: &[u8]| Ok(key::read_visit(slot, key).ok_or(MonitorError::Corrupt("visit"))?.0);
        let first = first.first().map(|(slot, (key, _))| due_ms(*slot, key)).transpose();
        if let Ok(first) = &first {
            self.floors.borrow_mut().saw_visits(crawl, *first);
        }
        first
    }

    /// Visits that are due later than `latest_ms` become due at `due_ms`: some of them, and how many.
    pub fn pull_in_visits(&mut self, crawl: CrawlId, latest_ms: i64, due_ms: i64, limit: usize) -> Result<usize> {
        let from = key::visits_from(crawl, latest_ms.saturating_add(1));
        let mut batch = Batch::at_home();
        let mut hastened = 0;
        for (slot, (key, _)) in self.store.scan_all(Table::Visits, &key::crawl(crawl), &from, limit)? {
            let (_, url) = key::read_visit(slot, &key).ok_or(MonitorError::Corrupt("visit"))?;
            let before = self.record_at(&url)?.ok_or(MonitorError::Corrupt("visit"))?;
            let record = UrlRecord { next_visit_ms: due_ms, ..before.clone() };
            batch.turn_to(slot);
            self.write_record(&mut batch, &url, Some(&before), &record);
            hastened += 1;
        }
        self.write(batch)?;
        Ok(hastened)
    }

    /// Queues settled URLs again. Those that are not settled, or not planned for a visit, stay as they are.
    pub fn revisit(&mut self, crawl: CrawlId, visits: Vec<Candidate>, now_ms: i64) -> Result<()> {
        let mut batch = Batch::at_home();
        let mut hosts: Vec<HostKey> = Vec::new();
        for visit in visits {
            let at = self.host_at(crawl, &visit.host);
            let url = self.url_at(crawl, &visit.url);
            let seen = self.store.get(url.slot, Table::Seen, &url.key)?;
            let settled = seen.map(|seen| Seen::decode(&seen)).transpose()?;
            let (Some(Seen::Settled { depth }), Some(record)) = (settled, self.record_at(&url)?) else { continue };
            if record.next_visit_ms == 0 {
                continue;
            }
            batch.turn_to(at.slot);
            batch.delete(Table::Visits, key::visit(&url.key, record.next_visit_ms));
            batch.put(Table::Seen, url.key, Seen::Queued { depth, place: visit.place }.encode());
            batch.put(Table::Queue, key::queue(&at.key, visit.place), visit.entry.encode_to_vec());
            self.floors.borrow_mut().lower_queue(&at.key, visit.place);
            hosts.push(visit.host);
            let progress = self.progress.entry(crawl).or_default();
            progress.queued += 1;
            if visit.place.class() == Class::Revisit {
                progress.count_class(Class::Revisit, 1);
            }
            self.put_progress(&mut batch, crawl);
        }
        hosts.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
        hosts.dedup();
        for host in &hosts {
            if !self.has_work(crawl, host)? {
                batch.turn_to(Slot::of(host));
                self.enter_ready(&mut batch, crawl, host, now_ms);
            }
        }
        self.write(batch)
    }

    /// Moves the first deferred URLs of a host before its ordinary ones; gives their number. Not while it is leased.
    pub fn promote_deferred(&mut self, crawl: CrawlId, host: &HostKey, limit: usize) -> Result<usize> {
        let at = self.host_at(crawl, host);
        let HostAt { slot, key: prefix } = at;
        let first = key::queue(&prefix, Place::in_turn(Class::Deferred, 0, 0));
        let mut batch = Batch::at(slot);
        let mut moved = 0;
        for (key, value) in self.store.scan(slot, Table::Queue, &prefix, &first, limit)? {
            let place = Place::from_slice(&key[key::HOST_BYTES..]).ok_or(MonitorError::Corrupt("place"))?;
            let entry: QueueEntry = decode(&value, "queue entry")?;
            let place = place.moved_to(Class::Breadth);
            batch.delete(Table::Queue, &key);
            batch.put(Table::Queue, key::queue(&prefix, place), &value);
            self.floors.borrow_mut().lower_queue(&prefix, place);
            let url = at.url(self.fingerprinter.of(entry.url.as_bytes()));
            batch.put(Table::Seen, url.key, Seen::Queued { depth: entry.depth, place }.encode());
            moved += 1;
        }
        if moved > 0 {
            let progress = self.progress.entry(crawl).or_default();
            progress.count_class(Class::Deferred, -moved);
            progress.count_class(Class::Breadth, moved);
            self.put_progress(&mut batch, crawl);
            self.write(batch)?;
        }
        Ok(moved as usize)
    }
}
