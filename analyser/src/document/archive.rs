//! The ZIP archives that office documents are, with limits on what is unpacked.
//!
//! Sizes that an archive states are not believed: what counts is what comes out.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::Unreadable;

/// Files in one archive; a document with more pictures than this is none.
const MAX_ENTRIES: usize = 20_000;
/// All that is unpacked of one archive, together.
pub(super) const MAX_UNPACKED_BYTES: u64 = 192 << 20;

/// What encrypted office documents and those of before 2007 begin with.
const COMPOUND_FILE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const ZIP: &[u8] = b"PK\x03\x04";

pub(super) struct OfficeArchive<'b> {
    zip: ZipArchive<Cursor<&'b [u8]>>,
    unpacked: u64,
}

/// Whether it is an archive with a file of this name in it, by the bytes alone. Names stand in them as they are.
pub(super) fn is_archive_with(body: &[u8], name: &[u8]) -> bool {
    body.starts_with(ZIP) && memchr::memmem::find(body, name).is_some()
}

/// OpenDocument files begin with their content type, not packed.
pub(super) fn stated_type(body: &[u8]) -> Option<&[u8]> {
    const NAME_AT: usize = 30;
    let named = body.strip_prefix(ZIP).and_then(|_| body.get(NAME_AT..))?.strip_prefix(b"mimetype")?;
    let end = named.iter().position(|byte| !(0x21..0x7f).contains(byte)).unwrap_or(named.len());
    // The next file begins at once.
    let stated = &named[..end];
    Some(stated.strip_suffix(b"PK").unwrap_or(stated))
}

impl<'b> OfficeArchive<'b> {
    pub fn open(body: &'b [u8]) -> Result<Self, Unreadable> {
        if body.starts_with(COMPOUND_FILE) {
            return Err("is encrypted or of a version before 2007".to_owned());
        }
        let zip = ZipArchive::new(Cursor::new(body)).map_err(|error| format!("is no whole ZIP archive ({error})"))?;
        if zip.len() > MAX_ENTRIES {
            return Err(format!("has {} files in it, more than {MAX_ENTRIES}", zip.len()));
        }
        Ok(Self { zip, unpacked: 0 })
    }

    /// `None` when there is no such file. A file that breaks off gives what came before.
    pub fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let mut content = Vec::new();
        let found = self.unpack(|zip| zip.by_name(name), &mut content)?;
        Ok(found.then_some(content))
    }

    /// Unpacks everything to nowhere, for those who unpack without limits afterwards.
    pub fn check_all(&mut self) -> Result<(), Unreadable> {
        for index in 0..self.zip.len() {
            self.unpack(|zip| zip.by_index(index), &mut std::io::sink())?;
        }
        Ok(())
    }

    fn unpack<'z, F>(&'z mut self, open: F, to: &mut impl std::io::Write) -> Result<bool, Unreadable>
    where
        F: FnOnce(&'z mut ZipArchive<Cursor<&'b [u8]>>) -> Result<zip::read::ZipFile<'z, Cursor<&'b [u8]>>, ZipError>,
    {
        let file = match open(&mut self.zip) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(false),
            Err(ZipError::UnsupportedArchive(problem)) => return Err(format!("cannot be unpacked ({problem})")),
            Err(error) => return Err(format!("has a broken file in it ({error})")),
        };
        let room = MAX_UNPACKED_BYTES - self.unpacked;
        let mut counted = Counted { inner: file.take(room + 1), bytes: 0 };
        // An error in the middle leaves what came before it.
        let _ = std::io::copy(&mut counted, to);
        if counted.bytes > room {
            return Err(format!("unpacks to more than {MAX_UNPACKED_BYTES} bytes"));
        }
        self.unpacked += counted.bytes;
        Ok(true)
    }
}

struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}
