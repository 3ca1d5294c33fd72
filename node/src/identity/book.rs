//! Files that hold one value each and are never half written: two lines of JSON, a header with the content's checksum
//! and the content. A change replaces the file whole and is synced, so a crash leaves the old or the new one.
//!
//! A damaged file is refused with its name. Nothing goes on with a book that may have lost a removed node.
//!
//! Books that are [shared](Books::open_shared) lie on a [`Shelf`] that other machines reach, and that is what counts: a write
//! that the shelf does not take has not happened. The file beside it is a copy, for a cluster that moves from one to the other.

use std::fmt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seine_common::data_dir::write_atomically;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::shelf::{ClusterKey, Shelf};

/// Of books and of the directories they are in.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
const VERSION: u32 = 1;
/// More than the largest book can have: 10,000 members of at most a few kilobytes.
const MAX_BYTES: u64 = 64 << 20;
/// With keys in it: nobody else may read it on a shelf.
const SEALED: &str = super::authority::BOOK;

#[derive(Debug, thiserror::Error)]
pub enum BookError {
    #[error("cannot use {}: {error}; check the path, its permissions and the disk", .path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{} is damaged: {what}; put it back from a backup of the data directory", .path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{} has version {found}, and this seine reads version {VERSION}; use the seine that wrote it", .path.display())]
    Version { path: PathBuf, found: u32 },
    #[error("the frontier's store cannot be used for the book of the {book}: {error}")]
    Shelf { book: String, error: io::Error },
    #[error(
        "the frontier's store holds the books of a cluster whose key is not in {}; let this machine join that cluster by \
         a token for the role monitor, or name another store in frontier.nodes", .0.display()
    )]
    NoKey(PathBuf),
}

#[derive(Serialize, Deserialize)]
struct Header {
    book: String,
    version: u32,
    sha256: String,
}

/// The books of one directory, readable by their owner alone.
#[derive(Clone)]
pub struct Books {
    directory: PathBuf,
    /// Where others have them too, and what opens those with keys in them.
    shared: Option<(Arc<dyn Shelf>, ClusterKey)>,
}

impl Books {
    /// Makes the directory when it is missing. One that others could read is closed to them: there are keys in it.
    pub fn open(directory: &Path) -> Result<Self, BookError> {
        let open = || {
            DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
            fs::set_permissions(directory, fs::Permissions::from_mode(DIRECTORY_MODE))?;
            remove_unfinished(directory)
        };
        open().map_err(|error| BookError::Io { path: directory.to_owned(), error })?;
        Ok(Self { directory: directory.to_owned(), shared: None })
    }

    /// Those on a shelf, with the key that the directory has. An empty shelf gets what the directory holds, the last of these
    /// books at last: where that is missing, nothing was begun.
    pub fn open_shared(directory: &Path, shelf: Arc<dyn Shelf>, books: &[&str]) -> Result<Self, BookError> {
        let here = Self::open(directory)?;
        let last = books.last().copied().unwrap_or_default();
        let is_begun = shelf.read(last).map_err(|error| BookError::Shelf { book: last.to_owned(), error })?.is_some();
        let key = match ClusterKey::load(directory)? {
            Some(key) => key,
            None if is_begun => return Err(BookError::NoKey(directory.to_owned())),
            None => {
                let key = ClusterKey::draw();
                key.save(directory)?;
                key
            }
        };
        let there = Self { shared: Some((shelf, key)), ..here.clone() };
        for book in books {
            match is_begun {
                true => there.read(book)?.iter().for_each(|content| there.copy_here(book, content)),
                false => here.read(book)?.iter().try_for_each(|content| there.write(book, content))?,
            }
        }
        Ok(there)
    }

    /// That of a shared shelf.
    pub fn cluster_key(&self) -> Option<&ClusterKey> {
        self.shared.as_ref().map(|(_, key)| key)
    }

    pub fn path(&self, book: &str) -> PathBuf {
        self.directory.join(format!("{book}.jsonl"))
    }

    /// `None` where there is no such book yet.
    pub fn load<T: DeserializeOwned>(&self, book: &str) -> Result<Option<T>, BookError> {
        let Some(bytes) = self.read(book)? else { return Ok(None) };
        parse(book, &bytes).map(Some).map_err(|wrong| match wrong {
            Wrong::Damaged(what) => self.damaged(book, what),
            Wrong::Version(found) => BookError::Version { path: self.place(book), found },
        })
    }

