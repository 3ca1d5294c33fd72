//! Gzip members: made in one shot, and walked to find all whole ones and where the last of them ends.
//!
//! What is compressed already is [stored](store): compressing a coded body again takes 59 µs a page for 0.1 % of its length.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use libdeflater::{CompressionLvl, Compressor};

/// Pages of 20 kB shrink to 18.0 % at 261 MB/s; level 6 takes twice the time for 17.0 %, and zlib-rs at the same speed
/// leaves 23.0 %.
const LEVEL: i32 = 1;
/// Output buffers up to this size serve more than one page.
const MAX_KEPT_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 256 << 10;
const FIRST_READ_BYTES: usize = 1 << 10;

thread_local! {
    // A compressor holds large tables; one per thread of the pool is made once and used for all pages.
    static COMPRESSOR: RefCell<Compressor> =
        RefCell::new(Compressor::new(CompressionLvl::new(LEVEL).expect("levels 1 to 12 exist")));
    // For the heads of members whose rest is stored: the one above cannot end a block without ending the member.
    static HEAD_COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), false));
    // So that only what a page shrinks to is allocated for it.
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One gzip member.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        OUTPUT.with_borrow_mut(|output| {
            let bound = compressor.gzip_compress_bound(bytes.len());
            if output.len() < bound {
                output.resize(bound, 0);
            }
            let length = compressor.gzip_compress(bytes, output).expect("the bound is never too small");
            let member = output[..length].to_vec();
            // One huge page must not hold its memory for the rest of the run.
            if output.len() > MAX_KEPT_BYTES {
                *output = Vec::new();
            }
            member
        })
    })
}

/// One gzip member of three parts, of which the body is compressed already and stays as it is.
pub(crate) fn store(head: &[u8], body: &[u8], tail: &[u8]) -> Vec<u8> {
    let mut checksum = crc32fast::Hasher::new();
    [head, body, tail].into_iter().for_each(|part| checksum.update(part));
    let length = head.len() + body.len() + tail.len();
    let blocks = body.len() / MAX_BLOCK_BYTES + 2;
    let mut member = Vec::with_capacity(length + blocks * BLOCK_HEADER_BYTES + FRAME_BYTES);
    member.extend_from_slice(&HEADER);
    HEAD_COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.reset();
        // Up to a byte boundary, which is where a stored block can begin. The room for all parts stored is enough for it.
        let status = compressor.compress_vec(head, &mut member, FlushCompress::Sync);
        debug_assert_eq!((status.ok(), compressor.total_in()), (Some(Status::Ok), head.len() as u64));
    });
    for block in body.chunks(MAX_BLOCK_BYTES) {
        push_block(&mut member, block, false);
    }
    push_block(&mut member, tail, true);
    member.extend_from_slice(&checksum.finalize().to_le_bytes());
    // Modulo 2^32, as the format has it.
    member.extend_from_slice(&(length as u32).to_le_bytes());
    member
}

/// Deflate, no name, no time, no system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
const BLOCK_HEADER_BYTES: usize = 5;
const MAX_BLOCK_BYTES: usize = u16::MAX as usize;
/// Header, checksum and length, and what a head that does not shrink may grow by.
const FRAME_BYTES: usize = 128;

/// A stored block, at a byte boundary.
fn push_block(member: &mut Vec<u8>, bytes: &[u8], is_last: bool) {
    let length = u16::try_from(bytes.len()).expect("blocks are cut to that length");
    member.push(u8::from(is_last));
    member.extend_from_slice(&length.to_le_bytes());
    member.extend_from_slice(&(!length).to_le_bytes());
    member.extend_from_slice(bytes);
}

/// What a walk over the members of a file found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Whole members.
    pub count: u64,
    /// Where the last whole member ends.
    pub end: u64,
    /// What stands between whole members and is none.
    pub damaged: Vec<Range<u64>>,
}

