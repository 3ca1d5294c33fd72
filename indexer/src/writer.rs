//! Writes the entries of the log into one index and remembers how far, in the same commit.
//!
//! Life cycle: [`DocumentWriter::open`] reads the checkpoint → [`apply`](DocumentWriter::apply) each entry, then
//! [`advance`](DocumentWriter::advance) to the offset behind them → [`commit`](DocumentWriter::commit). Dropping without
//! a commit, or being killed at any moment, leaves the index as the last commit made it; following the log from that
//! commit's checkpoint then gives the same documents as if nothing had happened.
//!
//! Invariant: each URL has at most one living document, that of its latest version; and after a commit, of pages that are
//! alike one is shown ([`fold`]). Blocking; not for async threads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use seine_common::document_id::DocumentId;
use tantivy::{Index, IndexReader, ReloadPolicy, TantivyError};

use crate::IndexerConfig;
use crate::anchors::Anchors;
use crate::checkpoint::{Checkpoint, LogProgress, Progress};
use crate::count;
use crate::document::{Budget, PageDocument};
use crate::entry::Entry;
use crate::error::IndexerError;
use crate::fold::{self, Uncommitted};
use crate::known_pages::{Form, Known, KnownPages};
use crate::likeness::Likeness;
use crate::merging::Merging;
use crate::publish;
use crate::schema::{self, Fields};
use crate::segments::Segments;
use crate::stored;

/// Bytes of documents that may wait for the threads that write segments.
const WAITING_BYTES: usize = 8 << 20;
/// A document that finds no room for this long means that these threads write no more.
const STALLED_AFTER: Duration = Duration::from_secs(120);
/// Pages that are looked at at a time for what others say of them.
const LOOKED_AT_FOR_ANCHORS: usize = 10_000;

pub struct DocumentWriter {
    path: PathBuf,
    fields: Fields,
    segments: Segments,
    reader: IndexReader,
    committed: KnownPages,
    uncommitted: Uncommitted,
    /// Around these it is to be decided anew which pages are shown.
    unsettled: BTreeSet<Likeness>,
    /// Where the walk through the pages for what others say of them goes on; `None` while there is none.
    anchors_from: Option<u64>,
    /// Whether pages came since that walk began.
    links_changed: bool,
    checkpoint: Checkpoint,
    /// Whether the checkpoint has moved since the last commit.
    moved: bool,
    waiting: Arc<Budget>,
    merging: Merging,
}

impl DocumentWriter {
    pub fn open(path: &Path, config: &IndexerConfig) -> Result<Self, IndexerError> {
        let failed = || IndexerError::index(path);
        let index = publish::open(path).map_err(failed())?;
        // A damaged one is rebuilt; until then its log is followed from the beginning, which changes nothing.
        let Progress { logs: checkpoint, unsettled } = read_progress(&index, path)?.unwrap_or_default();
        let (threads, merging) = (config.threads.max(1), Merging::default());
        let segments = Segments::open(&index, threads, config.memory_bytes / threads, Box::new(merging.clone()));
        let segments = segments.map_err(failed())?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(failed())?;
        let mut this = Self {
            path: path.to_owned(),
            fields: schema::schema().1,
            segments,
            reader,
            committed: KnownPages::default(),
            uncommitted: Uncommitted::default(),
            unsettled,
            anchors_from: None,
            links_changed: true,
            checkpoint,
            moved: false,
            waiting: Budget::new(WAITING_BYTES),
            merging,
        };
        this.reload()?;
        this.settle()?;
        Ok(this)
    }

    /// How far the log has been applied; as far as it is committed right after opening or a commit.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Sees what is committed.
    pub fn reader(&self) -> &IndexReader {
        &self.reader
    }

    /// How many documents are committed.
    pub fn documents(&self) -> Result<u64, IndexerError> {
        count::documents(&self.reader.searcher()).map_err(IndexerError::index(&self.path))
    }

    pub fn apply(&mut self, entry: Entry) -> Result<(), IndexerError> {
        let id = DocumentId::of(entry.url());
        let version = entry.version();
        let old = self.known(&id).map_err(IndexerError::index(&self.path))?;
        if old.is_some_and(|old| old.version >= version) {
            return Ok(());
        }
        let form = self.form(&id, &entry, old.as_ref()).map_err(IndexerError::index(&self.path))?;
        self.uncommitted.insert(id, Known { version, form, address: None });
        self.links_changed = true;
        self.write(id, entry, form, old.is_some())
    }

    fn known(&self, id: &DocumentId) -> tantivy::Result<Option<Known>> {
        match self.uncommitted.get(id) {
            Some(known) => Ok(Some(known)),
            None => self.committed.get(id, &self.fields),
        }
    }

    fn form(&mut self, id: &DocumentId, entry: &Entry, old: Option<&Known>) -> tantivy::Result<Form> {
        let Self { committed, uncommitted, unsettled, fields, .. } = self;
        if let Some(old) = old {
            uncommitted.supersede(id, old);
        }
        let form = match entry {
            Entry::Page(page) => uncommitted.decide(Likeness::of(page, id), committed, fields, unsettled)?,
            Entry::Gone { .. } => Form::Gone,
        };
        if let Some(old) = old {
            uncommitted.change(old.form, form, committed, fields, unsettled)?;
        }
        Ok(form)
    }

