//! Hosts that ask for patience, and hosts that keep failing.
//!
//! 429 and 503 *block* a host: for as long as Retry-After says, or for a minute that doubles with every further block up
//! to a day. Blocks are forgiven after a quiet time. A host that fails many times in a row, without any answer that is a
//! page, is *skipped* with all its URLs for a while; when it still fails after that, longer each time, it is given up.

use super::MAX_WAIT_MS;
use crate::record::Trouble;

/// How long a host rests after 429 or 503 without Retry-After; doubles with each further one.
const FIRST_BLOCK_MS: i64 = 60_000;
/// A host that behaved for so long, and for at least as long as its last block, starts anew.
const QUIET_MS: i64 = 60 * 60 * 1000;
/// What a failure counts: no answer at all weighs more than an answer that says so.
pub const NO_ANSWER: u32 = 3;
pub const FAILED_ANSWER: u32 = 1;
/// So much in a row makes a host be skipped.
const TOO_MUCH: u32 = 8 * NO_ANSWER;
/// How long it is skipped; each further time takes [`SKIP_GROWTH`] times as long.
const FIRST_SKIP_MS: i64 = 60_000;
const SKIP_GROWTH: i64 = 4;
/// After so many times it is given up.
const SKIPS: u32 = 2;

impl Trouble {
    /// For a person, behind "rests until …".
    pub fn in_words(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Pause => "general pause after many requests",
            Self::Blocked => "it asked for patience (429 or 503)",
            Self::Failing => "it keeps failing and is skipped",
        }
    }
}

/// Until when a host that asked for patience is left alone. What it asks for is taken as it is; to our own waits up to a
/// tenth is added by chance, so that hosts that were blocked together do not come back together.
pub fn block_until(now_ms: i64, retry_after_s: u32, earlier_blocks: u32, chance: u32) -> i64 {
    let asked = i64::from(retry_after_s) * 1000;
    if asked > 0 {
        return now_ms + asked.min(MAX_WAIT_MS);
    }
    let wait = FIRST_BLOCK_MS << earlier_blocks.min(11);
    let jitter = wait / 10 * i64::from(chance % 1000) / 1000;
    now_ms + (wait + jitter).min(MAX_WAIT_MS)
}

/// The blocks that still count.
pub fn forgive(blocks: u32, blocked_at_ms: i64, blocked_until_ms: i64, now_ms: i64) -> u32 {
    let quiet = QUIET_MS.max(blocked_until_ms.saturating_sub(blocked_at_ms));
    if now_ms.saturating_sub(blocked_until_ms) >= quiet { 0 } else { blocks }
}

/// What to do about a host whose failures in a row weigh so much, when it was skipped so many times already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    No,
    For(i64),
    GiveUp,
}

pub fn skip(failures: u32, earlier_skips: u32) -> Skip {
    // After a skip one more failure is enough: it had its chance.
    if failures < TOO_MUCH && earlier_skips == 0 {
        return Skip::No;
    }
    if earlier_skips >= SKIPS {
        return Skip::GiveUp;
    }
    Skip::For((FIRST_SKIP_MS * SKIP_GROWTH.pow(earlier_skips)).min(MAX_WAIT_MS))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_server_cannot_stop_a_crawl_for_more_than_a_day(retry_after: u32, blocks: u32, chance: u32, now in 0i64..1 << 40) {
            let until = block_until(now, retry_after, blocks, chance);
            prop_assert!(until > now && until <= now + MAX_WAIT_MS);
        }

        #[test]
        fn what_a_server_asks_for_is_never_cut_short(retry_after in 1u32..86_400, blocks: u32, chance: u32) {
            prop_assert!(block_until(0, retry_after, blocks, chance) >= i64::from(retry_after) * 1000);
        }

        #[test]
        fn blocks_without_a_wish_start_at_a_minute_and_double(blocks in 0u32..10, chance: u32) {
            let wait = block_until(0, 0, blocks, chance);
            prop_assert!(wait >= 60_000 << blocks && wait <= (66_000 << blocks));
        }

        #[test]
        fn blocks_are_forgiven_after_quiet_and_not_before(blocks in 1u32..50, length in 0i64..MAX_WAIT_MS, quiet in 0i64..3 * MAX_WAIT_MS) {
            let forgiven = forgive(blocks, 0, length, length + quiet) == 0;
            prop_assert_eq!(forgiven, quiet >= QUIET_MS.max(length));
        }
    }

    #[test]
    fn a_failing_host_is_skipped_longer_each_time_and_then_given_up() {
        assert_eq!(skip(TOO_MUCH - 1, 0), Skip::No);
        assert_eq!(skip(TOO_MUCH, 0), Skip::For(60_000));
        assert_eq!(skip(TOO_MUCH + 1, 1), Skip::For(240_000));
        assert_eq!(skip(TOO_MUCH + 2, 2), Skip::GiveUp);
    }
}