/// Decompresses members from `start` (which must be where one begins) and tells of each whole one where it stands, how long
/// it is, and what it begins with: up to `prefix_bytes`, decompressed. Behind damage it goes on with the next member that is a
/// WARC record. Ends early when `each` says false.
pub(crate) fn walk(
    file: &File,
    start: u64,
    prefix_bytes: usize,
    mut each: impl FnMut(u64, u64, &[u8]) -> bool,
) -> io::Result<Walked> {
    let mut walked = Walked { end: start, ..Walked::default() };
    let mut reader = MemberReader::new(file, prefix_bytes.max(RECORD.len()));
    let mut at = start;
    loop {
        let length = match reader.member(at, &mut { u64::MAX }, false)? {
            Some(length) => length,
            None => match reader.next_record(at)? {
                Some((next, length)) => {
                    walked.damaged.push(at..next);
                    at = next;
                    length
                }
                None => return Ok(walked),
            },
        };
        walked.count += 1;
        walked.end = at + length;
        if !each(at, length, &reader.prefix[..reader.prefix.len().min(prefix_bytes)]) {
            return Ok(walked);
        }
        at = walked.end;
    }
}

/// With which every record begins.
const RECORD: &[u8] = b"WARC/1.";
/// Of a gzip member that is compressed as all of them are.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// Compressed bytes that are read in vain, for each byte that is searched, and for the first few: a page may contain as
/// many beginnings of records as it likes.
const WASTE_PER_BYTE: u64 = 16;
const FIRST_WASTE: u64 = 64 << 20;

struct MemberReader<'f> {
    file: &'f File,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Beginning of the last member, decompressed.
    prefix: Vec<u8>,
    prefix_bytes: usize,
}

impl<'f> MemberReader<'f> {
    fn new(file: &'f File, prefix_bytes: usize) -> Self {
        let buffer = || vec![0; READ_BYTES];
        Self { file, input: buffer(), output: buffer(), prefix: Vec::with_capacity(prefix_bytes), prefix_bytes }
    }

