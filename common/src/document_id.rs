//! The short name of a document: what a search hit is called in addresses and messages that must not carry a URL.
//!
//! Made from the URL alone, so every tier, process and rebuild gives a page the same one. Not a secret and not a
//! fingerprint for the frontier: whoever forges two URLs with one id only has one of their pages replace the other.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest, Sha1};

const BYTES: usize = 16;

/// The first 16 bytes of the SHA-1 of a URL's text; written as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId([u8; BYTES]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of a document; an id has 32 digits from 0 to 9 and a to f")]
pub struct NotADocumentId(String);

impl DocumentId {
    /// Of a URL in its canonical form.
    pub fn of(url: &str) -> Self {
        let hash = Sha1::digest(url.as_bytes());
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&hash[..BYTES]);
        Self(bytes)
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for DocumentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for DocumentId {
    type Err = NotADocumentId;

    fn from_str(text: &str) -> Result<Self, NotADocumentId> {
        // What is shown in the message must not be long, whoever sent it.
        let refused = || NotADocumentId(text.chars().take(2 * BYTES + 8).collect());
        let digits = text.as_bytes();
        if digits.len() != 2 * BYTES {
            return Err(refused());
        }
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let (Some(high), Some(low)) = (value(pair[0]), value(pair[1])) else { return Err(refused()) };
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_the_beginning_of_the_sha1_of_the_url() {
        // printf 'http://example.org/' | sha1sum
        assert_eq!(DocumentId::of("http://example.org/").to_string(), "bbf5caaf2e8efeeaf919e0d84a683f4b");
    }

    #[test]
    fn what_is_no_id_is_refused_with_what_it_was() {
        for text in
            ["", "abc", "9C6BC9192F41A3B3CC8AE9FA7BA0DC2B", "9c6bc9192f41a3b3cc8ae9fa7ba0dc2g", "žžžžžžžžžžžžžžžž"]
        {
            let refused = text.parse::<DocumentId>().unwrap_err();
            assert!(refused.to_string().contains(text) && refused.to_string().contains("32 digits"), "{refused}");
        }
        assert!("x".repeat(10_000).parse::<DocumentId>().unwrap_err().to_string().len() < 200);
    }

    proptest! {
        #[test]
        fn an_id_is_read_back_as_it_was_written(url: String) {
            let id = DocumentId::of(&url);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(DocumentId::from_bytes(id.as_bytes()), Some(id));
        }
    }
}
