//! How long one thread tries to reach the store: for ever, telling why it waits, until it is told to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::failure::Failure;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(500);
/// A store that is away for less is not worth a word.
const TOLD_AFTER: Duration = Duration::from_secs(1);

/// What the threads of one store know together.
#[derive(Debug, Default)]
pub struct Troubles {
    waiting: Mutex<Vec<(&'static str, String)>>,
    stop: AtomicBool,
}

impl Troubles {
    /// Why nothing moves, where that is so.
    pub fn told(&self) -> Option<String> {
        self.lock().first().map(|(_, reason)| reason.clone())
    }

    /// Nobody tries again from now on.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn tell(&self, who: &'static str, reason: Option<String>) {
        let mut waiting = self.lock();
        waiting.retain(|(other, _)| *other != who);
        waiting.extend(reason.map(|reason| (who, reason)));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, String)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Patience {
    who: &'static str,
    troubles: Arc<Troubles>,
    since: Option<Instant>,
    pause: Duration,
    told: bool,
}

impl Patience {
    pub fn new(who: &'static str, troubles: &Arc<Troubles>) -> Self {
        Self { who, troubles: Arc::clone(troubles), since: None, pause: FIRST_PAUSE, told: false }
    }

    pub fn has_failed(&self) -> bool {
        self.since.is_some()
    }

    /// Something failed for the first time.
    pub fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    pub fn wait(&mut self, failure: &Failure) -> Result<(), Failure> {
        if self.troubles.is_stopped() {
            return Err(failure.clone());
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= TOLD_AFTER {
            if !self.told {
                tracing::warn!(reason = %failure, "the frontier's store does not answer; it is tried again");
            }
            self.told = true;
            self.troubles.tell(self.who, Some(failure.to_string()));
        }
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LAST_PAUSE);
        Ok(())
    }

    pub fn succeeded(&mut self) {
        if self.told {
            tracing::info!("the frontier's store answers again");
            self.troubles.tell(self.who, None);
        }
        (self.since, self.pause, self.told) = (None, FIRST_PAUSE, false);
    }
}
