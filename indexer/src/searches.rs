//! Tells the indexer that somebody searches: making pages findable soon is worth work while somebody looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Somebody who searched is taken to look again for so long.
const LASTING: Duration = Duration::from_secs(30);
const NEVER: u64 = u64::MAX;

/// Clones are one. A query in another process is not seen.
#[derive(Clone, Debug)]
pub struct Searches {
    begun: Instant,
    /// Time of the last search, since then.
    last_ms: Arc<AtomicU64>,
}

impl Default for Searches {
    fn default() -> Self {
        Self { begun: Instant::now(), last_ms: Arc::new(AtomicU64::new(NEVER)) }
    }
}

impl Searches {
    pub fn note(&self, now: Instant) {
        self.last_ms.store(now.duration_since(self.begun).as_millis() as u64, Ordering::Relaxed);
    }

    pub fn are_recent(&self, now: Instant) -> bool {
        match self.last_ms.load(Ordering::Relaxed) {
            NEVER => false,
            last_ms => now < self.begun + Duration::from_millis(last_ms) + LASTING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_recent_for_a_while_and_seen_by_all_clones() {
        let searches = Searches::default();
        let (seen, now) = (searches.clone(), Instant::now());
        assert!(!seen.are_recent(now));
        searches.note(now);
        assert!(seen.are_recent(now) && seen.are_recent(now + LASTING / 2) && !seen.are_recent(now + LASTING));
    }
}
