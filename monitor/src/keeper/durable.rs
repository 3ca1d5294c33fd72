//! Group commit: answers that wait until what they acknowledge is durable.
//!
//! The keeper writes without syncing and queues the answer here. This thread takes all answers that wait, syncs the log
//! once, then gives them. While it syncs, the next group gathers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Durability;
use crate::frontier::Durable;

/// Answers that may wait; the keeper slows down when the disk cannot keep up.
const WAITING_ANSWERS: usize = 4096;
/// At most this often is the log synced: a sync costs the same for one answer as for a thousand.
const SYNC_INTERVAL: Duration = Duration::from_millis(10);

type DurableAnswer = Box<dyn FnOnce() + Send>;

/// Dropping it gives the answers that still wait and ends the thread, so that the log is released.
pub(super) struct DurableAnswers {
    waiting: Option<SyncSender<DurableAnswer>>,
    thread: Option<JoinHandle<()>>,
    failed: Arc<AtomicBool>,
}

impl DurableAnswers {
    pub fn start(log: Arc<dyn Durable>, durability: Durability) -> Self {
        let (waiting, receiver) = sync_channel(WAITING_ANSWERS);
        let failed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&failed);
        let thread = std::thread::Builder::new()
            .name("monitor-sync".to_owned())
            .spawn(move || give_answers(&receiver, log.as_ref(), durability, &flag))
            .expect("a thread can be started");
        Self { waiting: Some(waiting), thread: Some(thread), failed }
    }

    /// Calls `answer` once everything written before is durable; never when that fails.
    pub fn after_sync(&self, answer: impl FnOnce() + Send + 'static) {
        if let Some(waiting) = &self.waiting {
            // Refused only when a sync failed, and then nothing may be acknowledged.
            let _ = waiting.send(Box::new(answer));
        }
    }

    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
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

fn give_answers(waiting: &Receiver<DurableAnswer>, log: &dyn Durable, durability: Durability, failed: &AtomicBool) {
    let mut group = Vec::new();
    while let Ok(first) = waiting.recv() {
        let started = Instant::now();
        group.push(first);
        group.extend(waiting.try_iter());
        if durability == Durability::Sync
            && let Err(error) = log.sync()
        {
            tracing::error!(%error, "the frontier's log cannot be synced");
            failed.store(true, Ordering::SeqCst);
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
