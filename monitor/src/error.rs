//! What can go wrong in the Monitor, and how callers over gRPC see it.

use std::path::{Path, PathBuf};

use seine_common::data_dir::DataDirError;

pub type Result<T> = std::result::Result<T, MonitorError>;

#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    #[error("the frontier cannot be read or written: {0}; check the disk, then start again")]
    Store(#[from] rocksdb::Error),
    #[error("the frontier's store does not answer: {0}; it is tried again, and nothing is lost meanwhile")]
    StoreAway(String),
    #[error("this Monitor does not own the frontier any more: {0}")]
    NotOwner(String),
    #[error("what is written to the frontier cannot be made durable: {0}")]
    Unsynced(String),
    #[error("a record of the frontier is unreadable ({0}); restore the data directory from a copy")]
    Corrupt(&'static str),
    #[error(
        "the frontier in {} cannot be opened: {error}; restore that directory from a copy. \
         `seine search`, `seine export` and `seine serve --roles query,filesaver` go on without it",
        .path.display()
    )]
    Open { path: PathBuf, error: Box<Self> },
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error("{0}")]
    Invalid(String),
    #[error("{field}: {problem}")]
    Field { field: String, problem: String },
    #[error("there is no crawl named {0:?}; `seine crawls list` shows those there are")]
    NoSuchCrawl(String),
    #[error("{0} is not blocked; `seine hosts list` shows what is")]
    NotBlocked(String),
    /// The keeper has ended, with this error.
    #[error("the monitor has stopped: {0}")]
    Stopped(String),
    #[error("the monitor is shutting down")]
    Closed,
}

impl MonitorError {
    pub(crate) fn open(path: &Path, error: Self) -> Self {
        Self::Open { path: path.to_owned(), error: Box::new(error) }
    }
}

impl From<MonitorError> for tonic::Status {
    fn from(error: MonitorError) -> Self {
        let text = error.to_string();
        match error {
            MonitorError::Store(_)
            | MonitorError::Unsynced(_)
            | MonitorError::Corrupt(_)
            | MonitorError::Open { .. }
            | MonitorError::DataDir(_)
            | MonitorError::Stopped(_) => Self::internal(text),
            MonitorError::Invalid(_) | MonitorError::Field { .. } => Self::invalid_argument(text),
            MonitorError::NoSuchCrawl(_) | MonitorError::NotBlocked(_) => Self::not_found(text),
            MonitorError::Closed | MonitorError::StoreAway(_) | MonitorError::NotOwner(_) => Self::unavailable(text),
        }
    }
}
