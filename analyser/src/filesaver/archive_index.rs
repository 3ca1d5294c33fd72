//! The index beside each archive file: `NAME.cdxj` for `NAME.warc.gz`, sorted.
//!
//! Life cycle: while a file is open, the lines of its captures are appended to `NAME.cdxj.open` in the order of writing, and
//! nothing syncs them → when the file is sealed they are sorted into `NAME.cdxj`, with their checksum in `NAME.cdxj.sum` → an
//! index that is missing or damaged at the next start, because the process was killed, the file is of an earlier version
//! or a disk failed, is made again from the records. An index is a convenience: nothing acknowledged depends on it, and
//! failing to write one fails no page.

mod check;
pub(crate) mod search;
pub(crate) mod answers;
pub(crate) mod rebuild;

use std::fs;
use std::path::{Path, PathBuf};

use seine_common::data_dir::write_atomically;

use super::append_file::AppendFile;
use super::archive::{SEALED_SUFFIX, file_names};
use super::cdxj::Capture;
use super::known_contents::KnownContents;
use crate::error::Error;

pub(crate) const INDEX_SUFFIX: &str = ".cdxj";
pub(crate) const SPOOL_SUFFIX: &str = ".cdxj.open";

/// `NAME.cdxj` for `NAME.warc.gz`.
pub(crate) fn index_path(dir: &Path, archive_name: &str) -> PathBuf {
    dir.join(format!("{}{INDEX_SUFFIX}", archive_name.trim_end_matches(SEALED_SUFFIX)))
}

/// Lines of the archive file that is open.
pub(crate) struct Spool {
    /// `None` after a failed write.
    file: Option<AppendFile>,
    path: PathBuf,
}

impl Spool {
    pub fn create(dir: &Path, archive_name: &str) -> Self {
        let path = dir.join(format!("{}{SPOOL_SUFFIX}", archive_name.trim_end_matches(SEALED_SUFFIX)));
        let file = AppendFile::create(&path);
        let file = file.inspect_err(|error| tracing::warn!(%error, "the archive file will be indexed later")).ok();
        Self { file, path }
    }

    pub fn append(&mut self, lines: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.append(lines) {
            tracing::warn!(%error, "the archive file will be indexed later");
            self.file = None;
        }
    }

    /// Leaves the sorted index of a file that was just sealed.
    pub fn seal(self, dir: &Path, archive_name: &str) {
        if self.file.is_some() {
            let sealed = fs::read(&self.path)
                .map_err(|error| Error::io("read", &self.path, error))
                .and_then(|lines| write_sorted(dir, archive_name, &lines));
            if let Err(error) = sealed {
                tracing::warn!(%error, "the archive file will be indexed later");
            }
        }
        self.remove();
    }

    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn write_sorted(dir: &Path, archive_name: &str, lines: &[u8]) -> Result<(), Error> {
    let mut sorted: Vec<&[u8]> = lines.split_inclusive(|&byte| byte == b'\n').collect();
    sorted.sort_unstable();
    let (path, sorted) = (index_path(dir, archive_name), sorted.concat());
    // First, so that an index is never without it.
    check::write_sum(&path, &sorted)?;
    write_atomically(&path, &sorted, 0o644).map_err(|error| Error::io("write", &path, error))
}

/// Removes what a killed process left beside its open files.
pub(crate) fn remove_spools(dir: &Path) -> Result<(), Error> {
    for name in file_names(dir)?.iter().filter(|name| name.ends_with(SPOOL_SUFFIX)) {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
    }
    Ok(())
}

/// Sealed files, oldest first: their names begin with the time.
pub(crate) fn sealed_files(dir: &Path) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = file_names(dir)?.into_iter().filter(|name| name.ends_with(SEALED_SUFFIX)).collect();
    names.sort_unstable();
    Ok(names)
}

/// Fills the memory of contents from the newest indexes, as far as it goes.
pub(crate) fn remember(dir: &Path, known: &KnownContents) -> Result<(), Error> {
    for name in sealed_files(dir)?.into_iter().rev() {
        // A wrong line would have later pages refer to what is not there.
        let Ok(check::Checked::Whole(lines)) = check::check(dir, &name) else { continue };
        let file_name = std::sync::Arc::from(name.as_str());
        let has_room = lines.lines().all(|line| {
            let Some((timestamp, capture)) = Capture::parse(line) else { return true };
            if capture.is_revisit() || capture.is_answer() {
                return true;
            }
            let timestamp = timestamp.to_owned();
            capture.original(&timestamp, &file_name).is_none_or(|(digest, original)| known.note_older(digest, original))
        });
        if !has_room {
            break;
        }
    }
    Ok(())
}
