//! Follows the description log of a filesaver and hands its entries to the worker.
//!
//! Starts where the index stands, goes on where the last batch ended, and comes back with growing pauses when the
//! filesaver goes away. Not responsible for what entries mean. A batch that the worker did not take is asked for again.

use std::time::Duration;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{FollowRequest, LogEndRequest};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::worker::Command;
use crate::writer::Checkpoint;

/// Where a log ended when the follower had read all of it.
pub type LogPosition = (String, u64);

/// Pauses between attempts, from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Each pause is twice as long as the one before, up to a limit.
pub struct GrowingPause(Duration);

impl Default for GrowingPause {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl GrowingPause {
    /// False when the wish to stop came first.
    pub async fn wait(&mut self, shutdown: &CancellationToken) -> bool {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        tokio::select! {
            () = shutdown.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

pub struct Follower {
    filesaver: FilesaverClient<Channel>,
    commands: mpsc::Sender<Command>,
    /// Where each log is to be continued.
    positions: Checkpoint,
    caught_up: watch::Sender<Option<LogPosition>>,
    pause: GrowingPause,
}

enum Interrupted {
    /// The filesaver is away or its log is another one; worth another attempt.
    Filesaver(tonic::Status),
    /// The worker is gone; nobody needs the log.
    Worker,
}

impl From<tonic::Status> for Interrupted {
    fn from(status: tonic::Status) -> Self {
        Self::Filesaver(status)
    }
}

impl Follower {
    pub fn new(
        filesaver: Channel,
        commands: mpsc::Sender<Command>,
        positions: Checkpoint,
        caught_up: watch::Sender<Option<LogPosition>>,
    ) -> Self {
        let filesaver = FilesaverClient::new(filesaver).max_decoding_message_size(MAX_MESSAGE_BYTES);
        Self { filesaver, commands, positions, caught_up, pause: GrowingPause::default() }
    }

    /// Until shutdown, or until the worker is gone.
    pub async fn run(mut self, shutdown: CancellationToken) {
        loop {
            let interrupted = tokio::select! {
                () = shutdown.cancelled() => return,
                interrupted = self.follow() => interrupted,
            };
            match interrupted {
                Interrupted::Worker => return,
                Interrupted::Filesaver(status) => tracing::debug!(%status, "filesaver is away, trying again"),
            }
            if !self.pause.wait(&shutdown).await {
                return;
            }
        }
    }

    async fn follow(&mut self) -> Interrupted {
        match self.follow_until_interrupted().await {
            Ok(()) => Interrupted::Filesaver(tonic::Status::unavailable("the filesaver closed the log")),
            Err(interrupted) => interrupted,
        }
    }

    async fn follow_until_interrupted(&mut self) -> Result<(), Interrupted> {
        // Offsets of one log mean nothing in another, so ask first which one this is.
        let log_id = self.filesaver.log_end(LogEndRequest {}).await?.into_inner().log_id;
        let from_offset = self.positions.get(&log_id).copied().unwrap_or(0);
        let mut batches = self.filesaver.follow(FollowRequest { from_offset }).await?.into_inner();
        tracing::debug!(log = log_id, from_offset, "following the description log");
        while let Some(batch) = batches.message().await? {
            if batch.log_id != log_id {
                return Err(tonic::Status::unavailable("the filesaver serves another log now").into());
            }
            self.pause.reset();
            let (end_offset, at_end) = (batch.end_offset, batch.at_end);
            if !batch.entries.is_empty() {
                let command = Command::Batch { log_id: log_id.clone(), entries: batch.entries, end_offset };
                self.commands.send(command).await.map_err(|_| Interrupted::Worker)?;
            }
            self.positions.insert(log_id.clone(), end_offset);
            if at_end {
                self.caught_up.send_replace(Some((log_id.clone(), end_offset)));
            }
        }
        Ok(())
    }
}
