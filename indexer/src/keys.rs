//! A map from byte strings to values, in which each key has a number: 0, 1, 2 in the order of their coming.
//!
//! The keys lie behind each other, which is one allocation for all. The caller hashes, so that one hash can serve several maps,
//! and must seed its hasher where strangers choose the keys.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

#[derive(Clone)]
pub(crate) struct Keys<V> {
    table: HashTable<u32>,
    entries: Vec<KeysEntry<V>>,
    bytes: Vec<u8>,
}

#[derive(Clone)]
struct KeysEntry<V> {
    hash: u64,
    start: u32,
    end: u32,
    value: V,
}

impl<V> Default for Keys<V> {
    fn default() -> Self {
        Self { table: HashTable::new(), entries: Vec::new(), bytes: Vec::new() }
    }
}

impl<V> Keys<V> {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all keys.
    pub fn key_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn memory(&self) -> usize {
        self.table.capacity() * size_of::<u32>()
            + self.entries.capacity() * size_of::<KeysEntry<V>>()
            + self.bytes.capacity()
    }

    pub fn key(&self, number: u32) -> &[u8] {
        let entry = &self.entries[number as usize];
        &self.bytes[entry.start as usize..entry.end as usize]
    }

    pub fn get(&self, hash: u64, key: &[u8], fits: impl Fn(&V) -> bool) -> Option<&V> {
        let number = self.table.find(hash, |&number| {
            let entry = &self.entries[number as usize];
            entry.hash == hash && self.bytes[entry.start as usize..entry.end as usize] == *key && fits(&entry.value)
        })?;
        Some(&self.entries[*number as usize].value)
    }

    /// The number of the key's entry, which is made where none fits.
    pub fn number(&mut self, hash: u64, key: &[u8], fits: impl Fn(&V) -> bool, value: impl FnOnce() -> V) -> u32 {
        let Self { table, entries, bytes } = self;
        let is_it = |&number: &u32| {
            let entry = &entries[number as usize];
            entry.hash == hash && bytes[entry.start as usize..entry.end as usize] == *key && fits(&entry.value)
        };
        match table.entry(hash, is_it, |&number| entries[number as usize].hash) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(vacant) => {
                let number = entries.len() as u32;
                vacant.insert(number);
                let start = bytes.len() as u32;
                bytes.extend_from_slice(key);
                entries.push(KeysEntry { hash, start, end: bytes.len() as u32, value: value() });
                number
            }
        }
    }
}
