//! One run of the indexer from opening the index to shutdown or failure, with the rebuilds in between.
//!
//! A rebuild fills a second index beside the current one and takes its place when it has caught up with all logs;
//! searches and indexing go on in the first one until then. One that fails or is overtaken by shutdown is removed. It never
//! takes the place of an index that has pages of a log whose filesaver is away: who asks for it is told, unless they leave
//! these pages out on purpose. An index with [damaged](crate::damage) files is rebuilt without being asked, and waits.

use std::collections::BTreeSet;
use std::path::Path;

use seine_node::membership::Filesavers;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::count;
use crate::damage;
use crate::error::IndexerError;
use crate::follow::Trouble;
use crate::followers;
use crate::indexer::{Live, RebuildReply, RebuildWish, Shared};
use crate::pipeline::{Pipeline, blocking};
use crate::publish;

struct Rebuilding {
    pipeline: Pipeline,
    /// Logs that the current index has pages of, and the new one must have.
    required: BTreeSet<String>,
    reply: RebuildReply,
}

enum Event {
    Requested(RebuildWish),
    Ended(Result<(), IndexerError>),
}

impl Shared {
    pub(crate) async fn session(
        &self,
        filesavers: &Filesavers,
        rebuild_requests: &mut mpsc::Receiver<RebuildWish>,
        shutdown: &CancellationToken,
        opened_before: &mut bool,
    ) -> Result<(), IndexerError> {
        let root = self.root.clone();
        let (path, _) = blocking(move || publish::open_or_create(&root)).await?;
        // Before anything is written: what is damaged must not be merged into what is not.
        let checked = path.clone();
        let is_damaged = blocking(move || damage::check(&checked)).await?;
        let mut current = Pipeline::start(&path, &self.config, filesavers).await?;
        *opened_before = true;
        self.live.send_replace(Live::of(&current));
        let mut committed = current.progress.clone();
        let (mut following, log_health) = (current.following.clone(), self.health.about("log"));
        let mut rebuilding: Option<Rebuilding> = None;
        if is_damaged {
            // Nobody waits for it.
            rebuilding = self.start_rebuild(filesavers, indexed_logs(&current), oneshot::channel().0).await;
        }
        let failure = loop {
            let event = tokio::select! {
                () = shutdown.cancelled() => break None,
                failure = current.failure() => break Some(failure),
                Some(wish) = rebuild_requests.recv() => Event::Requested(wish),
                event = end_of(&mut rebuilding) => event,
                Ok(()) = following.changed() => {
                    match followers::troubles(&following.borrow_and_update()) {
                        Some(troubles) => log_health.unwell(troubles),
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
                (Event::Requested(RebuildWish { without_logs, reply }), None) => {
                    let required = indexed_logs(&current).difference(&without_logs).cloned().collect::<BTreeSet<_>>();
                    let away = required.iter().find(|log_id| is_away(&current, filesavers, log_id)).cloned();
                    match away {
                        Some(away) => {
                            let _ = reply.send(Err(IndexerError::LogAway(away)));
                            None
                        }
                        None => self.start_rebuild(filesavers, required, reply).await,
                    }
                }
                (Event::Requested(wish), running) => {
                    let _ = wish.reply.send(Err(IndexerError::RebuildRunning));
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

    async fn start_rebuild(
        &self,
        filesavers: &Filesavers,
        required: BTreeSet<String>,
        reply: RebuildReply,
    ) -> Option<Rebuilding> {
        tracing::info!(logs = required.len(), "rebuilding the index from the logs");
        let root = self.root.clone();
        let started = match blocking(move || publish::create_generation(&root)).await {
            Ok(path) => Pipeline::start(&path, &self.config, filesavers).await,
            Err(error) => Err(error),
        };
        match started {
            Ok(pipeline) => Some(Rebuilding { pipeline, required, reply }),
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
        let Rebuilding { pipeline: new, reply, .. } = rebuilt;
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
        let Rebuilding { pipeline, reply, .. } = rebuilding;
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
        Some(Rebuilding { pipeline, required, .. }) => Event::Ended(pipeline.caught_up(required).await),
        None => std::future::pending().await,
    }
}

/// Nobody is expected to have the log, or who should does not answer.
fn is_away(pipeline: &Pipeline, filesavers: &Filesavers, log_id: &str) -> bool {
    let following = pipeline.following.borrow();
    let trouble = following.get(log_id).and_then(|following| following.trouble.as_ref());
    filesavers.get(log_id).is_none() || matches!(trouble, Some(Trouble::Away(_)))
}

/// Those that the index has pages of, or had.
fn indexed_logs(pipeline: &Pipeline) -> BTreeSet<String> {
    let committed = pipeline.progress.borrow();
    committed.iter().filter(|(_, log)| log.offset > 0).map(|(log_id, _)| log_id.clone()).collect()
}
