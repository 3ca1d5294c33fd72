//! The one writer: takes what waits, appends it to archive and log, syncs, and only then acknowledges.
//!
//! Group commit: while one batch is synced, and for a moment after, the next collects in the channel, so a page waits for at
//! most the batch before it and its own. A page that comes alone is committed at once. A batch that fails is cut out of both
//! files and its pages are told; the next one starts from a clean end.
//!
//! Invariant: at every moment, what the log holds below the published end is in the archive, and both are durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::metrics::Gauge;
use seine_node::health::Reporter;
use seine_proto::common::v1::ArchivePosition;
use seine_proto::filesaver::v1::{SaveResponse, SavedRecord, save_response};
use tokio::sync::mpsc::{OwnedPermit, Receiver};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tonic::Status;

use super::archive::Archive;
use super::description_log::DescriptionLog;
use super::description_log::entry::EntryBody;
use super::known_contents::{KnownContents, Original, PayloadDigest};
use super::prepare::PreparedPage;
use super::save_watch::SaveWatch;
use super::{Durability, named, nowhere};
use crate::error::Error;
use crate::metrics;

/// At most this often is a batch committed: two syncs cost the same for one page as for a hundred, and so does waking everybody
/// who waits for them.
const COMMIT_INTERVAL: Duration = Duration::from_millis(10);
/// Pages of one batch.
const BATCH_PAGES: usize = 512;
/// Bytes of one batch, but for its last page.
const BATCH_BYTES: usize = 8 << 20;

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are of the large kind, and a box would be an allocation for each"
)]
pub(crate) enum Command {
    /// `queued` frees the page's memory for others when dropped.
    Save {
        page: PreparedPage,
        ack: Ack,
        queued: OwnedSemaphorePermit,
    },
    Withdraw {
        entry: EntryBody,
        done: oneshot::Sender<Result<u64, String>>,
    },
    Seal {
        done: oneshot::Sender<Result<Vec<String>, String>>,
    },
    Stop {
        done: oneshot::Sender<Result<(), String>>,
    },
}

/// The place of one page's answer in its stream, taken before the page was accepted.
pub(crate) struct Ack {
    page_id: u64,
    filesaver: Arc<str>,
    place: Option<OwnedPermit<Result<SaveResponse, Status>>>,
    /// Ends with the answer.
    watch: SaveWatch,
}

impl Ack {
    pub fn new(
        page_id: u64,
        filesaver: Arc<str>,
        place: OwnedPermit<Result<SaveResponse, Status>>,
        watch: SaveWatch,
    ) -> Self {
        Self { page_id, filesaver, place: Some(place), watch }
    }

    fn answer(&mut self, result: save_response::Result) {
        if let Some(place) = self.place.take() {
            place.send(Ok(SaveResponse { page_id: self.page_id, result: Some(result) }));
        }
    }

    pub fn saved(mut self, archive: ArchivePosition, log_offset: u64) {
        self.watch.saved();
        let archive = Some(named(archive, &self.filesaver));
        self.answer(save_response::Result::Saved(SavedRecord { archive, log_offset }));
    }

    /// This page will never be saved.
    pub fn failed(mut self, reason: String) {
        self.answer(save_response::Result::Failed(reason));
    }

    /// No page is saved now.
    pub fn unavailable(mut self, reason: String) {
        self.answer(save_response::Result::Unavailable(reason));
    }
}

impl Drop for Ack {
    /// Whatever becomes of a page, its sender hears of it.
    fn drop(&mut self) {
        self.answer(save_response::Result::Unavailable(Error::Closed.to_string()));
    }
}

/// What one batch is made of.
#[derive(Default)]
struct Batch {
    items: Vec<Item>,
    pages: u64,
    bytes: usize,
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are of the large kind, and a box would be an allocation for each"
)]
enum Item {
    Page { page: PreparedPage, ack: Ack, _queued: OwnedSemaphorePermit },
    Withdrawal { entry: EntryBody, done: oneshot::Sender<Result<u64, String>> },
}

