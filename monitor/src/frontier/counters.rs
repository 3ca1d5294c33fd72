//! The counters of a crawl in the store: what a change adds to them lies where the change does, so that it is counted if and only
//! if it happened, wherever a host lies; their sum counts.

use prost::Message;

use super::{Frontier, key};
use crate::Result;
use crate::record::{CrawlId, CrawlProgress, decode};
use crate::store::{Batch, COUNTERS, Counted};

impl Frontier {
    pub(super) fn stored_progress(&self, crawl: CrawlId) -> Result<CrawlProgress> {
        Ok(match self.store.counted(&key::meta::progress(crawl.0))? {
            Counted::Total(None) => CrawlProgress::default(),
            Counted::Total(Some(bytes)) => decode(&bytes, "progress")?,
            // A sum is negative only where a part of it was lost.
            Counted::Sum(sum) => CrawlProgress::of_counters(sum.map(|counter| counter.max(0) as u64)),
        })
    }

    /// Adds to a batch, in the slot that it is at, what has changed since the last time.
    pub(super) fn put_progress(&mut self, batch: &mut Batch, crawl: CrawlId) {
        let progress = self.progress(crawl);
        let before = self.counted.insert(crawl, progress).unwrap_or_default();
        if before == progress {
            return;
        }
        let mut added = [0; COUNTERS];
        let changes = progress.counters().into_iter().zip(before.counters());
        added.iter_mut().zip(changes).for_each(|(added, (now, before))| *added = now.wrapping_sub(before) as i64);
        batch.count(&key::meta::progress(crawl.0), added, progress.encode_to_vec());
    }
}

impl CrawlProgress {
    /// In the order of the fields' numbers.
    pub(super) fn counters(&self) -> [u64; COUNTERS] {
        [
            self.pages,
            self.failed,
            self.refused_by_robots,
            self.duplicates,
            self.bytes,
            self.redirected,
            self.queued,
            self.excluded,
            self.not_indexed,
            self.unwanted,
            self.sequence,
            self.gone,
            self.revisits,
            self.unchanged,
            self.revisits_queued,
            self.breadth_queued,
            self.deferred,
        ]
    }

    pub(super) fn of_counters(counters: [u64; COUNTERS]) -> Self {
        let [
            pages,
            failed,
            refused_by_robots,
            duplicates,
            bytes,
            redirected,
            queued,
            excluded,
            not_indexed,
            unwanted,
            sequence,
            gone,
            revisits,
            unchanged,
            revisits_queued,
            breadth_queued,
            deferred,
        ] = counters;
        Self {
            pages,
            failed,
            refused_by_robots,
            duplicates,
            bytes,
            redirected,
            queued,
            excluded,
            not_indexed,
            unwanted,
            sequence,
            gone,
            revisits,
            unchanged,
            revisits_queued,
            breadth_queued,
            deferred,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_the_order_of_their_fields_numbers() {
        let numbers: [u64; COUNTERS] = std::array::from_fn(|at| at as u64 + 1);
        let progress = CrawlProgress::of_counters(numbers);
        assert_eq!(progress.counters(), numbers);
        let fields = progress.encode_to_vec();
        let read = |at: usize| u64::from(fields.get(at..).map_or(0, |rest| rest[0]));
        // A tag below 16 takes one byte, a later one two.
        let tags_and_values = [(0, 8), (1, 1), (2, 16), (3, 2)];
        assert!(tags_and_values.iter().all(|(at, expected)| read(*at) == *expected), "{fields:?}");
    }
}
