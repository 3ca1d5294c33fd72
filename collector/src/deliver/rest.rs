//! The time in which an analyser is given nothing because it could not save, and how that ends.
//!
//! Pure. One page at a time is tried on it, with growing pauses; when one is saved, the rest is over.

use std::time::{Duration, Instant};

use super::dispatch::PageNumber;
use crate::backoff::Backoff;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
pub(super) enum Rest {
    /// It saves, as far as is known.
    #[default]
    None,
    Until {
        try_at: Instant,
        trying: Option<PageNumber>,
        pauses: Backoff,
    },
}

impl Rest {
    /// Nothing is known: one page is to be tried before others follow.
    pub fn probation(now: Instant) -> Self {
        Self::Until { try_at: now, trying: None, pauses: Backoff::between(FIRST_PAUSE, LONGEST_PAUSE) }
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// When a page is to be tried; `None` while one is.
    pub fn try_at(&self) -> Option<Instant> {
        match self {
            Self::Until { try_at, trying: None, .. } => Some(*try_at),
            _ => None,
        }
    }

    pub fn try_with(&mut self, page: PageNumber) {
        if let Self::Until { trying, .. } = self {
            debug_assert!(trying.is_none(), "one at a time");
            *trying = Some(page);
        }
    }

    /// The page could not be saved, because nothing can. Pages that were sent before the rest began tell nothing new.
    pub fn refused(&mut self, page: PageNumber, now: Instant) {
        if self.is_none() {
            *self = Self::probation(now);
            self.pause(now);
        }
        self.not_saved(page, now);
    }

    /// The page was not saved; if it was the one to tell, another does so later.
    pub fn not_saved(&mut self, page: PageNumber, now: Instant) {
        if self.is_trying(page) {
            self.pause(now);
        }
    }

    /// The page was answered for, in a way that tells nothing about the others.
    pub fn undecided(&mut self, page: PageNumber, now: Instant) {
        if self.is_trying(page)
            && let Self::Until { try_at, trying, .. } = self
        {
            (*trying, *try_at) = (None, now);
        }
    }

    fn is_trying(&self, page: PageNumber) -> bool {
        matches!(self, Self::Until { trying: Some(tried), .. } if *tried == page)
    }

    fn pause(&mut self, now: Instant) {
        if let Self::Until { try_at, trying, pauses } = self {
            (*trying, *try_at) = (None, now + pauses.pause());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_at_a_time_is_tried_with_growing_pauses() {
        let start = Instant::now();
        let mut rest = Rest::default();
        rest.refused(1, start);
        rest.refused(2, start);
        assert_eq!(rest.try_at(), Some(start + FIRST_PAUSE), "what was under way already does not count");
        let mut pauses = Vec::new();
        for page in 3..10 {
            let now = rest.try_at().unwrap();
            rest.try_with(page);
            assert_eq!(rest.try_at(), None, "one at a time");
            rest.refused(page, now);
            pauses.push(rest.try_at().unwrap() - now);
        }
        assert!(pauses.is_sorted() && pauses[0] == 2 * FIRST_PAUSE && pauses[6] == LONGEST_PAUSE, "{pauses:?}");
    }

    #[test]
    fn a_page_that_fails_by_itself_gives_its_turn_to_the_next_at_once() {
        let start = Instant::now();
        let mut rest = Rest::probation(start);
        rest.try_with(1);
        let now = start + FIRST_PAUSE;
        rest.undecided(2, now);
        assert_eq!(rest.try_at(), None);
        rest.undecided(1, now);
        assert_eq!(rest.try_at(), Some(now));
    }
}
