//! Puts the directory right after a process that died at any moment, or a disk that lost something.
//!
//! The log is cut behind its last whole entry, and an archive file that was open behind its last whole record, before it is
//! sealed: only what nothing whole follows is cut off, and set aside in a file of its own. What is damaged in between
//! stays where it is, is named, and readers go on behind it. Because a page is synced to the archive before its entry is
//! written to the log, everything in the log is in the archive; the reverse need not hold: a page whose entry was lost
//! was never acknowledged and is fetched again.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use seine_common::data_dir::sync_directory;
use seine_proto::common::v1::ArchivePosition;

use super::Durability;
use super::append_file::AppendFile;
use super::archive::{OPEN_SUFFIX, SEALED_SUFFIX, file_names, rename_sealed};
use super::description_log::entry::{self, HEADER_BYTES, Mark};
use super::description_log::scan::{Marks, Piece, Scan};
use super::description_log::{Damaged, Segments};
use super::gzip::walk;
use crate::error::Error;

const WARCINFO: &[u8] = b"WARC-Type: warcinfo";
/// Where a record says of which type it is.
const PREFIX_BYTES: usize = 256;

/// What is left of the log.
#[derive(Debug, Default)]
pub(crate) struct RecoveredLog {
    pub end: u64,
    /// The page of the last entry that has one in the last segment.
    pub last_page: Option<ArchivePosition>,
    pub mark: Option<Mark>,
    /// Of the newest entries.
    pub highest_epoch: u64,
}

/// Finds where the last whole entry ends. The file itself is cut when it is opened for writing.
pub(crate) fn recover_log(segments: &Segments) -> Result<RecoveredLog, Error> {
    let mut newest_first = segments.newest_first().into_iter();
    let Some(last) = newest_first.next() else { return Ok(RecoveredLog::default()) };
    let mut recovered = recover_segment(segments, last)?;
    // A segment that was just begun knows neither.
    for start in newest_first {
        if recovered.mark.is_some() {
            break;
        }
        let earlier = recover_segment(segments, start)?;
        recovered.highest_epoch = recovered.highest_epoch.max(earlier.highest_epoch);
        (recovered.mark, recovered.last_page) = (earlier.mark, recovered.last_page.or(earlier.last_page));
    }
    let path = segments.path(last);
    let length = fs::metadata(&path).map_err(|error| Error::io("measure", &path, error))?.len();
    let lost = last + length - recovered.end;
    if lost > 0 {
        let aside = format!("{:020}", recovered.end);
        set_aside(&path, recovered.end - last, segments.dir(), &aside)?;
        tracing::warn!(file = %path.display(), offset = recovered.end, bytes = lost, "description log cut behind its last whole entry");
    }
    Ok(recovered)
}

fn recover_segment(segments: &Segments, start: u64) -> Result<RecoveredLog, Error> {
    let path = segments.path(start);
    let read_error = |error| Error::io("read", &path, error);
    let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
    let length = file.metadata().map_err(|error| Error::io("measure", &path, error))?.len();
    let mut scan = Scan::new(&file, length, Marks::default());
    let mut recovered = RecoveredLog { end: start, ..RecoveredLog::default() };
    let mut at = 0;
    while at < length {
        match scan.piece(at).map_err(read_error)? {
            Piece::Entry { payload, .. } => {
                if let Some(head) = entry::head(payload) {
                    recovered.highest_epoch = recovered.highest_epoch.max(head.epoch);
                    recovered.last_page = head.archive.or(recovered.last_page);
                }
                at += (HEADER_BYTES + payload.len()) as u64;
                recovered.end = start + at;
            }
            Piece::Damaged { next: Some(next), reason } => {
                segments.tell(&Damaged { start: start + at, end: start + next, reason });
                at = next;
            }
            Piece::Damaged { next: None, .. } => break,
        }
    }
    recovered.mark = scan.marks().expected;
    Ok(recovered)
}

/// Cuts and seals what was open. `last_page` spares reading what the log vouches for.
pub(crate) fn recover_archive(dir: &Path, last_page: Option<&ArchivePosition>) -> Result<(), Error> {
    for open_name in file_names(dir)? {
        let Some(stem) = open_name.strip_suffix(OPEN_SUFFIX) else { continue };
        let sealed_name = format!("{stem}{SEALED_SUFFIX}");
        let known = last_page.filter(|page| page.file == sealed_name).map(|page| page.offset);
        recover_file(dir, &dir.join(&open_name), stem, known)?;
    }
    Ok(())
}

fn recover_file(dir: &Path, path: &Path, stem: &str, known: Option<u64>) -> Result<(), Error> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let length = file.metadata().map_err(|error| Error::io("measure", path, error))?.len();
    let read = |start| {
        let mut pages = 0u64;
        let found = walk(&file, start, PREFIX_BYTES, |_, _, beginning| {
            pages += u64::from(memchr::memmem::find(beginning, WARCINFO).is_none());
            true
        });
        found.map(|found| (found, pages)).map_err(|error| Error::io("read", path, error))
    };
    // From the beginning where nothing is known, or (after a power cut without syncing) the log knows more than is there.
    let (found, pages) = match known.filter(|known| *known < length).map(read).transpose()? {
        Some((found, pages)) if pages > 0 => (found, pages),
        _ => read(0)?,
    };
    drop(file);
    for damaged in &found.damaged {
        tracing::error!(file = %path.display(), offset = damaged.start, bytes = damaged.end - damaged.start, "archive file is damaged; what stood there is lost");
    }
    if found.end < length {
        set_aside(path, found.end, dir, &format!("{stem}-{}", found.end))?;
    }
    if pages == 0 {
        return fs::remove_file(path).map_err(|error| Error::io("remove", path, error));
    }
    // Opening cuts what stands behind the last whole record.
    AppendFile::open(path, found.end)?.sync(Durability::Sync)?;
    let sealed_name = format!("{stem}{SEALED_SUFFIX}");
    rename_sealed(dir, path, &sealed_name)?;
    tracing::warn!(file = sealed_name, bytes = found.end, "archive file of an interrupted run sealed");
    Ok(())
}

/// Copies what will be cut off a file to `STEM.damaged` in the directory, durably. Zeros, which a power cut leaves where
/// nothing was written yet, are not worth it.
fn set_aside(path: &Path, from: u64, dir: &Path, stem: &str) -> Result<(), Error> {
    let copy = || -> io::Result<bool> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        if is_zero(&mut file)? {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(from))?;
        // An earlier one of the same name holds what was lost there before.
        let names = (0u32..).map(|number| if number == 0 { String::new() } else { format!(".{number}") });
        let mut free = names.map(|number| dir.join(format!("{stem}{number}.damaged"))).filter(|path| !path.exists());
        let mut aside = File::create_new(free.next().expect("numbers do not end"))?;
        io::copy(&mut file, &mut aside)?;
        aside.sync_all()?;
        sync_directory(dir)?;
        Ok(true)
    };
    if copy().map_err(|error| Error::io("set aside the end of", path, error))? {
        tracing::warn!(file = %path.display(), offset = from, aside = format!("{stem}.damaged"), "what could not be read was set aside");
    }
    Ok(())
}

fn is_zero(file: &mut File) -> io::Result<bool> {
    let mut bytes = [0; 8 << 10];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(true),
            read if bytes[..read].iter().any(|&byte| byte != 0) => return Ok(false),
            _ => {}
        }
    }
}
