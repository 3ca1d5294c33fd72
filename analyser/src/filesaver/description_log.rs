//! The description log: entries one after the other, addressed by their byte offset in the whole log.
//!
//! Kept in segments `<dir>/log/<offset of the first entry, 20 digits>.log`. An entry is
//! `[u32 length][u32 crc32 of the payload][payload]`, little-endian; see `entry` for the payload. `ID` names the log.
//! Not responsible for when something is durable; `commit` decides and syncs.
//!
//! Written, segments follow each other without a gap, and every segment but the last is complete. A disk may lose any of it:
//! damaged stretches, cut and missing segments keep their offsets, and readers go on behind them.

pub(crate) mod entry;
pub(crate) mod scan;
pub(crate) mod reader;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use seine_common::data_dir::{sync_directory, write_atomically};

use super::Durability;
use super::append_file::AppendFile;
use super::archive::file_names;
use crate::error::Error;
use entry::Mark;

/// A segment that has reached this is followed by a new one, whatever the size of archive files.
const MAX_SEGMENT_BYTES: u64 = 256 << 20;
/// Damaged stretches that are remembered as told.
const MAX_TOLD: usize = 10_000;

/// Where segments begin, in order; shared by the one writer and all readers.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    dir: Arc<Path>,
    starts: Arc<RwLock<Vec<u64>>>,
    mark: Arc<OnceLock<Mark>>,
    /// Where damage begins that the log of this process names already.
    told: Arc<Mutex<BTreeSet<u64>>>,
}

/// A stretch that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damaged {
    pub start: u64,
    pub end: u64,
    pub reason: &'static str,
}

impl Segments {
    pub fn list(dir: &Path) -> Result<Self, Error> {
        let names = file_names(dir)?;
        let mut starts: Vec<u64> = names.iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect();
        starts.sort_unstable();
        let starts = Arc::new(RwLock::new(starts));
        Ok(Self { dir: dir.into(), starts, mark: Arc::default(), told: Arc::default() })
    }

    pub fn path(&self, start: u64) -> PathBuf {
        self.dir.join(format!("{start:020}.log"))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where segments begin, the newest first.
    pub fn newest_first(&self) -> Vec<u64> {
        self.starts.read().expect("no holder panics").iter().rev().copied().collect()
    }

    fn last(&self) -> Option<u64> {
        self.starts.read().expect("no holder panics").last().copied()
    }

    /// The segment that should hold an offset, and where the next one begins. No segment when those before the offset are
    /// missing.
    pub fn holding(&self, offset: u64) -> (Option<u64>, Option<u64>) {
        let starts = self.starts.read().expect("no holder panics");
        let after = starts.partition_point(|&start| start <= offset);
        (after.checked_sub(1).map(|at| starts[at]), starts.get(after).copied())
    }

    fn add(&self, start: u64) {
        self.starts.write().expect("no holder panics").push(start);
    }

    /// What all entries of the log carry; `None` until the log is opened for writing.
    pub fn mark(&self) -> Option<Mark> {
        self.mark.get().copied()
    }

    /// Says that a stretch is lost, once.
    pub fn tell(&self, damaged: &Damaged) {
        let mut told = self.told.lock().expect("no holder panics");
        if told.len() < MAX_TOLD && told.insert(damaged.start) {
            let (segment, _) = self.holding(damaged.start);
            tracing::error!(
                file = %self.path(segment.unwrap_or(0)).display(),
                offset = damaged.start,
                bytes = damaged.end - damaged.start,
                reason = damaged.reason,
                "description log is damaged; what stood there is lost, reading goes on behind it"
            );
        }
    }
}

/// The writing end.
pub(crate) struct DescriptionLog {
    segments: Segments,
    segment_bytes: u64,
    start: u64,
    file: AppendFile,
}

impl DescriptionLog {
    /// Continues the log at `end` with entries that carry its mark, as `recover` has found them.
    pub fn open(segments: Segments, end: u64, mark: Option<Mark>, segment_bytes: u64) -> Result<Self, Error> {
        segments.mark.get_or_init(|| mark.unwrap_or_else(Mark::draw));
        let (start, file) = match segments.last() {
            Some(start) => (start, AppendFile::open(&segments.path(start), end - start)?),
            None => (0, begin_segment(&segments, 0)?),
        };
        Ok(Self { segments, segment_bytes: segment_bytes.min(MAX_SEGMENT_BYTES), start, file })
    }

