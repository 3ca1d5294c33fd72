//! When a host may be asked again. Pure: times come in and go out as Unix milliseconds, chance as a number.
//!
//! Responsible for: the delay between requests, the general pause of a host or an address, what a server asks for
//! (Crawl-delay, 429, 503, Retry-After), skipping a host that keeps failing, retries of one URL, and the rest after a
//! collector was lost. The longest wins. Not responsible for: robots.txt rules (the collector's) or for keeping time.
//!
//! Invariant: a stored time never makes a host wait longer than [`MAX_WAIT_MS`] from now, whatever the clock did.

mod pace;
mod address;
mod trouble;

pub use address::AddressPause;
pub use pace::HostPace;
pub use trouble::{FAILED_ANSWER, NO_ANSWER, Skip, block_until, forgive, skip};

use crate::crawl::MAX_DELAY_MS;

/// The longest that a host is left alone: a server may ask for a day, a wrong clock for no more.
pub const MAX_WAIT_MS: i64 = 24 * 60 * 60 * 1000;

/// What the clocks of two machines may differ by.
pub const CLOCKS_DIFFER_MS: i64 = 5 * 60 * 1000;

/// How long a URL waits after its first failure; each further one takes [`RETRY_GROWTH`] times as long.
const FIRST_RETRY_MS: i64 = 2_000;
const RETRY_GROWTH: i64 = 4;
const LONGEST_RETRY_MS: i64 = 60 * 60 * 1000;

/// The time between two request starts to a host.
pub fn effective_delay_ms(crawl_delay_ms: u32, host_asks_ms: u32) -> i64 {
    i64::from(crawl_delay_ms.max(host_asks_ms).min(MAX_DELAY_MS))
}

/// When a host whose lease was given back may be asked again.
pub fn after_return(now_ms: i64, since_last_request_ms: Option<u32>, delay_ms: i64) -> i64 {
    match since_last_request_ms {
        Some(since) => now_ms + (delay_ms - i64::from(since)).max(0),
        None => now_ms,
    }
}

/// When a host whose collector is gone may be asked again: its last request may have started this very moment.
pub fn after_loss(now_ms: i64, delay_ms: i64) -> i64 {
    now_ms + delay_ms
}

/// A stored time as it counts now.
pub fn clamp(now_ms: i64, stored_ms: i64) -> i64 {
    stored_ms.min(now_ms + MAX_WAIT_MS)
}

/// Whether something that was found out at a stored time still holds. What a clock that was ahead dated into the future
/// does not: it would for as long as that clock was wrong by.
pub fn is_fresh(now_ms: i64, found_ms: i64, fresh_ms: i64) -> bool {
    let age = now_ms.saturating_sub(found_ms);
    (-CLOCKS_DIFFER_MS..fresh_ms).contains(&age)
}

/// How long a URL waits after its `attempt`-th failure (from 1), or `None` when it is given up.
pub fn retry_after_failure(attempt: u32, max_attempts: u32) -> Option<i64> {
    let growth = RETRY_GROWTH.saturating_pow(attempt.saturating_sub(1));
    (attempt < max_attempts).then(|| FIRST_RETRY_MS.saturating_mul(growth).min(LONGEST_RETRY_MS))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_delay_since_the_last_request_is_always_kept(now in 0i64..1 << 40, since: u32, crawl: u32, host: u32) {
            let delay = effective_delay_ms(crawl, host);
            let next = after_return(now, Some(since), delay);
            prop_assert!(next - (now - i64::from(since)) >= delay);
            prop_assert!(next >= now);
        }

        #[test]
        fn the_longest_of_two_delays_holds_up_to_the_limit(crawl: u32, host: u32) {
            let delay = effective_delay_ms(crawl, host);
            prop_assert!(delay >= i64::from(crawl.min(MAX_DELAY_MS)) && delay >= i64::from(host.min(MAX_DELAY_MS)));
            prop_assert!(delay <= i64::from(MAX_DELAY_MS));
        }

        #[test]
        fn a_clock_that_jumped_makes_nobody_wait_for_ever(now in 0i64..1 << 40, stored: i64) {
            prop_assert!(clamp(now, stored) <= now + MAX_WAIT_MS);
        }

        #[test]
        fn what_was_found_out_in_the_future_is_not_fresh(now in 0i64..1 << 40, age: i64, fresh in 0i64..1 << 30) {
            let found = now.saturating_sub(age);
            prop_assert_eq!(is_fresh(now, found, fresh), age >= -CLOCKS_DIFFER_MS && age < fresh);
        }

        #[test]
        fn retries_grow_and_end(max_attempts in 1u32..100) {
            let waits: Vec<_> = (1..=max_attempts).map(|attempt| retry_after_failure(attempt, max_attempts)).collect();
            prop_assert!(waits.iter().flatten().is_sorted());
            prop_assert_eq!(waits.iter().flatten().count() as u32, max_attempts - 1);
            prop_assert!(waits.iter().flatten().all(|wait| (FIRST_RETRY_MS..=LONGEST_RETRY_MS).contains(wait)));
        }
    }

    #[test]
    fn a_lost_collector_costs_its_host_one_full_delay() {
        assert_eq!(after_loss(1_000, 500), 1_500);
    }
}
