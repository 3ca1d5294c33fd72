//! Gives every search the newest committed index, whoever writes it.
//!
//! Before each search two files are looked at: `CURRENT`, which names the index, and its `meta.json`, which every commit
//! replaces. What changed is opened anew. So a search that starts after a commit sees it, in this process or another,
//! and nothing watches in the background. No index at all is not an error but an empty one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use seine_indexer::{publish, schema};
use tantivy::{IndexReader, ReloadPolicy};

use crate::error::QueryError;
use crate::views::View;

const META: &str = "meta.json";
/// A removed generation is noticed by reading `CURRENT` again; more often than this is no coincidence.
const ATTEMPTS: usize = 3;

/// Changes whenever a file is replaced.
type Stamp = Option<(u64, i64, i64, u64)>;

pub struct IndexFollower {
    root: PathBuf,
    /// Stored blocks that each searcher keeps decompressed.
    cached_blocks: usize,
    opened: Mutex<Option<Opened>>,
    next_number: AtomicU64,
}

struct Opened {
    path: PathBuf,
    current: Stamp,
    meta: Stamp,
    reader: IndexReader,
    view: View,
}

impl IndexFollower {
    pub fn new(root: &Path, cached_blocks: usize) -> Self {
        Self {
            root: root.to_owned(),
            cached_blocks,
            opened: Mutex::new(None),
            next_number: View::first_number().into(),
        }
    }

    /// `None` when nothing was ever indexed. Blocking, but short unless the index has changed.
    pub fn view(&self) -> Result<Option<View>, QueryError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let mut attempt = 1;
        loop {
            match self.refresh(&mut opened) {
                Ok(()) => return Ok(opened.as_ref().map(|opened| opened.view.clone())),
                // A rebuild may have removed the directory between our two looks at it.
                Err(_) if attempt < ATTEMPTS => {
                    *opened = None;
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn refresh(&self, opened: &mut Option<Opened>) -> Result<(), QueryError> {
        let current = stamp(&publish::current_file(&self.root));
        if opened.as_ref().is_none_or(|opened| opened.current != current) {
            let Some(path) = publish::current(&self.root)? else {
                *opened = None;
                return Ok(());
            };
            match opened {
                Some(opened) if opened.path == path => opened.current = current,
                _ => *opened = Some(self.open(path, current)?),
            }
        }
        if let Some(opened) = opened {
            // Taken before reloading: a commit in between then counts as the next change.
            let meta = stamp(&opened.path.join(META));
            if opened.meta != meta {
                opened.reader.reload()?;
                opened.view = self.next_view(&opened.reader)?;
                opened.meta = meta;
            }
        }
        Ok(())
    }

    fn open(&self, path: PathBuf, current: Stamp) -> Result<Opened, QueryError> {
        let meta = stamp(&path.join(META));
        let index = publish::open(&path)?;
        if index.schema() != schema::schema().0 {
            return Err(QueryError::NotReady("it was made by another version of seine".to_owned()));
        }
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(self.cached_blocks)
            .try_into()?;
        let view = self.next_view(&reader)?;
        Ok(Opened { path, current, meta, reader, view })
    }

    fn next_view(&self, reader: &IndexReader) -> tantivy::Result<View> {
        View::new(reader.searcher(), self.next_number.fetch_add(1, Ordering::Relaxed))
    }
}

fn stamp(path: &Path) -> Stamp {
    let meta = fs::metadata(path).ok()?;
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()))
}
