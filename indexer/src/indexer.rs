//! The indexer as a service: keeps one index up to date with the log, rebuilds it on request, tells how far it is.
//!
//! Life cycle: [`Indexer::open`] finds or makes the index → [`Indexer::service`] can be asked at once → [`Indexer::run`]
//! follows the log until shutdown and commits what it has. If the index fails meanwhile, it is opened again from its
//! last commit with growing pauses.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use seine_common::health::Reporter;
use seine_proto::indexer::v1::indexer_server::IndexerServer;
use tantivy::{IndexReader, ReloadPolicy};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::damage;
use crate::error::IndexerError;
use crate::follow::GrowingPause;
use crate::pipeline::{Pipeline, covers};
use crate::publish;
use crate::rpc::IndexerRpc;
use crate::worker::Command;
use crate::writer::{Checkpoint, read_progress};

/// Rebuild requests that may wait for the indexer to notice them.
const WAITING_REBUILDS: usize = 1;

#[derive(Clone, Copy, Debug)]
pub struct IndexerConfig {
    /// For the words collected between two commits, over all threads.
    pub memory_bytes: usize,
    /// Threads that cut texts into words.
    pub threads: usize,
    /// How long an entry may wait to be searchable.
    pub commit_interval: Duration,
}

impl Default for IndexerConfig {
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, threads: 1, commit_interval: Duration::from_secs(2) }
    }
}

/// Cheap to clone; all clones are one indexer.
#[derive(Clone)]
pub struct Indexer {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) root: PathBuf,
    pub(crate) config: IndexerConfig,
    pub(crate) live: watch::Sender<Live>,
    /// Says whether the index can be written.
    pub(crate) health: Reporter,
    rebuilds: mpsc::Sender<RebuildReply>,
    /// Held by whoever runs.
    rebuild_requests: Mutex<mpsc::Receiver<RebuildReply>>,
}

pub(crate) type RebuildReply = oneshot::Sender<Result<u64, IndexerError>>;

/// The index that is current now.
#[derive(Clone)]
pub(crate) struct Live {
    reader: IndexReader,
    progress: watch::Receiver<Checkpoint>,
    /// Absent while nothing runs. Weak, so that whoever waits for a flush does not keep a pipeline alive.
    commands: Option<mpsc::WeakSender<Command>>,
    stopped: bool,
}

impl Live {
    pub(crate) fn of(pipeline: &Pipeline) -> Self {
        Self {
            reader: pipeline.reader.clone(),
            progress: pipeline.progress.clone(),
            commands: Some(pipeline.commands.downgrade()),
            stopped: false,
        }
    }
}

impl Indexer {
    /// Blocks for as long as opening an index takes: milliseconds.
    pub fn open(dir: &Path, config: IndexerConfig) -> Result<Self, IndexerError> {
        Self::open_reporting(dir, config, Reporter::default())
    }

    /// As [`Indexer::open`]; says to the reporter why what is saved does not reach the index.
    pub fn open_reporting(dir: &Path, config: IndexerConfig, health: Reporter) -> Result<Self, IndexerError> {
        let (path, index) = publish::open_or_create(dir)?;
        damage::set_aside(&path, &damage::unreadable_segments(&index, &path)?)?;
        let reader: IndexReader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(IndexerError::index(&path))?;
        let (_, progress) = watch::channel(read_progress(&index, &path)?.logs);
        let (live, _) = watch::channel(Live { reader, progress, commands: None, stopped: false });
        let (rebuilds, rebuild_requests) = mpsc::channel(WAITING_REBUILDS);
        let rebuild_requests = Mutex::new(rebuild_requests);
        let shared = Shared { root: dir.to_owned(), config, live, health, rebuilds, rebuild_requests };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub fn service(&self) -> IndexerServer<IndexerRpc> {
        IndexerServer::new(self.rpc())
    }

    /// What the service answers with, without a server around it.
    pub fn rpc(&self) -> IndexerRpc {
        IndexerRpc::new(Arc::clone(&self.shared))
    }

    /// Follows the filesaver's log until shutdown. One at a time; a second call waits for the first to end.
    pub async fn run(&self, filesaver: Channel, shutdown: CancellationToken) -> Result<(), IndexerError> {
        let shared = &self.shared;
        let mut rebuild_requests = shared.rebuild_requests.lock().await;
        let mut pause = GrowingPause::default();
        let mut opened_before = false;
        let result = loop {
            let started = tokio::time::Instant::now();
            match shared.session(&filesaver, &mut rebuild_requests, &shutdown, &mut opened_before).await {
                Ok(()) => break Ok(()),
                // What cannot be opened at all is a mistake of the setup, not a passing trouble.
                Err(error) if !opened_before => break Err(error),
                Err(error) => {
                    tracing::error!(%error, "index failed, opening it again from its last commit");
                    shared.health.unwell(error.to_string());
                }
            }
            if started.elapsed() > Duration::from_secs(60) {
                pause.reset();
            }
            if !pause.wait(&shutdown).await {
                break Ok(());
            }
        };
        shared.live.send_modify(|live| (live.commands, live.stopped) = (None, true));
        result
    }
}

impl Shared {
    /// Returns when everything up to the offset is committed.
    pub(crate) async fn flush(&self, log_id: &str, until_offset: u64) -> Result<(), IndexerError> {
        let mut changes = self.live.subscribe();
        loop {
            let live = changes.borrow_and_update().clone();
            if covers(&live.progress.borrow(), log_id, until_offset) {
                return Ok(());
            }
            if live.stopped {
                return Err(IndexerError::Stopped);
            }
            let commands = live.commands.as_ref().and_then(mpsc::WeakSender::upgrade);
            let mut progress = live.progress.clone();
            let reached = async {
                if let Some(commands) = commands {
                    let _ = commands.send(Command::Flush { log_id: log_id.to_owned(), until_offset }).await;
                }
                let reached = progress.wait_for(|committed| covers(committed, log_id, until_offset)).await.is_ok();
                if !reached {
                    // This pipeline ended; the next one, or the end, will be announced.
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = reached => return Ok(()),
                changed = changes.changed() => changed.map_err(|_| IndexerError::Stopped)?,
            }
        }
    }

    pub(crate) async fn rebuild(&self) -> Result<u64, IndexerError> {
        let mut changes = self.live.subscribe();
        let (reply, answer) = oneshot::channel();
        let stopped = changes.wait_for(|live| live.stopped);
        self.rebuilds.try_send(reply).map_err(|_| IndexerError::RebuildRunning)?;
        tokio::select! {
            answer = answer => answer.unwrap_or(Err(IndexerError::Stopped)),
            _ = stopped => Err(IndexerError::Stopped),
        }
    }

    pub(crate) fn committed(&self) -> Checkpoint {
        self.live.borrow().progress.borrow().clone()
    }

    pub(crate) fn reader(&self) -> IndexReader {
        self.live.borrow().reader.clone()
    }
}
