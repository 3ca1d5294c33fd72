//! What can fail in this crate; turned into a gRPC status in `rpc` alone.

use std::io;
use std::path::{Path, PathBuf};

use seine_common::url::UrlError;

use crate::filesaver::MAX_DESCRIPTION_BYTES;
use crate::rewrite::Cancelled;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the request holds no {0}; send one page with each request")]
    Missing(&'static str),
    #[error("the page has no usable URL: {0}")]
    PageUrl(#[from] UrlError),
    #[error("the page's URL {0:?} holds characters that no URL may hold; send it in canonical form")]
    UnsafeUrl(String),
    #[error("the page's description has {0} bytes; at most {MAX_DESCRIPTION_BYTES} can be kept")]
    TooLarge(usize),
    #[error("a page made the worker panic: {0}; please report it with the page's URL")]
    Panicked(String),
    #[error("cannot {action} {}: {error}; check free space and permissions", .path.display())]
    Io { action: &'static str, path: PathBuf, error: io::Error },
    #[error(
        "the description log has no valid entry at offset {offset} ({reason}); follow from an offset that the log gave"
    )]
    NotAnEntry { offset: u64, reason: &'static str },
    #[error(
        "offset {offset} is not of this description log: the entry at {at} is another one than it was; read the log from its beginning"
    )]
    OtherEntry { offset: u64, at: u64 },
    #[error(
        "offset {offset} is beyond the end {end} of the description log, which was cut or is another one; read it from its beginning"
    )]
    BeyondEnd { offset: u64, end: u64 },
    #[error("the position is of the filesaver {asked}, and this is {own}; ask that one")]
    OtherFilesaver { asked: String, own: String },
    #[error("the archive has no record {0}")]
    NotArchived(String),
    #[error("the record {0} of the archive cannot be read: {1}")]
    UnreadableRecord(String, &'static str),
    #[error("{0}")]
    NotSaved(String),
    #[error("the filesaver is closed")]
    Closed,
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Error {
    /// Whether it is this page that cannot be kept. Otherwise no page can be kept now, and this one may be later.
    pub(crate) fn is_of_the_page(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::PageUrl(_) | Self::UnsafeUrl(_) | Self::TooLarge(_) | Self::Panicked(_))
    }

    pub(crate) fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), error }
    }
}
