//! Whether the tables of a frontier agree with each other and with the description logs, and putting back what a store lost.
//!
//! What a store loses is lost in pieces: a killed master may have had the entry of a queue and not the one of the sieve. Each kind
//! of [`Damage`] is found by walking one table and looking up what must stand in another, and mended at once when that is wanted:
//! what is found and what is mended is one piece of code. No page and no record is deleted; entries that name nothing are.
//!
//! Order: [`Check::tables`] → [`Check::log_entries`] for all logs → [`Check::has_to_restore`] → where it says so [`Check::restore`] for all logs →
//! [`Check::end`]. Nobody else may write meanwhile. Values that cannot be read are an error and not
//! damage: they are not the mark of a loss.

mod damage;
mod waiting;
mod known;
mod hosts;
mod counted;
mod finding;
mod logs;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use seine_proto::monitor::v1::Strategy;

use super::Frontier;
use super::key::{self, HOST_BYTES, URL_BYTES};
use crate::record::CrawlId;
use crate::store::{Entry, Slot, Store, Table};
use crate::{MonitorError, Result};
pub use damage::{Damage, Found, Report};
use logs::{Missing, Version};

/// Entries that are read together.
const AT_ONCE: usize = 5_000;

/// Told what is being looked at, and how many entries of it so far.
pub type Watch<'w> = &'w mut dyn FnMut(&'static str, u64);

pub struct Check<'f> {
    frontier: &'f mut Frontier,
    mends: bool,
    now_ms: i64,
    report: Report,
    /// URLs of which only fingerprints are left.
    lost: HashSet<[u8; URL_BYTES]>,
    /// Where pages stand in the archive, of all log entries: hashes of the positions.
    logged: HashSet<u64>,
    missing: HashMap<[u8; URL_BYTES], Missing>,
    /// The last withdrawal of each URL in the logs, by its fingerprint.
    withdrawn: HashMap<u64, Version>,
    leased: HashSet<[u8; HOST_BYTES]>,
    /// Hosts whose use was lost.
    counted_anew: HashSet<[u8; HOST_BYTES]>,
    /// The highest sequence number in a place, of each crawl.
    sequences: HashMap<CrawlId, u64>,
    crawls: HashMap<String, CrawlId>,
    strategies: HashMap<CrawlId, Strategy>,
    /// Crawls that have something to do again.
    woken: HashSet<CrawlId>,
    entries_read: u64,
}

/// Opens the frontier in a store that must have one: without its polynomial, its keys mean nothing.
pub fn open(store: Box<dyn Store>) -> Result<Frontier> {
    let has_polynomial = store.has(Slot::HOME, Table::Meta, key::meta::POLYNOMIAL)?;
    if !has_polynomial && !store.walk(Table::Seen, &[], 1)?.entries.is_empty() {
        return Err(MonitorError::Corrupt("the number by which its keys are made, which is missing"));
    }
    Frontier::over_boxed(store)
}

impl<'f> Check<'f> {
    /// Finds damage, and with `mends` repairs it.
    pub fn new(frontier: &'f mut Frontier, mends: bool, now_ms: i64) -> Result<Self> {
        let known = frontier.crawls()?;
        let strategies = known.iter().map(|crawl| (CrawlId(crawl.id), crawl.settings.strategy())).collect();
        let crawls = known.into_iter().map(|crawl| (crawl.settings.name, CrawlId(crawl.id))).collect();
        Ok(Self {
            frontier,
            mends,
            now_ms,
            report: Report::default(),
            lost: HashSet::new(),
            logged: HashSet::new(),
            missing: HashMap::new(),
            withdrawn: HashMap::new(),
            leased: HashSet::new(),
            counted_anew: HashSet::new(),
            sequences: HashMap::new(),
            crawls,
            strategies,
            woken: HashSet::new(),
            entries_read: 0,
        })
    }

    /// Compares the tables with each other.
    pub fn tables(&mut self, watch: Watch<'_>) -> Result<()> {
        self.leases()?;
        self.each_stretch(Table::Queue, watch, Self::waiting)?;
        self.each_stretch(Table::Retries, watch, Self::waiting)?;
        self.raise_sequences()?;
        self.each_stretch(Table::Seen, watch, Self::seen)?;
        self.each_stretch(Table::Records, watch, Self::records)?;
        self.each_stretch(Table::Visits, watch, Self::visits)?;
        self.each_stretch(Table::Heads, watch, Self::heads)?;
        self.each_stretch(Table::Ready, watch, Self::ready)?;
        self.seeds()
    }

    /// Compares saved pages with the logs, as far as these were read, and counters with the tables; wakes crawls that have
    /// something to do again. `logs` are the names of those that were read from beginning to end.
    pub fn end(mut self, logs: &HashSet<String>, watch: Watch<'_>) -> Result<Report> {
        if !logs.is_empty() {
            self.saved_pages(logs, watch)?;
        }
        self.counters(watch)?;
        self.wake()?;
        self.report.entries = self.entries_read;
        self.report.not_found_again = self.lost.len() as u64;
        Ok(self.report)
    }

    fn each_stretch(
        &mut self,
        table: Table,
        watch: Watch<'_>,
        mut look: impl FnMut(&mut Self, Table, &[(Slot, Entry)]) -> Result<()>,
    ) -> Result<()> {
        let (mut cursor, mut entries) = (Vec::new(), 0);
        loop {
            let walked = self.frontier.store.walk(table, &cursor, AT_ONCE)?;
            entries += walked.entries.len() as u64;
            // A store that names no slot has all in one place.
            let stretch = walked.entries.into_iter().map(|(slot, entry)| (slot.unwrap_or(Slot::HOME), entry));
            look(self, table, &stretch.collect::<Vec<_>>())?;
            watch(table.name(), entries);
            cursor = walked.next;
            if cursor.is_empty() {
                self.entries_read += entries;
                return Ok(());
            }
        }
    }

    /// The values of keys in any order.
    fn values(&self, table: Table, keys: &[(Slot, &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|at| keys[*at].1);
        let sorted: Vec<(Slot, &[u8])> = order.iter().map(|at| keys[*at]).collect();
        let mut values = vec![None; keys.len()];
        for (at, value) in order.into_iter().zip(self.frontier.store.get_sorted(table, &sorted)?) {
            values[at] = value;
        }
        Ok(values)
    }

    fn found(&mut self, damage: Damage, example: impl FnOnce() -> String) {
        self.report.add(damage, example);
    }
}

fn crawl_of(key: &[u8]) -> Result<CrawlId> {
    let id = key.first_chunk().ok_or(MonitorError::Corrupt("key"))?;
    Ok(CrawlId(u32::from_be_bytes(*id)))
}
