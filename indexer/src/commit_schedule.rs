//! When the worker commits. Pure: what happened and the time in, the time of the next commit out.
//!
//! What was applied is committed after the interval that the settings name. A *hot* stretch, in which documents come as fast as
//! a crawl can make them, is committed more rarely while nobody searches: each commit closes a segment, opens all columns again
//! and syncs, and many small segments have to be merged later. So whoever comes finds what is at most [`HOT_INTERVALS`] old, and
//! commits take a small share of the time.

use std::time::Duration;

use tokio::time::Instant;

/// Documents per second that no polite crawl of a few sites makes.
const HOT_DOCUMENTS_PER_SECOND: f64 = 100.0;
/// Intervals between two commits while it is hot and nobody searches.
const HOT_INTERVALS: u32 = 3;

#[derive(Debug)]
pub struct CommitSchedule {
    interval: Duration,
    /// When the first entry came that is not committed; also set while work that nobody waits for is left.
    begun: Option<Instant>,
    documents: usize,
    /// What came between the last two commits was hot.
    was_hot: bool,
}

impl CommitSchedule {
    pub fn new(interval: Duration) -> Self {
        Self { interval, begun: None, documents: 0, was_hot: false }
    }

    /// Something is to be done after the interval.
    pub fn begin(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
    }

    pub fn applied(&mut self, documents: usize, now: Instant) {
        self.begin(now);
        self.documents += documents;
    }

    /// `None` while there is nothing to do.
    pub fn due(&self, somebody_searches: bool) -> Option<Instant> {
        let intervals = if self.was_hot && !somebody_searches { HOT_INTERVALS } else { 1 };
        self.begun.map(|begun| begun + self.interval * intervals)
    }

    /// Documents came since the last commit.
    pub fn is_busy(&self) -> bool {
        self.documents > 0
    }

    /// Everything is committed. True if what came since the last time was hot.
    pub fn done(&mut self, now: Instant) -> bool {
        let seconds = self.begun.take().map_or(Duration::ZERO, |begun| now - begun).max(self.interval).as_secs_f64();
        let documents = std::mem::take(&mut self.documents) as f64;
        self.was_hot = documents / seconds > HOT_DOCUMENTS_PER_SECOND;
        self.was_hot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(2);

    #[test]
    fn what_comes_slowly_is_committed_after_the_interval() {
        let start = Instant::now();
        let mut schedule = CommitSchedule::new(INTERVAL);
        assert_eq!((schedule.due(false), schedule.is_busy()), (None, false));
        schedule.applied(5, start);
        schedule.applied(5, start + Duration::from_secs(1));
        assert_eq!((schedule.due(false), schedule.is_busy()), (Some(start + INTERVAL), true));
        assert!(!schedule.done(start + INTERVAL));
        assert_eq!((schedule.due(false), schedule.is_busy()), (None, false));
    }

    #[test]
    fn what_comes_fast_is_committed_more_rarely_from_the_second_time_on_until_it_is_slow_again() {
        let start = Instant::now();
        let mut schedule = CommitSchedule::new(INTERVAL);
        schedule.applied(1000, start);
        assert_eq!(schedule.due(false), Some(start + INTERVAL));
        assert!(schedule.done(start + INTERVAL));
        schedule.applied(10, start);
        assert_eq!(schedule.due(false), Some(start + INTERVAL * HOT_INTERVALS));
        assert_eq!(schedule.due(true), Some(start + INTERVAL), "somebody looks");
        assert!(!schedule.done(start + INTERVAL * HOT_INTERVALS));
        schedule.begin(start);
        assert_eq!((schedule.due(false), schedule.is_busy()), (Some(start + INTERVAL), false));
    }
}
