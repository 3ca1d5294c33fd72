//! Keeps pages and descriptions for good: a WARC archive and a description log under one directory.
//!
//! A page comes in over [`service`]; its records are made and compressed on the CPU pool ([`prepare`]); one writer
//! thread ([`commit`]) appends batches to the [`archive`] and the [`description_log`], syncs both, and only then
//! acknowledges. A body that is in the archive already ([`known_contents`]) is not kept twice, and a visit to a page that is
//! as it was names the record that has it ([`earlier_record`]). [`follow`] gives readers of the
//! log what is durable; [`read`] gives back what stands in the archive, to a bounded number of [`readers`], and finds it by
//! the [`archive_index`] beside each file. [`recover`] puts right what a killed process left.
//!
//! Life cycle: [`Filesaver::open`] recovers and starts the writer → [`Filesaver::service`] as often as wanted →
//! [`Filesaver::close`] seals the open archive file. A process that is killed instead loses nothing acknowledged.

mod service;
mod prepare;
mod earlier_record;
mod warc;
mod gzip;
mod known_contents;
mod cdxj;
mod commit;
mod save_watch;
mod append_file;
mod archive;
mod archive_index;
mod description_log;
mod follow;
mod record;
mod readers;
mod read;
mod copy;
mod recover;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use seine_common::data_dir::sync_directory;
use seine_common::limits::{MAX_BODY_BYTES, MAX_MESSAGE_BYTES};
use seine_common::panics::{self, ThreadEnd};
use seine_node::health::Reporter;
use seine_proto::common::v1::{ArchivePosition, Withdrawn};
use seine_proto::filesaver::v1::filesaver_server::FilesaverServer;
use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::cpu_pool::CpuPool;
use crate::error::Error;
use crate::metrics;
use archive::Archive;
use archive_index::rebuild::Rebuild;
use archive_index::{remember, remove_spools};
use commit::{Command, Writer};
use description_log::entry::EntryBody;
use description_log::{DescriptionLog, Segments, log_id};
use known_contents::KnownContents;
pub use prepare::PreparedPage;
use readers::Readers;
use recover::{recover_archive, recover_log};
pub use service::FilesaverService;
pub use warc::warcinfo;

/// Archive files are sealed when they have reached this.
pub const DEFAULT_SEGMENT_BYTES: u64 = 1 << 30;
/// Larger descriptions are refused, so that each fits in a message to a follower.
pub const MAX_DESCRIPTION_BYTES: usize = 16 << 20;
/// The status of a page that is as it was. A visit with this answer is noted, and adds no page.
pub(crate) const NOT_MODIFIED: u32 = 304;
/// Commands waiting for the writer.
const QUEUED_COMMANDS: usize = 256;
/// Bodies of pages between their arrival and their commit, all streams together.
const QUEUED_BYTES: usize = 2 * MAX_BODY_BYTES;

/// What an acknowledgement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Synced: survives a power cut.
    Sync,
    /// Written: survives a killed process; syncing is left to the system.
    Os,
}

#[derive(Clone, Debug)]
pub struct FilesaverConfig {
    pub durability: Durability,
    /// Files of the archive are sealed when they have reached this; those of the log are not longer either.
    pub segment_bytes: u64,
    /// Name and version of the program, for the archive's warcinfo records.
    pub software: String,
}

impl Default for FilesaverConfig {
    fn default() -> Self {
        let software = format!("Seine/{}", env!("CARGO_PKG_VERSION"));
        Self { durability: Durability::Sync, segment_bytes: DEFAULT_SEGMENT_BYTES, software }
    }
}

/// The store and its writer thread. The directory must not be open twice at a time.
pub struct Filesaver {
    shared: Arc<Shared>,
    writer: JoinHandle<()>,
    writer_end: ThreadEnd,
    rebuild: Rebuild,
}

/// What services, streams and followers need.
pub(crate) struct Shared {
    commands: mpsc::Sender<Command>,
    durable_end: watch::Receiver<u64>,
    segments: Segments,
    /// Names the filesaver too.
    log_id: Arc<str>,
    /// The highest epoch of a lease that entries were fetched under.
    highest_epoch: Arc<AtomicU64>,
    cpu: CpuPool,
    /// Counts bytes.
    queue: Arc<Semaphore>,
    closing: CancellationToken,
    known: Arc<KnownContents>,
    archive_dir: Arc<Path>,
    readers: Readers,
}

/// Copies that are read at the same time.
const READERS: usize = 2;

impl Filesaver {
    pub fn open(dir: &Path, config: FilesaverConfig) -> Result<Self, Error> {
        Self::open_reporting(dir, config, Reporter::default())
    }