    /// The length of the member at `at`, if it is whole and its checksum holds; of one that must be a record, if it begins like
    /// one. Takes what it reads from the `allowance` and gives up when that is used.
    fn member(&mut self, at: u64, allowance: &mut u64, must_be_record: bool) -> io::Result<Option<u64>> {
        let mut member = Decompress::new_gzip(15);
        self.prefix.clear();
        // Little at first of what may be anything.
        let mut wanted = if must_be_record { FIRST_READ_BYTES } else { READ_BYTES };
        while *allowance > 0 {
            let wanted_now = wanted.min(usize::try_from(*allowance).unwrap_or(usize::MAX));
            wanted = READ_BYTES;
            let length = self.file.read_at(&mut self.input[..wanted_now], at + member.total_in())?;
            let mut rest = &self.input[..length];
            let mut status = Ok(Status::Ok);
            while !rest.is_empty() && matches!(status, Ok(Status::Ok | Status::BufError)) {
                let (taken, given) = (member.total_in(), member.total_out());
                status = member.decompress(rest, &mut self.output, FlushDecompress::None);
                let used = member.total_in() - taken;
                rest = &rest[used as usize..];
                let new = (member.total_out() - given) as usize;
                self.prefix.extend_from_slice(&self.output[..new.min(self.prefix_bytes - self.prefix.len())]);
                let begins = &self.prefix[..self.prefix.len().min(RECORD.len())];
                *allowance = allowance.saturating_sub(used);
                if must_be_record && !RECORD.starts_with(begins) {
                    return Ok(None);
                }
                if used == 0 && new == 0 {
                    break;
                }
            }
            match status {
                Ok(Status::StreamEnd) if must_be_record && !self.prefix.starts_with(RECORD) => return Ok(None),
                Ok(Status::StreamEnd) => return Ok(Some(member.total_in())),
                // More input than was there cannot help.
                Ok(_) if length > 0 && rest.is_empty() => {}
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Place and length of the first record behind `at`.
    fn next_record(&mut self, at: u64) -> io::Result<Option<(u64, u64)>> {
        let mut bytes = vec![0; READ_BYTES];
        let (mut from, mut waste) = (at + 1, 0);
        loop {
            let length = self.file.read_at(&mut bytes, from)?;
            if length < MAGIC.len() {
                return Ok(None);
            }
            for found in memchr::memmem::find_iter(&bytes[..length], &MAGIC) {
                let found = from + found as u64;
                let whole = FIRST_WASTE + WASTE_PER_BYTE * (found - at) - waste;
                let mut allowance = whole;
                if let Some(length) = self.member(found, &mut allowance, true)? {
                    return Ok(Some((found, length)));
                }
                waste += whole - allowance;
            }
            // The magic may lie across two reads.
            from += (length - (MAGIC.len() - 1)) as u64;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{Read, Write};

    use proptest::prelude::*;

    use super::*;

    pub(crate) fn decompress(member: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(member).read_to_end(&mut out).unwrap();
        out
    }

    fn walk(bytes: &[u8], start: u64) -> Walked {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        super::walk(&file, start, 0, |_, _, _| true).unwrap()
    }

    fn whole(count: u64, end: u64) -> Walked {
        Walked { count, end, damaged: vec![] }
    }

    #[test]
    fn a_member_longer_than_every_buffer_is_whole() {
        let mut state = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(3 * READ_BYTES)
        .collect();
        let member = compress(&noise);
        assert!(member.len() > 2 * READ_BYTES);
        assert_eq!(decompress(&member), noise);
        assert_eq!(walk(&member, 0), whole(1, member.len() as u64));
        assert_eq!(walk(&member[..member.len() - 1], 0), whole(0, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_stored_comes_back_whatever_it_is(head: Vec<u8>, body: Vec<u8>, times in 0usize..2000, tail in ".{0,20}") {
            let body = body.repeat(times);
            let member = store(&head, &body, tail.as_bytes());
            prop_assert_eq!(decompress(&member), [&head[..], &body, tail.as_bytes()].concat());
            prop_assert_eq!(walk(&member, 0), whole(1, member.len() as u64));
        }
    }

    #[test]
    fn the_head_of_what_is_stored_shrinks_and_the_rest_hardly_grows() {
        let (head, body) = (b"WARC-Some-Header: some value\r\n".repeat(30), compress(b"hello"));
        let member = store(&head, &body, b"\r\n\r\n");
        assert!(member.len() < head.len() / 5 + body.len() + 64, "{}", member.len());
    }

    #[test]
    fn a_wrong_checksum_is_not_whole() {
        let mut member = compress(b"hello");
        let at = member.len() - 6;
        member[at] ^= 1;
        assert_eq!(walk(&member, 0).count, 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_walk_ends_behind_the_last_whole_member(
            texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..5),
            tail: Vec<u8>,
            cut: prop::sample::Index,
        ) {
            let members: Vec<Vec<u8>> = texts.iter().map(|text| compress(text)).collect();
            let length: usize = members.iter().map(Vec::len).sum();
            let last = members.last().unwrap();
            let mut file = members.concat();
            file.extend_from_slice(&last[..cut.index(last.len())]);
            prop_assert_eq!(walk(&file, 0), whole(members.len() as u64, length as u64));
            let second = members[0].len() as u64;
            prop_assert_eq!(walk(&file, second).end, length as u64);

            let mut file = members.concat();
            file.extend_from_slice(&tail);
            prop_assert!(walk(&file, 0).end >= length as u64);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_record_that_is_whole_is_found_whatever_bytes_are_damaged(
            texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 2..6),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), 1u8..), 0..3),
        ) {
            let members: Vec<Vec<u8>> = texts.iter().map(|text| compress(&[b"WARC/1.1\r\n", &text[..]].concat())).collect();
            let mut bytes = members.concat();
            let length = bytes.len();
            for (at, bits) in damage {
                bytes[at.index(length)] ^= bits;
            }
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let mut found = Vec::new();
            super::walk(&file, 0, 8, |at, length, _| {
                found.push((at, length));
                true
            }).unwrap();
            let mut at = 0;
            for member in &members {
                if bytes[at..at + member.len()] == member[..] {
                    prop_assert!(found.contains(&(at as u64, member.len() as u64)), "{} in {:?}", at, found);
                }
                at += member.len();
            }
        }
    }

    #[test]
    fn bytes_made_to_look_like_records_cost_time_in_proportion_to_their_number() {
        // Each begins a record of stored blocks that never ends, so each is read to the end of the file in vain.
        let beginning = [&MAGIC[..], &[0, 0, 0, 0, 0, 0, 3, 0, 0xff, 0xff, 0, 0], b"WARC/1.1 "].concat();
        let hostile: Vec<u8> = beginning.iter().copied().cycle().take(4 << 20).collect();
        let record = compress(b"WARC/1.1\r\n");
        let found = walk(&[&hostile[..], &record].concat(), 0);
        assert_eq!((found.count, found.end), (1, (hostile.len() + record.len()) as u64));
    }
}
