//! Turns documents into segments of the index, on threads of its own.
//!
//! tantivy's own writer looks up every term of every document in a table of all terms of a segment and appends to a list there,
//! each time a miss of the cache or two. Here a [`builder`] appends each document's [`postings`] to one array and sorts them by
//! [`terms`] when the segment is written, in tantivy's format and through its serializers. tantivy does the rest: commits,
//! deletions in earlier segments, merges.
//!
//! A page goes to the thread that its id names, so that all its versions are in one order: an earlier version is removed from the
//! segment that this thread is building, or [deleted](earlier_versions) in those before.
//!
//! Life cycle: [`Segments::open`] → [`add`](Segments::add) → [`commit`](Segments::commit) → dropped, which forgets what was not
//! committed and waits for merges.

mod builder;
mod earlier_versions;
mod postings;
mod terms;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{self, JoinHandle};

use tantivy::indexer::{IndexWriterOptions, MergePolicy};
use tantivy::{Index, IndexWriter, TantivyError, Term};

use crate::document::PageDocument;
use crate::schema;
use crate::tokenizer::DocumentTokenizer;
use builder::SegmentBuilder;
use earlier_versions::{EarlierVersions, SegmentOrder};

/// Documents that may wait for one thread; their bytes are bounded by their permits.
const WAITING_DOCUMENTS: usize = 256;
/// The smallest arena that tantivy takes for a thread of its own, which gets no documents.
const TANTIVY_ARENA_BYTES: usize = 15_000_000;

pub struct Segments {
    /// `None` only while it is dropped.
    writer: Option<Arc<RwLock<IndexWriter>>>,
    order: SegmentOrder,
    threads: Vec<Thread>,
}

struct Thread {
    commands: SyncSender<Command>,
    /// `None` when it was joined because it had failed.
    handle: Option<JoinHandle<tantivy::Result<()>>>,
}

enum Command {
    Add {
        document: Box<PageDocument>,
        /// There is an earlier version.
        replaces: bool,
    },
    /// What was added becomes a segment, which the next commit publishes.
    Flush(SyncSender<()>),
}

impl Segments {
    /// `memory_bytes` are for the documents of each thread that are not written yet, at most 4 GiB: what they hold is
    /// numbered in 32 bits.
    pub fn open(
        index: &Index,
        threads: usize,
        memory_bytes: usize,
        merge_policy: Box<dyn MergePolicy>,
    ) -> tantivy::Result<Self> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(TANTIVY_ARENA_BYTES)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        writer.set_merge_policy(merge_policy);
        let writer = Arc::new(RwLock::new(writer));
        let order = SegmentOrder::default();
        let start = |number| {
            let (commands, waiting) = mpsc::sync_channel(WAITING_DOCUMENTS);
            let (writer, order) = (Arc::clone(&writer), order.clone());
            // Linux shows 15 characters of it.
            let thread = thread::Builder::new().name(format!("index-writer-{number}"));
            let handle = thread.spawn(move || Builder::new(&writer, order, memory_bytes).run(&waiting))?;
            Ok(Thread { commands, handle: Some(handle) })
        };
        let threads = (0..threads).map(start).collect::<tantivy::Result<_>>()?;
        Ok(Self { writer: Some(writer), order, threads })
    }

    /// `replaces` says whether an earlier version is there. Waits while its thread is behind.
    pub fn add(&mut self, document: PageDocument, replaces: bool) -> tantivy::Result<()> {
        let number = usize::from(document.id().as_bytes()[0]) % self.threads.len();
        self.send(number, Command::Add { document: Box::new(document), replaces })
    }

    /// Everything added so far is durable and can be searched when this returns, and the payload with it.
    pub fn commit(&mut self, payload: &str) -> tantivy::Result<()> {
        let (done, flushed) = mpsc::sync_channel(self.threads.len());
        for number in 0..self.threads.len() {
            self.send(number, Command::Flush(done.clone()))?;
        }
        drop(done);
        let flushed = flushed.iter().count();
        if flushed < self.threads.len() {
            // One that failed has not answered.
            return Err((0..self.threads.len()).find_map(|number| self.failure(number)).unwrap_or_else(stopped));
        }
        let Some(writer) = &self.writer else { return Err(stopped()) };
        let mut writer = writer.write().unwrap_or_else(PoisonError::into_inner);
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(payload);
        commit.commit()?;
        self.order.committed();
        Ok(())
    }

    fn send(&mut self, number: usize, command: Command) -> tantivy::Result<()> {
        match self.threads[number].commands.send(command) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure(number).unwrap_or_else(stopped)),
        }
    }

    /// The reason for which a thread has ended, once.
    fn failure(&mut self, number: usize) -> Option<TantivyError> {
        // One that runs would be waited for, and it waits for commands.
        let handle = self.threads[number].handle.take_if(|handle| handle.is_finished())?;
        match handle.join() {
            Ok(ended) => ended.err(),
            Err(_) => Some(TantivyError::ErrorInThread("a segment's writer panicked".to_owned())),
        }
    }
}