/// Where an item was written.
struct Placed {
    /// Where the page's body can be read, which for a known content is an earlier record.
    archive: ArchivePosition,
    /// A content that others may refer to from now on.
    new_content: Option<(PayloadDigest, Original)>,
    log_end: u64,
}

pub(crate) struct Writer {
    archive: Archive,
    log: DescriptionLog,
    durability: Durability,
    published: watch::Sender<u64>,
    known: Arc<KnownContents>,
    /// Says whether pages can be saved.
    health: Reporter,
    /// Where the log ends, for `/metrics`.
    log_end: Gauge,
    /// The highest in any entry.
    highest_epoch: Arc<AtomicU64>,
    archive_bytes: Vec<u8>,
    index_bytes: Vec<u8>,
    log_bytes: Vec<u8>,
}

impl Writer {
    pub fn new(
        archive: Archive,
        log: DescriptionLog,
        durability: Durability,
        published: watch::Sender<u64>,
        known: Arc<KnownContents>,
        health: Reporter,
        highest_epoch: Arc<AtomicU64>,
    ) -> Self {
        let (archive_bytes, index_bytes, log_bytes) = Default::default();
        Self {
            archive,
            log,
            durability,
            published,
            known,
            health,
            log_end: Gauge::noop(),
            highest_epoch,
            archive_bytes,
            index_bytes,
            log_bytes,
        }
    }

    /// Tells where the log ends, with each group of pages.
    pub fn telling(self, log_end: Gauge) -> Self {
        log_end.set(self.log.end() as f64);
        Self { log_end, ..self }
    }

    /// Works until told to stop, or until nobody is left who could send anything.
    pub fn run(mut self, mut waiting: Receiver<Command>) {
        let mut batch = Batch::default();
        let mut committed_at: Option<Instant> = None;
        while let Some(first) = waiting.blocking_recv() {
            if let Some(before) = committed_at {
                thread::sleep(COMMIT_INTERVAL.saturating_sub(before.elapsed()));
            }
            committed_at = Some(Instant::now());
            let mut next = Some(first);
            // Collects up to the limits; what is no page ends the batch, so that it sees all pages before it.
            let interruption = loop {
                match next {
                    Some(Command::Save { page, ack, queued }) => batch.add_page(page, ack, queued),
                    Some(Command::Withdraw { entry, done }) => batch.add(Item::Withdrawal { entry, done }),
                    other => break other,
                }
                if batch.is_full() {
                    break None;
                }
                next = waiting.try_recv().ok();
            };
            self.commit(std::mem::take(&mut batch));
            match interruption {
                Some(Command::Seal { done }) => {
                    let sealed = self.archive.seal().map(|name| name.into_iter().collect());
                    let _ = done.send(sealed.map_err(|error| error.to_string()));
                }
                Some(Command::Stop { done }) => {
                    // Nothing is accepted from here on; what is queued already is told that the filesaver is closed.
                    waiting.close();
                    let _ = done.send(self.archive.seal().map(drop).map_err(|error| error.to_string()));
                    return;
                }
                _ => {}
            }
        }
    }

    fn commit(&mut self, batch: Batch) {
        if batch.items.is_empty() {
            return;
        }
        match self.write(&batch) {
            Ok(placed) => {
                self.health.well();
                let bytes = (self.archive_bytes.len() as u64, self.log_bytes.len() as u64);
                metrics::batch_committed(batch.pages, bytes.0, bytes.1);
                self.published.send_replace(self.log.end());
                self.log_end.set(self.log.end() as f64);
                for (item, mut placed) in batch.items.into_iter().zip(placed) {
                    if let Some((digest, original)) = placed.new_content.take() {
                        self.known.note(digest, original);
                    }
                    item.succeeded(placed);
                }
            }
            Err(error) => {
                metrics::batch_failed(batch.pages);
                tracing::error!(%error, pages = batch.pages, "pages could not be saved");
                let reason = error.to_string();
                self.health.unwell(reason.clone());
                batch.items.into_iter().for_each(|item| item.failed(reason.clone()));
            }
        }
        // One huge page must not hold its memory for the rest of the run.
        for buffer in [&mut self.archive_bytes, &mut self.index_bytes, &mut self.log_bytes] {
            buffer.clear();
            buffer.shrink_to(BATCH_BYTES);
        }
    }

