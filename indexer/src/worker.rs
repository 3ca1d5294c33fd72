//! The thread that applies batches of the log and decides when to commit.
//!
//! A commit happens when the [schedule](CommitSchedule) says so, when a flush asks for an offset that has been applied, and at
//! the end. The thread ends when all senders of its channel are gone, after a last commit, or
//! when the index fails; then what was not committed is followed again from the checkpoint.

use std::time::Duration;

use seine_proto::filesaver::v1::LogEntry;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::checkpoint::{Checkpoint, LogProgress, covers};
use crate::commit_schedule::CommitSchedule;
use crate::entry::Entry;
use crate::error::IndexerError;
use crate::metrics;
use crate::searches::Searches;
use crate::traced::Traced;
use crate::writer::DocumentWriter;

/// Batches that may wait for the thread; each is as large as the filesaver makes it.
pub const WAITING_COMMANDS: usize = 2;

/// Pages that are written again at a time for what others say of them, while new ones come and while none do. None are while a
/// crawl is hot: what others say of a page would change again with the next pages.
const REWRITTEN_WHILE_BUSY: usize = 50;
const REWRITTEN_WHILE_IDLE: usize = 500;
/// How long the end may wait for work that nobody waits for, as a part of the time until then and at most.
const LAST_WORK_PART: u32 = 20;
const LAST_WORK_TAKES: Duration = Duration::from_secs(1);

pub enum Command {
    /// `damaged` in it is what was passed over since the batch before.
    Batch { log_id: String, entries: Vec<LogEntry>, reached: LogProgress },
    /// The log is read from its beginning again.
    Restart { log_id: String, done: oneshot::Sender<()> },
    /// Commit as soon as everything up to the offset is applied.
    Flush { log_id: String, until_offset: u64 },
}

pub struct Worker {
    writer: DocumentWriter,
    commands: mpsc::Receiver<Command>,
    progress: watch::Sender<Checkpoint>,
    schedule: CommitSchedule,
    searches: Searches,
    flushes: Vec<(String, u64)>,
    traced: Traced,
    started: Instant,
    /// Entries since then.
    applied: usize,
}

impl Worker {
    pub fn new(
        writer: DocumentWriter,
        commands: mpsc::Receiver<Command>,
        progress: watch::Sender<Checkpoint>,
        commit_interval: Duration,
        searches: Searches,
    ) -> Self {
        let mut schedule = CommitSchedule::new(commit_interval);
        // The last process may have left work that nobody waits for.
        schedule.begin(Instant::now());
        let (flushes, traced) = Default::default();
        Self { writer, commands, progress, schedule, searches, flushes, traced, started: Instant::now(), applied: 0 }
    }

    /// Blocks until the end; must run on a thread of its own that knows the runtime.
    pub fn run(mut self) -> Result<(), IndexerError> {
        let runtime = Handle::current();
        loop {
            let commit_at = self.commit_due();
            let commands = &mut self.commands;
            let next = runtime.block_on(async {
                match commit_at {
                    Some(at) => tokio::time::timeout_at(at, commands.recv()).await,
                    None => Ok(commands.recv().await),
                }
            });
            match next {
                Ok(Some(command)) => self.handle(command)?,
                Ok(None) => return self.finish(),
                Err(_interval_passed) => self.go_on()?,
            }
        }
    }

    fn handle(&mut self, command: Command) -> Result<(), IndexerError> {
        match command {
            Command::Batch { log_id, entries, reached } => {
                let count = entries.len();
                entries.iter().for_each(|entry| self.traced.note(entry));
                for entry in entries.into_iter().filter_map(Entry::from_log) {
                    self.writer.apply(entry)?;
                }
                self.writer.advance(&log_id, reached);
                self.applied += count;
                self.schedule.applied(count, Instant::now());
                metrics::applied(count);
            }
            Command::Restart { log_id, done } => {
                self.writer.restart(&log_id);
                // Whoever waits for an offset must not take the one committed before for it.
                self.progress.send_replace(self.writer.checkpoint().clone());
                let _ = done.send(());
            }
            Command::Flush { log_id, until_offset } => self.flushes.push((log_id, until_offset)),
        }
        let checkpoint = self.writer.checkpoint();
        let flush_now = self.flushes.iter().any(|(log_id, until)| covers(checkpoint, log_id, *until));
        if self.writer.has_uncommitted() {
            let now = Instant::now();
            self.schedule.begin(now);
            if flush_now || self.commit_due().is_some_and(|due| due <= now) {
                self.go_on()?;
            }
        } else if flush_now {
            self.forget_reached_flushes();
        }
        Ok(())
    }

    fn commit_due(&self) -> Option<Instant> {
        self.schedule.due(self.searches.are_recent(Instant::now().into_std()))
    }

    /// Commits what came, and does some of the work that nobody waits for.
    fn go_on(&mut self) -> Result<(), IndexerError> {
        let is_busy = self.schedule.is_busy();
        let is_hot = self.schedule.done(Instant::now());
        // Before the commit, which looks for segments to merge.
        self.writer.set_hot(is_hot);
        if self.writer.has_uncommitted() {
            self.commit()?;
        } else {
            self.writer.merge()?;
        }
        match (is_hot, is_busy) {
            (true, _) => {}
            (false, true) => self.writer.fold_anchors(REWRITTEN_WHILE_BUSY)?,
            (false, false) => self.writer.fold_anchors(REWRITTEN_WHILE_IDLE)?,
        }
        // Once more after anything came, for what is done only while nothing does.
        if is_busy || self.writer.has_uncommitted() || self.writer.has_lazy_work() {
            self.schedule.begin(Instant::now());
        }
        Ok(())
    }

