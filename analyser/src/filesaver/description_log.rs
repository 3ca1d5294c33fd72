//! The description log: entries one after the other, addressed by their byte offset in the whole log.
//!
//! Kept in segments `<dir>/log/<offset of the first entry, 20 digits>.log`. An entry is
//! `[u32 length][u32 crc32 of the payload][payload]`, little-endian; see `entry` for the payload. `ID` names the log.
//! Not responsible for when something is durable; `commit` decides and syncs.
//!
//! Invariant: segments follow each other without a gap, and every segment but the last is complete.

pub(crate) mod entry;
pub(crate) mod reader;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use seine_common::data_dir::{sync_directory, write_atomically};

use super::Durability;
use super::append_file::AppendFile;
use super::archive::file_names;
use crate::error::Error;

/// A segment that has reached this is followed by a new one.
const SEGMENT_BYTES: u64 = 256 << 20;

/// Where segments begin, in order; shared by the one writer and all readers.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    dir: Arc<Path>,
    starts: Arc<RwLock<Vec<u64>>>,
}

impl Segments {
    /// Lists the segments of a directory and checks that none is missing.
    pub fn list(dir: &Path) -> Result<Self, Error> {
        let names = file_names(dir)?;
        let mut starts: Vec<u64> = names.iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect();
        starts.sort_unstable();
        let this = Self { dir: dir.into(), starts: Arc::new(RwLock::new(starts)) };
        this.check()?;
        Ok(this)
    }

    fn check(&self) -> Result<(), Error> {
        let starts = self.starts.read().expect("no holder panics");
        let mut expected = 0;
        for (position, &start) in starts.iter().enumerate() {
            let path = self.path(start);
            if start != expected {
                return Err(Error::LogGap { path, expected, found: start });
            }
            // The last one may end in a torn entry; its length is for `recover` to find.
            if position + 1 < starts.len() {
                expected += fs::metadata(&path).map_err(|error| Error::io("measure", &path, error))?.len();
            }
        }
        Ok(())
    }

    pub fn path(&self, start: u64) -> PathBuf {
        self.dir.join(format!("{start:020}.log"))
    }

    pub fn last(&self) -> Option<u64> {
        self.starts.read().expect("no holder panics").last().copied()
    }

    /// The segment that holds an offset, and where the next one begins.
    pub fn holding(&self, offset: u64) -> Option<(u64, Option<u64>)> {
        let starts = self.starts.read().expect("no holder panics");
        let after = starts.partition_point(|&start| start <= offset);
        let start = *starts.get(after.checked_sub(1)?)?;
        Some((start, starts.get(after).copied()))
    }

    fn add(&self, start: u64) {
        self.starts.write().expect("no holder panics").push(start);
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
    /// Continues the log at `end`, which `recover` has found.
    pub fn open(segments: Segments, end: u64) -> Result<Self, Error> {
        let (start, file) = match segments.last() {
            Some(start) => (start, AppendFile::open(&segments.path(start), end - start)?),
            None => (0, begin_segment(&segments, 0)?),
        };
        Ok(Self { segments, segment_bytes: SEGMENT_BYTES, start, file })
    }

    pub fn end(&self) -> u64 {
        self.start + self.file.end()
    }

    /// Begins a new segment where the current one is full.
    pub fn rotate(&mut self) -> Result<(), Error> {
        if self.file.end() < self.segment_bytes {
            return Ok(());
        }
        // What a failed write left must not stand between two segments, and nothing may be missing, whatever happens to
        // the machine: a log with a gap cannot be opened.
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

/// The name of the log, drawn when it is made.
pub(crate) fn log_id(dir: &Path) -> Result<String, Error> {
    let path = dir.join("ID");
    match fs::read_to_string(&path) {
        Ok(id) if !id.trim().is_empty() => return Ok(id.trim().to_owned()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("read", &path, error)),
        _ => {}
    }
    let id = uuid::Uuid::new_v4().simple().to_string();
    write_atomically(&path, format!("{id}\n").as_bytes(), 0o644).map_err(|error| Error::io("write", &path, error))?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use seine_proto::common::v1::{ArchivePosition, Description};
    use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry};

    use super::entry::EntryBody;
    use super::reader::LogReader;
    use super::*;
    use crate::filesaver::recover::recover_log;

    fn entry(number: usize) -> Vec<u8> {
        let description = Description { url: format!("http://example.org/{number}"), ..Description::default() };
        let mut bytes = Vec::new();
        EntryBody::of(&LogEntry { entry: Some(Entry::Description(description)) })
            .write(&ArchivePosition::default(), &mut bytes);
        bytes
    }

    #[test]
    fn a_log_of_many_segments_reads_as_one() {
        const ENTRIES: usize = 100;
        let dir = tempfile::tempdir().unwrap();
        let mut end = 0;
        for number in 0..ENTRIES {
            // Reopened now and then, as by another process.
            let segments = Segments::list(dir.path()).unwrap();
            assert_eq!(recover_log(&segments).unwrap().end, end);
            let mut log = DescriptionLog::open(segments, end).unwrap();
            log.segment_bytes = 500;
            log.rotate().unwrap();
            log.append(&entry(number)).unwrap();
            end = log.end();
        }
        let segments = Segments::list(dir.path()).unwrap();
        assert!(segments.starts.read().unwrap().len() > 5);
        let mut reader = LogReader::new(segments);
        let (mut offset, mut seen) = (0, 0);
        while offset < end {
            reader.check(offset, end).unwrap();
            let batch = reader.read(offset, end).unwrap();
            seen += batch.entries.len();
            offset = batch.end;
        }
        assert_eq!((seen, offset), (ENTRIES, end));
    }

    #[test]
    fn what_a_failed_write_left_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = DescriptionLog::open(Segments::list(dir.path()).unwrap(), 0).unwrap();
        log.append(&entry(0)).unwrap();
        let end = log.end();
        log.append(&[entry(1), entry(2)].concat()).unwrap();
        log.cut_back(end).unwrap();
        assert_eq!(recover_log(&log.segments).unwrap().end, end);
        log.append(&entry(3)).unwrap();
        let batch = LogReader::new(log.segments.clone()).read(0, log.end()).unwrap();
        assert_eq!(batch.entries.len(), 2);
    }
}
