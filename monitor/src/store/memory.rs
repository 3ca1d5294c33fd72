//! A store in memory: for tests of what stands above. Clones are one store, so that a frontier can be closed and opened again.
//!
//! It keeps slots and groups apart, as a store on several machines does: what is written into one slot is not found in another.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use super::{Batch, COUNTERS, Change, Counted, Durable, Entry, Slot, Store, Table, Ticket, Walked, Wanted};
use crate::Result;

type Entries = BTreeMap<Box<[u8]>, Box<[u8]>>;

#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    tables: HashMap<(Table, Slot), Entries>,
    counters: HashMap<(Slot, Vec<u8>), [i64; COUNTERS]>,
    writes: u64,
}

impl MemoryStore {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn scan(&self, slot: Slot, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Vec<Entry> {
        let Some(entries) = self.tables.get(&(table, slot)) else { return Vec::new() };
        let entries = entries.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        let entries = entries.take_while(|(key, _)| key.starts_with(prefix)).take(limit);
        entries.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn slots(&self, table: Table) -> Vec<Slot> {
        let mut slots: Vec<_> =
            self.tables.keys().filter(|(other, _)| *other == table).map(|(_, slot)| *slot).collect();
        slots.sort_unstable();
        slots
    }
}

impl Store for MemoryStore {
    fn get(&self, slot: Slot, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let kept = self.kept();
        Ok(kept.tables.get(&(table, slot)).and_then(|entries| entries.get(key)).map(|value| value.to_vec()))
    }

    fn get_sorted(&self, table: Table, keys: &[(Slot, &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter().map(|(slot, key)| self.get(*slot, table, key)).collect()
    }

    fn scan(&self, slot: Slot, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Entry>> {
        Ok(self.kept().scan(slot, table, prefix, from, limit))
    }

    fn scan_all(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<(Slot, Entry)>> {
        let kept = self.kept();
        let of = |slot: Slot| kept.scan(slot, table, prefix, from, limit).into_iter().map(move |entry| (slot, entry));
        let mut entries: Vec<_> = kept.slots(table).into_iter().flat_map(of).collect();
        entries.sort_by(|(_, a), (_, b)| a.cmp(b));
        entries.truncate(limit);
        Ok(entries)
    }

    /// The cursor is a slot and a key in it.
    fn walk(&self, table: Table, cursor: &[u8], limit: usize) -> Result<Walked> {
        let kept = self.kept();
        let (first, key) =
            cursor.split_first_chunk().map_or((0, &[][..]), |(slot, key)| (u16::from_be_bytes(*slot), key));
        let mut walked = Walked::default();
        for slot in kept.slots(table).into_iter().filter(|slot| slot.0 >= first) {
            let from = if slot.0 == first { key } else { &[] };
            for entry in kept.scan(slot, table, &[], from, usize::MAX) {
                if walked.entries.len() == limit {
                    walked.next = [&slot.0.to_be_bytes()[..], &entry.0].concat();
                    return Ok(walked);
                }
                walked.entries.push((Some(slot), entry));
            }
        }
        Ok(walked)
    }

    fn counted(&self, key: &[u8]) -> Result<Counted> {
        let mut sum = [0; COUNTERS];
        for (_, counters) in self.kept().counters.iter().filter(|((_, other), _)| other == key) {
            sum.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter);
        }
        Ok(Counted::Sum(sum))
    }

    fn write(&mut self, batch: Batch) -> Result<Ticket> {
        let mut kept = self.kept();
        for (slot, change) in batch.changes() {
            match change {
                Change::Insert { table, key, value } | Change::Put { table, key, value } => {
                    let before = kept.tables.entry((table, slot)).or_default().insert(key.into(), value.into());
                    debug_assert!(before.is_none() || !matches!(change, Change::Insert { .. }), "{table:?} {key:?}");
                }
                Change::Delete { table, key } => {
                    kept.tables.entry((table, slot)).or_default().remove(key);
                }
            }
        }
        for count in batch.counts() {
            let counters = kept.counters.entry((count.slot, count.key.clone())).or_default();
            counters.iter_mut().zip(count.added).for_each(|(counter, added)| *counter += added);
        }
        kept.writes += 1;
        Ok(Ticket(kept.writes))
    }

    fn load<'s>(&'s self, _: &'s [Wanted]) -> BoxFuture<'s, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn syncer(&self) -> Arc<dyn Durable> {
        Arc::new(Nothing)
    }
}

/// Memory is as durable as it gets.
struct Nothing;

impl Durable for Nothing {
    fn sync(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
