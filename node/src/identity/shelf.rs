//! Where the Monitor's books are kept when its frontier lies in a store that several machines reach: beside the frontier, so that
//! whoever becomes the Monitor reads what the one before it knew.
//!
//! Books of tokens and members lie there as they are: they hold digests and no secrets. The authority's book holds the key of
//! the root, so it is sealed under the [`ClusterKey`], which the store never has.

use std::fmt;
use std::io;
use std::path::Path;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use seine_common::data_dir::write_atomically;

use super::book::BookError;

const FILE: &str = "cluster.key";
const FILE_MODE: u32 = 0o600;
const KEY_BYTES: usize = 32;
/// Before the nonce, so that another way to seal can be told from this one.
const SEALED: &[u8] = b"seine sealed 1\n";

/// Keeps whole books by their names. It may block; it is asked on threads that may wait.
pub trait Shelf: Send + Sync {
    /// `None` where there is no such book.
    fn read(&self, book: &str) -> io::Result<Option<Vec<u8>>>;

    /// Replaces a book. Durable when it returns; refused when this process does not own the frontier any more.
    fn write(&self, book: &str, content: &[u8]) -> io::Result<()>;
}

/// Opens the authority's book on a [`Shelf`]. Each machine that may become the Monitor has it, and nobody else: who has it and
/// reads the store is the authority.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKey([u8; KEY_BYTES]);

impl ClusterKey {
    pub fn draw() -> Self {
        Self(rand::random())
    }

    /// As it was sent; `None` for what is no key.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// `None` where the directory has none.
    pub fn load(directory: &Path) -> Result<Option<Self>, BookError> {
        let path = directory.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BookError::Io { path, error }),
        };
        let bytes = data_encoding::HEXLOWER.decode(text.trim_end().as_bytes()).ok();
        let key = bytes.and_then(|bytes| Self::from_bytes(&bytes));
        key.map(Some).ok_or_else(|| BookError::Damaged { path, what: "it is not 64 hexadecimal digits".to_owned() })
    }

    /// Durable when it returns.
    pub fn save(&self, directory: &Path) -> Result<(), BookError> {
        let path = directory.join(FILE);
        let text = format!("{}\n", data_encoding::HEXLOWER.encode(&self.0));
        write_atomically(&path, text.as_bytes(), FILE_MODE).map_err(|error| BookError::Io { path, error })
    }

    /// The name of the book is sealed with it, so that none can be put in the place of another.
    pub(super) fn seal(&self, book: &str, content: &[u8]) -> Vec<u8> {
        // Drawn for each write: books change a few times a day, and 2^32 of them could share a key.
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = content.to_vec();
        self.cipher()
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(book), &mut sealed)
            .expect("a book is shorter than 256 GiB");
        [SEALED, &nonce, &sealed].concat()
    }

    /// `None` for what was not sealed with this key for this book.
    pub(super) fn open(&self, book: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.strip_prefix(SEALED)?.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut content = sealed.to_vec();
        let length = self.cipher().open_in_place(nonce, Aad::from(book), &mut content).ok()?.len();
        content.truncate(length);
        Some(content)
    }

    fn cipher(&self) -> LessSafeKey {
        LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &self.0).expect("the key has the length of the algorithm"))
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ClusterKey(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_sealed_is_opened_by_the_same_key_under_the_same_name_only() {
        let key = ClusterKey::draw();
        let sealed = key.seal("authority", b"the root's key");
        assert_eq!(key.open("authority", &sealed).unwrap(), b"the root's key");
        assert_ne!(key.seal("authority", b"the root's key"), sealed, "each time with another nonce");
        assert!(!sealed.windows(4).any(|window| window == b"root"));
        assert_eq!(key.open("members", &sealed), None);
        assert_eq!(ClusterKey::draw().open("authority", &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(key.open("authority", &changed), None, "byte {at}");
            assert_eq!(key.open("authority", &sealed[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn a_key_is_kept_for_its_owner_alone_and_shown_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(ClusterKey::load(directory.path()).unwrap(), None);
        let key = ClusterKey::draw();
        key.save(directory.path()).unwrap();
        assert_eq!(ClusterKey::load(directory.path()).unwrap().as_ref(), Some(&key));
        assert_eq!(ClusterKey::from_bytes(key.reveal()).as_ref(), Some(&key));
        let path = directory.path().join(FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "half").unwrap();
        let error = ClusterKey::load(directory.path()).unwrap_err().to_string();
        assert!(error.contains("cluster.key is damaged"), "{error}");
        assert!(!format!("{key:?}").contains(&data_encoding::HEXLOWER.encode(key.reveal())[..8]));
    }
}
