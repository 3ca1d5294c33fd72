//! Reads the entries of one segment, and finds the next whole one behind damage.
//!
//! Whoever reads the log goes through here, so that all skip the same stretches. Behind damage the next entry is looked for
//! where the damaged one says that it ends, and else at every byte, in one pass: its length, its [`Mark`] and its checksum
//! must hold. Checksums of bytes that only look like an entry are work that a page's author could ask for; it is bounded by the
//! length of what is searched.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::entry::{self, HEADER_BYTES, MAX_PAYLOAD_BYTES, Mark};

/// Bytes read from disk at once.
const READ_BYTES: u64 = 1 << 20;
/// As much of an entry as tells whether it can be one.
const BEGINNING_BYTES: usize = HEADER_BYTES + 16;
/// Bytes whose checksum is computed in vain, for each byte that is searched, and for the first few.
const WASTE_PER_BYTE: u64 = 16;
const FIRST_WASTE: u64 = 4 * MAX_PAYLOAD_BYTES as u64;

/// What begins at some place of a segment.
pub(crate) enum Piece<'s> {
    Entry {
        payload: &'s [u8],
        checksum: u32,
    },
    /// `next` is where the next whole entry begins; `None` when nothing whole follows.
    Damaged {
        next: Option<u64>,
        reason: &'static str,
    },
}

/// A segment, or its beginning, and which marks its entries have.
pub(crate) struct Scan<'f> {
    file: &'f File,
    length: u64,
    /// A part of the file, and where it begins.
    window: Vec<u8>,
    window_at: u64,
    marks: Marks,
}

/// What is known of the marks in a log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    pub expected: Option<Mark>,
    /// From the first marked entry on, all are.
    pub all_marked: bool,
}

impl Marks {
    fn saw(&mut self, payload: &[u8]) {
        if let Some(mark) = entry::mark(payload) {
            self.all_marked = true;
            self.expected.get_or_insert(mark);
        }
    }
}

impl<'f> Scan<'f> {
    /// Looks no further than `length`.
    pub fn new(file: &'f File, length: u64, marks: Marks) -> Self {
        Self { file, length, window: Vec::new(), window_at: 0, marks }
    }

    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// What begins at `at`, which must be before the end.
    pub fn piece(&mut self, at: u64) -> io::Result<Piece<'_>> {
        match self.check(at)? {
            Ok((length, checksum)) => {
                let begin = (at - self.window_at) as usize + HEADER_BYTES;
                let payload = &self.window[begin..begin + length];
                self.marks.saw(payload);
                Ok(Piece::Entry { payload, checksum })
            }
            Err(reason) => Ok(Piece::Damaged { next: self.next_entry(at)?, reason }),
        }
    }

    /// Length and checksum of the payload at `at`, which is in the window then; or what is wrong with it.
    fn check(&mut self, at: u64) -> io::Result<Result<(usize, u32), &'static str>> {
        let Some(header) = self.bytes(at, HEADER_BYTES)?.first_chunk() else { return Ok(Err("it is cut off")) };
        let (length, checksum) = match entry::header(*header) {
            Ok(header) => header,
            Err(reason) => return Ok(Err(reason)),
        };
        let whole = HEADER_BYTES + length;
        if at + whole as u64 > self.length {
            return Ok(Err("it reaches beyond the end"));
        }
        let payload = &self.bytes(at, whole)?[HEADER_BYTES..whole];
        if crc32fast::hash(payload) != checksum {
            return Ok(Err("its checksum is wrong"));
        }
        Ok(Ok((length, checksum)))
    }

    /// The first whole entry behind the damaged one at `at`.
    fn next_entry(&mut self, at: u64) -> io::Result<Option<u64>> {
        // Most damage leaves the length as it was. This also passes by whatever the page itself holds.
        if let Some(header) = self.bytes(at, HEADER_BYTES)?.first_chunk()
            && let Ok((length, _)) = entry::header(*header)
            && let next = at + (HEADER_BYTES + length) as u64
            && self.looks_like_entry(next)?
            && self.check(next)?.is_ok()
        {
            return Ok(Some(next));
        }
        let (mut from, mut waste) = (at + 1, 0);
        while let Some(found) = self.next_likely(from)? {
            let header = self.bytes(found, HEADER_BYTES)?.first_chunk().map(|header| entry::header(*header));
            let length = header.and_then(Result::ok).map_or(0, |(length, _)| length as u64);
            let affordable = FIRST_WASTE + WASTE_PER_BYTE * (found - at);
            if waste + length <= affordable {
                if self.check(found)?.is_ok() {
                    return Ok(Some(found));
                }
                waste += length;
            }
            from = found + 1;
        }
        Ok(None)
    }

    fn looks_like_entry(&mut self, at: u64) -> io::Result<bool> {
        let (marks, length) = (self.marks, self.length);
        Ok(is_likely(self.bytes(at, BEGINNING_BYTES)?, at, length, marks))
    }

    /// The first place from `from` on whose bytes look like the beginning of an entry.
    fn next_likely(&mut self, mut from: u64) -> io::Result<Option<u64>> {
        let (marks, length) = (self.marks, self.length);
        while from < length {
            let bytes = self.bytes(from, BEGINNING_BYTES)?;
            let is_last = from + bytes.len() as u64 >= length;
            let starts = if is_last { bytes.len() } else { bytes.len() - BEGINNING_BYTES + 1 };
            let found = (0..starts).find(|&start| is_likely(&bytes[start..], from + start as u64, length, marks));
            if let Some(found) = found {
                return Ok(Some(from + found as u64));
            }
            from += starts as u64;
        }
        Ok(None)
    }

    /// The bytes from `at` on: at least so many, or as many as there are.
    fn bytes(&mut self, at: u64, needed: usize) -> io::Result<&[u8]> {
        let available = self.length.saturating_sub(at);
        let needed = (needed as u64).min(available);
        if needed == 0 {
            return Ok(&[]);
        }
        let window = self.window_at..self.window_at + self.window.len() as u64;
        if at < window.start || at + needed > window.end {
            self.window.resize(needed.max(READ_BYTES).min(available) as usize, 0);
            // One huge entry must not hold its memory for the rest.
            self.window.shrink_to(READ_BYTES as usize);
            self.window_at = at;
            self.file.read_exact_at(&mut self.window, at)?;
        }
        Ok(&self.window[(at - self.window_at) as usize..])
    }
}

