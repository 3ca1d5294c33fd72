//! One entry of the log as bytes.
//!
//! The payload is `[u8 format][u64 mark][head, length-delimited][body]`; the body is a `LogEntry`, plain or as
//! `[u32 length][zstd]`. The [head](EntryHead) stands outside the body because the archive position is known only when
//! the archive is written: body and compression are made beforehand, in parallel, and the one writer just puts them
//! together. The [`Mark`] is drawn once for a log and in each of its entries: a page cannot contain bytes that look like an
//! entry of a log whose mark its author does not know. Entries of earlier versions have no mark, and for a head the position.

use std::cell::RefCell;

use bytes::Buf;
use prost::Message;
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::common::v1::ArchivePosition;
use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry};

/// Length and checksum.
pub(crate) const HEADER_BYTES: usize = 8;
/// Entries are of pages that fit in a message.
pub(crate) const MAX_PAYLOAD_BYTES: usize = MAX_MESSAGE_BYTES + 1024;

/// Without mark, of earlier versions.
const UNMARKED_PLAIN: u8 = 0;
const UNMARKED_ZSTD: u8 = 1;
const PLAIN: u8 = 2;
const ZSTD: u8 = 3;
const MARK_BYTES: usize = 8;
/// Smaller bodies are not worth compressing.
const MIN_COMPRESSED_BYTES: usize = 256;
const ZSTD_LEVEL: i32 = 1;

thread_local! {
    static COMPRESSOR: RefCell<zstd::bulk::Compressor<'static>> =
        RefCell::new(zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("level 1 exists"));
    /// Kept, because making one takes longer than decompressing an entry.
    static DECOMPRESSOR: RefCell<zstd::bulk::Decompressor<'static>> =
        RefCell::new(zstd::bulk::Decompressor::new().expect("there is memory for one"));
}

/// A number that all entries of one log carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark([u8; MARK_BYTES]);

impl Mark {
    pub fn draw() -> Self {
        Self(uuid::Uuid::new_v4().as_u128().to_le_bytes()[..MARK_BYTES].try_into().expect("it is half as long"))
    }
}

/// What is known of an entry without reading its body. A stored form: numbers are never used again for something else.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EntryHead {
    /// Where the page stands in the archive; absent for entries without one.
    #[prost(message, optional, tag = "1")]
    pub archive: Option<ArchivePosition>,
    /// Of the lease under which the page was fetched.
    #[prost(uint64, tag = "2")]
    pub epoch: u64,
}

/// An entry but for its mark and archive position.
pub(crate) struct EntryBody {
    format: u8,
    epoch: u64,
    bytes: Vec<u8>,
}

