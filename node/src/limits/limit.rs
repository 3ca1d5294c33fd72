//! One limit: its value now, who uses it, and who waits for a place.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::governor::{At, Bounds, Demand, Load, moved};

#[derive(Debug)]
pub struct Limit {
    value: watch::Sender<u32>,
    state: Mutex<State>,
    /// As it was made.
    own: Bounds,
    start: u32,
    /// No bounds lead beyond this.
    ceiling: u32,
    in_use: AtomicU32,
    /// Somebody would have used more since it was looked at.
    was_full: AtomicBool,
    next_is_behind: AtomicBool,
    is_used: AtomicBool,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    bounds: Bounds,
    at: At,
}

/// Counted as in use for as long as it lives.
#[derive(Debug)]
pub struct Place(Arc<Limit>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::AcqRel);
        self.0.freed.notify_one();
    }
}

impl Limit {
    pub fn new(own: Bounds, start: u32, ceiling: u32) -> Self {
        let start = start.clamp(own.lowest, own.highest);
        Self {
            value: watch::Sender::new(start),
            state: Mutex::new(State { bounds: own, at: At::Ease }),
            own,
            start,
            ceiling,
            in_use: AtomicU32::new(0),
            was_full: AtomicBool::new(false),
            next_is_behind: AtomicBool::new(false),
            is_used: AtomicBool::new(false),
            freed: Notify::new(),
        }
    }

    pub fn value(&self) -> u32 {
        *self.value.borrow()
    }

    pub fn changes(&self) -> watch::Receiver<u32> {
        self.value.subscribe()
    }

    pub fn bounds(&self) -> Bounds {
        self.state().bounds
    }

    /// What keeps it from rising.
    pub fn at(&self) -> At {
        self.state().at
    }

    /// A tier of this process works under it.
    pub fn set_used(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Whether any does.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    pub fn in_use(&self) -> u32 {
        self.in_use.load(Ordering::Acquire)
    }

    /// Whether no more than the machine can do at once is allowed: then nobody need ask for a place.
    pub fn is_at_ceiling(&self) -> bool {
        self.value() >= self.ceiling
    }

    /// A place whether there is one or not, for what something else holds back.
    pub fn enter(self: &Arc<Self>) -> Place {
        if self.in_use.fetch_add(1, Ordering::AcqRel) >= self.value() {
            self.was_full.store(true, Ordering::Relaxed);
        }
        Place(Arc::clone(self))
    }

    /// Waits for a place.
    pub async fn acquire(self: &Arc<Self>) -> Place {
        loop {
            // Made before the look, so that what is freed in between is not missed.
            let freed = self.freed.notified();
            let taken = self.in_use.fetch_update(Ordering::AcqRel, Ordering::Acquire, |in_use| {
                (in_use < self.value()).then_some(in_use + 1)
            });
            if taken.is_ok() {
                return Place(Arc::clone(self));
            }
            self.was_full.store(true, Ordering::Relaxed);
            freed.await;
        }
    }

    /// For what is counted elsewhere: so many are in use, and whether what takes their results is behind.
    pub fn uses(&self, in_use: u32, next_is_behind: bool) {
        self.in_use.store(in_use, Ordering::Release);
        self.next_is_behind.store(next_is_behind, Ordering::Relaxed);
        if in_use >= self.value() {
            self.was_full.store(true, Ordering::Relaxed);
        }
    }

    /// `None` for those that it was made with.
    pub fn set_bounds(&self, bounds: Option<Bounds>) {
        let bounds = bounds.unwrap_or(self.own);
        let highest = bounds.highest.min(self.ceiling);
        let lowest = bounds.lowest.min(highest);
        let mut state = self.state();
        state.bounds = Bounds { lowest, highest };
        self.set(&state, self.value().clamp(lowest, highest));
    }

    /// Moves with the load, to be called once a second.
    pub(super) fn follow(&self, load: Load) {
        let demand = Demand {
            in_use: self.in_use(),
            is_full: self.was_full.swap(false, Ordering::Relaxed) || self.in_use() >= self.value(),
            next_is_behind: self.next_is_behind.load(Ordering::Relaxed),
        };
        let mut state = self.state();
        let (value, at) = moved(self.value(), self.start, state.bounds, demand, load);
        state.at = at;
        self.set(&state, value);
    }

    /// With the state in hand, so that no two set it at once.
    fn set(&self, _state: &State, value: u32) {
        let rises = value > self.value();
        self.value.send_if_modified(|now| std::mem::replace(now, value) != value);
        if rises {
            self.freed.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(lowest: u32, highest: u32) -> Arc<Limit> {
        Arc::new(Limit::new(Bounds { lowest, highest }, lowest, 100))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_more_run_at_once_than_it_allows_now_and_whoever_waits_gets_in() {
        let limit = limit(2, 8);
        let most = Arc::new(AtomicU32::new(0));
        let work = |number: u32| {
            let (limit, most) = (limit.clone(), most.clone());
            async move {
                let _place = limit.acquire().await;
                most.fetch_max(limit.in_use(), Ordering::AcqRel);
                tokio::time::sleep(std::time::Duration::from_millis(u64::from(number % 3))).await;
            }
        };
        let all: Vec<_> = (0..200).map(|number| tokio::spawn(work(number))).collect();
        for task in all {
            task.await.unwrap();
        }
        assert_eq!((most.load(Ordering::Acquire), limit.in_use()), (2, 0));
        limit.follow(Load::default());
        assert_eq!(limit.value(), 3, "somebody had waited");
    }

    #[tokio::test]
    async fn whoever_waits_gets_in_when_the_bounds_rise_and_nobody_does_when_they_fall() {
        let limit = limit(1, 1);
        let held = limit.acquire().await;
        let mut waits = std::pin::pin!(limit.acquire());
        assert!(futures_now(waits.as_mut()).await.is_none());
        limit.set_bounds(Some(Bounds { lowest: 2, highest: 2 }));
        let second = waits.await;
        limit.set_bounds(Some(Bounds { lowest: 1, highest: 1 }));
        drop(held);
        let mut third = std::pin::pin!(limit.acquire());
        assert!(futures_now(third.as_mut()).await.is_none(), "one is still in");
        drop(second);
        third.await;
    }

    /// Its result, if it is there.
    async fn futures_now<F: Future>(future: F) -> Option<F::Output> {
        tokio::time::timeout(std::time::Duration::from_millis(20), future).await.ok()
    }

    #[test]
    fn bounds_end_at_what_the_machine_can_do_and_go_back_to_its_own() {
        let limit = limit(2, 8);
        limit.set_bounds(Some(Bounds { lowest: 500, highest: 900 }));
        assert_eq!((limit.value(), limit.bounds()), (100, Bounds { lowest: 100, highest: 100 }));
        limit.set_bounds(None);
        assert_eq!((limit.value(), limit.bounds()), (8, Bounds { lowest: 2, highest: 8 }));
    }
}
