//! The reading end of the log: whole entries from an offset on, in batches of bounded size.
//!
//! Reads only below an end that it is given, so that it sees nothing that is not durable yet.

use std::fs::File;
use std::os::unix::fs::FileExt;

use seine_proto::filesaver::v1::LogEntry;

use super::Segments;
use super::entry::{HEADER_BYTES, Incomplete, decode, payload};
use crate::error::Error;

/// Bytes read from disk at once.
const READ_BYTES: u64 = 1 << 20;
/// Entries of one batch, decoded; a larger one is a batch of its own.
const BATCH_BYTES: usize = 4 << 20;

pub(crate) struct LogReader {
    segments: Segments,
    /// The segment read last, by its start.
    open: Option<(u64, File)>,
}

/// Some entries and the offset behind them.
pub(crate) struct Batch {
    pub entries: Vec<LogEntry>,
    pub end: u64,
}

impl LogReader {
    pub fn new(segments: Segments) -> Self {
        Self { segments, open: None }
    }

    /// Refuses an offset at which no entry begins (or will begin).
    pub fn check(&mut self, offset: u64, end: u64) -> Result<(), Error> {
        match offset {
            _ if offset > end => Err(Error::BeyondEnd { offset, end }),
            _ if offset == end || offset == 0 => Ok(()),
            _ => self.read(offset, end).map(drop),
        }
    }

    /// The entries from `offset` on, at least one; `end` is where the durable part of the log ends, behind `offset`.
    pub fn read(&mut self, offset: u64, end: u64) -> Result<Batch, Error> {
        debug_assert!(offset < end);
        let not_an_entry = |reason| Error::NotAnEntry { offset, reason };
        let (start, next) = self.segments.holding(offset).ok_or_else(|| not_an_entry("no segment holds it"))?;
        let available = next.unwrap_or(end).min(end) - offset;
        let mut bytes = self.read_at(start, offset, available.min(READ_BYTES))?;
        let mut batch = Batch { entries: Vec::new(), end: offset };
        let (mut at, mut decoded_bytes) = (0, 0);
        loop {
            match payload(&bytes[at..]).and_then(|found| Ok((found, decode(found).map_err(Incomplete::Damaged)?))) {
                Ok((payload, entry)) => {
                    decoded_bytes += prost::Message::encoded_len(&entry);
                    if decoded_bytes > BATCH_BYTES && !batch.entries.is_empty() {
                        break;
                    }
                    at += HEADER_BYTES + payload.len();
                    batch.end = offset + at as u64;
                    batch.entries.push(entry);
                }
                // What is whole goes first; the rest, or what is wrong with it, is the next batch's.
                Err(_) if at > 0 => break,
                Err(Incomplete::Short(needed)) if (bytes.len() as u64) < available => {
                    if needed as u64 > available {
                        return Err(not_an_entry("it reaches beyond the end"));
                    }
                    bytes = self.read_at(start, offset, (needed as u64).max(READ_BYTES).min(available))?;
                }
                Err(Incomplete::Short(_)) => return Err(not_an_entry("it reaches beyond the end")),
                Err(Incomplete::Damaged(reason)) => return Err(not_an_entry(reason)),
            }
        }
        Ok(batch)
    }

    fn read_at(&mut self, start: u64, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        let path = self.segments.path(start);
        let file = match &self.open {
            Some((open, file)) if *open == start => file,
            _ => {
                let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
                &self.open.insert((start, file)).1
            }
        };
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, offset - start).map_err(|error| Error::io("read", &path, error))?;
        Ok(bytes)
    }
}
