//! What can go wrong in the indexer, in words that say what to do.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;

#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    #[error("cannot use {}: {error}; check the path and its permissions", .path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("the index in {} failed: {error}; if this stays, remove that directory and it is made anew from the log", .path.display())]
    Index { path: PathBuf, error: TantivyError },
    #[error("the index does not grow: {0}")]
    NotFollowing(String),
    #[error("the index in {} took no document for {seconds} s; is the disk full or very slow?", .path.display())]
    Stalled { path: PathBuf, seconds: u64 },
    #[error("the index is being rebuilt already; wait until that is done")]
    RebuildRunning,
    #[error(
        "the index has pages of the filesaver with log {0}, which does not run, so that a new index would lose them; start it, \
         or leave its pages out with `seine index rebuild --without {0}`"
    )]
    LogAway(String),
    #[error("the indexer has stopped")]
    Stopped,
}

impl IndexerError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::Io { path: path.to_owned(), error }
    }

    pub(crate) fn index(path: &Path) -> impl FnOnce(TantivyError) -> Self + '_ {
        move |error| Self::Index { path: path.to_owned(), error }
    }
}
