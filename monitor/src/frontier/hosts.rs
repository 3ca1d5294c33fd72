//! Hosts as all crawls know them: their records, their robots.txt, and which of them share an address.

use prost::Message;
use seine_common::address::AddressKey;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::Robots;

use super::{Frontier, key};
use crate::record::{AddressRecord, HostRecord, decode};
use crate::store::{Batch, Entry, Table};
use crate::{MonitorError, Result};

impl Frontier {
    pub fn host(&self, host: &HostKey) -> Result<HostRecord> {
        let found = self.read(Table::Hosts, host.as_str().as_bytes(), "host")?;
        Ok(found.unwrap_or_else(|| HostRecord { host: host.as_str().to_owned(), ..HostRecord::default() }))
    }

    /// Hosts that have been leased at least once, by name, from a name on.
    pub fn hosts(&self, from: &str, limit: usize) -> Result<Vec<HostRecord>> {
        let entries = self.store.scan(Table::Hosts, &[], from.as_bytes()).take(limit);
        entries.map(|entry| decode(&entry?.1, "host")).collect()
    }

    pub fn put_host(&mut self, record: &HostRecord) -> Result<()> {
        self.put(Table::Hosts, &record.host, record.encode_to_vec())
    }

    /// Notes where a host is now.
    pub fn move_host(&mut self, record: &HostRecord, address: &str) -> Result<()> {
        let entry = |address: &str| AddressKey::parse(address).map(|address| key::address(address, &record.host));
        let (before, now) = (entry(&record.address), entry(address));
        let is_listed = match &now {
            Some(now) => self.store.has(Table::Addresses, now)?,
            None => true,
        };
        if record.address == address && is_listed {
            return Ok(());
        }
        let mut batch = Batch::default();
        if let Some(before) = before {
            batch.delete(Table::Addresses, before);
        }
        if let Some(now) = now {
            batch.put(Table::Addresses, now, b"");
        }
        let record = HostRecord { address: address.to_owned(), ..record.clone() };
        batch.put(Table::Hosts, &record.host, record.encode_to_vec());
        self.store.write(&batch)
    }

    /// The hosts that were last found at an address.
    pub fn hosts_at(&self, address: AddressKey, limit: usize) -> Result<Vec<HostKey>> {
        let prefix = key::address(address, "");
        // The first key that can be a host's stands behind the record of the address itself.
        let first = [prefix.as_slice(), &[0]].concat();
        let host = |entry: Result<Entry>| {
            let name = entry?.0[prefix.len()..].to_vec();
            let name = String::from_utf8(name).map_err(|_| MonitorError::Corrupt("host at an address"))?;
            Ok(HostKey::from_stored(name))
        };
        self.store.scan(Table::Addresses, &prefix, &first).take(limit).map(host).collect()
    }

    pub fn address(&self, address: AddressKey) -> Result<AddressRecord> {
        Ok(self.read(Table::Addresses, &key::address(address, ""), "address")?.unwrap_or_default())
    }

    pub fn put_address(&mut self, address: AddressKey, record: &AddressRecord) -> Result<()> {
        self.put(Table::Addresses, key::address(address, ""), record.encode_to_vec())
    }

    pub fn robots(&self, host: &HostKey) -> Result<Vec<Robots>> {
        self.read_all(Table::Robots, &key::robots(host.as_str(), ""), "robots")
    }

    pub fn put_robots(&mut self, host: &HostKey, robots: &Robots) -> Result<()> {
        self.put(Table::Robots, key::robots(host.as_str(), &robots.origin), robots.encode_to_vec())
    }
}
