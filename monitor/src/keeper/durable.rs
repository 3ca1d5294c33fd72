//! Group commit: answers that wait until what they acknowledge is durable.
//!
//! The keeper writes without syncing and queues the answer here. This thread takes all answers that wait, syncs the log
//! once, then gives them. While it syncs, the next group gathers.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::executor::block_on;

use super::Durability;
use crate::MonitorError;
use crate::store::Durable;

/// Answers that may wait; the keeper slows down when the disk cannot keep up.
const WAITING_ANSWERS: usize = 4096;
/// At most this often is the log synced: a sync costs the same for one answer as for a thousand.
const SYNC_INTERVAL: Duration = Duration::from_millis(10);

type DurableAnswer = Box<dyn FnOnce() + Send>;

/// Dropping it gives the answers that still wait and ends the thread, so that the log is released.
pub(super) struct DurableAnswers {
    waiting: Option<SyncSender<DurableAnswer>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<OnceLock<String>>,
}

impl DurableAnswers {
    pub fn start(log: Arc<dyn Durable>, durability: Durability) -> Self {
        let (waiting, receiver) = sync_channel(WAITING_ANSWERS);
        let failure = Arc::new(OnceLock::new());
        let failed = Arc::clone(&failure);
        let thread = std::thread::Builder::new()
            .name("monitor-sync".to_owned())
            .spawn(move || give_answers(&receiver, log.as_ref(), durability, &failed))
            .expect("a thread can be started");
        Self { waiting: Some(waiting), thread: Some(thread), failure }
    }

    /// Calls `answer` once everything written before is durable; never when that fails.
    pub fn after_sync(&self, answer: impl FnOnce() + Send + 'static) {
        if let Some(waiting) = &self.waiting {
            // Refused only when a sync failed, and then nothing may be acknowledged.
            let _ = waiting.send(Box::new(answer));
        }
    }

    /// Why nothing more becomes durable.
    pub fn failure(&self) -> Option<String> {
        if let Some(reason) = self.failure.get() {
            return Some(reason.clone());
        }
        let has_panicked = self.thread.as_ref().is_some_and(JoinHandle::is_finished);
        has_panicked.then(|| "the thread that does it panicked".to_owned())
    }
}

impl Drop for DurableAnswers {
    fn drop(&mut self) {
        self.waiting = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn give_answers(
    waiting: &Receiver<DurableAnswer>,
    log: &dyn Durable,
    durability: Durability,
    failed: &OnceLock<String>,
) {
    let mut group = Vec::new();
    while let Ok(first) = waiting.recv() {
        let started = Instant::now();
        group.push(first);
        group.extend(waiting.try_iter());
        if durability == Durability::Sync
            && let Err(error) = block_on(log.sync())
        {
            match &error {
                // Another Monitor goes on, and nothing is lost.
                MonitorError::NotOwner(_) => tracing::warn!(%error, "what was written last is not acknowledged"),
                _ => tracing::error!(%error, "the frontier's log cannot be synced"),
            }
            let _ = failed.set(error.to_string());
            return;
        }
        for answer in group.drain(..) {
            answer();
        }
        if durability == Durability::Sync {
            std::thread::sleep(SYNC_INTERVAL.saturating_sub(started.elapsed()));
        }
    }
}
