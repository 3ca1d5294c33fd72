//! The frontier: every URL of every crawl, where it stands, and which host may go next. All of it on disk.
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
//! Every method is atomic and is written, in call order, to one log; [`Durable::sync`] makes all of it durable.

pub mod place;
pub mod record;
mod key;
mod sieve;
mod exclusions;
mod floors;
mod host_queue;
mod ready;
mod settle;
mod visits;
pub mod forget;
mod store;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod wal_tests;
#[cfg(test)]
pub(crate) mod tests_support;

use std::sync::Arc;

use seine_common::address::AddressKey;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Outcome, Robots};

use crate::MonitorError;
use place::Place;
pub use ready::PARKED;
use record::{
    AddressRecord, AtWorkRecord, BlockRecord, CrawlProgress, CrawlRecord, ExclusionRecord, ForgettingRecord,
    HostRecord, HostUse, LeaseRecord, QueueEntry, UrlRecord,
};
pub use store::{DEFAULT_MEMORY_BYTES, RocksFrontier};

pub type Result<T> = std::result::Result<T, MonitorError>;

/// Number of a crawl within its data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CrawlId(pub u32);

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

pub trait Frontier: Send {
    fn crawls(&self) -> Result<Vec<CrawlRecord>>;
    fn put_crawl(&mut self, crawl: &CrawlRecord) -> Result<()>;
    fn progress(&self, crawl: CrawlId) -> CrawlProgress;
    /// The next parent sequence number of the crawl.
    fn next_sequence(&mut self, crawl: CrawlId) -> u64;
    /// Counts a link that a rule kept out. Durable only after [`Frontier::save_exclusions`].
    fn count_excluded(&mut self, crawl: CrawlId, rule: &str, url: &str);
    /// What kept links out, the most frequent first.
    fn exclusions(&self, crawl: CrawlId) -> Vec<ExclusionRecord>;
    fn save_exclusions(&mut self) -> Result<()>;

