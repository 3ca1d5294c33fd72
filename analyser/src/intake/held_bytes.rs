//! How many bytes pages hold: of each kind in one stream, and in the analyser as a whole.
//!
//! A [`Holding`] counts in the account that it was opened on for as long as it lives, whatever becomes of its page.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::metrics;

/// What all pages of an analyser hold: bodies as received, what they may decode to, and what was read in them.
#[derive(Debug, Default)]
pub struct HeldBytes {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl HeldBytes {
    pub fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// The most that was held at any time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
        metrics::bytes_held(now);
    }

    fn subtract(&self, bytes: usize) {
        metrics::bytes_held(self.now.fetch_sub(bytes, Ordering::Relaxed) - bytes);
    }
}

/// One kind of memory in one stream.
#[derive(Debug)]
pub(crate) struct Account {
    all: Arc<HeldBytes>,
    holdings: AtomicUsize,
    bytes: AtomicUsize,
}

impl Account {
    pub fn new(all: &Arc<HeldBytes>) -> Arc<Self> {
        Arc::new(Self { all: Arc::clone(all), holdings: AtomicUsize::new(0), bytes: AtomicUsize::new(0) })
    }

    pub fn hold(self: &Arc<Self>, bytes: usize) -> Holding {
        self.holdings.fetch_add(1, Ordering::Relaxed);
        let mut holding = Holding { account: Arc::clone(self), bytes: 0 };
        holding.resize(bytes);
        holding
    }

    /// Below both limits.
    pub fn has_room(&self, holdings: usize, bytes: usize) -> bool {
        self.holdings() < holdings && self.bytes() < bytes
    }

    pub fn holdings(&self) -> usize {
        self.holdings.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(crate) struct Holding {
    account: Arc<Account>,
    bytes: usize,
}

impl Holding {
    pub fn resize(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => {
                self.account.bytes.fetch_add(more, Ordering::Relaxed);
                self.account.all.add(more);
            }
            None => {
                self.account.bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
                self.account.all.subtract(self.bytes - bytes);
            }
        }
        self.bytes = bytes;
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.resize(0);
        self.account.holdings.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted_until_it_is_dropped() {
        let all = Arc::new(HeldBytes::default());
        let (pages, documents) = (Account::new(&all), Account::new(&all));
        let (mut one, two) = (pages.hold(10), documents.hold(5));
        one.resize(20);
        one.resize(3);
        assert_eq!((pages.bytes(), pages.holdings(), documents.bytes(), all.now()), (3, 1, 5, 8));
        drop((one, two));
        assert_eq!((pages.bytes(), pages.holdings(), all.now(), all.peak()), (0, 0, 0, 25));
    }
}
