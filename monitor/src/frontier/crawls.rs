//! Crawls and their counters.
//!
//! Counters are in memory too, and are written with whatever changes them. What kept links out is counted in memory and
//! written [now and then](Frontier::save_exclusions).

use prost::Message;

use super::exclusions::Exclusions;
use super::{Frontier, key};
use crate::Result;
use crate::place::Class;
use crate::record::{CrawlId, CrawlProgress, CrawlRecord, ExclusionRecord};
use crate::store::{Batch, Slot, Table};

impl Frontier {
    pub fn crawls(&self) -> Result<Vec<CrawlRecord>> {
        self.read_all(Slot::HOME, Table::Crawls, key::meta::CRAWLS, "crawl")
    }

    pub fn put_crawl(&mut self, crawl: &CrawlRecord) -> Result<()> {
        self.progress.entry(CrawlId(crawl.id)).or_default();
        self.put(Slot::HOME, Table::Crawls, key::meta::crawl(crawl.id), crawl.encode_to_vec())
    }

    pub fn progress(&self, crawl: CrawlId) -> CrawlProgress {
        self.progress.get(&crawl).copied().unwrap_or_default()
    }

    /// The next parent sequence number of the crawl.
    pub fn next_sequence(&mut self, crawl: CrawlId) -> u64 {
        let progress = self.progress.entry(crawl).or_default();
        progress.sequence += 1;
        progress.sequence
    }

    /// Counts a link that a rule kept out. Durable only after [`Frontier::save_exclusions`].
    pub fn count_excluded(&mut self, crawl: CrawlId, rule: &str, url: &str) {
        self.progress.entry(crawl).or_default().excluded += 1;
        self.exclusions.entry(crawl).or_default().count(rule, url);
    }

    /// Rules that kept links out, the most frequent first.
    pub fn exclusions(&self, crawl: CrawlId) -> Vec<ExclusionRecord> {
        self.exclusions.get(&crawl).map(Exclusions::most_frequent_first).unwrap_or_default()
    }

    pub fn save_exclusions(&mut self) -> Result<()> {
        let mut batch = Batch::at_home();
        for (crawl, exclusions) in &mut self.exclusions {
            if let Some(records) = exclusions.take_changed() {
                batch.put(Table::Meta, key::meta::exclusions(crawl.0), records.encode_to_vec());
            }
        }
        self.write(batch)
    }

    /// What is known of a crawl's pages as a whole, for planning visits, as it was stored.
    pub fn planning(&self, crawl: CrawlId) -> Result<Option<Vec<u8>>> {
        self.store.get(Slot::HOME, Table::Meta, &key::meta::planning(crawl.0))
    }

    pub fn put_planning(&mut self, crawl: CrawlId, planning: &[u8]) -> Result<()> {
        self.put(Slot::HOME, Table::Meta, key::meta::planning(crawl.0), planning)
    }

    pub(super) fn read_counters(&mut self) -> Result<()> {
        for crawl in self.crawls()? {
            let progress = self.stored_progress(CrawlId(crawl.id))?;
            self.progress.insert(CrawlId(crawl.id), progress);
            self.counted.insert(CrawlId(crawl.id), progress);
            let exclusions = self.read(Slot::HOME, Table::Meta, &key::meta::exclusions(crawl.id), "exclusions")?;
            self.exclusions.insert(CrawlId(crawl.id), Exclusions::of(exclusions.unwrap_or_default()));
        }
        Ok(())
    }
}

impl CrawlProgress {
    /// The counter of those queued URLs whose class is counted.
    pub fn count_class(&mut self, class: Class, change: i64) {
        let counter = match class {
            Class::Revisit => &mut self.revisits_queued,
            Class::Breadth => &mut self.breadth_queued,
            Class::Deferred => &mut self.deferred,
            Class::Ordinary => return,
        };
        *counter = counter.saturating_add_signed(change);
    }
}
