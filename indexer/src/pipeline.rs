//! One index being filled: a follower that reads the log and a worker thread that writes.
//!
//! Life cycle: [`Pipeline::start`] opens the index and starts both → [`Pipeline::failure`] tells when the worker broke →
//! [`Pipeline::stop`] ends the follower, then lets the worker commit what it has, and waits for both.

use std::path::{Path, PathBuf};

use tantivy::IndexReader;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::IndexerConfig;
use crate::checkpoint::{Checkpoint, covers};
use crate::error::IndexerError;
use crate::follow::{Follower, Following};
use crate::worker::{Command, WAITING_COMMANDS, Worker};
use crate::writer::DocumentWriter;

pub struct Pipeline {
    pub path: PathBuf,
    pub reader: IndexReader,
    pub commands: mpsc::Sender<Command>,
    /// What is committed.
    pub progress: watch::Receiver<Checkpoint>,
    pub following: watch::Receiver<Following>,
    /// Both are absent once their end was reported.
    follower: Option<JoinHandle<()>>,
    worker: Option<JoinHandle<Result<(), IndexerError>>>,
    stop: CancellationToken,
}

impl Pipeline {
    pub async fn start(path: &Path, config: &IndexerConfig, filesaver: Channel) -> Result<Self, IndexerError> {
        let (open_path, open_config) = (path.to_owned(), *config);
        let writer = blocking(move || DocumentWriter::open(&open_path, &open_config)).await?;
        let reader = writer.reader().clone();
        let checkpoint = writer.checkpoint().clone();
        let stop = CancellationToken::new();
        let (commands, waiting) = mpsc::channel(WAITING_COMMANDS);
        let (progress_sender, progress) = watch::channel(checkpoint.clone());
        let (following_sender, following) = watch::channel(Following::default());
        let worker = Worker::new(writer, waiting, progress_sender, config.commit_interval);
        let worker = Some(tokio::task::spawn_blocking(move || worker.run()));
        let follower = Follower::new(path, filesaver, commands.clone(), checkpoint, following_sender);
        let follower = Some(tokio::spawn(follower.run(stop.clone())));
        Ok(Self { path: path.to_owned(), reader, commands, progress, following, follower, worker, stop })
    }

    /// Returns only when the worker or the follower broke; a panic of either is carried on. Not to be asked again after
    /// that.
    pub async fn failure(&mut self) -> IndexerError {
        let joined = tokio::select! {
            joined = end_of(&mut self.worker) => joined,
            // It ends when the worker is gone, whose reason is the one to tell; or it panicked.
            joined = end_of(&mut self.follower) => match joined {
                Err(error) => Err(error),
                Ok(()) => end_of(&mut self.worker).await,
            },
        };
        worker_result(joined).err().unwrap_or(IndexerError::Stopped)
    }

    /// Returns when everything that the log held is committed. May be dropped and called again.
    pub async fn caught_up(&mut self) -> Result<(), IndexerError> {
        // Whatever closes on the way here was closed by the worker's failure.
        let caught_up = self.following.wait_for(|following| following.caught_up.is_some()).await.ok();
        let position = caught_up.and_then(|following| Some((following.log_id.clone()?, following.caught_up?)));
        let Some((log_id, until_offset)) = position else { return Err(self.failure().await) };
        let flush = Command::Flush { log_id: log_id.clone(), until_offset };
        if self.commands.send(flush).await.is_err() {
            return Err(self.failure().await);
        }
        let reached = self.progress.wait_for(|committed| covers(committed, &log_id, until_offset)).await.is_ok();
        if reached { Ok(()) } else { Err(self.failure().await) }
    }

    pub async fn stop(self) -> Result<(), IndexerError> {
        self.stop.cancel();
        let followed = match self.follower {
            Some(follower) => worker_result(follower.await.map(Ok)),
            None => Ok(()),
        };
        drop(self.commands);
        match self.worker {
            Some(worker) => worker_result(worker.await).and(followed),
            None => followed,
        }
    }
}

/// Waits for a task to end, and for ever once that was told.
async fn end_of<T>(task: &mut Option<JoinHandle<T>>) -> Result<T, JoinError> {
    let Some(running) = task else { return std::future::pending().await };
    let joined = running.await;
    *task = None;
    joined
}

/// Runs what blocks on a thread for it, and carries a panic on.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn worker_result(joined: Result<Result<(), IndexerError>, JoinError>) -> Result<(), IndexerError> {
    match joined {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(IndexerError::Stopped),
    }
}