    fn write(&mut self, id: DocumentId, entry: Entry, form: Form, replaces: bool) -> Result<(), IndexerError> {
        let permit = self
            .waiting
            .take(entry.text_bytes(), STALLED_AFTER)
            .ok_or_else(|| IndexerError::Stalled { path: self.path.clone(), seconds: STALLED_AFTER.as_secs() })?;
        let anchors = match entry {
            Entry::Page(_) => self.committed.anchors_of(&id).map_err(IndexerError::index(&self.path))?,
            Entry::Gone { .. } => Anchors::default(),
        };
        let document = PageDocument::new(self.fields, id, entry, form, anchors, permit);
        self.segments.add(document, replaces).map_err(IndexerError::index(&self.path))
    }

    /// Everything in the log up to there has been applied.
    pub fn advance(&mut self, log_id: &str, reached: LogProgress) {
        let known = self.checkpoint.entry(log_id.to_owned()).or_default();
        if known.offset < reached.offset {
            (known.offset, known.mark) = (reached.offset, reached.mark.or(known.mark));
            reached.damaged.into_iter().for_each(|stretch| known.pass_over(stretch));
            self.moved = true;
        }
    }

    /// Nothing of the log counts as applied any more. Its documents stay: what is read again is known already.
    pub fn restart(&mut self, log_id: &str) {
        self.checkpoint.insert(log_id.to_owned(), LogProgress::default());
        self.moved = true;
    }

    /// Whether a commit would change anything.
    pub fn has_uncommitted(&self) -> bool {
        self.moved || !self.uncommitted.is_empty()
    }

    /// Makes everything applied so far durable and searchable.
    pub fn commit(&mut self) -> Result<(), IndexerError> {
        self.commit_applied()?;
        self.settle()
    }

    pub(crate) fn commit_applied(&mut self) -> Result<(), IndexerError> {
        let progress = Progress { logs: self.checkpoint.clone(), unsettled: self.unsettled.clone() };
        self.segments.commit(&progress.encode()).map_err(IndexerError::index(&self.path))?;
        self.uncommitted.clear();
        self.moved = false;
        self.reload()
    }

    /// Folds and unfolds committed pages where those that came since made it necessary.
    fn settle(&mut self) -> Result<(), IndexerError> {
        if self.unsettled.is_empty() {
            return Ok(());
        }
        let path = self.path.clone();
        let failed = |error: TantivyError| IndexerError::Index { path: path.clone(), error };
        let changes = fold::settle(&self.unsettled, &self.committed, &self.fields).map_err(failed)?;
        let searcher = self.reader.searcher();
        for change in changes {
            let version = self.committed.version(change.address, &self.fields).map_err(failed)?;
            let page = stored::page(&searcher, change.address, version, &self.fields).map_err(failed)?;
            let form = match change.leader {
                Some(leader) => Form::Folded { likeness: change.likeness, leader },
                None => Form::Shown(Some(change.likeness)),
            };
            self.write(DocumentId::of(&page.url), Entry::Page(Box::new(page)), form, true)?;
        }
        self.unsettled.clear();
        self.commit_applied()
    }

    /// Goes on with the walk through all pages for what others say of them, and writes at most so many again. The next commit
    /// makes that durable.
    pub fn fold_anchors(&mut self, most: usize) -> Result<(), IndexerError> {
        if self.has_uncommitted() || !self.has_lazy_work() {
            return Ok(());
        }
        let start = self.anchors_from.unwrap_or_else(|| {
            self.links_changed = false;
            0
        });
        let path = self.path.clone();
        let failed = |error: TantivyError| IndexerError::Index { path: path.clone(), error };
        let outdated = self.committed.outdated(start, LOOKED_AT_FOR_ANCHORS, most, &self.fields).map_err(failed)?;
        self.anchors_from = outdated.next;
        let searcher = self.reader.searcher();
        for known in outdated.pages {
            let Some(address) = known.address else { continue };
            let page = stored::page(&searcher, address, known.version, &self.fields).map_err(failed)?;
            let id = DocumentId::of(&page.url);
            self.uncommitted.supersede(&id, &known);
            self.uncommitted.insert(id, Known { address: None, ..known });
            self.write(id, Entry::Page(Box::new(page)), known.form, true)?;
        }
        Ok(())
    }

    /// Whether there is work left that nobody waits for.
    pub fn has_lazy_work(&self) -> bool {
        self.links_changed || self.anchors_from.is_some()
    }

    /// Segments are merged from now on, or not while a hot crawl needs the cores.
    pub fn set_hot(&self, is_hot: bool) {
        self.merging.set_hot(is_hot);
    }

    /// Merges what was left while it was hot. Merges go on by themselves, on a thread of their own.
    pub fn merge(&mut self) -> Result<(), IndexerError> {
        let segments = self.reader.searcher().index().searchable_segment_metas();
        if self.merging.has_work(&segments.map_err(IndexerError::index(&self.path))?) {
            // It is at a commit that they are looked for.
            self.commit_applied()?;
        }
        Ok(())
    }

    fn reload(&mut self) -> Result<(), IndexerError> {
        self.reader.reload().map_err(IndexerError::index(&self.path))?;
        self.committed =
            KnownPages::of(&self.reader.searcher(), &self.fields).map_err(IndexerError::index(&self.path))?;
        Ok(())
    }
}

/// How far the index has come; `None` when that is damaged, or missing although something was committed.
pub(crate) fn read_progress(index: &Index, path: &Path) -> Result<Option<Progress>, IndexerError> {
    let metas = index.load_metas().map_err(IndexerError::index(path))?;
    Ok(match metas.payload {
        Some(payload) => Progress::decode(&payload),
        None => metas.segments.is_empty().then(Progress::default),
    })
}

#[cfg(test)]
mod anchors_tests;
#[cfg(test)]
mod tests;