    /// Commits what came. What nobody waits for is done as far as a short while allows, because a crawl may be all that
    /// ever runs on these data; the rest is done when they are opened again. Segments are merged then too: whoever closes waits.
    fn finish(&mut self) -> Result<(), IndexerError> {
        self.writer.set_hot(true);
        if self.writer.has_uncommitted() {
            self.commit()?;
        }
        // In one commit: each syncs, and leaves segments behind.
        self.writer.fold_anchors(self.pages_written_in_a_short_while())?;
        if self.writer.has_uncommitted() {
            self.commit()?;
        }
        Ok(())
    }

    /// As fast as they have been written so far: writing pages again takes as long.
    fn pages_written_in_a_short_while(&self) -> usize {
        let elapsed = self.started.elapsed();
        let short = (elapsed / LAST_WORK_PART).min(LAST_WORK_TAKES);
        let pages = self.applied as f64 * short.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        (pages as usize).max(REWRITTEN_WHILE_BUSY)
    }

    fn commit(&mut self) -> Result<(), IndexerError> {
        let started = Instant::now();
        self.writer.commit()?;
        self.traced.committed();
        metrics::committed(started.elapsed(), self.writer.documents()?);
        self.forget_reached_flushes();
        self.progress.send_replace(self.writer.checkpoint().clone());
        Ok(())
    }

    fn forget_reached_flushes(&mut self) {
        let checkpoint = self.writer.checkpoint();
        self.flushes.retain(|(log_id, until)| !covers(checkpoint, log_id, *until));
    }
}

#[cfg(test)]
mod tests {
    use seine_proto::common::v1::Description;
    use seine_proto::filesaver::v1::log_entry::Entry as Logged;
    use tokio::time::timeout;

    use super::*;
    use crate::{IndexerConfig, count, publish};

    const DEADLINE: Duration = Duration::from_secs(30);
    const LOG: &str = "log";

    struct Running {
        _root: tempfile::TempDir,
        commands: mpsc::Sender<Command>,
        progress: watch::Receiver<Checkpoint>,
        reader: tantivy::IndexReader,
        worker: tokio::task::JoinHandle<Result<(), IndexerError>>,
    }

    fn start(commit_interval: Duration) -> Running {
        let root = tempfile::tempdir().unwrap();
        let (path, _) = publish::open_or_create(root.path()).unwrap();
        let writer = DocumentWriter::open(&path, &IndexerConfig::default()).unwrap();
        let reader = writer.reader().clone();
        let (commands, waiting) = mpsc::channel(WAITING_COMMANDS);
        let (progress_sender, progress) = watch::channel(Checkpoint::new());
        let worker = Worker::new(writer, waiting, progress_sender, commit_interval, Searches::default());
        let worker = tokio::task::spawn_blocking(move || worker.run());
        Running { _root: root, commands, progress, reader, worker }
    }

    fn batch(url: &str, end_offset: u64) -> Command {
        let description =
            Description { url: url.into(), generate: true, text: "words".into(), ..Description::default() };
        let entries = vec![LogEntry { entry: Some(Logged::Description(description)) }, LogEntry { entry: None }];
        Command::Batch { log_id: LOG.into(), entries, reached: LogProgress::at(end_offset) }
    }

    async fn reached(running: &mut Running, offset: u64) {
        let reached = running.progress.wait_for(|committed| covers(committed, LOG, offset));
        timeout(DEADLINE, reached).await.expect("committed in time").unwrap();
    }

    #[tokio::test]
    async fn entries_become_searchable_after_the_interval_without_being_asked_for() {
        let mut running = start(Duration::from_millis(50));
        running.commands.send(batch("http://example.org/1", 10)).await.unwrap();
        reached(&mut running, 10).await;
        assert_eq!(count::documents(&running.reader.searcher()).unwrap(), 1);
    }

    #[tokio::test]
    async fn a_flush_commits_as_soon_as_its_offset_is_applied() {
        let mut running = start(Duration::from_secs(3600));
        running.commands.send(batch("http://example.org/1", 10)).await.unwrap();
        // One for what is there, one for what is still to come.
        running.commands.send(Command::Flush { log_id: LOG.into(), until_offset: 10 }).await.unwrap();
        reached(&mut running, 10).await;
        running.commands.send(Command::Flush { log_id: LOG.into(), until_offset: 30 }).await.unwrap();
        running.commands.send(batch("http://example.org/2", 20)).await.unwrap();
        running.commands.send(batch("http://example.org/3", 30)).await.unwrap();
        reached(&mut running, 30).await;
        assert_eq!(count::documents(&running.reader.searcher()).unwrap(), 3);
    }

    #[tokio::test]
    async fn what_was_applied_is_committed_at_the_end() {
        let Running { _root, commands, progress, reader, worker } = start(Duration::from_secs(3600));
        commands.send(batch("http://example.org/1", 10)).await.unwrap();
        drop(commands);
        timeout(DEADLINE, worker).await.expect("ends in time").unwrap().unwrap();
        assert!(covers(&progress.borrow(), LOG, 10));
        assert_eq!(count::documents(&reader.searcher()).unwrap(), 1);
    }
}
