//! The files of the archive: `<dir>/archive/seine-<time>-<serial>-<random>.warc.gz`, with `.open` behind it while they
//! are written.
//!
//! Life cycle of a file: created under its open name with a warcinfo record → grows by whole batches → sealed: synced,
//! renamed, directory synced, and its index written beside it. A file that was open when the process died is cut and sealed by `recover`.

use std::fs;
use std::path::{Path, PathBuf};

use seine_common::clock::Clock;
use seine_common::data_dir::sync_directory;
use time::OffsetDateTime;

use super::append_file::AppendFile;
use super::archive_index::Spool;
use super::{Durability, warc};
use crate::error::Error;

pub(crate) const SEALED_SUFFIX: &str = ".warc.gz";
pub(crate) const OPEN_SUFFIX: &str = ".warc.gz.open";

pub(crate) struct Archive {
    dir: PathBuf,
    durability: Durability,
    segment_bytes: u64,
    software: String,
    clock: Clock,
    next_serial: u32,
    open: Option<OpenFile>,
}

/// Files with more captures are sealed too, so that sorting an index takes a bounded amount of memory.
const MAX_CAPTURES: u64 = 1 << 18;

struct OpenFile {
    file: AppendFile,
    index: Spool,
    captures: u64,
    /// Under which it will be sealed.
    name: String,
    /// Where the pages begin.
    first_page: u64,
}

impl Archive {
    pub fn new(dir: PathBuf, durability: Durability, segment_bytes: u64, software: String) -> Result<Self, Error> {
        let names = file_names(&dir)?;
        let next_serial = names.iter().filter_map(|name| serial(name)).max().map_or(0, |serial| serial + 1);
        Ok(Self { dir, durability, segment_bytes, software, clock: Clock::System, next_serial, open: None })
    }

    /// Makes ready for a batch: the name of the file that takes it and where it will begin. A full file is sealed first.
    pub fn begin_batch(&mut self) -> Result<(String, u64), Error> {
        let is_full = |open: &OpenFile| open.file.end() >= self.segment_bytes || open.captures >= MAX_CAPTURES;
        if self.open.as_ref().is_some_and(is_full) {
            self.seal()?;
        }
        if self.open.is_none() {
            self.open = Some(self.create()?);
        }
        let open = self.open.as_ref().expect("opened above");
        Ok((open.name.clone(), open.file.end()))
    }

    /// Appends a batch that was begun, durably.
    pub fn append(&mut self, records: &[u8]) -> Result<(), Error> {
        let open = self.open.as_mut().expect("a batch was begun");
        open.file.append(records)?;
        open.file.sync(self.durability)
    }

    /// Notes the captures of the last batch, once all of it is durable.
    pub fn index(&mut self, lines: &[u8], captures: u64) {
        if let Some(open) = &mut self.open {
            open.index.append(lines);
            open.captures += captures;
        }
    }

    /// Takes the last batch out again.
    pub fn cut_back(&mut self, end: u64) {
        if let Some(open) = &mut self.open {
            // Where this fails, the next append tries again first.
            let _ = open.file.cut_back(end);
        }
    }

    fn create(&mut self) -> Result<OpenFile, Error> {
        let name = self.next_name();
        let path = self.dir.join(&name).with_extension("gz.open");
        let mut file = AppendFile::create(&path)?;
        let begun = file.append(&warc::warcinfo(&name, &self.software, self.clock.now_ms())).and_then(|()| {
            // Without its directory entry, a synced file is lost all the same.
            if self.durability == Durability::Sync { self.sync_directory() } else { Ok(()) }
        });
        if let Err(error) = begun {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let index = Spool::create(&self.dir, &name);
        Ok(OpenFile { first_page: file.end(), file, index, captures: 0, name })
    }

    /// Closes the open file under its final name, which is returned. One without pages is removed instead.
    pub fn seal(&mut self) -> Result<Option<String>, Error> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let is_kept = seal_file(&self.dir, open)?;
        let open = self.open.take().expect("it was open above");
        if !is_kept {
            open.index.remove();
            return Ok(None);
        }
        open.index.seal(&self.dir, &open.name);
        Ok(Some(open.name))
    }

    fn next_name(&mut self) -> String {
        let now = OffsetDateTime::from_unix_timestamp(self.clock.now_ms() / 1000).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = now.to_calendar_date();
        let (hour, minute, second) = now.to_hms();
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        let random = uuid::Uuid::new_v4().as_u128() as u32;
        format!(
            "seine-{year:04}{:02}{day:02}{hour:02}{minute:02}{second:02}-{serial:06}-{random:08x}{SEALED_SUFFIX}",
            u8::from(month)
        )
    }

    fn sync_directory(&self) -> Result<(), Error> {
        sync_directory(&self.dir).map_err(|error| Error::io("sync", &self.dir, error))
    }
}

/// False when there was nothing worth keeping.
fn seal_file(dir: &Path, open: &mut OpenFile) -> Result<bool, Error> {
    let end = open.file.end();
    // Cuts what a failed write left behind.
    open.file.cut_back(end)?;
    if end == open.first_page {
        fs::remove_file(open.file.path()).map_err(|error| Error::io("remove", open.file.path(), error))?;
        return Ok(false);
    }
    open.file.sync(Durability::Sync)?;
    rename_sealed(dir, open.file.path(), &open.name)?;
    tracing::info!(file = open.name, bytes = end, "archive file sealed");
    Ok(true)
}

/// Gives a finished file its final name.
pub(crate) fn rename_sealed(dir: &Path, open: &Path, name: &str) -> Result<(), Error> {
    fs::rename(open, dir.join(name)).map_err(|error| Error::io("rename", open, error))?;
    sync_directory(dir).map_err(|error| Error::io("sync", dir, error))
}

/// All names in a directory.
pub(crate) fn file_names(dir: &Path) -> Result<Vec<String>, Error> {
    let names = || -> std::io::Result<Vec<String>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    names().map_err(|error| Error::io("list", dir, error))
}

fn serial(name: &str) -> Option<u32> {
    name.strip_prefix("seine-")?.split('-').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(dir: &Path, segment_bytes: u64) -> Archive {
        Archive::new(dir.to_owned(), Durability::Os, segment_bytes, "test".into()).unwrap()
    }

    #[test]
    fn a_full_file_is_sealed_and_a_new_one_begun() {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = archive(dir.path(), 1000);
        let (first, _) = archive.begin_batch().unwrap();
        archive.append(&[0; 1000]).unwrap();
        let (second, _) = archive.begin_batch().unwrap();
        assert_ne!(first, second);
        let mut names = file_names(dir.path()).unwrap();
        names.retain(|name| name.contains(".warc.gz"));
        names.sort();
        assert_eq!(names, [first, format!("{second}.open")]);
    }

    #[test]
    fn sealing_a_file_without_pages_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = archive(dir.path(), 1000);
        archive.begin_batch().unwrap();
        assert_eq!(archive.seal().unwrap(), None);
        assert_eq!(archive.seal().unwrap(), None);
        assert!(file_names(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn serials_go_on_where_the_last_process_stopped() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("seine-20260101000000-000041-0badcafe.warc.gz"), "").unwrap();
        let mut archive = archive(dir.path(), 1000);
        let (name, _) = archive.begin_batch().unwrap();
        assert_eq!(serial(&name), Some(42), "{name}");
        assert!(name.starts_with("seine-20") && name.ends_with(SEALED_SUFFIX), "{name}");
    }
}
