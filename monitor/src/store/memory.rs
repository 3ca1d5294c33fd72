//! A store in memory: for tests of what stands above. Clones are one store, so that a frontier can be closed and opened again.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Batch, Change, Durable, Entry, Store, Table};
use crate::Result;

type Entries = BTreeMap<Box<[u8]>, Box<[u8]>>;

#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<HashMap<Table, Entries>>>,
}

impl MemoryStore {
    fn tables(&self) -> MutexGuard<'_, HashMap<Table, Entries>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first entry behind a bound.
    fn next(&self, table: Table, from: Bound<&[u8]>) -> Option<Entry> {
        let tables = self.tables();
        let (key, value) = tables.get(&table)?.range::<[u8], _>((from, Bound::Unbounded)).next()?;
        Some((key.clone(), value.clone()))
    }
}

impl Store for MemoryStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.tables().get(&table).and_then(|entries| entries.get(key)).map(|value| value.to_vec()))
    }

    fn get_sorted(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter().map(|key| self.get(table, key)).collect()
    }

    fn scan<'a>(&'a self, table: Table, prefix: &[u8], from: &[u8]) -> Box<dyn Iterator<Item = Result<Entry>> + 'a> {
        let prefix = prefix.to_vec();
        let first = self.next(table, Bound::Included(from));
        let following = move |(key, _): &Entry| self.next(table, Bound::Excluded(key));
        let entries = std::iter::successors(first, following);
        Box::new(entries.take_while(move |(key, _)| key.starts_with(&prefix)).map(Ok))
    }

    fn write(&mut self, batch: &Batch) -> Result<()> {
        let mut tables = self.tables();
        for change in batch.changes() {
            match change {
                Change::Put { table, key, value } => {
                    tables.entry(table).or_default().insert(key.into(), value.into());
                }
                Change::Delete { table, key } => {
                    tables.entry(table).or_default().remove(key);
                }
            }
        }
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn Durable> {
        Arc::new(Nothing)
    }
}

/// Memory is as durable as it gets.
struct Nothing;

impl Durable for Nothing {
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
