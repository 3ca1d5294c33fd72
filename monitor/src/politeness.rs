//! When a host may be asked again. Pure: times come in and go out as Unix milliseconds.
//!
//! Responsible for: the delay between requests, what a server asks for (Crawl-delay, Retry-After), and the rest after a
//! collector was lost. The longest wins. Not responsible for: robots.txt rules (the collector's) or for keeping time.
//!
//! Invariant: a stored time never makes a host wait longer than [`MAX_WAIT_MS`] from now, whatever the clock did.

use crate::crawl::MAX_DELAY_MS;

/// The longest that a host is left alone: a server may ask for a day, a wrong clock for no more.
pub const MAX_WAIT_MS: i64 = 24 * 60 * 60 * 1000;

/// How long a host rests after 429 or 503 without Retry-After; doubles with each further one.
const FIRST_BLOCK_MS: i64 = 10_000;

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

/// Until when a host that asked for patience is left alone.
pub fn block_until(now_ms: i64, retry_after_s: u32, earlier_blocks: u32) -> i64 {
    let asked = i64::from(retry_after_s) * 1000;
    let wait = if asked > 0 { asked } else { FIRST_BLOCK_MS << earlier_blocks.min(13) };
    now_ms + wait.min(MAX_WAIT_MS)
}

/// A stored time as it counts now.
pub fn clamp(now_ms: i64, stored_ms: i64) -> i64 {
    stored_ms.min(now_ms + MAX_WAIT_MS)
}

/// How long a URL waits after its `attempt`-th failure (from 1), or `None` when it is given up.
pub fn retry_after_failure(attempt: u32) -> Option<i64> {
    const INTERVALS_MS: [i64; 2] = [2_000, 8_000];
    INTERVALS_MS.get(attempt.saturating_sub(1) as usize).copied()
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
        fn a_server_cannot_stop_a_crawl_for_more_than_a_day(retry_after: u32, blocks: u32, now in 0i64..1 << 40) {
            let until = block_until(now, retry_after, blocks);
            prop_assert!(until > now && until <= now + MAX_WAIT_MS);
        }

        #[test]
        fn a_clock_that_jumped_makes_nobody_wait_for_ever(now in 0i64..1 << 40, stored: i64) {
            prop_assert!(clamp(now, stored) <= now + MAX_WAIT_MS);
        }
    }

    #[test]
    fn a_lost_collector_costs_its_host_one_full_delay() {
        assert_eq!(after_loss(1_000, 500), 1_500);
    }
}
