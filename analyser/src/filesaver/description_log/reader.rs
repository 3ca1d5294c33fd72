//! The reading end of the log: whole entries from an offset on, in batches of bounded size.
//!
//! Reads only below an end that it is given, so that it sees nothing that is not durable yet. What is damaged, cut off or
//! missing is passed over and said in the batch.

use std::fs::File;
use std::io;

use seine_proto::filesaver::v1::LogEntry;

use super::entry::{HEADER_BYTES, decode};
use super::scan::{Marks, Piece, Scan};
use super::{Damaged, Segments};
use crate::error::Error;

/// Entries of one batch, decoded; a larger one is a batch of its own.
const BATCH_BYTES: usize = 4 << 20;

pub(crate) struct LogReader {
    segments: Segments,
    /// The segment read last, by its start.
    open: Option<(u64, File)>,
    /// Whether the entries before were marked.
    marks: Marks,
}

/// Names an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryName {
    pub offset: u64,
    pub checksum: u32,
}

/// Some entries, or what is damaged instead of them, and the offset behind.
#[derive(Default)]
pub(crate) struct Batch {
    pub entries: Vec<LogEntry>,
    pub last: Option<EntryName>,
    pub damaged: Option<Damaged>,
    pub end: u64,
}

impl Batch {
    fn lost(damaged: Damaged) -> Self {
        Self { end: damaged.end, damaged: Some(damaged), ..Self::default() }
    }
}

impl LogReader {
    pub fn new(segments: Segments) -> Self {
        let marks = Marks { expected: segments.mark(), all_marked: false };
        Self { segments, open: None, marks }
    }

    /// Refuses an offset that is not of this log as it is now: behind its end, or where the entry that was the last before
    /// the offset is another one. Without such an entry, an offset at which no entry begins.
    pub fn check(&mut self, offset: u64, last: Option<EntryName>, end: u64) -> Result<(), Error> {
        if offset > end {
            return Err(Error::BeyondEnd { offset, end });
        }
        match last {
            _ if offset == 0 => Ok(()),
            Some(last) => {
                let found = if last.offset < offset { self.look(last.offset, offset)?.last } else { None };
                if found == Some(last) { Ok(()) } else { Err(Error::OtherEntry { offset, at: last.offset }) }
            }
            None if offset == end => Ok(()),
            None => match self.look(offset, end)?.damaged {
                None => Ok(()),
                Some(damaged) => Err(Error::NotAnEntry { offset, reason: damaged.reason }),
            },
        }
    }

    /// The entries from `offset` on, at least one, or the damaged stretch that begins there; `end` is where the durable part of
    /// the log ends, behind `offset`.
    pub fn read(&mut self, offset: u64, end: u64) -> Result<Batch, Error> {
        let batch = self.look(offset, end)?;
        if let Some(damaged) = &batch.damaged {
            self.segments.tell(damaged);
        }
        Ok(batch)
    }

    fn look(&mut self, offset: u64, end: u64) -> Result<Batch, Error> {
        debug_assert!(offset < end);
        let (segment, next) = self.segments.holding(offset);
        let limit = next.unwrap_or(end).min(end);
        let lost = |reason| Damaged { start: offset, end: limit, reason };
        let Some(start) = segment else { return Ok(Batch::lost(lost("a file of the log is missing"))) };
        let path = self.segments.path(start);
        let length = match self.open(start) {
            Ok(length) => length.min(limit - start),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Batch::lost(lost("its file is missing")));
            }
            Err(error) => return Err(Error::io("open", &path, error)),
        };
        if start + length <= offset {
            return Ok(Batch::lost(lost("its file was cut")));
        }
        let (_, file) = self.open.as_ref().expect("opened above");
        let mut scan = Scan::new(file, length, self.marks);
        let mut batch = Batch { end: offset, ..Batch::default() };
        let mut decoded_bytes = 0;
        while batch.end < start + length {
            let at = batch.end;
            let (behind, damaged) = match scan.piece(at - start).map_err(|error| Error::io("read", &path, error))? {
                Piece::Entry { payload, checksum } => {
                    let behind = at + (HEADER_BYTES + payload.len()) as u64;
                    match decode(payload) {
                        Ok(entry) => {
                            decoded_bytes += prost::Message::encoded_len(&entry);
                            if decoded_bytes > BATCH_BYTES && !batch.entries.is_empty() {
                                break;
                            }
                            batch.entries.push(entry);
                            batch.last = Some(EntryName { offset: at, checksum });
                            (behind, None)
                        }
                        Err(reason) => (behind, Some(reason)),
                    }
                }
                Piece::Damaged { next, reason } => (next.map_or(limit, |next| start + next), Some(reason)),
            };
            if let Some(reason) = damaged {
                // What is whole goes first; what is wrong with the rest is the next batch's.
                if batch.entries.is_empty() {
                    batch = Batch::lost(Damaged { start: at, end: behind, reason });
                }
                return Ok(batch);
            }
            batch.end = behind;
        }
        self.marks = scan.marks();
        Ok(batch)
    }

    /// Opens the file of a segment, unless it is open; gives its length.
    fn open(&mut self, start: u64) -> io::Result<u64> {
        let file = match &self.open {
            Some((open, file)) if *open == start => file,
            _ => &self.open.insert((start, File::open(self.segments.path(start))?)).1,
        };
        Ok(file.metadata()?.len())
    }
}
