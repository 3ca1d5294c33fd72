//! The store below the frontier: tables of keys in the order of their bytes, and batches of changes.
//!
//! It knows nothing of crawls and hosts: what keys and values mean is the [`frontier`](crate::frontier)'s business. Every key lies
//! in a *slot*, that of its host as Redis Cluster computes it, or [`Slot::HOME`] for what crosses hosts. A batch is atomic within
//! each slot; a store that lies on one disk makes it atomic as a whole. What every store must do is in [`conformance`], which
//! runs on each.
//!
//! One writer. What is written can be read at once. What crosses a network is asynchronous and comes in batches:
//! [`Store::load`] brings many keys within reach, [`Durable::sync`] makes all of it durable that was written before the call.
//! Reading a single key answers at once from what is within reach, and is a round trip of its own otherwise. A batch may have to
//! [wait](Batch::after) for another in other slots: it becomes durable after that.

mod table;
mod batch;
mod memory;
mod rocks;
mod redis;
#[cfg(test)]
mod conformance;

use std::sync::Arc;

use futures::future::BoxFuture;
use seine_common::host::{self, HostKey};

use crate::Result;
pub use batch::{Batch, Change, Count};
pub use memory::MemoryStore;
pub use redis::{Owner, Ownership, RedisStore, SharedStore, StoreHealth};
pub use rocks::{DEFAULT_MEMORY_BYTES, RocksStore};
pub use table::{Kind, Table};

/// A key and its value.
pub type Entry = (Box<[u8]>, Box<[u8]>);

/// How many numbers are counted together under one key of a [`Kind::Sum`].
pub const COUNTERS: usize = 17;

/// A sixteen thousandth of all hosts, by CRC16 of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

impl Slot {
    pub const COUNT: u16 = host::SLOTS;
    /// Of what belongs to no host.
    pub const HOME: Self = Self(0);

    pub fn of(host: &HostKey) -> Self {
        Self(host.slot())
    }

    /// Of a fingerprint that is shared by hosts.
    pub fn of_number(number: u64) -> Self {
        Self((number % u64::from(Self::COUNT)) as u16)
    }
}

/// The number of a write. Later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What a store has of counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// As the last [`Count`] gave it.
    Total(Option<Vec<u8>>),
    /// Of what was counted in all slots.
    Sum([i64; COUNTERS]),
}

/// A stretch of a whole table, and where it goes on; an empty cursor is its end.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    pub entries: Vec<(Option<Slot>, Entry)>,
    pub next: Vec<u8>,
}

/// Keys that are about to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub slot: Slot,
    pub table: Table,
    pub key: Vec<u8>,
}

pub trait Store: Send {
    fn get(&self, slot: Slot, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>>;
    fn has(&self, slot: Slot, table: Table, key: &[u8]) -> Result<bool> {
        Ok(self.get(slot, table, key)?.is_some())
    }
    /// The values of keys that are given in their order.
    fn get_sorted(&self, table: Table, keys: &[(Slot, &[u8])]) -> Result<Vec<Option<Vec<u8>>>>;
    /// The first entries of a slot whose keys begin with the prefix, in their order, from a key on that has it too. The prefix has
    /// the [group](Table::group) in it.
    fn scan(&self, slot: Slot, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Entry>>;
    /// The same over all slots, of a list, with the slot of each; a store that knows no slots may name any.
    fn scan_all(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<(Slot, Entry)>>;
    /// All entries of a table, in an order of the store's own. What is written meanwhile may be missed.
    fn walk(&self, table: Table, cursor: &[u8], limit: usize) -> Result<Walked>;
    fn counted(&self, key: &[u8]) -> Result<Counted>;
    /// In the order of the batch's changes, where those are of one slot.
    fn write(&mut self, batch: Batch) -> Result<Ticket>;
    /// Brings keys within reach, so that reading them waits for nothing.
    fn load<'s>(&'s self, wanted: &'s [Wanted]) -> BoxFuture<'s, Result<()>>;
    /// Whether anything is out of reach, so that loading is worth the while.
    fn loads(&self) -> bool {
        false
    }
    /// Why it does not answer, where that is so.
    fn health(&self) -> StoreHealth {
        StoreHealth::default()
    }
    /// A handle with which another thread makes durable what has been written so far.
    fn syncer(&self) -> Arc<dyn Durable>;
}

/// Makes durable everything written before the call.
pub trait Durable: Send + Sync {
    fn sync(&self) -> BoxFuture<'_, Result<()>>;
}