    pub fn end(&self) -> u64 {
        self.start + self.file.end()
    }

    pub fn mark(&self) -> Mark {
        self.segments.mark().expect("set when the log was opened")
    }

    /// Begins a new segment where the current one is full.
    pub fn rotate(&mut self) -> Result<(), Error> {
        if self.file.end() < self.segment_bytes {
            return Ok(());
        }
        // What a failed write left must not stand between two segments, and nothing may be missing, whatever happens to
        // the machine.
        self.file.cut_back(self.file.end())?;
        self.file.sync(Durability::Sync)?;
        let end = self.end();
        self.file = begin_segment(&self.segments, end)?;
        self.start = end;
        Ok(())
    }

    pub fn append(&mut self, entries: &[u8]) -> Result<(), Error> {
        self.file.append(entries)
    }

    pub fn cut_back(&mut self, end: u64) -> Result<(), Error> {
        self.file.cut_back(end - self.start)
    }

    pub fn sync(&self, durability: Durability) -> Result<(), Error> {
        self.file.sync(durability)
    }
}

fn begin_segment(segments: &Segments, start: u64) -> Result<AppendFile, Error> {
    let path = segments.path(start);
    // An earlier attempt may have got as far as making the file.
    if fs::metadata(&path).is_ok_and(|file| file.len() == 0) {
        fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
    }
    let file = AppendFile::create(&path)?;
    sync_directory(&segments.dir).map_err(|error| Error::io("sync", &segments.dir, error))?;
    segments.add(start);
    Ok(file)
}

/// The name of the log, drawn when it is made, and that of the filesaver: positions elsewhere carry it. So it is kept twice,
/// the second time in `copies`, and one that is damaged is taken from the other. Where both are, it is drawn anew: whoever
/// followed the log reads it again from its beginning.
pub(crate) fn log_id(dir: &Path, copies: &Path) -> Result<String, Error> {
    let [path, copy] = [dir, copies].map(|dir| dir.join("ID"));
    let (kept, copied) = (read_id(&path)?, read_id(&copy)?);
    let id = kept.clone().or(copied.clone()).unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
    for (path, found) in [(path, kept), (copy, copied)] {
        if found.as_ref() != Some(&id) {
            let line = format!("{id} {:08x}\n", crc32fast::hash(id.as_bytes()));
            write_atomically(&path, line.as_bytes(), 0o644).map_err(|error| Error::io("write", &path, error))?;
        }
    }
    Ok(id)
}

/// `None` when there is none, or none that is whole.
fn read_id(path: &Path) -> Result<Option<String>, Error> {
    match fs::read(path) {
        Ok(bytes) => {
            let id = std::str::from_utf8(&bytes).ok().and_then(checked_id).map(str::to_owned);
            if id.is_none() {
                tracing::error!(file = %path.display(), "the name of the description log is damaged");
            }
            Ok(id)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// The name in `NAME CHECKSUM`; earlier versions wrote no checksum.
fn checked_id(line: &str) -> Option<&str> {
    let (id, checksum) = match line.trim().split_once(' ') {
        Some((id, checksum)) => (id, Some(checksum)),
        None => (line.trim(), None),
    };
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let holds = checksum.is_none_or(|checksum| checksum == format!("{:08x}", crc32fast::hash(id.as_bytes())));
    (is_id && holds).then_some(id)
}

#[cfg(test)]
mod tests;
