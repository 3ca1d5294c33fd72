//! What the keeper tells of its state every few seconds, for `/metrics`.

use seine_proto::monitor::v1::CrawlState;

use super::Keeper;
use crate::Result;
use crate::metrics::{CrawlSample, Sample};

const SAMPLE_EVERY_MS: i64 = 5_000;
/// Waiting hosts are counted up to here, so that counting takes milliseconds.
const HOSTS_COUNTED: usize = 10_000;

impl Keeper {
    pub(super) fn sample_metrics(&mut self, now: i64) -> Result<()> {
        if self.upkeep.sampled_ms.is_some_and(|last| now - last < SAMPLE_EVERY_MS) {
            return Ok(());
        }
        self.upkeep.sampled_ms = Some(now);
        self.sample()?.publish();
        Ok(())
    }

    fn sample(&self) -> Result<Sample> {
        // Those that run go first, and of the others those that were begun last.
        let mut crawls: Vec<_> = self.crawls.iter().rev().collect();
        crawls.sort_by_key(|(_, crawl)| crawl.record.state() != CrawlState::Running);
        let sampled = crawls.into_iter().map(|(id, crawl)| {
            let progress = self.frontier.progress(*id);
            let name = crawl.record.settings.name.clone();
            CrawlSample { name, queued: progress.queued, pages: progress.pages }
        });
        Ok(Sample {
            active_leases: self.leases.iter().count(),
            hosts_waiting: self.frontier.waiting_hosts(&[], HOSTS_COUNTED)?.0.len(),
            crawls: sampled.collect(),
        })
    }
}