impl EntryBody {
    pub fn of(entry: &LogEntry) -> Self {
        let epoch = match &entry.entry {
            Some(Entry::Description(description)) => description.epoch,
            Some(Entry::Withdrawn(withdrawn)) => withdrawn.epoch,
            None => 0,
        };
        let plain = entry.encode_to_vec();
        if plain.len() >= MIN_COMPRESSED_BYTES
            && let Some(bytes) = compress(&plain)
        {
            return Self { format: ZSTD, epoch, bytes };
        }
        Self { format: PLAIN, epoch, bytes: plain }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Appends the whole entry.
    pub fn write(&self, mark: Mark, position: &ArchivePosition, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        out.push(self.format);
        out.extend_from_slice(&mark.0);
        let archive = (!position.file.is_empty()).then(|| position.clone());
        let head = EntryHead { archive, epoch: self.epoch };
        head.encode_length_delimited(out).expect("a vector grows as needed");
        out.extend_from_slice(&self.bytes);
        let payload = &out[start + HEADER_BYTES..];
        let length = u32::try_from(payload.len()).expect("messages are smaller than 4 GiB");
        let checksum = crc32fast::hash(payload);
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        out[start + 4..start + HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn compress(plain: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(plain.len()).ok()?;
    let compressed = COMPRESSOR.with_borrow_mut(|compressor| compressor.compress(plain)).ok()?;
    (compressed.len() + 4 < plain.len()).then(|| [&length.to_le_bytes()[..], &compressed].concat())
}

/// Length and checksum of a payload, from its header.
pub(crate) fn header(bytes: [u8; HEADER_BYTES]) -> Result<(usize, u32), &'static str> {
    let [length @ .., c0, c1, c2, c3] = bytes;
    let length = u32::from_le_bytes(length) as usize;
    // Without this, a file of zeros would be read as entries: the checksum of nothing is zero.
    if length == 0 || length > MAX_PAYLOAD_BYTES {
        return Err("its length is impossible");
    }
    Ok((length, u32::from_le_bytes([c0, c1, c2, c3])))
}

/// The mark that the entry of a payload carries; `None` for one of an earlier version.
pub(crate) fn mark(payload: &[u8]) -> Option<Mark> {
    let (&format, rest) = payload.split_first()?;
    let mark = rest.first_chunk::<MARK_BYTES>()?;
    matches!(format, PLAIN | ZSTD).then_some(Mark(*mark))
}

/// Whether the first bytes of a payload can be those of an entry. Cheap, and says no to nearly everything else.
pub(crate) fn is_plausible(payload: &[u8], expected: Option<Mark>, may_be_unmarked: bool) -> bool {
    // Heads are shorter than 128 bytes, and begin with a position whose first field is the file.
    match payload {
        [PLAIN | ZSTD, ..] => mark(payload).is_some_and(|found| expected.is_none_or(|expected| found == expected)),
        [UNMARKED_PLAIN | UNMARKED_ZSTD, 0, ..] => may_be_unmarked,
        [UNMARKED_PLAIN | UNMARKED_ZSTD, ..=0x7f, 0x0a, ..] => may_be_unmarked,
        _ => false,
    }
}

/// Format, head, and what is left of the payload.
fn split(payload: &[u8]) -> Result<(u8, EntryHead, &[u8]), &'static str> {
    const DAMAGED: &str = "its head is damaged";
    let (&format, mut rest) = payload.split_first().ok_or("it is empty")?;
    let head = match format {
        UNMARKED_PLAIN | UNMARKED_ZSTD => {
            let archive = ArchivePosition::decode_length_delimited(&mut rest).map_err(|_| DAMAGED)?;
            EntryHead { archive: Some(archive).filter(|archive| !archive.file.is_empty()), epoch: 0 }
        }
        PLAIN | ZSTD => {
            rest = rest.get(MARK_BYTES..).ok_or(DAMAGED)?;
            EntryHead::decode_length_delimited(&mut rest).map_err(|_| DAMAGED)?
        }
        _ => return Err("its format is of a later version"),
    };
    Ok((format, head, rest))
}

pub(crate) fn head(payload: &[u8]) -> Option<EntryHead> {
    split(payload).ok().map(|(_, head, _)| head)
}

/// The entry in a payload.
pub(crate) fn decode(payload: &[u8]) -> Result<LogEntry, &'static str> {
    let (format, head, mut rest) = split(payload)?;
    let entry = match format {
        UNMARKED_PLAIN | PLAIN => LogEntry::decode(rest),
        _ => {
            let length = rest.try_get_u32_le().map_err(|_| "its body is damaged")? as usize;
            if length > MAX_PAYLOAD_BYTES {
                return Err("its body is too long");
            }
            let plain = DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.decompress(rest, length));
            let plain = plain.map_err(|_| "its body cannot be decompressed")?;
            LogEntry::decode(plain.as_slice())
        }
    };
    let mut entry = entry.map_err(|_| "its body is damaged")?;
    if let Some(Entry::Description(description)) = &mut entry.entry {
        description.archive = Some(head.archive.unwrap_or_default());
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use seine_proto::common::v1::Description;
    use seine_proto::common::v1::Withdrawn;

    use super::*;

    fn described(text: &str) -> LogEntry {
        let description =
            Description { url: "http://example.org/".into(), text: text.into(), ..Description::default() };
        LogEntry { entry: Some(Entry::Description(description)) }
    }

    const MARK: Mark = Mark(*b"any mark");

    fn written(entry: &LogEntry, position: &ArchivePosition) -> Vec<u8> {
        let mut bytes = Vec::new();
        EntryBody::of(entry).write(MARK, position, &mut bytes);
        bytes
    }

    /// As long as the checksum holds.
    fn payload(bytes: &[u8]) -> Option<&[u8]> {
        let (length, checksum) = header(*bytes.first_chunk()?).ok()?;
        let payload = bytes.get(HEADER_BYTES..)?.get(..length)?;
        (crc32fast::hash(payload) == checksum).then_some(payload)
    }

    proptest! {
        #[test]
        fn an_entry_comes_back_with_its_position(text in ".{0,2000}", offset: u64) {
            let position = ArchivePosition { file: "seine-x.warc.gz".into(), offset, length: 7, ..ArchivePosition::default() };
            let bytes = written(&described(&text), &position);
            let decoded = decode(payload(&bytes).unwrap()).unwrap();
            let Some(Entry::Description(description)) = decoded.entry else { panic!("not a description") };
            prop_assert_eq!(description.text, text);
            prop_assert_eq!(description.archive, Some(position));
        }

        #[test]
        fn no_bytes_make_reading_panic(bytes: Vec<u8>) {
            let _ = payload(&bytes);
            let _ = decode(&bytes);
            let _ = (head(&bytes), mark(&bytes), is_plausible(&bytes, None, true));
        }

        #[test]
        fn a_changed_bit_is_noticed(at: prop::sample::Index, bit in 0u8..8) {
            let mut bytes = written(&described("some text"), &ArchivePosition::default());
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(payload(&bytes).is_none());
        }
    }

    #[test]
    fn a_withdrawal_has_no_position() {
        let entry = LogEntry {
            entry: Some(Entry::Withdrawn(Withdrawn { url: "http://a/".into(), at_ms: 1, token: 2, epoch: 3 })),
        };
        let bytes = written(&entry, &ArchivePosition::default());
        assert_eq!(decode(payload(&bytes).unwrap()).unwrap(), entry);
    }

    #[test]
    fn long_text_is_compressed() {
        assert!(written(&described(&"word ".repeat(1000)), &ArchivePosition::default()).len() < 500);
    }

    #[test]
    fn zeros_are_no_entries() {
        assert_eq!(header([0; HEADER_BYTES]), Err("its length is impossible"));
    }

    #[test]
    fn the_head_tells_position_and_epoch_without_the_body() {
        let position =
            ArchivePosition { file: "seine-x.warc.gz".into(), offset: 3, length: 7, ..ArchivePosition::default() };
        let mut entry = described("some text");
        let Some(Entry::Description(description)) = &mut entry.entry else { unreachable!() };
        description.epoch = 9;
        let bytes = written(&entry, &position);
        let payload = payload(&bytes).unwrap();
        assert_eq!(head(payload), Some(EntryHead { archive: Some(position), epoch: 9 }));
        assert_eq!(mark(payload), Some(MARK));
        assert!(is_plausible(payload, Some(MARK), false) && !is_plausible(payload, Some(Mark(*b"another!")), true));
    }

    #[test]
    fn entries_of_earlier_versions_are_read() {
        let position =
            ArchivePosition { file: "seine-x.warc.gz".into(), offset: 3, length: 7, ..ArchivePosition::default() };
        let text = "word ".repeat(1000);
        let plain = described(&text).encode_to_vec();
        let zstd = compress(&plain).unwrap();
        for (format, body) in [(UNMARKED_PLAIN, plain), (UNMARKED_ZSTD, zstd)] {
            let payload = [&[format][..], &position.encode_length_delimited_to_vec(), &body].concat();
            let Some(Entry::Description(found)) = decode(&payload).unwrap().entry else { panic!("not a description") };
            assert_eq!((found.text.as_str(), found.archive), (text.as_str(), Some(position.clone())));
            assert_eq!(mark(&payload), None);
            assert!(is_plausible(&payload, None, true) && !is_plausible(&payload, None, false));
        }
    }
}
