//! One index being filled: followers that read the logs and a worker thread that writes.
//!
//! Life cycle: [`Pipeline::start`] opens the index and starts both → [`Pipeline::failure`] tells when the worker broke →
//! [`Pipeline::stop`] ends the followers, then lets the worker commit what it has, and waits for both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use seine_node::membership::Filesavers;
use tantivy::IndexReader;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::IndexerConfig;
use crate::checkpoint::{Checkpoint, covers};
use crate::error::IndexerError;
use crate::follow::Trouble;
use crate::followers::{Followers, Followings};
use crate::worker::{Command, WAITING_COMMANDS, Worker};
use crate::writer::DocumentWriter;

pub struct Pipeline {
    pub path: PathBuf,
    pub reader: IndexReader,
    pub commands: mpsc::Sender<Command>,
    /// What is committed.
    pub progress: watch::Receiver<Checkpoint>,
    pub following: watch::Receiver<Followings>,
    /// Both are absent once their end was reported.
    followers: Option<JoinHandle<()>>,
    worker: Option<JoinHandle<Result<(), IndexerError>>>,
    stop: CancellationToken,
}

impl Pipeline {
    pub async fn start(path: &Path, config: &IndexerConfig, filesavers: &Filesavers) -> Result<Self, IndexerError> {
        let (open_path, open_config) = (path.to_owned(), config.clone());
        let writer = blocking(move || DocumentWriter::open(&open_path, &open_config)).await?;
        let reader = writer.reader().clone();
        let checkpoint = writer.checkpoint().clone();
        let stop = CancellationToken::new();
        let (commands, waiting) = mpsc::channel(WAITING_COMMANDS);
        let (progress_sender, progress) = watch::channel(checkpoint.clone());
        let worker = Worker::new(writer, waiting, progress_sender, config.commit_interval, config.searches.clone());
        let worker = Some(tokio::task::spawn_blocking(move || worker.run()));
        let (followers, following) = Followers::new(path.to_owned(), filesavers.clone(), commands.clone(), checkpoint);
        let followers = Some(tokio::spawn(followers.run(stop.clone())));
        Ok(Self { path: path.to_owned(), reader, commands, progress, following, followers, worker, stop })
    }

    /// Returns only when the worker or a follower broke; a panic of either is carried on. Not to be asked again after
    /// that.
    pub async fn failure(&mut self) -> IndexerError {
        let joined = tokio::select! {
            joined = end_of(&mut self.worker) => joined,
            // They end when the worker is gone, whose reason is the one to tell; or one panicked.
            joined = end_of(&mut self.followers) => match joined {
                Err(error) => Err(error),
                Ok(()) => end_of(&mut self.worker).await,
            },
        };
        worker_result(joined).err().unwrap_or(IndexerError::Stopped)
    }

    /// Returns when everything that the logs held is committed: those that are `required`, and all whose filesavers are
    /// there. May be dropped and called again.
    pub async fn caught_up(&mut self, required: &BTreeSet<String>) -> Result<(), IndexerError> {
        // Whatever closes on the way here was closed by the worker's failure.
        let caught_up = self.following.wait_for(|logs| have_caught_up(logs, required)).await.ok();
        let ends: Option<Vec<(String, u64)>> = caught_up.map(|logs| {
            logs.iter().filter_map(|(log_id, following)| Some((log_id.clone(), following.caught_up?))).collect()
        });
        let Some(ends) = ends else { return Err(self.failure().await) };
        for (log_id, until_offset) in &ends {
            let flush = Command::Flush { log_id: log_id.clone(), until_offset: *until_offset };
            if self.commands.send(flush).await.is_err() {
                return Err(self.failure().await);
            }
        }
        let are_committed =
            |committed: &Checkpoint| ends.iter().all(|(log_id, until)| covers(committed, log_id, *until));
        let reached = self.progress.wait_for(are_committed).await.is_ok();
        if reached { Ok(()) } else { Err(self.failure().await) }
    }

    pub async fn stop(self) -> Result<(), IndexerError> {
        self.stop.cancel();
        let followed = match self.followers {
            Some(followers) => worker_result(followers.await.map(Ok)),
            None => Ok(()),
        };
        drop(self.commands);
        match self.worker {
            Some(worker) => worker_result(worker.await).and(followed),
            None => followed,
        }
    }
}

/// Whether the logs were read to their ends; at least one, because a filesaver may only be on its way.
fn have_caught_up(logs: &Followings, required: &BTreeSet<String>) -> bool {
    let is_away = |trouble: &Option<Trouble>| matches!(trouble, Some(Trouble::Away(_)));
    let mut logs_read = logs.iter().map(|(log_id, following)| {
        following.caught_up.is_some() || (!required.contains(log_id) && is_away(&following.trouble))
    });
    logs.values().any(|following| following.caught_up.is_some())
        && logs_read.all(|is_read| is_read)
        && required.iter().all(|log_id| logs.contains_key(log_id))
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
