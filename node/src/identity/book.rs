//! Files that hold one value each and are never half written: two lines of JSON, a header with the content's checksum
//! and the content. A change replaces the file whole and is synced, so a crash leaves the old or the new one.
//!
//! A damaged file is refused with its name. Nothing goes on with a book that may have lost a removed node.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use seine_common::data_dir::write_atomically;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Of books and of the directories they are in.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
const VERSION: u32 = 1;
/// More than the largest book can have: 10,000 members of at most a few kilobytes.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum BookError {
    #[error("cannot use {}: {error}; check the path, its permissions and the disk", .path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{} is damaged: {what}; put it back from a backup of the data directory", .path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{} has version {found}, and this seine reads version {VERSION}; use the seine that wrote it", .path.display())]
    Version { path: PathBuf, found: u32 },
}

#[derive(Serialize, Deserialize)]
struct Header {
    book: String,
    version: u32,
    sha256: String,
}

/// The files of one directory, readable by their owner alone.
#[derive(Clone, Debug)]
pub struct Shelf {
    directory: PathBuf,
}

impl Shelf {
    /// Makes the directory when it is missing. One that others could read is closed to them: there are keys in it.
    pub fn open(directory: &Path) -> Result<Self, BookError> {
        let open = || {
            DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
            fs::set_permissions(directory, fs::Permissions::from_mode(DIRECTORY_MODE))?;
            remove_unfinished(directory)
        };
        open().map_err(|error| BookError::Io { path: directory.to_owned(), error })?;
        Ok(Self { directory: directory.to_owned() })
    }

    pub fn path(&self, book: &str) -> PathBuf {
        self.directory.join(format!("{book}.jsonl"))
    }

    /// `None` where there is no such file yet.
    pub fn load<T: DeserializeOwned>(&self, book: &str) -> Result<Option<T>, BookError> {
        let path = self.path(book);
        let bytes = match read_bounded(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BookError::Io { path, error }),
        };
        parse(book, &bytes).map(Some).map_err(|wrong| match wrong {
            Wrong::Damaged(what) => BookError::Damaged { path, what },
            Wrong::Version(found) => BookError::Version { path, found },
        })
    }

    /// When this returns, the content is on disk. When it fails, either content is.
    pub fn store<T: Serialize>(&self, book: &str, content: &T) -> Result<(), BookError> {
        let path = self.path(book);
        write_atomically(&path, &print(book, content), FILE_MODE).map_err(|error| BookError::Io { path, error })
    }

    /// Whether there was one.
    pub fn remove(&self, book: &str) -> Result<bool, BookError> {
        let path = self.path(book);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(BookError::Io { path, error }),
        }
    }
}

enum Wrong {
    Damaged(String),
    Version(u32),
}

fn print<T: Serialize>(book: &str, content: &T) -> Vec<u8> {
    let content = serde_json::to_string(content).expect("books have text keys only");
    let header = Header { book: book.to_owned(), version: VERSION, sha256: checksum(content.as_bytes()) };
    let header = serde_json::to_string(&header).expect("a header has text keys only");
    format!("{header}\n{content}\n").into_bytes()
}

fn parse<T: DeserializeOwned>(book: &str, bytes: &[u8]) -> Result<T, Wrong> {
    let damaged = |what: &str| Wrong::Damaged(what.to_owned());
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is not text"))?;
    let (header, content) = text.split_once('\n').ok_or_else(|| damaged("it has no content"))?;
    let content = content.strip_suffix('\n').ok_or_else(|| damaged("its end is missing"))?;
    let header: Header = serde_json::from_str(header).map_err(|_| damaged("its first line is not a header"))?;
    if header.version != VERSION {
        return Err(Wrong::Version(header.version));
    }
    if header.book != book {
        return Err(Wrong::Damaged(format!("it is {:?} and not {book:?}", header.book)));
    }
    if header.sha256 != checksum(content.as_bytes()) {
        return Err(damaged("its content does not fit its checksum"));
    }
    // The error's own words could quote the content, in which there are keys.
    serde_json::from_str(content).map_err(|error| {
        Wrong::Damaged(format!("its content cannot be read at line {}, column {}", error.line(), error.column()))
    })
}

fn checksum(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    fs::read(path)
}

/// What a killed process was writing may hold a key that nobody needs.
fn remove_unfinished(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| extension.starts_with("tmp")) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Bytes as base64 in JSON.
pub(crate) mod base64 {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&data_encoding::BASE64.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        data_encoding::BASE64.decode(text.as_bytes()).map_err(|_| serde::de::Error::custom("not base64"))
    }
}

/// Certificates as base64 in JSON.
pub(crate) mod base64_chain {
    use rustls::pki_types::CertificateDer;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(chain: &[CertificateDer<'static>], serializer: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = chain.iter().map(|certificate| data_encoding::BASE64.encode(certificate)).collect();
        texts.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CertificateDer<'static>>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let decode = |text: &String| data_encoding::BASE64.decode(text.as_bytes()).map(CertificateDer::from);
        texts.iter().map(decode).collect::<Result<_, _>>().map_err(|_| serde::de::Error::custom("not base64"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_book_is_read_back_and_only_its_owner_can() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/authority");
        let shelf = Shelf::open(&path).unwrap();
        assert_eq!(shelf.load::<Vec<u32>>("numbers").unwrap(), None);
        shelf.store("numbers", &vec![1, 2]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(path.join("numbers.tmp123"), "half of a key").unwrap();
        let shelf = Shelf::open(&path).unwrap();
        assert_eq!(shelf.load("numbers").unwrap(), Some(vec![1, 2]));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&shelf.path("numbers"))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "what was half written is gone");
        assert!(shelf.remove("numbers").unwrap() && !shelf.remove("numbers").unwrap());
    }

    #[test]
    fn any_changed_byte_and_any_cut_is_refused_by_the_files_name() {
        let directory = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(directory.path()).unwrap();
        shelf.store("numbers", &vec![1, 2, 3]).unwrap();
        let path = shelf.path("numbers");
        let whole = fs::read(&path).unwrap();
        let changed = (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit)));
        let changed = changed.map(|(at, bit)| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            bytes
        });
        let cut = (0..whole.len()).map(|length| whole[..length].to_vec());
        for bytes in changed.chain(cut) {
            fs::write(&path, &bytes).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            let error = shelf.load::<Vec<u32>>("numbers").expect_err(&text);
            assert!(error.to_string().contains("numbers.jsonl"), "{error} of {text}");
        }
    }

    #[test]
    fn a_book_in_the_place_of_another_and_one_of_a_later_version_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(directory.path()).unwrap();
        shelf.store("numbers", &vec![1]).unwrap();
        fs::copy(shelf.path("numbers"), shelf.path("others")).unwrap();
        let error = shelf.load::<Vec<u32>>("others").unwrap_err();
        assert!(matches!(&error, BookError::Damaged { what, .. } if what.contains("numbers")), "{error}");
        let later = fs::read_to_string(shelf.path("numbers")).unwrap().replace("\"version\":1", "\"version\":2");
        fs::write(shelf.path("numbers"), later).unwrap();
        let error = shelf.load::<Vec<u32>>("numbers").unwrap_err();
        assert!(matches!(error, BookError::Version { found: 2, .. }), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(parse::<Vec<u32>>("numbers", &bytes).is_err());
        }
    }
}
