//! The time in which nothing can be saved: which pages wait for its end, and when one of them is tried again.
//!
//! Pure; the courier does what it says. One page at a time is tried, with growing pauses, and when one is saved, all go.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::backoff::Backoff;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct Outage {
    waiting: VecDeque<u64>,
    /// The page that is being tried.
    trying: Option<u64>,
    try_at: Instant,
    pauses: Backoff,
}

impl Outage {
    pub fn new(now: Instant) -> Self {
        let mut pauses = Backoff::between(FIRST_PAUSE, LONGEST_PAUSE);
        Self { waiting: VecDeque::new(), trying: None, try_at: now + pauses.pause(), pauses }
    }

    /// The page waits for the end, having been refused or not been sent.
    pub fn add(&mut self, page: u64, now: Instant) {
        if self.trying == Some(page) {
            self.trying = None;
            self.try_at = now + self.pauses.pause();
        }
        if !self.waiting.contains(&page) {
            self.waiting.push_back(page);
        }
    }

    /// The page was answered for, in a way that tells nothing about the others.
    pub fn remove(&mut self, page: u64, now: Instant) {
        if self.trying == Some(page) {
            self.trying = None;
            self.try_at = now;
        }
        self.waiting.retain(|waiting| *waiting != page);
    }

    /// When the next page is to be tried; `None` while one is.
    pub fn try_at(&self) -> Option<Instant> {
        self.trying.is_none().then_some(self.try_at)
    }

    /// The page to be tried now. Another one each time: it may be one page that does not fit.
    pub fn next(&mut self) -> Option<u64> {
        debug_assert!(self.trying.is_none());
        self.trying = self.waiting.pop_front();
        self.trying
    }

    /// It is over: the pages that waited.
    pub fn end(self) -> impl Iterator<Item = u64> {
        self.waiting.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_at_a_time_is_tried_each_in_its_turn_with_growing_pauses() {
        let start = Instant::now();
        let mut outage = Outage::new(start);
        for page in [1, 2, 3] {
            outage.add(page, start);
        }
        let mut pauses = Vec::new();
        for expected in [1, 2, 3, 1, 2, 3, 1] {
            let now = outage.try_at().unwrap();
            assert_eq!(outage.next(), Some(expected));
            assert_eq!(outage.try_at(), None, "one at a time");
            outage.add(expected, now);
            pauses.push(outage.try_at().unwrap() - now);
        }
        assert!(pauses.is_sorted() && pauses[0] == 2 * FIRST_PAUSE && pauses[6] == LONGEST_PAUSE, "{pauses:?}");
        outage.remove(2, start);
        assert_eq!(outage.end().collect::<Vec<_>>(), [3, 1]);
    }

    #[test]
    fn a_page_that_fails_by_itself_gives_its_turn_to_the_next_at_once() {
        let start = Instant::now();
        let mut outage = Outage::new(start);
        outage.add(1, start);
        outage.add(2, start);
        let now = outage.try_at().unwrap();
        assert_eq!(outage.next(), Some(1));
        outage.remove(1, now);
        assert_eq!((outage.try_at(), outage.next()), (Some(now), Some(2)));
    }
}