    /// When this returns, the content is kept. When it fails, either content is.
    pub fn store<T: Serialize>(&self, book: &str, content: &T) -> Result<(), BookError> {
        self.write(book, &print(book, content))
    }

    pub fn has(&self, book: &str) -> Result<bool, BookError> {
        Ok(self.read(book)?.is_some())
    }

    /// Of one that says what it cannot say.
    pub fn damaged(&self, book: &str, what: String) -> BookError {
        BookError::Damaged { path: self.place(book), what }
    }

    /// As people are told where a book is.
    fn place(&self, book: &str) -> PathBuf {
        match &self.shared {
            Some(_) => PathBuf::from(format!("the book of the {book} in the frontier's store")),
            None => self.path(book),
        }
    }

    fn read(&self, book: &str) -> Result<Option<Vec<u8>>, BookError> {
        let Some((shelf, key)) = &self.shared else {
            let path = self.path(book);
            return match read_bounded(&path) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(BookError::Io { path, error }),
            };
        };
        let content = shelf.read(book).map_err(|error| BookError::Shelf { book: book.to_owned(), error })?;
        match content {
            Some(sealed) if book == SEALED => {
                let opened = key.open(book, &sealed);
                opened.map(Some).ok_or_else(|| BookError::NoKey(self.directory.clone()))
            }
            content => Ok(content),
        }
    }

    fn write(&self, book: &str, content: &[u8]) -> Result<(), BookError> {
        let Some((shelf, key)) = &self.shared else {
            let path = self.path(book);
            return write_atomically(&path, content, FILE_MODE).map_err(|error| BookError::Io { path, error });
        };
        let written = match book == SEALED {
            true => shelf.write(book, &key.seal(book, content)),
            false => shelf.write(book, content),
        };
        written.map_err(|error| BookError::Shelf { book: book.to_owned(), error })?;
        self.copy_here(book, content);
        Ok(())
    }

    /// What is on the shelf counts, so the cluster goes on without the copy.
    fn copy_here(&self, book: &str, content: &[u8]) {
        let path = self.path(book);
        if read_bounded(&path).is_ok_and(|copy| copy == content) {
            return;
        }
        if let Err(error) = write_atomically(&path, content, FILE_MODE) {
            tracing::warn!(path = %path.display(), %error, "the copy of a book could not be written");
        }
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

impl fmt::Debug for Books {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = if self.shared.is_some() { ", shared" } else { "" };
        write!(out, "Books({}{shared})", self.directory.display())
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
        let books = Books::open(&path).unwrap();
        assert_eq!(books.load::<Vec<u32>>("numbers").unwrap(), None);
        books.store("numbers", &vec![1, 2]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(path.join("numbers.tmp123"), "half of a key").unwrap();
        let books = Books::open(&path).unwrap();
        assert_eq!(books.load("numbers").unwrap(), Some(vec![1, 2]));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&books.path("numbers"))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "what was half written is gone");
        assert!(books.remove("numbers").unwrap() && !books.remove("numbers").unwrap());
    }

    #[test]
    fn any_changed_byte_and_any_cut_is_refused_by_the_files_name() {
        let directory = tempfile::tempdir().unwrap();
        let books = Books::open(directory.path()).unwrap();
        books.store("numbers", &vec![1, 2, 3]).unwrap();
        let path = books.path("numbers");
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
            let error = books.load::<Vec<u32>>("numbers").expect_err(&text);
            assert!(error.to_string().contains("numbers.jsonl"), "{error} of {text}");
        }
    }

    #[test]
    fn a_book_in_the_place_of_another_and_one_of_a_later_version_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let books = Books::open(directory.path()).unwrap();
        books.store("numbers", &vec![1]).unwrap();
        fs::copy(books.path("numbers"), books.path("others")).unwrap();
        let error = books.load::<Vec<u32>>("others").unwrap_err();
        assert!(matches!(&error, BookError::Damaged { what, .. } if what.contains("numbers")), "{error}");
        let later = fs::read_to_string(books.path("numbers")).unwrap().replace("\"version\":1", "\"version\":2");
        fs::write(books.path("numbers"), later).unwrap();
        let error = books.load::<Vec<u32>>("numbers").unwrap_err();
        assert!(matches!(error, BookError::Version { found: 2, .. }), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(parse::<Vec<u32>>("numbers", &bytes).is_err());
        }
    }
}
