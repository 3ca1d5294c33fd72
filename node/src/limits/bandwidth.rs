//! Bytes per second that this process may receive from sites: a token bucket that goes into debt.
//!
//! Bodies under way are never held up, or they would time out for our own reasons. What they bring beyond the rate is a debt, and
//! no request starts until it is paid. So the rate holds over a few seconds and not within each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Saved up while less comes.
const BURST: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Bandwidth {
    bucket: Mutex<Option<Bucket>>,
    /// Somebody had to wait since it was looked at.
    was_short: AtomicBool,
    rate_changed: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    bytes_per_second: u64,
    /// All that has come is paid for by then.
    paid_at: Instant,
}

impl Bucket {
    fn take(&mut self, bytes: usize, now: Instant) {
        let costs = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        let saved_from = now.checked_sub(BURST).unwrap_or(self.paid_at);
        self.paid_at = self.paid_at.max(saved_from) + costs;
    }

    /// The end of its debt, if it has any.
    fn debt(&self, now: Instant) -> Option<Instant> {
        Some(self.paid_at).filter(|paid_at| *paid_at > now)
    }
}

impl Bandwidth {
    /// `None` for as much as comes.
    pub fn set(&self, bytes_per_second: Option<u64>) {
        let mut bucket = self.bucket();
        if bucket.map(|bucket| bucket.bytes_per_second) != bytes_per_second {
            *bucket = bytes_per_second.map(|rate| Bucket { bytes_per_second: rate.max(1), paid_at: Instant::now() });
            drop(bucket);
            self.rate_changed.notify_waiters();
        }
    }

    pub fn received(&self, bytes: usize) {
        if let Some(bucket) = &mut *self.bucket() {
            bucket.take(bytes, Instant::now());
        }
    }

    /// Whether a request may start.
    pub fn is_free(&self) -> bool {
        self.debt().is_none()
    }

    /// Waits until a request may start.
    pub async fn free(&self) {
        loop {
            let changed = self.rate_changed.notified();
            let Some(paid_at) = self.debt() else { return };
            // Late is as good as changed: either way it is looked at again.
            let _ = tokio::time::timeout_at(paid_at, changed).await;
        }
    }

    /// Whether anybody had to wait since this was last asked.
    pub(super) fn take_short(&self) -> bool {
        self.was_short.swap(false, Ordering::Relaxed)
    }

    /// For a request that would start now.
    fn debt(&self) -> Option<Instant> {
        let debt = self.bucket().and_then(|bucket| bucket.debt(Instant::now()));
        if debt.is_some() {
            self.was_short.store(true, Ordering::Relaxed);
        }
        debt
    }

    fn bucket(&self) -> MutexGuard<'_, Option<Bucket>> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_comes_beyond_the_rate_keeps_requests_from_starting_until_it_is_paid() {
        let start = Instant::now();
        let mut bucket = Bucket { bytes_per_second: 1_000, paid_at: start };
        let mut now = start;
        for _ in 0..10 {
            now = bucket.debt(now).unwrap_or(now);
            bucket.take(3_000, now);
        }
        assert_eq!(bucket.debt(now), Some(start + 30 * SECOND));
        assert_eq!(bucket.debt(start + 30 * SECOND), None);
    }

    #[test]
    fn no_more_than_a_second_is_saved_up() {
        let start = Instant::now();
        let (mut bucket, later) = (Bucket { bytes_per_second: 1_000, paid_at: start }, start + 3600 * SECOND);
        bucket.take(1_000, later);
        assert_eq!(bucket.debt(later), None);
        bucket.take(500, later);
        assert_eq!(bucket.debt(later), Some(later + SECOND / 2));
    }

    #[tokio::test]
    async fn without_a_rate_nothing_counts_and_whoever_waits_gets_in() {
        let bandwidth = Bandwidth::default();
        bandwidth.received(1 << 40);
        assert!(bandwidth.is_free() && !bandwidth.take_short());
        bandwidth.set(Some(1));
        bandwidth.received(1_000_000);
        let mut waits = std::pin::pin!(bandwidth.free());
        assert!(tokio::time::timeout(SECOND / 50, waits.as_mut()).await.is_err());
        assert!(bandwidth.take_short() && !bandwidth.take_short());
        bandwidth.set(None);
        tokio::time::timeout(20 * SECOND, waits).await.expect("nothing is bounded any more");
    }
}
