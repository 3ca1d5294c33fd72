//! One entry of the log as bytes.
//!
//! The payload is `[u8 format][archive position, length-delimited][body]`; the body is a `LogEntry`, plain or as
//! `[u32 length][zstd]`. The position stands outside the body because it is known only when the archive is written:
//! body and compression are made beforehand, in parallel, and the one writer just puts them together.

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

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
/// Smaller bodies are not worth compressing.
const MIN_COMPRESSED_BYTES: usize = 256;
const ZSTD_LEVEL: i32 = 1;

thread_local! {
    static COMPRESSOR: RefCell<zstd::bulk::Compressor<'static>> =
        RefCell::new(zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("level 1 exists"));
}

/// An entry but for its archive position.
pub(crate) struct EntryBody {
    format: u8,
    bytes: Vec<u8>,
}

impl EntryBody {
    pub fn of(entry: &LogEntry) -> Self {
        let plain = entry.encode_to_vec();
        if plain.len() >= MIN_COMPRESSED_BYTES
            && let Some(bytes) = compress(&plain)
        {
            return Self { format: ZSTD, bytes };
        }
        Self { format: PLAIN, bytes: plain }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the whole entry.
    pub fn write(&self, position: &ArchivePosition, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        out.push(self.format);
        position.encode_length_delimited(out).expect("a vector grows as needed");
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

/// The payload at the beginning of the bytes, if one is there whole and unharmed.
pub(crate) fn payload(bytes: &[u8]) -> Result<&[u8], Incomplete> {
    let length = payload_length(bytes)?;
    let checksum = u32::from_le_bytes(bytes[4..HEADER_BYTES].try_into().expect("four bytes"));
    let payload = bytes.get(HEADER_BYTES..HEADER_BYTES + length).ok_or(Incomplete::Short(HEADER_BYTES + length))?;
    if crc32fast::hash(payload) != checksum {
        return Err(Incomplete::Damaged("its checksum is wrong"));
    }
    Ok(payload)
}

fn payload_length(bytes: &[u8]) -> Result<usize, Incomplete> {
    let header = bytes.get(..HEADER_BYTES).ok_or(Incomplete::Short(HEADER_BYTES))?;
    let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
    // Without this, a file of zeros would be read as entries: the checksum of nothing is zero.
    if length == 0 || length > MAX_PAYLOAD_BYTES {
        return Err(Incomplete::Damaged("its length is impossible"));
    }
    Ok(length)
}

/// Why there is no entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incomplete {
    /// So many bytes are needed to say more.
    Short(usize),
    Damaged(&'static str),
}

/// Where the entry's page stands in the archive; empty for entries without one.
pub(crate) fn position(payload: &[u8]) -> Option<ArchivePosition> {
    ArchivePosition::decode_length_delimited(payload.get(1..)?).ok()
}

/// The entry in a payload.
pub(crate) fn decode(payload: &[u8]) -> Result<LogEntry, &'static str> {
    let (&format, mut rest) = payload.split_first().ok_or("it is empty")?;
    let position =
        ArchivePosition::decode_length_delimited(&mut rest).map_err(|_| "its archive position is damaged")?;
    let entry = match format {
        PLAIN => LogEntry::decode(rest),
        ZSTD => {
            let length = rest.try_get_u32_le().map_err(|_| "its body is damaged")? as usize;
            if length > MAX_PAYLOAD_BYTES {
                return Err("its body is too long");
            }
            let plain = zstd::bulk::decompress(rest, length).map_err(|_| "its body cannot be decompressed")?;
            LogEntry::decode(plain.as_slice())
        }
        _ => return Err("its format is of a later version"),
    };
    let mut entry = entry.map_err(|_| "its body is damaged")?;
    if let Some(Entry::Description(description)) = &mut entry.entry {
        description.archive = Some(position);
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

    fn written(entry: &LogEntry, position: &ArchivePosition) -> Vec<u8> {
        let mut bytes = Vec::new();
        EntryBody::of(entry).write(position, &mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn an_entry_comes_back_with_its_position(text in ".{0,2000}", offset: u64) {
            let position = ArchivePosition { file: "seine-x.warc.gz".into(), offset, length: 7 };
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
            let _ = position(&bytes);
        }

        #[test]
        fn a_changed_bit_is_noticed(at: prop::sample::Index, bit in 0u8..8) {
            let mut bytes = written(&described("some text"), &ArchivePosition::default());
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(payload(&bytes).is_err());
        }
    }

    #[test]
    fn a_withdrawal_has_no_position() {
        let entry =
            LogEntry { entry: Some(Entry::Withdrawn(Withdrawn { url: "http://a/".into(), at_ms: 1, token: 2 })) };
        let bytes = written(&entry, &ArchivePosition::default());
        assert_eq!(decode(payload(&bytes).unwrap()).unwrap(), entry);
    }

    #[test]
    fn long_text_is_compressed() {
        assert!(written(&described(&"word ".repeat(1000)), &ArchivePosition::default()).len() < 500);
    }

    #[test]
    fn zeros_are_no_entries() {
        assert_eq!(payload(&[0; 64]), Err(Incomplete::Damaged("its length is impossible")));
    }
}
