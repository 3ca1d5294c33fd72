//! Makes missing and damaged indexes from the records themselves, on a thread of its own: a gigabyte takes some seconds.

use std::fs::File;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use seine_common::panics;
use seine_proto::common::v1::ArchivePosition;

use super::check::{Checked, check};
use super::{index_path, sealed_files, write_sorted};
use crate::error::Error;
use crate::filesaver::cdxj::Capture;
use crate::filesaver::gzip::walk;
use crate::filesaver::record::Record;

/// Header of a record and head of its message.
const PREFIX_BYTES: usize = 64 << 10;

/// Goes on until all indexes are there, or until it is told to stop.
pub(crate) struct Rebuild {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Rebuild {
    pub fn start(dir: &Path) -> Result<Self, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let files = sealed_files(dir)?;
        if files.is_empty() {
            return Ok(Self { stop, thread: None });
        }
        let (dir_of_thread, stopped) = (dir.to_owned(), Arc::clone(&stop));
        let work = move || {
            for name in files {
                let indexed = catch_unwind(|| make_right(&dir_of_thread, &name, &stopped));
                // One file must not keep the others from being indexed.
                match indexed.unwrap_or_else(|panic| Err(Error::Panicked(panics::message(panic.as_ref())))) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => tracing::warn!(%error, "archive file could not be indexed"),
                }
            }
        };
        let thread = std::thread::Builder::new().name("filesaver-index".to_owned()).spawn(work);
        Ok(Self { stop, thread: Some(thread.map_err(|error| Error::io("index", dir, error))?) })
    }

    /// Waits for its end, which comes with the next record.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Leaves a whole index. False when it was told to stop.
fn make_right(dir: &Path, name: &str, stopped: &AtomicBool) -> Result<bool, Error> {
    if stopped.load(Ordering::Relaxed) {
        return Ok(false);
    }
    match check(dir, name)? {
        Checked::Whole(lines) => {
            tell_if_shorter(dir, name, &lines);
            return Ok(true);
        }
        Checked::Missing => {}
        Checked::Damaged => tracing::error!(
            file = %index_path(dir, name).display(),
            "the index of an archive file is damaged; it is made again from the records"
        ),
    }
    let is_done = index_file(dir, name, stopped)?;
    if is_done {
        tracing::info!(file = name, "archive file indexed");
    }
    Ok(is_done)
}

/// Says that records are missing at the end of an archive file.
fn tell_if_shorter(dir: &Path, name: &str, lines: &str) {
    let captures = lines.lines().filter_map(|line| Capture::parse(line)?.1.position());
    let expected = captures.map(|position| position.offset.saturating_add(position.length)).max().unwrap_or(0);
    let path = dir.join(name);
    let length = std::fs::metadata(&path).map_or(u64::MAX, |file| file.len());
    if length < expected {
        tracing::error!(file = %path.display(), bytes = length, expected, "archive file was cut; what stood behind is lost");
    }
}

/// False when it was told to stop.
fn index_file(dir: &Path, name: &str, stopped: &AtomicBool) -> Result<bool, Error> {
    let path = dir.join(name);
    let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
    let mut lines = Vec::new();
    let walked = walk(&file, 0, PREFIX_BYTES, |offset, length, beginning| {
        if let Some((timestamp, mut capture)) = Record::parse(beginning).and_then(|record| Capture::of_record(&record))
        {
            let position = ArchivePosition { file: name.to_owned(), offset, length, ..ArchivePosition::default() };
            lines.extend_from_slice(capture.line(&timestamp, &position).as_bytes());
        }
        !stopped.load(Ordering::Relaxed)
    });
    let walked = walked.map_err(|error| Error::io("read", &path, error))?;
    let length = file.metadata().map_or(0, |file| file.len());
    let tail = (walked.end < length && !stopped.load(Ordering::Relaxed)).then_some(walked.end..length);
    for damaged in walked.damaged.into_iter().chain(tail) {
        let bytes = damaged.end - damaged.start;
        tracing::error!(file = %path.display(), offset = damaged.start, bytes, "archive file is damaged; what stood there is lost");
    }
    if stopped.load(Ordering::Relaxed) {
        return Ok(false);
    }
    write_sorted(dir, name, &lines)?;
    Ok(true)
}
