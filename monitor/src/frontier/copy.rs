//! Moving a whole frontier from one store to another, table by table. The store that it is read from stays as it was.
//!
//! Writing an entry again changes nothing, and counters are brought to what they are, not added to. So a copy that was broken off
//! goes on where it was last [safe](Watcher::safe). Nobody else may write to either store meanwhile.
//!
//! Not responsible for who may write, for whether the other store is empty, nor for keeping what was reached.

mod slots;
#[cfg(test)]
mod tests;

use futures::executor::block_on;
use prost::Message;

use super::key;
use crate::record::{CrawlProgress, CrawlRecord, decode};
use crate::store::{Batch, COUNTERS, Counted, Entry, Slot, Store, Table};
use crate::{MonitorError, Result};
use slots::Slots;

/// Entries that are read and written together.
const AT_ONCE: usize = 5_000;
/// Entries between two places from which a copy can go on.
const SAFE_AFTER: u64 = 50_000;

/// How far a copy has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// In the order of [`Table::ALL`].
    pub table: usize,
    /// In that table; empty at its beginning.
    pub cursor: Vec<u8>,
    /// Copied so far, of each table.
    pub entries: [u64; Table::ALL.len()],
    /// Entries of hosts of which nothing is known but a fingerprint, so that nobody can ever ask for them.
    pub left_out: u64,
}

impl Reached {
    pub fn total(&self) -> u64 {
        self.entries.iter().sum()
    }
}

/// Told how a copy comes along.
pub trait Watcher {
    fn reached(&mut self, reached: &Reached);
    /// All up to there is durable: a copy may go on from it.
    fn safe(&mut self, reached: &Reached) -> Result<()>;
}

/// The number of the last start of a Monitor with this store; `None` where there was none.
pub fn epoch(store: &dyn Store) -> Result<Option<u64>> {
    number(store, key::meta::EPOCH)
}

/// Whether there is no frontier in the store.
pub fn is_empty(store: &dyn Store) -> Result<bool> {
    let is_begun = store.has(Slot::HOME, Table::Meta, key::meta::POLYNOMIAL)?;
    Ok(!is_begun && store.walk(Table::Seen, &[], 1)?.entries.is_empty())
}

/// Copies what is behind the place that was reached, and gives the end of it.
pub fn copy(from: &dyn Store, to: &mut dyn Store, reached: Reached, watcher: &mut dyn Watcher) -> Result<Reached> {
    let mut copy = Copy { from, to, slots: Slots::new(from), reached, unsafe_entries: 0, watcher };
    while let Some(&table) = Table::ALL.get(copy.reached.table) {
        match table {
            Table::Counters => copy.counters()?,
            _ => copy.table(table)?,
        }
        copy.reached.table += 1;
        copy.reached.cursor.clear();
        copy.make_safe()?;
    }
    Ok(copy.reached)
}

struct Copy<'c> {
    from: &'c dyn Store,
    to: &'c mut dyn Store,
    slots: Slots<'c>,
    reached: Reached,
    unsafe_entries: u64,
    watcher: &'c mut dyn Watcher,
}

impl Copy<'_> {
    fn table(&mut self, table: Table) -> Result<()> {
        loop {
            let walked = self.from.walk(table, &self.reached.cursor, AT_ONCE)?;
            self.stretch(table, walked.entries)?;
            self.reached.cursor = walked.next;
            self.watcher.reached(&self.reached);
            if self.reached.cursor.is_empty() {
                return Ok(());
            }
            if self.unsafe_entries >= SAFE_AFTER {
                self.make_safe()?;
            }
        }
    }

    fn stretch(&mut self, table: Table, entries: Vec<(Option<Slot>, Entry)>) -> Result<()> {
        let mut batch = Batch::at_home();
        let mut copied = 0;
        for (slot, (key, value)) in entries {
            let slot = match slot {
                Some(slot) => Some(slot),
                None => self.slots.of(table, &key, &value)?,
            };
            let Some(slot) = slot else {
                self.reached.left_out += 1;
                continue;
            };
            batch.turn_to(slot);
            match table {
                Table::Meta => batch.put(table, &key, self.not_lower(&key, &value)?),
                _ => batch.put(table, &key, &value),
            }
            copied += 1;
        }
        if !batch.is_empty() {
            self.to.write(batch)?;
        }
        self.reached.entries[self.reached.table] += copied;
        self.unsafe_entries += copied;
        Ok(())
    }

    /// Epochs and tokens never go back, whatever the other store has been used for.
    fn not_lower(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        if [key::meta::EPOCH, key::meta::TOKEN].contains(&key)
            && let Some(there) = number(self.to, key)?
            && let Some(here) = number(self.from, key)?
        {
            return Ok(here.max(there).to_be_bytes().to_vec());
        }
        Ok(value.to_vec())
    }

    /// The one store has sums where the other has totals.
    fn counters(&mut self) -> Result<()> {
        let crawls = self.from.scan(Slot::HOME, Table::Crawls, key::meta::CRAWLS, key::meta::CRAWLS, usize::MAX)?;
        let mut copied = 0;
        for (_, value) in crawls {
            let crawl: CrawlRecord = decode(&value, "crawl")?;
            let key = key::meta::progress(crawl.id);
            let (here, there) = (counters(self.from, &key)?, counters(self.to, &key)?);
            copied += 1;
            if here == there {
                continue;
            }
            let mut added = [0; COUNTERS];
            added.iter_mut().zip(here.iter().zip(there)).for_each(|(added, (here, there))| *added = here - there);
            let total = CrawlProgress::of_counters(here.map(|counter| counter.max(0) as u64));
            let mut batch = Batch::at_home();
            batch.count(&key, added, total.encode_to_vec());
            self.to.write(batch)?;
        }
        self.reached.entries[self.reached.table] = copied;
        Ok(())
    }

    fn make_safe(&mut self) -> Result<()> {
        block_on(self.to.syncer().sync())?;
        self.unsafe_entries = 0;
        self.watcher.safe(&self.reached)
    }
}

fn counters(store: &dyn Store, key: &[u8]) -> Result<[i64; COUNTERS]> {
    Ok(match store.counted(key)? {
        Counted::Total(None) => [0; COUNTERS],
        Counted::Total(Some(bytes)) => {
            decode::<CrawlProgress>(&bytes, "progress")?.counters().map(|counter| counter as i64)
        }
        Counted::Sum(sum) => sum,
    })
}

fn number(store: &dyn Store, key: &[u8]) -> Result<Option<u64>> {
    let bytes = store.get(Slot::HOME, Table::Meta, key)?;
    let number = bytes.map(|bytes| bytes.try_into().map(u64::from_be_bytes));
    number.transpose().map_err(|_| MonitorError::Corrupt("number"))
}
