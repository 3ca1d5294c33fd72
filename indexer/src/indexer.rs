//! The indexer as a service: keeps one index up to date with the log, rebuilds it on request, tells how far it is.
//!
//! Life cycle: [`Indexer::open`] finds or makes the index → [`Indexer::service`] can be asked at once → [`Indexer::run`]
//! follows the log until shutdown and commits what it has. If the index fails meanwhile, it is opened again from its
//! last commit with growing pauses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use seine_node::health::Reporter;
use seine_node::membership::Filesavers;
use seine_proto::indexer::v1::indexer_server::IndexerServer;
use tantivy::{IndexReader, ReloadPolicy};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::checkpoint::{Checkpoint, Stretch, covers};
use crate::damage;
use crate::error::IndexerError;
use crate::follow::{GrowingPause, Trouble};
use crate::followers::{self, Followings};
use crate::lag;
use crate::metrics;
use crate::pipeline::Pipeline;
use crate::publish;
use crate::rpc::IndexerRpc;
use crate::searches::Searches;
use crate::worker::Command;
use crate::writer::read_progress;

/// Rebuild requests that may wait for the indexer to notice them.
const WAITING_REBUILDS: usize = 1;

#[derive(Clone, Debug)]
pub struct IndexerConfig {
    /// For the words collected between two commits, over all threads.
    pub memory_bytes: usize,
    /// Threads that cut texts into words.
    pub threads: usize,
    /// The longest that an entry waits to be searchable, for whoever searches.
    pub commit_interval: Duration,
    /// Told by the query in the same process.
    pub searches: Searches,
}

impl Default for IndexerConfig {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            threads: 1,
            commit_interval: Duration::from_secs(2),
            searches: Searches::default(),
        }
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
    rebuilds: mpsc::Sender<RebuildWish>,
    /// Held by whoever runs.
    rebuild_requests: Mutex<mpsc::Receiver<RebuildWish>>,
}

/// Somebody wants a new index.
pub(crate) struct RebuildWish {
    /// Their pages are left out where their filesavers are away.
    pub(crate) without_logs: BTreeSet<String>,
    pub(crate) reply: RebuildReply,
}

pub(crate) type RebuildReply = oneshot::Sender<Result<u64, IndexerError>>;

/// The index that is current now.
#[derive(Clone)]
pub(crate) struct Live {
    reader: IndexReader,
    progress: watch::Receiver<Checkpoint>,
    following: watch::Receiver<Followings>,
    /// Absent while nothing runs. Weak, so that whoever waits for a flush does not keep a pipeline alive.
    commands: Option<mpsc::WeakSender<Command>>,
    stopped: bool,
}

impl Live {
    pub(crate) fn of(pipeline: &Pipeline) -> Self {
        Self {
            reader: pipeline.reader.clone(),
            progress: pipeline.progress.clone(),
            following: pipeline.following.clone(),
            commands: Some(pipeline.commands.downgrade()),
            stopped: false,
        }
    }
}

impl Live {
    /// What of the log up to the offset could not be read; `None` while not all that could be is committed.
    fn reached(&self, log_id: &str, until_offset: u64) -> Option<Vec<Stretch>> {
        let committed = self.progress.borrow();
        // An offset of a log that was cut, or is another one, would tell nothing.
        if !self.is_followed(log_id) || !covers(&committed, log_id, until_offset) {
            return None;
        }
        let damaged = committed.get(log_id).map(|log| log.damaged.as_slice()).unwrap_or_default();
        Some(damaged.iter().filter(|stretch| stretch.start < until_offset).cloned().collect())
    }

    fn is_followed(&self, log_id: &str) -> bool {
        self.following.borrow().get(log_id).is_some_and(|following| following.is_followed)
    }

