//! What a later record may say of an earlier one: read from the archive, at a position that others keep.
//!
//! Positions come from other processes. One that cannot be read, or that names no capture, gives nothing: a visit is noted
//! all the same.

use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::bufread::GzDecoder;
use seine_proto::common::v1::ArchivePosition;

use super::read::open;
use super::record::Record;

/// Enough for the header of any record: a URL has at most 4 KiB.
const BEGINNING_BYTES: usize = 32 << 10;

/// A record that holds a body, in the words of its own header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EarlierRecord {
    pub id: String,
    pub url: String,
    pub date: String,
    pub payload: String,
}

impl EarlierRecord {
    pub fn read(dir: &Path, position: &ArchivePosition) -> Option<Self> {
        let file = open(dir, position).ok()?;
        let length = usize::try_from(position.length).ok()?.min(BEGINNING_BYTES);
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, position.offset).ok()?;
        let mut plain = Vec::new();
        // A member that is cut gives what stands before the cut.
        let _ = GzDecoder::new(bytes.as_slice()).take(BEGINNING_BYTES as u64).read_to_end(&mut plain);
        let record = Record::parse(&plain).filter(|record| record.kind() == "response")?;
        let field = |name| record.field(name).map(str::to_owned);
        Some(Self {
            id: field("WARC-Record-ID")?,
            url: field("WARC-Target-URI")?,
            date: field("WARC-Date")?,
            payload: field("WARC-Payload-Digest")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const HEADER: &str = "WARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://example.org/\r\n\
        WARC-Date: 2020-09-13T12:26:40.999Z\r\nWARC-Payload-Digest: sha1:A\r\nContent-Length: 1000000\r\n\r\n";

    fn read(kind: &str, wrong_by: u64) -> Option<EarlierRecord> {
        let dir = tempfile::tempdir().unwrap();
        let mut member = GzEncoder::new(Vec::new(), Compression::fast());
        write!(member, "WARC/1.1\r\nWARC-Type: {kind}\r\n{HEADER}").unwrap();
        // Does not compress, so that the member is longer than what is read of it.
        let mut state = 1u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        member.write_all(&noise.take(1_000_000).collect::<Vec<u8>>()).unwrap();
        let bytes = member.finish().unwrap();
        std::fs::write(dir.path().join("a.warc.gz"), [b"before".as_slice(), &bytes].concat()).unwrap();
        let position = ArchivePosition {
            file: "a.warc.gz".into(),
            offset: 6 + wrong_by,
            length: bytes.len() as u64 - wrong_by,
            ..ArchivePosition::default()
        };
        EarlierRecord::read(dir.path(), &position)
    }

    #[test]
    fn a_long_record_is_known_by_its_header() {
        let earlier = read("response", 0).unwrap();
        assert_eq!((earlier.url.as_str(), earlier.id.as_str()), ("http://example.org/", "<urn:uuid:1>"));
        assert_eq!((earlier.date.as_str(), earlier.payload.as_str()), ("2020-09-13T12:26:40.999Z", "sha1:A"));
    }

    #[test]
    fn what_is_no_capture_is_nothing() {
        assert_eq!((read("request", 0), read("response", 1)), (None, None));
    }
}
