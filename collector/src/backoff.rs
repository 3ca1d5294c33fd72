//! Growing pauses between attempts to reach another tier.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    shortest: Duration,
    longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::between(SHORTEST, LONGEST)
    }
}

impl Backoff {
    pub fn between(shortest: Duration, longest: Duration) -> Self {
        Self { next: shortest, shortest, longest }
    }

    /// How long to wait before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (self.next * 2).min(self.longest);
        pause
    }

    /// The other side answered.
    pub fn succeeded(&mut self) {
        self.next = self.shortest;
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