    fn write(&mut self, batch: &Batch) -> Result<Vec<Placed>, Error> {
        self.log.rotate()?;
        let log_end = self.log.end();
        if batch.pages == 0 {
            let placed = self.fill(batch, "", 0);
            self.write_log(log_end)?;
            return Ok(placed);
        }
        let (name, archive_end) = self.archive.begin_batch()?;
        let placed = self.fill(batch, &name, archive_end);
        let written = self.archive.append(&self.archive_bytes).and_then(|()| self.write_log(log_end));
        if let Err(error) = written {
            self.archive.cut_back(archive_end);
            return Err(error);
        }
        self.archive.index(&self.index_bytes, batch.pages);
        Ok(placed)
    }

    fn write_log(&mut self, end: u64) -> Result<(), Error> {
        let written = self.log.append(&self.log_bytes).and_then(|()| self.log.sync(self.durability));
        if written.is_err() {
            let _ = self.log.cut_back(end);
        }
        written
    }

    /// Puts the batch together in memory, for one write to each file.
    fn fill(&mut self, batch: &Batch, archive_name: &str, archive_end: u64) -> Vec<Placed> {
        let log_start = self.log.end();
        let mut placed = Vec::with_capacity(batch.items.len());
        for item in &batch.items {
            let (archive, new_content, entry) = match item {
                Item::Page { page, .. } => {
                    let offset = archive_end + self.archive_bytes.len() as u64;
                    self.archive_bytes.extend_from_slice(&page.records.capture);
                    self.archive_bytes.extend_from_slice(&page.records.companions);
                    let length = page.records.capture.len() as u64;
                    let file = archive_name.to_owned();
                    let own = ArchivePosition { file, offset, length, ..ArchivePosition::default() };
                    if let Some(line) = page.index_line(&own) {
                        self.index_bytes.extend_from_slice(line.as_bytes());
                    }
                    let new_content = page.new_content(&own);
                    let readable = page.original.as_ref().map_or(own, |original| original.position());
                    (readable, new_content, page.entry.as_ref())
                }
                Item::Withdrawal { entry, .. } => (nowhere(), None, Some(entry)),
            };
            if let Some(entry) = entry {
                entry.write(self.log.mark(), &archive, &mut self.log_bytes);
                self.highest_epoch.fetch_max(entry.epoch(), Ordering::Relaxed);
            }
            placed.push(Placed { archive, new_content, log_end: log_start + self.log_bytes.len() as u64 });
        }
        placed
    }
}

impl Batch {
    fn add_page(&mut self, page: PreparedPage, ack: Ack, queued: OwnedSemaphorePermit) {
        self.bytes += page.len();
        self.pages += 1;
        self.add(Item::Page { page, ack, _queued: queued });
    }

    fn add(&mut self, item: Item) {
        self.items.push(item);
    }

    fn is_full(&self) -> bool {
        self.items.len() >= BATCH_PAGES || self.bytes >= BATCH_BYTES
    }
}

impl Item {
    fn succeeded(self, placed: Placed) {
        match self {
            Self::Page { ack, .. } => ack.saved(placed.archive, placed.log_end),
            Self::Withdrawal { done, .. } => drop(done.send(Ok(placed.log_end))),
        }
    }

    fn failed(self, reason: String) {
        match self {
            Self::Page { ack, .. } => ack.unavailable(reason),
            Self::Withdrawal { done, .. } => drop(done.send(Err(reason))),
        }
    }
}
