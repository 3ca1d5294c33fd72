//! Growing pauses between attempts to reach another tier.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: SHORTEST }
    }
}

impl Backoff {
    /// How long to wait before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (self.next * 2).min(LONGEST);
        pause
    }

    /// The other side answered.
    pub fn succeeded(&mut self) {
        self.next = SHORTEST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..8).map(|_| backoff.pause()).collect();
        assert!(pauses.is_sorted() && pauses[0] == SHORTEST && pauses[7] == LONGEST);
        backoff.succeeded();
        assert_eq!(backoff.pause(), SHORTEST);
    }
}
