//! The frontier: every URL of every crawl, where it stands, and which host may go next. All of it in a store, nothing of it
//! in memory that grows with a crawl.
//!
//! Responsible for: the sieve (a URL enters a crawl once), the host queues, retries, the clock-ordered index of ready
//! hosts, host and lease records, what became of each URL, and the counters of each crawl.
//! Not responsible for: who gets a lease and whether a token is current (`lease`), nor for when a host may be asked
//! (`politeness` computes the times stored here).
//!
//! Life cycle of a URL: [`Frontier::admit`] puts it into `seen` and its host's queue → it stays in the queue, also while
//! its host is leased → [`Frontier::settle`] removes it and records the outcome, or moves it to the retries, from where
//! [`Frontier::promote_retries`] brings it back to its own place. So when a lease is lost, nothing has to be put back.
//!
//! What a method writes is atomic for each host, and in the [`store`](crate::store) in the order of the calls. What crosses hosts
//! is written so that doing it again changes nothing, and is made durable [before](Batch::after) what relies on it. It is written
//! once, whichever store is below: the methods stand in the files that are named after what they are about.

mod key;
mod sieve;
mod reads;
mod exclusions;
mod floors;
mod host_queue;
mod ready;
mod settle;
mod visits;
mod crawls;
mod counters;
mod hosts;
mod leases;
mod orders;
pub mod forget;
pub mod copy;
pub mod check;
#[cfg(test)]
mod filled;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod wal_tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use prost::Message;
use seine_common::fingerprint::Fingerprinter;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::Outcome;

use crate::place::Place;
use crate::record::{CrawlId, CrawlProgress, QueueEntry, UrlRecord, decode};
use crate::store::{Batch, DEFAULT_MEMORY_BYTES, Durable, RocksStore, Slot, Store, Table, Ticket};
use crate::{MonitorError, Result};
use exclusions::Exclusions;
use floors::Floors;
use key::{HostAt, UrlAt};
pub use reads::Reads;
pub use ready::PARKED;

/// A URL that wants to enter a crawl. Scope and limits have been checked.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub url: CanonicalUrl,
    pub host: HostKey,
    pub place: Place,
    pub entry: QueueEntry,
}

/// A URL that waits, with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    pub place: Place,
    pub entry: QueueEntry,
}

/// A stretch of a host queue.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    pub urls: Vec<Queued>,
    /// Nothing stands behind it.
    pub exhausted: bool,
}

/// What a settlement does with the URL.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "they are made and used up one at a time")]
pub enum Settlement {
    /// It is finished, until it is visited again.
    Done(Box<UrlRecord>),
    /// It is tried again at this time.
    Retry { due_ms: i64, outcome: Outcome },
}

/// A batch of what was forgotten.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// Those that had been saved.
    pub saved: Vec<String>,
    /// Where to go on; empty at the end.
    pub next: Vec<u8>,
}

/// A batch of what was forgotten and is let back in.
#[derive(Clone, Debug, Default)]
pub struct Unforgotten {
    /// Settled, and due.
    pub records: Vec<UrlRecord>,
    /// Where to go on; empty at the end.
    pub next: Vec<u8>,
}

/// What is known of one URL in one crawl.
#[derive(Clone, Debug)]
pub enum Known {
    Queued(Queued),
    Retrying(QueueEntry),
    Settled(Box<UrlRecord>),
}

pub struct Frontier {
    store: Box<dyn Store>,
    fingerprinter: Fingerprinter,
    progress: HashMap<CrawlId, CrawlProgress>,
    exclusions: HashMap<CrawlId, Exclusions>,
    /// As the store has it.
    counted: HashMap<CrawlId, CrawlProgress>,
    floors: RefCell<Floors>,
    last_token: u64,
    last_links: Ticket,
    /// Of hosts that are leased, where the store has to know.
    links_of: HashMap<HostAt, Ticket>,
}

impl Frontier {
    /// In a directory of its own, on RocksDB.
    pub fn open(path: &Path) -> Result<Self> {
        Self::over(RocksStore::open(path, DEFAULT_MEMORY_BYTES)?)
    }

    pub fn over(store: impl Store + 'static) -> Result<Self> {
        Self::over_boxed(Box::new(store))
    }

    pub fn over_boxed(store: Box<dyn Store>) -> Result<Self> {
        let mut this = Self {
            store,
            fingerprinter: Fingerprinter::public(),
            progress: HashMap::new(),
            counted: HashMap::new(),
            exclusions: HashMap::new(),
            floors: RefCell::default(),
            last_token: 0,
            last_links: Ticket::default(),
            links_of: HashMap::new(),
        };
        this.fingerprinter = this.own_polynomial()?;
        // A lease may have become durable before the number of its token.
        let granted = this.leases()?.iter().map(|lease| lease.token).max();
        this.last_token = this.number(key::meta::TOKEN)?.max(granted).unwrap_or(0);
        this.read_counters()?;
        Ok(this)
    }

    /// A handle with which another thread makes durable what has been written so far.
    pub fn syncer(&self) -> Arc<dyn Durable> {
        self.store.syncer()
    }

    /// The polynomial drawn when the store was made: a public one could be forged.
    fn own_polynomial(&mut self) -> Result<Fingerprinter> {
        if let Some(polynomial) = self.number(key::meta::POLYNOMIAL)? {
            return Fingerprinter::new(polynomial).ok_or(MonitorError::Corrupt("polynomial"));
        }
        let drawn = Fingerprinter::random(rand::random);
        self.put(Slot::HOME, Table::Meta, key::meta::POLYNOMIAL, drawn.polynomial().to_be_bytes())?;
        Ok(drawn)
    }

    fn number(&self, key: &[u8]) -> Result<Option<u64>> {
        let bytes = self.store.get(Slot::HOME, Table::Meta, key)?;
        bytes
            .map(|bytes| bytes.try_into().map(u64::from_be_bytes).map_err(|_| MonitorError::Corrupt("number")))
            .transpose()
    }

    fn host_at(&self, crawl: CrawlId, host: &HostKey) -> HostAt {
        HostAt { slot: Slot::of(host), key: key::host(crawl, self.fingerprinter.of(host.as_str().as_bytes())) }
    }

    fn url_at(&self, crawl: CrawlId, url: &CanonicalUrl) -> UrlAt {
        self.host_at(crawl, &url.host()).url(self.fingerprinter.of(url.as_str().as_bytes()))
    }

    /// `what` names it where it cannot be read.
    fn read<M: Message + Default>(
        &self,
        slot: Slot,
        table: Table,
        key: &[u8],
        what: &'static str,
    ) -> Result<Option<M>> {
        self.store.get(slot, table, key)?.map(|bytes| decode(&bytes, what)).transpose()
    }

    /// All of a slot whose keys begin with the prefix.
    fn read_all<M: Message + Default>(
        &self,
        slot: Slot,
        table: Table,
        prefix: &[u8],
        what: &'static str,
    ) -> Result<Vec<M>> {
        let entries = self.store.scan(slot, table, prefix, prefix, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(value, what)).collect()
    }

    fn put(&mut self, slot: Slot, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let mut batch = Batch::at(slot);
        batch.put(table, key, value);
        self.write(batch)
    }

    fn delete(&mut self, slot: Slot, table: Table, key: impl AsRef<[u8]>) -> Result<()> {
        let mut batch = Batch::at(slot);
        batch.delete(table, key);
        self.write(batch)
    }

    fn write(&mut self, batch: Batch) -> Result<()> {
        self.store.write(batch).map(drop)
    }
}