    /// As [`Filesaver::open`]; says to the reporter whether pages can be saved.
    pub fn open_reporting(dir: &Path, config: FilesaverConfig, health: Reporter) -> Result<Self, Error> {
        let (archive_dir, log_dir) = (dir.join("archive"), dir.join("log"));
        for dir in [&archive_dir, &log_dir] {
            fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, error))?;
        }
        sync_directory(dir).map_err(|error| Error::io("sync", dir, error))?;
        let log_id: Arc<str> = log_id(&log_dir, dir)?.into();
        let segments = Segments::list(&log_dir)?;
        let recovered = recover_log(&segments)?;
        remove_spools(&archive_dir)?;
        recover_archive(&archive_dir, recovered.last_page.as_ref())?;
        let known = Arc::new(KnownContents::default());
        remember(&archive_dir, &known)?;
        let rebuild = Rebuild::start(&archive_dir)?;
        let log = DescriptionLog::open(segments.clone(), recovered.end, recovered.mark, config.segment_bytes)?;
        let highest_epoch = Arc::new(AtomicU64::new(recovered.highest_epoch));
        let archive = Archive::new(archive_dir.clone(), config.durability, config.segment_bytes, config.software)?;

        let (commands, waiting) = mpsc::channel(QUEUED_COMMANDS);
        let (published, durable_end) = watch::channel(recovered.end);
        let epochs = Arc::clone(&highest_epoch);
        metrics::describe_filesaver();
        let writer = Writer::new(archive, log, config.durability, published, Arc::clone(&known), health, epochs);
        let writer = writer.telling(metrics::log_end(&log_id));
        let run = move || {
            writer.run(waiting);
            Ok::<_, Error>(())
        };
        let (writer, writer_end) = panics::spawn_thread("filesaver-writer", run)
            .map_err(|error| Error::io("start the writer for", &archive_dir, error))?;
        let shared = Shared {
            commands,
            durable_end,
            segments,
            log_id,
            highest_epoch,
            cpu: CpuPool::new("filesaver-cpu"),
            queue: Arc::new(Semaphore::new(QUEUED_BYTES)),
            closing: CancellationToken::new(),
            known,
            archive_dir: archive_dir.into(),
            readers: Readers::new(READERS),
        };
        Ok(Self { shared: Arc::new(shared), writer, writer_end, rebuild })
    }

    /// The gRPC service, with its message limits set.
    pub fn service(&self) -> FilesaverServer<FilesaverService> {
        FilesaverServer::new(FilesaverService::new(Arc::clone(&self.shared)))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub fn log_id(&self) -> &str {
        &self.shared.log_id
    }

    /// Returns when the writer has ended: asked to, or because it panicked.
    pub fn ended(&self) -> impl Future<Output = Result<(), String>> + Send + 'static {
        self.writer_end.clone().wait()
    }

    /// The highest epoch of a lease that entries of the log were fetched under.
    pub fn highest_epoch(&self) -> u64 {
        self.shared.highest_epoch.load(Ordering::Relaxed)
    }

    /// Where the durable part of the description log ends.
    pub fn log_end(&self) -> u64 {
        *self.shared.durable_end.borrow()
    }

    /// Notes in the log that a page is gone or must be forgotten. Returns the end of the entry once it is durable.
    pub async fn withdraw(&self, withdrawn: Withdrawn) -> Result<u64, Error> {
        self.shared.withdraw(withdrawn).await
    }

    /// Ends followers, commits what waits, seals the open archive file and stops the writer.
    pub async fn close(self) -> Result<(), Error> {
        self.shared.closing.cancel();
        let (done, answer) = oneshot::channel();
        self.shared.command(Command::Stop { done }).await?;
        let sealed = answer.await.map_err(|_| Error::Closed)?;
        let (writer, mut rebuild) = (self.writer, self.rebuild);
        let stopped = tokio::task::spawn_blocking(move || {
            rebuild.stop();
            writer.join()
        })
        .await;
        if !matches!(stopped, Ok(Ok(()))) || self.writer_end.wait().await.is_err() {
            return Err(Error::Panicked("the filesaver's writer did not end well".to_owned()));
        }
        sealed.map_err(Error::NotSaved)
    }
}

impl Shared {
    async fn command(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| Error::Closed)
    }

    /// The position as others know it, with the name of this filesaver.
    fn here(&self, position: ArchivePosition) -> ArchivePosition {
        named(position, &self.log_id)
    }

    async fn withdraw(&self, withdrawn: Withdrawn) -> Result<u64, Error> {
        let entry = EntryBody::of(&LogEntry { entry: Some(Entry::Withdrawn(withdrawn)) });
        let (done, answer) = oneshot::channel();
        self.command(Command::Withdraw { entry, done }).await?;
        answer.await.map_err(|_| Error::Closed)?.map_err(Error::NotSaved)
    }
}

/// On disk, positions have no name: whoever has the archive has its log beside it.
fn named(position: ArchivePosition, filesaver: &str) -> ArchivePosition {
    match position.file.is_empty() {
        true => position,
        false => ArchivePosition { filesaver: filesaver.to_owned(), ..position },
    }
}

/// True for a position without a name, which earlier versions kept.
fn may_be_of(position: &ArchivePosition, filesaver: &str) -> bool {
    position.filesaver.is_empty() || position.filesaver == filesaver
}

/// Entries without a page stand nowhere in the archive.
fn nowhere() -> ArchivePosition {
    ArchivePosition::default()
}