fn stopped() -> TantivyError {
    TantivyError::ErrorInThread("the threads that write segments have ended".to_owned())
}

impl Drop for Segments {
    /// A merge that outlives its writer would write its own view of the index over the commits of the next writer.
    fn drop(&mut self) {
        for Thread { commands, handle } in self.threads.drain(..) {
            drop(commands);
            if let Some(Ok(Err(error))) = handle.map(JoinHandle::join) {
                tracing::debug!(%error, "what was not committed is dropped");
            }
        }
        if let Some(writer) = self.writer.take().and_then(Arc::into_inner) {
            let writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = writer.wait_merging_threads() {
                tracing::warn!(%error, "a merge of index segments failed");
            }
        }
    }
}

/// The work of one thread.
struct Builder<'w> {
    writer: &'w RwLock<IndexWriter>,
    order: SegmentOrder,
    memory_bytes: usize,
    tokenizer: DocumentTokenizer,
    /// With its place in the order; `None` until a document comes.
    segment: Option<(SegmentBuilder, u64)>,
}

impl<'w> Builder<'w> {
    fn new(writer: &'w RwLock<IndexWriter>, order: SegmentOrder, memory_bytes: usize) -> Self {
        Self { writer, order, memory_bytes, tokenizer: DocumentTokenizer::default(), segment: None }
    }

    /// Until nobody sends any more; what is not flushed then is forgotten.
    fn run(mut self, commands: &Receiver<Command>) -> tantivy::Result<()> {
        for command in commands {
            match command {
                Command::Add { document, replaces } => self.add(&document, replaces)?,
                Command::Flush(done) => {
                    self.flush()?;
                    // Whoever waited may have given up.
                    let _ = done.send(());
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, document: &PageDocument, replaces: bool) -> tantivy::Result<()> {
        let (segment, place) = match &mut self.segment {
            Some(building) => building,
            none => {
                let new = writer(self.writer).new_segment();
                let place = self.order.begin(new.id());
                none.insert((SegmentBuilder::new(new)?, place))
            }
        };
        if replaces && !segment.remove(document.id()) {
            let id = Term::from_field_bytes(schema::schema().1.id, document.id().as_bytes());
            writer(self.writer).delete_query(Box::new(EarlierVersions::new(id, &self.order, *place)))?;
        }
        segment.add(document, &mut self.tokenizer)?;
        if segment.memory() > self.memory_bytes {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> tantivy::Result<()> {
        let Some((segment, _)) = self.segment.take() else { return Ok(()) };
        let has_removed = segment.has_removed();
        let meta = segment.finish()?;
        let writer = writer(self.writer);
        writer.add_segment(meta)?;
        if has_removed {
            writer.delete_term(Term::from_field_bytes(schema::schema().1.id, builder::REMOVED));
        }
        Ok(())
    }
}

/// For all that threads do at the same time; only a commit has it alone.
fn writer(writer: &RwLock<IndexWriter>) -> RwLockReadGuard<'_, IndexWriter> {
    writer.read().unwrap_or_else(PoisonError::into_inner)
}
