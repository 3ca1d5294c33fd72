//! The store below the frontier: tables of keys in the order of their bytes, and batches that are written whole or not at all.
//!
//! It knows nothing of crawls and hosts: what keys and values mean is the [`frontier`](crate::frontier)'s business. What every
//! store must do is in [`conformance`], which runs on each.
//!
//! One writer. What is written can be read at once and is in the order of the writes; [`Durable::sync`] makes all of it durable
//! that was written before the call.

mod batch;
mod memory;
mod rocks;
#[cfg(test)]
mod conformance;

use std::sync::Arc;

use crate::Result;
pub use batch::{Batch, Change};
pub use memory::MemoryStore;
pub use rocks::{DEFAULT_MEMORY_BYTES, RocksStore};

/// A key and its value.
pub type Entry = (Box<[u8]>, Box<[u8]>);

/// Keys and values of each are told by [`frontier::key`](crate::frontier).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Seen,
    Queue,
    Retries,
    Records,
    Heads,
    Ready,
    Visits,
    Uses,
    Contents,
    Hosts,
    Addresses,
    Robots,
    Meta,
}

impl Table {
    pub const ALL: [Self; 13] = [
        Self::Seen,
        Self::Queue,
        Self::Retries,
        Self::Records,
        Self::Heads,
        Self::Ready,
        Self::Visits,
        Self::Uses,
        Self::Contents,
        Self::Hosts,
        Self::Addresses,
        Self::Robots,
        Self::Meta,
    ];

    /// Stored: it stays as it is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Queue => "queue",
            Self::Retries => "retries",
            Self::Records => "records",
            Self::Heads => "heads",
            Self::Ready => "ready",
            Self::Visits => "visits",
            Self::Uses => "uses",
            Self::Contents => "contents",
            Self::Hosts => "hosts",
            Self::Addresses => "addresses",
            Self::Robots => "robots",
            Self::Meta => "meta",
        }
    }
}

pub trait Store: Send {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>>;
    fn has(&self, table: Table, key: &[u8]) -> Result<bool> {
        Ok(self.get(table, key)?.is_some())
    }
    /// The values of keys that are given in their order.
    fn get_sorted(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>>;
    /// All entries whose keys begin with the prefix, in their order, from a key on that has it too.
    fn scan<'a>(&'a self, table: Table, prefix: &[u8], from: &[u8]) -> Box<dyn Iterator<Item = Result<Entry>> + 'a>;
    /// In the order of the batch's changes.
    fn write(&mut self, batch: &Batch) -> Result<()>;
    /// A handle with which another thread makes durable what has been written so far.
    fn syncer(&self) -> Arc<dyn Durable>;
}

/// Makes durable everything written before the call.
pub trait Durable: Send + Sync {
    fn sync(&self) -> Result<()>;
}
