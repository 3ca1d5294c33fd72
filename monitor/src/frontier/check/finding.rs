//! Finding the names of URLs again of which only fingerprints are left: in seeds, redirects and the links of logged pages.
//!
//! No rule is asked: they had been let in before.

use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::Description;
use seine_proto::monitor::v1::{OutcomeKind, Strategy};

use super::super::Candidate;
use super::super::key::UrlAt;
use super::{Check, Damage, crawl_of};
use crate::Result;
use crate::place::Order;
use crate::record::{CrawlId, QueueEntry, UrlRecord};

impl Check<'_> {
    /// Seeds enter a crawl before all else. Whether one was forgotten, or is of a crawl that never began, is not known here.
    pub(super) fn seeds(&mut self) -> Result<()> {
        if self.lost.is_empty() {
            return Ok(());
        }
        for crawl in self.frontier.crawls()? {
            for seed in &crawl.settings.seeds {
                let Ok(url) = CanonicalUrl::parse(seed) else { continue };
                let id = CrawlId(crawl.id);
                if self.lost.contains(&self.frontier.url_at(id, &url).key) {
                    self.found(Damage::SeedMissing, || seed.clone());
                    let entry = QueueEntry { seed: true, ..QueueEntry::default() };
                    self.let_in_again(id, url, entry)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn follow_redirect(&mut self, at: &UrlAt, record: &UrlRecord) -> Result<()> {
        if self.lost.is_empty() || record.outcome.kind() != OutcomeKind::Redirected {
            return Ok(());
        }
        let Ok(url) = CanonicalUrl::parse(&record.outcome.detail) else { return Ok(()) };
        let entry = QueueEntry {
            depth: record.entry.depth,
            redirect_hops: record.entry.redirect_hops + 1,
            seed: record.entry.seed,
            discovered_from: record.entry.url.clone(),
            sitemap_level: record.entry.sitemap_level,
            ..QueueEntry::default()
        };
        self.let_in_again(crawl_of(&at.key)?, url, entry)
    }

    pub(super) fn find_lost_links(&mut self, crawl: CrawlId, page: &Description) -> Result<()> {
        for link in &page.links {
            let Ok(url) = CanonicalUrl::parse(&link.url) else { continue };
            let entry = QueueEntry {
                depth: page.depth.saturating_add(1),
                discovered_from: page.url.clone(),
                expected_usability: page.usability,
                ..QueueEntry::default()
            };
            self.let_in_again(crawl, url, entry)?;
        }
        Ok(())
    }

    /// A URL that is lost gets a place as if it had just been found.
    fn let_in_again(&mut self, crawl: CrawlId, url: CanonicalUrl, entry: QueueEntry) -> Result<()> {
        let key = self.frontier.url_at(crawl, &url).key;
        // One that a log has itself is restored from there.
        if !self.mends || self.missing.contains_key(&key) || !self.lost.remove(&key) {
            return Ok(());
        }
        let order = match self.strategies.get(&crawl) {
            Some(Strategy::BreadthFirst) => Order::BreadthFirst,
            Some(Strategy::BoundedBreadth) => Order::BoundedBreadth,
            _ => Order::DepthFirst,
        };
        let sequence = self.frontier.next_sequence(crawl);
        let place = order.place(entry.depth, sequence, 0);
        let entry = QueueEntry { url: url.as_str().to_owned(), ..entry };
        self.frontier.admit(crawl, &[Candidate { host: url.host(), url, place, entry }], self.now_ms)?;
        self.report.found_again += 1;
        self.woken.insert(crawl);
        Ok(())
    }
}
