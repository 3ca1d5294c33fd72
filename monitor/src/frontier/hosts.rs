//! Hosts as all crawls know them: their records, their robots.txt, and which of them share an address.

use prost::Message;
use seine_common::address::AddressKey;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::Robots;

use super::{Frontier, key};
use crate::record::{AddressRecord, HostRecord, decode};
use crate::store::{Batch, Entry, Slot, Table};
use crate::{MonitorError, Result};

impl Frontier {
    pub fn host(&self, host: &HostKey) -> Result<HostRecord> {
        let found = self.read(Slot::of(host), Table::Hosts, host.as_str().as_bytes(), "host")?;
        Ok(found.unwrap_or_else(|| HostRecord { host: host.as_str().to_owned(), ..HostRecord::default() }))
    }

    /// Hosts that have been leased at least once, some at a time, and the cursor of those behind them; it is empty at the end.
    pub fn hosts(&self, cursor: &[u8], limit: usize) -> Result<(Vec<HostRecord>, Vec<u8>)> {
        let walked = self.store.walk(Table::Hosts, cursor, limit)?;
        let hosts = walked.entries.iter().map(|(_, (_, value))| decode(value, "host"));
        Ok((hosts.collect::<Result<_>>()?, walked.next))
    }

    pub fn was_leased(&self, host: &HostKey) -> Result<bool> {
        self.store.has(Slot::of(host), Table::Hosts, host.as_str().as_bytes())
    }

    pub fn put_host(&mut self, record: &HostRecord) -> Result<()> {
        let slot = Slot::of(&HostKey::from_stored(record.host.clone()));
        self.put(slot, Table::Hosts, &record.host, record.encode_to_vec())
    }

    /// Notes where a host is now.
    pub fn move_host(&mut self, record: &HostRecord, address: &str) -> Result<()> {
        let entry = |address: &str| {
            let address = AddressKey::parse(address)?;
            Some((key::address_slot(address), key::address(address, &record.host)))
        };
        let (before, now) = (entry(&record.address), entry(address));
        let is_listed = match &now {
            Some((slot, now)) => self.store.has(*slot, Table::Addresses, now)?,
            None => true,
        };
        if record.address == address && is_listed {
            return Ok(());
        }
        let mut batch = Batch::at(Slot::of(&HostKey::from_stored(record.host.clone())));
        let record = HostRecord { address: address.to_owned(), ..record.clone() };
        batch.put(Table::Hosts, &record.host, record.encode_to_vec());
        if let Some((slot, before)) = before {
            batch.turn_to(slot);
            batch.delete(Table::Addresses, before);
        }
        if let Some((slot, now)) = now {
            batch.turn_to(slot);
            batch.put(Table::Addresses, now, b"");
        }
        self.write(batch)
    }

    /// The hosts that were last found at an address.
    pub fn hosts_at(&self, address: AddressKey, limit: usize) -> Result<Vec<HostKey>> {
        let prefix = key::address(address, "");
        // The first key that can be a host's stands behind the record of the address itself.
        let first = [prefix.as_slice(), &[0]].concat();
        let host = |(key, _): Entry| {
            let name = key[prefix.len()..].to_vec();
            let name = String::from_utf8(name).map_err(|_| MonitorError::Corrupt("host at an address"))?;
            Ok(HostKey::from_stored(name))
        };
        let entries = self.store.scan(key::address_slot(address), Table::Addresses, &prefix, &first, limit)?;
        entries.into_iter().map(host).collect()
    }

    pub fn address(&self, address: AddressKey) -> Result<AddressRecord> {
        let slot = key::address_slot(address);
        Ok(self.read(slot, Table::AddressRecords, &key::address(address, ""), "address")?.unwrap_or_default())
    }

    pub fn put_address(&mut self, address: AddressKey, record: &AddressRecord) -> Result<()> {
        self.put(key::address_slot(address), Table::AddressRecords, key::address(address, ""), record.encode_to_vec())
    }

    pub fn robots(&self, host: &HostKey) -> Result<Vec<Robots>> {
        self.read_all(Slot::of(host), Table::Robots, &key::robots(host.as_str(), ""), "robots")
    }

    pub fn put_robots(&mut self, host: &HostKey, robots: &Robots) -> Result<()> {
        self.put(Slot::of(host), Table::Robots, key::robots(host.as_str(), &robots.origin), robots.encode_to_vec())
    }
}
