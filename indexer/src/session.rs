//! One run of the indexer from opening the index to shutdown or failure, with the rebuilds in between.
//!
//! A rebuild fills a second index beside the current one and takes its place when it has caught up with the log;
//! searches and indexing go on in the first one until then. One that fails or is overtaken by shutdown is removed.
//! An index with [damaged](crate::damage) files is rebuilt without being asked.

use std::path::Path;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::count;
use crate::damage;
use crate::error::IndexerError;
use crate::indexer::{Live, RebuildReply, Shared};
use crate::pipeline::{Pipeline, blocking};
use crate::publish;

struct Rebuilding {
    pipeline: Pipeline,
    reply: RebuildReply,
}

enum Event {
    Requested(RebuildReply),
    Ended(Result<(), IndexerError>),
}

impl Shared {
    pub(crate) async fn session(
        &self,
        filesaver: &Channel,
        rebuild_requests: &mut mpsc::Receiver<RebuildReply>,
        shutdown: &CancellationToken,
        opened_before: &mut bool,
    ) -> Result<(), IndexerError> {
        let root = self.root.clone();
        let (path, _) = blocking(move || publish::open_or_create(&root)).await?;
        // Before anything is written: what is damaged must not be merged into what is not.
        let checked = path.clone();
        let is_damaged = blocking(move || damage::check(&checked)).await?;
        let mut current = Pipeline::start(&path, &self.config, filesaver.clone()).await?;
        *opened_before = true;
        self.live.send_replace(Live::of(&current));
        let mut committed = current.progress.clone();
        let (mut following, log_health) = (current.following.clone(), self.health.about("log"));
        let mut rebuilding: Option<Rebuilding> = None;
        if is_damaged {
            // Nobody waits for it.
            rebuilding = self.start_rebuild(filesaver, oneshot::channel().0).await;
        }
        let failure = loop {
            let event = tokio::select! {
                () = shutdown.cancelled() => break None,
                failure = current.failure() => break Some(failure),
                Some(reply) = rebuild_requests.recv() => Event::Requested(reply),
                event = end_of(&mut rebuilding) => event,
                Ok(()) = following.changed() => {
                    match &following.borrow_and_update().trouble {
                        Some(trouble) => log_health.unwell(trouble.reason().to_owned()),
                        None => log_health.well(),
                    }
                    continue;
                }
                Ok(()) = committed.changed() => {
                    // What was wrong is over.
                    self.health.well();
                    continue;
                }
            };
            rebuilding = match (event, rebuilding) {
                (Event::Requested(reply), None) => self.start_rebuild(filesaver, reply).await,
                (Event::Requested(reply), running) => {
                    let _ = reply.send(Err(IndexerError::RebuildRunning));
                    running
                }
                (Event::Ended(Ok(())), Some(rebuilt)) => {
                    current = self.switch(current, rebuilt).await;
                    committed = current.progress.clone();
                    following = current.following.clone();
                    None
                }
                (Event::Ended(Err(error)), Some(failed)) => {
                    self.give_up(failed, error, &current.path).await;
                    None
                }
                (Event::Ended(_), None) => unreachable!("what does not run does not end"),
            };
        };
        if let Some(unfinished) = rebuilding {
            self.give_up(unfinished, IndexerError::Stopped, &current.path).await;
        }
        match failure {
            Some(failure) => {
                let _ = current.stop().await;
                Err(failure)
            }
            None => current.stop().await,
        }
    }

    async fn start_rebuild(&self, filesaver: &Channel, reply: RebuildReply) -> Option<Rebuilding> {
        tracing::info!("rebuilding the index from the log");
        let root = self.root.clone();
        let started = match blocking(move || publish::create_generation(&root)).await {
            Ok(path) => Pipeline::start(&path, &self.config, filesaver.clone()).await,
            Err(error) => Err(error),
        };
        match started {
            Ok(pipeline) => Some(Rebuilding { pipeline, reply }),
            Err(error) => {
                let _ = reply.send(Err(error));
                None
            }
        }
    }

    /// The rebuilt index takes the place of the current one, unless that cannot be written down.
    async fn switch(&self, old: Pipeline, rebuilt: Rebuilding) -> Pipeline {
        let (root, path) = (self.root.clone(), rebuilt.pipeline.path.clone());
        if let Err(error) = blocking(move || publish::make_current(&root, &path)).await {
            self.give_up(rebuilt, error, &old.path).await;
            return old;
        }
        let Rebuilding { pipeline: new, reply } = rebuilt;
        self.live.send_replace(Live::of(&new));
        if let Err(error) = old.stop().await {
            tracing::debug!(%error, "the replaced index did not close in order");
        }
        let (root, path, reader) = (self.root.clone(), new.path.clone(), new.reader.clone());
        let documents = blocking(move || {
            publish::remove_others(&root, &path)?;
            count::documents(&reader.searcher()).map_err(IndexerError::index(&path))
        })
        .await;
        tracing::info!(index = %new.path.display(), "rebuilt the index");
        let _ = reply.send(documents);
        new
    }

    async fn give_up(&self, rebuilding: Rebuilding, error: IndexerError, kept: &Path) {
        let Rebuilding { pipeline, reply } = rebuilding;
        let _ = pipeline.stop().await;
        let (root, kept) = (self.root.clone(), kept.to_owned());
        if let Err(error) = blocking(move || publish::remove_others(&root, &kept)).await {
            tracing::debug!(%error, "could not remove an unfinished index; the next start does");
        }
        let _ = reply.send(Err(error));
    }
}

async fn end_of(rebuilding: &mut Option<Rebuilding>) -> Event {
    match rebuilding {
        Some(running) => Event::Ended(running.pipeline.caught_up().await),
        None => std::future::pending().await,
    }
}
