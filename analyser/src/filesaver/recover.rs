//! Puts the directory right after a process that died at any moment.
//!
//! The log is cut behind its last whole entry. An archive file that was open is cut behind its last whole record and
//! sealed. Because a page is synced to the archive before its entry is written to the log, everything in the log is in
//! the archive; the reverse need not hold: a page whose entry was lost was never acknowledged and is fetched again.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use seine_proto::common::v1::ArchivePosition;

use super::Durability;
use super::append_file::AppendFile;
use super::archive::{OPEN_SUFFIX, SEALED_SUFFIX, file_names, rename_sealed};
use super::description_log::Segments;
use super::description_log::entry::{self, HEADER_BYTES, Incomplete};
use super::gzip::whole_members;
use crate::error::Error;

const READ_BYTES: usize = 4 << 20;

/// What is left of the log.
#[derive(Debug)]
pub(crate) struct RecoveredLog {
    pub end: u64,
    /// The page of the last entry that has one in the last segment.
    pub last_page: Option<ArchivePosition>,
}

/// Finds where the last whole entry ends. The file itself is cut when it is opened for writing.
pub(crate) fn recover_log(segments: &Segments) -> Result<RecoveredLog, Error> {
    let Some(start) = segments.last() else { return Ok(RecoveredLog { end: 0, last_page: None }) };
    let path = segments.path(start);
    let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
    let length = file.metadata().map_err(|error| Error::io("measure", &path, error))?.len();
    let mut recovered = RecoveredLog { end: start, last_page: None };
    let mut wanted = READ_BYTES;
    loop {
        let at = recovered.end - start;
        let mut bytes = vec![0; wanted.min((length - at) as usize)];
        file.read_exact_at(&mut bytes, at).map_err(|error| Error::io("read", &path, error))?;
        let mut rest = bytes.as_slice();
        let stop = loop {
            match entry::payload(rest) {
                Ok(payload) => {
                    let position = entry::position(payload).filter(|position| !position.file.is_empty());
                    recovered.last_page = position.or(recovered.last_page);
                    rest = &rest[HEADER_BYTES + payload.len()..];
                }
                Err(stop) => break stop,
            }
        };
        recovered.end += (bytes.len() - rest.len()) as u64;
        match stop {
            Incomplete::Short(needed) if recovered.end - start + needed as u64 <= length => {
                wanted = needed.max(READ_BYTES)
            }
            _ => break,
        }
    }
    let lost = start + length - recovered.end;
    if lost > 0 {
        tracing::warn!(file = %path.display(), bytes = lost, "description log cut behind its last whole entry");
    }
    Ok(recovered)
}

/// Cuts and seals what was open. `last_page` spares reading what the log vouches for.
pub(crate) fn recover_archive(dir: &Path, last_page: Option<&ArchivePosition>) -> Result<(), Error> {
    for open_name in file_names(dir)? {
        let Some(stem) = open_name.strip_suffix(OPEN_SUFFIX) else { continue };
        let sealed_name = format!("{stem}{SEALED_SUFFIX}");
        let known = last_page.filter(|page| page.file == sealed_name).map(|page| page.offset);
        recover_file(dir, &dir.join(&open_name), &sealed_name, known)?;
    }
    Ok(())
}

fn recover_file(dir: &Path, path: &Path, sealed_name: &str, known: Option<u64>) -> Result<(), Error> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let read = |start| whole_members(&file, start).map_err(|error| Error::io("read", path, error));
    let mut found = read(known.unwrap_or(0))?;
    let mut has_pages = known.is_some() && found.count > 0;
    if !has_pages {
        // Nothing known, or (after a power cut without syncing) not what the log says: then from the beginning.
        found = read(0)?;
        // The first record is the warcinfo.
        has_pages = found.count > 1;
    }
    drop(file);
    if !has_pages {
        return fs::remove_file(path).map_err(|error| Error::io("remove", path, error));
    }
    // Opening cuts what stands behind the last whole record.
    AppendFile::open(path, found.end)?.sync(Durability::Sync)?;
    rename_sealed(dir, path, sealed_name)?;
    tracing::warn!(file = sealed_name, bytes = found.end, "archive file of an interrupted run sealed");
    Ok(())
}