    /// Waits for that.
    async fn reach(mut self, log_id: &str, until_offset: u64) -> Result<Vec<Stretch>, IndexerError> {
        let mut is_asked = false;
        loop {
            drop(self.progress.borrow_and_update());
            let trouble =
                self.following.borrow_and_update().get(log_id).and_then(|following| following.trouble.clone());
            if let Some(Trouble::Failing(reason)) = trouble {
                return Err(IndexerError::NotFollowing(reason));
            }
            if let Some(damaged) = self.reached(log_id, until_offset) {
                return Ok(damaged);
            }
            // Once for each time that the log begins to be followed: a log that is read again forgets who waited.
            let is_followed = self.is_followed(log_id);
            if is_followed
                && !is_asked
                && let Some(commands) = self.commands.as_ref().and_then(mpsc::WeakSender::upgrade)
            {
                let _ = commands.send(Command::Flush { log_id: log_id.to_owned(), until_offset }).await;
            }
            is_asked = is_followed;
            let changed = tokio::select! {
                changed = self.progress.changed() => changed,
                changed = self.following.changed() => changed,
            };
            if changed.is_err() {
                // This pipeline ended; the next one, or the end, will be announced.
                std::future::pending::<()>().await;
            }
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
        let (_, progress) = watch::channel(read_progress(&index, &path)?.unwrap_or_default().logs);
        let (_, following) = watch::channel(Followings::new());
        let (live, _) = watch::channel(Live { reader, progress, following, commands: None, stopped: false });
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

    /// Follows the logs of all filesavers until shutdown. One at a time; a second call waits for the first to end.
    pub async fn run(&self, filesavers: Filesavers, shutdown: CancellationToken) -> Result<(), IndexerError> {
        let shared = &self.shared;
        let mut rebuild_requests = shared.rebuild_requests.lock().await;
        metrics::describe();
        let _sampling = AbortOnDropHandle::new(tokio::spawn(lag::sample(Arc::clone(shared), filesavers.clone())));
        let mut pause = GrowingPause::default();
        let mut opened_before = false;
        let result = loop {
            let started = tokio::time::Instant::now();
            match shared.session(&filesavers, &mut rebuild_requests, &shutdown, &mut opened_before).await {
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
    /// Returns when everything up to the offset is committed, with what of it could not be read.
    pub(crate) async fn flush(&self, log_id: &str, until_offset: u64) -> Result<Vec<Stretch>, IndexerError> {
        if until_offset == 0 {
            return Ok(Vec::new());
        }
        let mut changes = self.live.subscribe();
        loop {
            let live = changes.borrow_and_update().clone();
            if live.stopped {
                return live.reached(log_id, until_offset).ok_or(IndexerError::Stopped);
            }
            tokio::select! {
                reached = live.reach(log_id, until_offset) => return reached,
                changed = changes.changed() => changed.map_err(|_| IndexerError::Stopped)?,
            }
        }
    }

    pub(crate) async fn rebuild(&self, without_logs: BTreeSet<String>) -> Result<u64, IndexerError> {
        let mut changes = self.live.subscribe();
        let (reply, answer) = oneshot::channel();
        let stopped = changes.wait_for(|live| live.stopped);
        self.rebuilds.try_send(RebuildWish { without_logs, reply }).map_err(|_| IndexerError::RebuildRunning)?;
        tokio::select! {
            answer = answer => answer.unwrap_or(Err(IndexerError::Stopped)),
            _ = stopped => Err(IndexerError::Stopped),
        }
    }

    pub(crate) fn committed(&self) -> Checkpoint {
        self.live.borrow().progress.borrow().clone()
    }

    /// Why the index does not grow, or what is missing in it, in words.
    pub(crate) fn trouble(&self) -> Option<String> {
        let live = self.live.borrow().clone();
        if let Some(troubles) = followers::troubles(&live.following.borrow()) {
            return Some(format!("the index does not grow by all that is saved: {troubles}"));
        }
        let committed = live.progress.borrow();
        let damaged: Vec<&Stretch> = committed.values().flat_map(|log| &log.damaged).collect();
        let first = damaged.first()?;
        Some(format!(
            "{} parts of the description log are damaged, the first at offset {} ({}): pages that stood there are not in the index",
            damaged.len(),
            first.start,
            first.reason
        ))
    }

    pub(crate) fn reader(&self) -> IndexReader {
        self.live.borrow().reader.clone()
    }
}