    /// Admits those that the crawl has never seen, and says which, in the order given. One already queued at a greater
    /// depth takes the smaller one, its place stays.
    fn admit(&mut self, crawl: CrawlId, candidates: &[Candidate], now_ms: i64) -> Result<Vec<bool>>;
    /// The URLs of a host behind a place, in order.
    fn stretch(&self, crawl: CrawlId, host: &HostKey, after: Option<Place>, limit: usize) -> Result<Stretch>;
    fn queued(&self, crawl: CrawlId, host: &HostKey, place: Place) -> Result<Option<QueueEntry>>;
    /// Ends the stay of a URL in the queue. False when it was not there.
    fn settle(&mut self, crawl: CrawlId, host: &HostKey, place: Place, settlement: Settlement) -> Result<bool>;
    /// Brings due retries of a host back to their places.
    fn promote_retries(&mut self, crawl: CrawlId, host: &HostKey, now_ms: i64) -> Result<()>;
    fn known(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<Known>>;
    /// What became of a URL at its earlier visits, also while it is queued for another.
    fn record(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<UrlRecord>>;
    /// The first saved page of the crawl whose text has this fingerprint.
    fn first_with_content(&self, crawl: CrawlId, fingerprint: u64) -> Result<Option<String>>;
    /// What a host has given the crawl so far.
    fn host_use(&self, crawl: CrawlId, host: &HostKey) -> Result<HostUse>;
    /// The sitemaps that the host's robots.txt names are in the crawl.
    fn note_sitemaps(&mut self, crawl: CrawlId, host: &HostKey) -> Result<()>;
    /// Settles the first waiting URLs of a host, retries included, with one outcome, and plans their next visit; gives
    /// their number. A page that was saved, or is gone, stays so: nobody has looked whether it is there.
    fn settle_rest(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        outcome: &Outcome,
        next_visit_ms: i64,
        limit: usize,
    ) -> Result<usize>;
    /// Moves the first deferred URLs of a host before its ordinary ones; gives their number. Not while it is leased.
    fn promote_deferred(&mut self, crawl: CrawlId, host: &HostKey, limit: usize) -> Result<usize>;

    /// Settled URLs whose next visit was due before a time, the longest due first.
    fn due_visits(&self, crawl: CrawlId, before_ms: i64, limit: usize) -> Result<Vec<UrlRecord>>;
    fn next_due(&self, crawl: CrawlId) -> Result<Option<i64>>;
    /// Visits that are due later than `latest_ms` become due at `due_ms`: some of them, and how many.
    fn pull_in_visits(&mut self, crawl: CrawlId, latest_ms: i64, due_ms: i64, limit: usize) -> Result<usize>;
    /// Writes the record of a settled URL anew, with its next visit.
    fn put_record(&mut self, crawl: CrawlId, url: &CanonicalUrl, record: &UrlRecord) -> Result<()>;
    /// Queues settled URLs again. Those that are not settled, or not planned for a visit, stay as they are.
    fn revisit(&mut self, crawl: CrawlId, visits: Vec<Candidate>, now_ms: i64) -> Result<()>;
    /// Ends all visits to the URLs of a host, a batch at a time, and names those that had been saved.
    fn forget(&mut self, crawl: CrawlId, host: &HostKey, from: &[u8], limit: usize) -> Result<Forgotten>;
    /// Ends all visits to a URL, known or not. True when it had been saved.
    fn forget_url(&mut self, crawl: CrawlId, url: &CanonicalUrl) -> Result<bool>;
    /// Takes back [`Frontier::forget`], a batch at a time: the URLs that the crawl knew are due from the time given on.
    fn unforget(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        from: &[u8],
        limit: usize,
        due_ms: i64,
    ) -> Result<Unforgotten>;
    /// The same for one URL; `None` when it was not forgotten, or not known before.
    fn unforget_url(&mut self, crawl: CrawlId, url: &CanonicalUrl, due_ms: i64) -> Result<Option<UrlRecord>>;

    /// Every URL of the crawl that is settled. For tests and exports: reads the whole crawl.
    fn settled_urls(&self, crawl: CrawlId) -> Result<Vec<UrlRecord>>;

    /// Hosts of a crawl in the order in which they may be visited, with that time.
    fn ready(&self, crawl: CrawlId, limit: usize) -> Result<Vec<(i64, HostKey)>>;
    /// The same behind a host, as long as it stays where it was.
    fn ready_after(&self, crawl: CrawlId, after: Option<&(i64, HostKey)>, limit: usize) -> Result<Vec<(i64, HostKey)>>;
    /// Whether anything of the host waits, retries included.
    fn has_work(&self, crawl: CrawlId, host: &HostKey) -> Result<bool>;
    /// Puts a host back by what it still has: ready at the time given, later when only retries are left, or done. One that
    /// is ready at [`PARKED`] stands behind all others and never comes up.
    fn requeue_host(&mut self, crawl: CrawlId, host: &HostKey, ready_ms: i64) -> Result<()>;

    /// Parked hosts of a crawl, in the order of their keys, behind the one given.
    fn parked(&self, crawl: CrawlId, after: Option<&HostKey>, limit: usize) -> Result<Vec<HostKey>>;
    /// Hosts with something waiting and without a lease, over all crawls, from a key on; each with the key behind it.
    fn waiting_hosts(&self, from: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, HostKey)>>;

    /// Hosts that would be ready later than `latest_ms`, and are not parked, are ready then: some of them.
    fn pull_in_hosts(&mut self, crawl: CrawlId, latest_ms: i64, limit: usize) -> Result<Vec<HostKey>>;

    fn host(&self, host: &HostKey) -> Result<HostRecord>;
    /// Hosts that have been leased at least once, by name, from a name on.
    fn hosts(&self, from: &str, limit: usize) -> Result<Vec<HostRecord>>;
    fn put_host(&mut self, record: &HostRecord) -> Result<()>;
    /// Notes where a host is now.
    fn move_host(&mut self, record: &HostRecord, address: &str) -> Result<()>;
    /// The hosts that were last found at an address.
    fn hosts_at(&self, address: AddressKey, limit: usize) -> Result<Vec<HostKey>>;
    fn address(&self, address: AddressKey) -> Result<AddressRecord>;
    fn put_address(&mut self, address: AddressKey, record: &AddressRecord) -> Result<()>;
    fn robots(&self, host: &HostKey) -> Result<Vec<Robots>>;
    fn put_robots(&mut self, host: &HostKey, robots: &Robots) -> Result<()>;

    /// Takes the host out of the ready index and records the lease, with the host's record.
    fn grant(&mut self, lease: &LeaseRecord, host: &HostRecord) -> Result<()>;
    /// Removes the lease and stores the host's record; [`Frontier::requeue_host`] follows.
    fn release(&mut self, token: u64, host: &HostRecord) -> Result<()>;
    /// Writes a lease again that has changed.
    fn put_lease(&mut self, lease: &LeaseRecord) -> Result<()>;
    fn leases(&self) -> Result<Vec<LeaseRecord>>;
    /// Hosts that an administrator has blocked.
    fn blocks(&self) -> Result<Vec<BlockRecord>>;
    fn put_block(&mut self, block: &BlockRecord) -> Result<()>;
    fn remove_block(&mut self, pattern: &str) -> Result<()>;
    /// What is to be forgotten and is not out of every tier yet, in the order in which it was asked for.
    fn forgettings(&self) -> Result<Vec<ForgettingRecord>>;
    fn put_forgetting(&mut self, forgetting: &ForgettingRecord) -> Result<()>;
    fn remove_forgetting(&mut self, id: u64) -> Result<()>;
    /// What is known of a crawl's pages as a whole, for planning visits, as it was stored.
    fn planning(&self, crawl: CrawlId) -> Result<Option<Vec<u8>>>;
    fn put_planning(&mut self, crawl: CrawlId, planning: &[u8]) -> Result<()>;
    /// The map of slots to collectors, as it was stored.
    fn slots(&self) -> Result<Option<Vec<u8>>>;
    fn put_slots(&mut self, slots: &[u8]) -> Result<()>;
    /// When the Monitor was at work last, as it was stored.
    fn at_work(&self) -> Result<Option<AtWorkRecord>>;
    fn put_at_work(&mut self, at_work: &AtWorkRecord) -> Result<()>;
    fn next_token(&mut self) -> Result<u64>;
    /// Begins an epoch that is higher than every earlier one of this frontier, and than `above`; durable when it is told.
    fn begin_epoch(&mut self, above: u64) -> Result<u64>;

    /// A handle with which another thread makes durable what has been written so far.
    fn syncer(&self) -> Arc<dyn Durable>;
}

/// Makes durable everything written before the call.
pub trait Durable: Send + Sync {
    fn sync(&self) -> Result<()>;
}
