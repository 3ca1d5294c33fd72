//! Follows the description log of a filesaver and hands its entries to the worker.
//!
//! Starts where the index stands and goes on where the last batch ended. Not responsible for what entries mean. A batch that
//! the worker did not take is asked for again. What goes wrong has its own answer each:
//! - the filesaver is away: try again with growing pauses, until it is back;
//! - a stretch of the log is damaged: the filesaver passes over it, and the worker notes it;
//! - the offset is not of this log, because that was cut or replaced: read the log from its beginning;
//! - the log cannot be read: say so, and try again, because disks and permissions get repaired.

use std::path::{Path, PathBuf};
use std::time::Duration;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{FollowRequest, FollowResponse, LogEndRequest, LogMark};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::Channel;

use crate::checkpoint::{Checkpoint, LogProgress, Mark, Stretch};
use crate::worker::Command;

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

/// How following goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// The log that is followed now: its filesaver has confirmed that the index's offset is its own.
    pub log_id: Option<String>,
    /// Where it ended when all of it had been read.
    pub caught_up: Option<u64>,
    pub trouble: Option<Trouble>,
}

/// Why the log is not followed, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody answers; waiting is all there is to do.
    Away(String),
    /// The filesaver answers that it cannot give the log.
    Failing(String),
}

impl Trouble {
    pub fn reason(&self) -> &str {
        match self {
            Self::Away(reason) | Self::Failing(reason) => reason,
        }
    }
}

pub struct Follower {
    /// The index that is filled, to be named.
    index: PathBuf,
    filesaver: FilesaverClient<Channel>,
    commands: mpsc::Sender<Command>,
    /// Where each log is to be continued.
    positions: Checkpoint,
    following: watch::Sender<Following>,
    pause: GrowingPause,
}

enum Interrupted {
    Trouble(Trouble),
    /// The index stands where the log is not, or not any more.
    WrongOffset {
        log_id: String,
        reason: String,
    },
    /// The worker is gone; nobody needs the log.
    Worker,
}

impl From<tonic::Status> for Interrupted {
    fn from(status: tonic::Status) -> Self {
        let reason = status.message().to_owned();
        Self::Trouble(match status.code() {
            Code::Internal | Code::DataLoss | Code::PermissionDenied | Code::Unimplemented => Trouble::Failing(reason),
            _ => Trouble::Away(reason),
        })
    }
}

impl Follower {
    pub fn new(
        index: &Path,
        filesaver: Channel,
        commands: mpsc::Sender<Command>,
        positions: Checkpoint,
        following: watch::Sender<Following>,
    ) -> Self {
        let filesaver = FilesaverClient::new(filesaver).max_decoding_message_size(MAX_MESSAGE_BYTES);
        Self { index: index.to_owned(), filesaver, commands, positions, following, pause: GrowingPause::default() }
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
                Interrupted::Trouble(trouble) => self.tell(trouble),
                Interrupted::WrongOffset { log_id, reason } => {
                    tracing::error!(
                        index = %self.index.display(),
                        log = log_id,
                        reason,
                        "the index does not fit the description log any more, reading that from its beginning"
                    );
                    self.positions.insert(log_id.clone(), LogProgress::default());
                    self.following.send_replace(Following::default());
                    let (done, restarted) = oneshot::channel();
                    let _ = self.commands.send(Command::Restart { log_id, done }).await;
                    if restarted.await.is_err() {
                        return;
                    }
                }
            }
            if !self.pause.wait(&shutdown).await {
                return;
            }
        }
    }

    /// Once for each kind of trouble, not at each attempt.
    fn tell(&self, trouble: Trouble) {
        let is_new = self.following.borrow().trouble.as_ref() != Some(&trouble);
        match &trouble {
            Trouble::Failing(reason) if is_new => {
                tracing::error!(index = %self.index.display(), reason, "the description log cannot be followed; trying again");
            }
            Trouble::Away(reason) => tracing::debug!(reason, "filesaver is away, trying again"),
            Trouble::Failing(_) => {}
        }
        self.following.send_replace(Following { trouble: Some(trouble), ..Following::default() });
    }

    async fn follow(&mut self) -> Interrupted {
        match self.follow_until_interrupted().await {
            Ok(()) => Interrupted::Trouble(Trouble::Away("the filesaver closed the log".to_owned())),
            Err(interrupted) => interrupted,
        }
    }

    async fn follow_until_interrupted(&mut self) -> Result<(), Interrupted> {
        // Offsets of one log mean nothing in another, so ask first which one this is.
        let log_id = self.filesaver.log_end(LogEndRequest {}).await?.into_inner().log_id;
        let LogProgress { offset, mark, .. } = self.positions.get(&log_id).cloned().unwrap_or_default();
        let mark = mark.map(|Mark { offset, checksum }| LogMark { offset, checksum });
        let mut batches = match self.filesaver.follow(FollowRequest { from_offset: offset, mark }).await {
            Ok(batches) => batches.into_inner(),
            Err(status) if is_wrong_offset(status.code()) => {
                return Err(Interrupted::WrongOffset { log_id, reason: status.message().to_owned() });
            }
            Err(status) => return Err(status.into()),
        };
        tracing::debug!(log = log_id, offset, "following the description log");
        self.following.send_replace(Following { log_id: Some(log_id.clone()), ..Following::default() });
        while let Some(batch) = batches.message().await? {
            if batch.log_id != log_id {
                return Err(tonic::Status::unavailable("the filesaver serves another log now").into());
            }
            self.pause.reset();
            let (end_offset, at_end) = (batch.end_offset, batch.at_end);
            self.hand_over(&log_id, batch).await?;
            if at_end {
                self.following.send_modify(|following| following.caught_up = Some(end_offset));
            }
        }
        Ok(())
    }

    async fn hand_over(&mut self, log_id: &str, batch: FollowResponse) -> Result<(), Interrupted> {
        let mark = batch.mark.map(|LogMark { offset, checksum }| Mark { offset, checksum });
        let position = LogProgress { offset: batch.end_offset, mark, damaged: Vec::new() };
        if !batch.entries.is_empty() || !batch.damaged.is_empty() {
            let damaged = batch.damaged.into_iter();
            let damaged = damaged.map(|lost| Stretch { start: lost.start, end: lost.end, reason: lost.reason });
            let reached = LogProgress { damaged: damaged.collect(), ..position.clone() };
            let command = Command::Batch { log_id: log_id.to_owned(), entries: batch.entries, reached };
            self.commands.send(command).await.map_err(|_| Interrupted::Worker)?;
        }
        self.positions.insert(log_id.to_owned(), position);
        Ok(())
    }
}

/// Behind the end, of another log, or where no entry begins.
fn is_wrong_offset(code: Code) -> bool {
    matches!(code, Code::OutOfRange | Code::FailedPrecondition | Code::InvalidArgument)
}
