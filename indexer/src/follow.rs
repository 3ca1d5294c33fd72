//! Follows one description log and hands its entries to the worker.
//!
//! Starts where the index stands and goes on where the last batch ended. Not responsible for what entries mean. A batch that
//! the worker did not take is asked for again. What goes wrong has its own answer each:
//! - the filesaver is away: try again with growing pauses, until it is back, wherever that is;
//! - a stretch of the log is damaged: the filesaver passes over it, and the worker notes it;
//! - the offset is not of this log, because that was cut or replaced: read the log from its beginning;
//! - the log cannot be read: say so, and try again, because disks and permissions get repaired.

use std::path::{Path, PathBuf};
use std::time::Duration;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::membership::{Filesavers, Route};
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{FollowRequest, FollowResponse, LogEndRequest, LogMark};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tonic::Code;

use crate::checkpoint::{LogProgress, Mark, Stretch};
use crate::followers::Followed;
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

/// How following one log goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// The log is followed now: its filesaver has confirmed that the index's offset is its own.
    pub is_followed: bool,
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
    log_id: String,
    filesavers: Filesavers,
    commands: mpsc::Sender<Command>,
    /// Where the log is to be continued.
    position: LogProgress,
    followed: Followed,
    pause: GrowingPause,
}

enum Interrupted {
    Trouble(Trouble),
    /// The index stands where the log is not, or not any more.
    WrongOffset {
        reason: String,
    },
    /// The filesaver runs elsewhere now.
    Moved,
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
        log_id: String,
        filesavers: Filesavers,
        commands: mpsc::Sender<Command>,
        position: LogProgress,
        followed: Followed,
    ) -> Self {
        let pause = GrowingPause::default();
        Self { index: index.to_owned(), log_id, filesavers, commands, position, followed, pause }
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
                Interrupted::Moved => self.pause.reset(),
                Interrupted::Trouble(trouble) => self.tell(trouble),
                Interrupted::WrongOffset { reason } => {
                    tracing::error!(
                        index = %self.index.display(),
                        log = self.log_id,
                        reason,
                        "the index does not fit the description log any more, reading that from its beginning"
                    );
                    self.position = LogProgress::default();
                    self.followed.set(&self.log_id, Following::default());
                    let (done, restarted) = oneshot::channel();
                    let _ = self.commands.send(Command::Restart { log_id: self.log_id.clone(), done }).await;
                    if restarted.await.is_err() {
                        return;
                    }
                }
            }
            if !self.wait(&shutdown).await {
                return;
            }
        }
    }

    /// Before the next attempt; shorter when the filesaver has just come. False when the wish to stop came first.
    async fn wait(&mut self, shutdown: &CancellationToken) -> bool {
        let was_away = self.filesavers.get(&self.log_id).is_none();
        let mut known = self.filesavers.changes();
        let log_id = self.log_id.clone();
        tokio::select! {
            go_on = self.pause.wait(shutdown) => go_on,
            Ok(_) = known.wait_for(|known| was_away && known.contains_key(&log_id)) => true,
        }
    }

    /// Once for each kind of trouble, not at each attempt.
    fn tell(&self, trouble: Trouble) {
        let is_new = self.followed.trouble(&self.log_id).as_ref() != Some(&trouble);
        let (index, log) = (self.index.display(), &self.log_id);
        match &trouble {
            Trouble::Failing(reason) if is_new => {
                tracing::error!(%index, log, reason, "the description log cannot be followed; trying again");
            }
            Trouble::Away(reason) => tracing::debug!(log, reason, "filesaver is away, trying again"),
            Trouble::Failing(_) => {}
        }
        self.followed.set(&self.log_id, Following { trouble: Some(trouble), ..Following::default() });
    }

    async fn follow(&mut self) -> Interrupted {
        let Some(route) = self.filesavers.get(&self.log_id) else {
            let reason = format!("the filesaver with log {} does not run", self.log_id);
            return Interrupted::Trouble(Trouble::Away(reason));
        };
        let (mut known, log_id, here) = (self.filesavers.changes(), self.log_id.clone(), route.clone());
        tokio::select! {
            followed = self.follow_until_interrupted(route) => match followed {
                Ok(()) => Interrupted::Trouble(Trouble::Away("the filesaver closed the log".to_owned())),
                Err(interrupted) => interrupted,
            },
            // A machine that vanished does not close its connections.
            Ok(_) = known.wait_for(|known| known.get(&log_id).is_some_and(|now| !now.is(&here))) => Interrupted::Moved,
        }
    }

    async fn follow_until_interrupted(&mut self, route: Route) -> Result<(), Interrupted> {
        let mut filesaver = FilesaverClient::new(route.channel).max_decoding_message_size(MAX_MESSAGE_BYTES);
        // Offsets of one log mean nothing in another, so ask first whether it is this one.
        self.check(&filesaver.log_end(LogEndRequest {}).await?.into_inner().log_id)?;
        let LogProgress { offset, mark, .. } = self.position;
        let mark = mark.map(|Mark { offset, checksum }| LogMark { offset, checksum });
        let mut batches = match filesaver.follow(FollowRequest { from_offset: offset, mark }).await {
            Ok(batches) => batches.into_inner(),
            Err(status) if is_wrong_offset(status.code()) => {
                return Err(Interrupted::WrongOffset { reason: status.message().to_owned() });
            }
            Err(status) => return Err(status.into()),
        };
        tracing::debug!(log = self.log_id, offset, "following the description log");
        self.followed.set(&self.log_id, Following { is_followed: true, ..Following::default() });
        while let Some(batch) = batches.message().await? {
            self.check(&batch.log_id)?;
            self.pause.reset();
            let (end_offset, at_end) = (batch.end_offset, batch.at_end);
            self.hand_over(batch).await?;
            if at_end {
                let caught_up = Some(end_offset);
                self.followed.set(&self.log_id, Following { is_followed: true, caught_up, trouble: None });
            }
        }
        Ok(())
    }

    fn check(&self, log_id: &str) -> Result<(), Interrupted> {
        match log_id == self.log_id {
            true => Ok(()),
            false => Err(tonic::Status::unavailable(format!(
                "the filesaver with log {} does not run; in its place there is another with log {log_id}",
                self.log_id
            ))
            .into()),
        }
    }

    async fn hand_over(&mut self, batch: FollowResponse) -> Result<(), Interrupted> {
        let mark = batch.mark.map(|LogMark { offset, checksum }| Mark { offset, checksum });
        let position = LogProgress { offset: batch.end_offset, mark, damaged: Vec::new() };
        if !batch.entries.is_empty() || !batch.damaged.is_empty() {
            let damaged = batch.damaged.into_iter();
            let damaged = damaged.map(|lost| Stretch { start: lost.start, end: lost.end, reason: lost.reason });
            let reached = LogProgress { damaged: damaged.collect(), ..position.clone() };
            let command = Command::Batch { log_id: self.log_id.clone(), entries: batch.entries, reached };
            self.commands.send(command).await.map_err(|_| Interrupted::Worker)?;
        }
        self.position = position;
        Ok(())
    }
}

/// Behind the end, of another log, or where no entry begins.
fn is_wrong_offset(code: Code) -> bool {
    matches!(code, Code::OutOfRange | Code::FailedPrecondition | Code::InvalidArgument)
}