fn is_likely(bytes: &[u8], at: u64, end: u64, marks: Marks) -> bool {
    let Some((header, payload)) = bytes.split_first_chunk() else { return false };
    entry::header(*header).is_ok_and(|(length, _)| at + (HEADER_BYTES + length) as u64 <= end)
        && entry::is_plausible(payload, marks.expected, !marks.all_marked)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use seine_proto::common::v1::{ArchivePosition, Description};
    use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry};

    use super::*;
    use crate::filesaver::description_log::entry::EntryBody;

    fn entry(mark: Mark, text: &str) -> Vec<u8> {
        let description = Description { text: text.into(), ..Description::default() };
        let body = EntryBody::of(&LogEntry { entry: Some(Entry::Description(description)) });
        let mut bytes = Vec::new();
        body.write(mark, &ArchivePosition::default(), &mut bytes);
        bytes
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    /// Where whole entries begin.
    fn starts(bytes: &[u8], marks: Marks) -> Vec<u64> {
        let file = file(bytes);
        let mut scan = Scan::new(&file, bytes.len() as u64, marks);
        let (mut at, mut found) = (0, Vec::new());
        while at < bytes.len() as u64 {
            match scan.piece(at).unwrap() {
                Piece::Entry { payload, .. } => {
                    found.push(at);
                    at += (HEADER_BYTES + payload.len()) as u64;
                }
                Piece::Damaged { next: Some(next), .. } => {
                    assert!(next > at);
                    at = next;
                }
                Piece::Damaged { next: None, .. } => break,
            }
        }
        found
    }

    proptest! {
        #[test]
        fn every_entry_that_is_whole_is_found_whatever_bytes_are_damaged(
            texts in prop::collection::vec("[a-z ]{0,400}", 1..8),
            damage in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 0..4),
            tail: Vec<u8>,
        ) {
            let mark = Mark::draw();
            let entries: Vec<Vec<u8>> = texts.iter().map(|text| entry(mark, text)).collect();
            let mut bytes = entries.concat();
            let length = bytes.len();
            let places: Vec<usize> = damage.iter().map(|(at, _)| at.index(length)).collect();
            for (at, (_, bits)) in places.iter().zip(&damage) {
                bytes[*at] ^= bits;
            }
            bytes.extend_from_slice(&tail);
            let mut expected = Vec::new();
            let mut at = 0;
            for entry in &entries {
                if bytes[at..at + entry.len()] == entry[..] {
                    expected.push(at as u64);
                }
                at += entry.len();
            }
            prop_assert_eq!(starts(&bytes, Marks { expected: Some(mark), all_marked: true }), &expected[..]);
            prop_assert_eq!(starts(&bytes, Marks::default()), expected);
        }
    }

    #[test]
    fn what_a_page_holds_is_never_taken_for_an_entry_of_the_log() {
        let (mark, guessed) = (Mark::draw(), Mark::draw());
        let forged = entry(guessed, "a page that nobody fetched");
        // Does not compress, so that the bytes stand in the log as they stand in the page.
        let text: String = forged.iter().map(|&byte| char::from(byte)).collect();
        let mut torn = entry(mark, &text);
        torn.splice(40..40, forged);
        let torn_at = entry(mark, "first").len() as u64;
        let bytes = [entry(mark, "first"), torn].concat();
        assert_eq!(starts(&bytes, Marks::default()), [0]);
        assert_eq!(starts(&bytes[torn_at as usize..], Marks { expected: Some(mark), all_marked: true }), [0; 0]);
    }

    #[test]
    fn bytes_made_to_look_like_entries_cost_time_in_proportion_to_their_number() {
        // Each claims to be an entry of 1 MiB: checked one by one, 2 MiB of them would take a hundred thousand checksums.
        let mut beginning = (1u32 << 20).to_le_bytes().to_vec();
        beginning.extend_from_slice(&[1, 2, 3, 4, 0, 0]);
        let bytes: Vec<u8> = beginning.iter().copied().cycle().take(2 << 20).collect();
        let file = file(&bytes);
        let mut scan = Scan::new(&file, bytes.len() as u64, Marks::default());
        assert!(matches!(scan.piece(0).unwrap(), Piece::Damaged { next: None, .. }));
    }
}
