//! Leases as they are stored, and what orders them: tokens, epochs, the map of slots, and when leases were granted last.

use futures::executor::block_on;
use prost::Message;
use seine_common::host::HostKey;

use super::{Frontier, key};
use crate::Result;
use crate::record::{AtWorkRecord, CrawlId, HostRecord, LeaseRecord, decode};
use crate::store::{Batch, Slot, Table};

impl Frontier {
    /// Takes the host out of the ready index and records the lease, with the host's record.
    pub fn grant(&mut self, lease: &LeaseRecord, host: &HostRecord) -> Result<()> {
        let name = HostKey::from_stored(lease.host.clone());
        let mut batch = Batch::at(Slot::of(&name));
        self.leave_ready(&mut batch, CrawlId(lease.crawl), &name)?;
        batch.put(Table::Leases, key::meta::lease(lease.token), lease.encode_to_vec());
        batch.put(Table::Hosts, &host.host, host.encode_to_vec());
        self.write(batch)
    }

    /// Removes the lease and stores the host's record; [`Frontier::requeue_host`] follows.
    pub fn release(&mut self, token: u64, host: &HostRecord) -> Result<()> {
        let mut batch = Batch::at(Slot::of(&HostKey::from_stored(host.host.clone())));
        batch.delete(Table::Leases, key::meta::lease(token));
        batch.put(Table::Hosts, &host.host, host.encode_to_vec());
        self.write(batch)
    }

    /// Writes a lease again that has changed.
    pub fn put_lease(&mut self, lease: &LeaseRecord) -> Result<()> {
        let slot = Slot::of(&HostKey::from_stored(lease.host.clone()));
        self.put(slot, Table::Leases, key::meta::lease(lease.token), lease.encode_to_vec())
    }

    pub fn leases(&self) -> Result<Vec<LeaseRecord>> {
        let entries = self.store.scan_all(Table::Leases, key::meta::LEASES, key::meta::LEASES, usize::MAX)?;
        entries.iter().map(|(_, (_, value))| decode(value, "lease")).collect()
    }

    pub fn next_token(&mut self) -> Result<u64> {
        self.last_token += 1;
        self.put(Slot::HOME, Table::Meta, key::meta::TOKEN, self.last_token.to_be_bytes())?;
        Ok(self.last_token)
    }

    /// Begins an epoch that is higher than every earlier one of this frontier, and than `above`; durable when it is told.
    pub fn begin_epoch(&mut self, above: u64) -> Result<u64> {
        let epoch = self.number(key::meta::EPOCH)?.unwrap_or(0).max(above).saturating_add(1);
        self.put(Slot::HOME, Table::Meta, key::meta::EPOCH, epoch.to_be_bytes())?;
        block_on(self.store.syncer().sync())?;
        Ok(epoch)
    }

    /// The map of slots to collectors, as it was stored.
    pub fn slots(&self) -> Result<Option<Vec<u8>>> {
        self.store.get(Slot::HOME, Table::Meta, key::meta::SLOTS)
    }

    pub fn put_slots(&mut self, slots: &[u8]) -> Result<()> {
        self.put(Slot::HOME, Table::Meta, key::meta::SLOTS, slots)
    }

    /// When the Monitor was at work last, as it was stored.
    pub fn at_work(&self) -> Result<Option<AtWorkRecord>> {
        self.read(Slot::HOME, Table::Meta, key::meta::AT_WORK, "time of last work")
    }

    pub fn put_at_work(&mut self, at_work: &AtWorkRecord) -> Result<()> {
        self.put(Slot::HOME, Table::Meta, key::meta::AT_WORK, at_work.encode_to_vec())
    }
}
