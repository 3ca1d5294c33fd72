//! The store on a cluster that speaks the Redis protocol: Redis 7, Valkey, Kvrocks.
//!
//! One Monitor [owns](owner) it. It reads over connections of its own thread, all keys that it wants at once where they are known
//! beforehand; what it has read or written lately is [within reach](reach) and costs no round trip. What it writes goes to a
//! [thread](writer) that sends batches in groups, under the owner's epoch, and calls them durable when replicas have them too.
//!
//! - [`connect`]: one connection; [`topology`]: which master has which slot; [`cluster`]: commands to many masters at once;
//!   [`failure`], [`patience`]: what is tried again, and for how long.
//! - [`reading`]: what is read, over which connections.
//! - [`layout`]: where entries lie; [`parcels`]: batches on their way; [`scripts`]: what runs in the store.
//! - [`fitness`]: whether a cluster keeps what it is given.

mod failure;
mod patience;
mod connect;
mod topology;
mod cluster;
mod layout;
mod scripts;
mod parcels;
mod reach;
mod reading;
mod writer;
mod fitness;
mod owner;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::Arc;

use super::{Batch, Counted, Durable, Entry, Slot, Store, Table, Ticket, Walked, Wanted};
use crate::Result;
use futures::future::BoxFuture;
pub use owner::{Owner, Ownership, SharedStore};
use patience::{Patience, Troubles};
use reading::Reading;
use writer::{Confirmation, Writer};

pub struct RedisStore {
    reading: RefCell<Reading>,
    writer: Writer,
    troubles: Arc<Troubles>,
    _ownership: Arc<Ownership>,
}

/// Why nothing moves, where the store is the reason; told from any thread.
#[derive(Clone, Default)]
pub struct StoreHealth(Arc<Troubles>);

impl StoreHealth {
    pub fn trouble(&self) -> Option<String> {
        self.0.told()
    }

    /// Gives a store up that does not answer, so that whoever waits for it ends.
    pub fn give_up(&self) {
        self.0.stop();
    }
}

impl RedisStore {
    /// `memory_bytes` are for what is kept within reach.
    pub fn open(shared: &SharedStore, ownership: &Arc<Ownership>, memory_bytes: usize) -> Self {
        let troubles = Arc::<Troubles>::default();
        let replicas = shared.settings().confirmed_by;
        let writer = Writer::start(shared.cluster(), ownership.epoch(), replicas, &troubles);
        let reading = Reading::new(shared.cluster(), Patience::new("reading", &troubles), memory_bytes);
        Self { reading: RefCell::new(reading), writer, troubles, _ownership: Arc::clone(ownership) }
    }

    fn reading(&self) -> std::cell::RefMut<'_, Reading> {
        let mut reading = self.reading.borrow_mut();
        let (confirmed, losses) = self.writer.confirmed();
        reading.note(confirmed, losses);
        reading
    }
}

impl Store for RedisStore {
    fn get(&self, slot: Slot, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.reading().get(slot, table, key)?.map(Vec::from))
    }

    fn get_sorted(&self, table: Table, keys: &[(Slot, &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut reading = self.reading();
        let wanted: Vec<Wanted> =
            keys.iter().map(|(slot, key)| Wanted { slot: *slot, table, key: key.to_vec() }).collect();
        reading.load(&wanted)?;
        // All are within reach now, unless there are more than there is memory for.
        wanted.iter().map(|want| Ok(reading.get(want.slot, table, &want.key)?.map(Vec::from))).collect()
    }

    fn scan(&self, slot: Slot, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Entry>> {
        self.reading().scan(slot, table, prefix, from, limit)
    }

    fn scan_all(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<(Slot, Entry)>> {
        self.reading().scan_all(table, prefix, from, limit)
    }

    fn walk(&self, table: Table, cursor: &[u8], limit: usize) -> Result<Walked> {
        // It reads past what is under way.
        self.writer.confirmation().wait()?;
        self.reading().walk(table, cursor, limit)
    }

    fn counted(&self, key: &[u8]) -> Result<Counted> {
        self.writer.confirmation().wait()?;
        Ok(Counted::Sum(self.reading().counted(key)?))
    }

    fn write(&mut self, batch: Batch) -> Result<Ticket> {
        if batch.is_empty() {
            return Ok(Ticket::default());
        }
        let batch = Arc::new(batch);
        let ticket = self.writer.write(&batch)?;
        self.reading().reach.write(ticket, &batch);
        Ok(ticket)
    }

    fn load<'s>(&'s self, wanted: &'s [Wanted]) -> BoxFuture<'s, Result<()>> {
        Box::pin(std::future::ready(self.reading().load(wanted)))
    }

    fn loads(&self) -> bool {
        true
    }

    fn syncer(&self) -> Arc<dyn Durable> {
        Arc::new(Confirmed(self.writer.confirmation()))
    }

    fn health(&self) -> StoreHealth {
        StoreHealth(Arc::clone(&self.troubles))
    }
}

struct Confirmed(Confirmation);

impl Durable for Confirmed {
    /// Waits for the store: for a thread of its own.
    fn sync(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(self.0.wait()))
    }
}
