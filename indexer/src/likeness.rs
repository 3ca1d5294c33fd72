//! Which pages are copies of each other, and which of them is preferred. Pure.
//!
//! A page of at least [`NEAR_FROM_WORDS`] words has the simhash of its main text: two such pages are alike when few bits
//! differ. A shorter one is like those with the same text and title. Likeness is not transitive: a page may be like two
//! that are not like each other; [`fold`](crate::fold) says what follows from that.
//!
//! Alike pages are found by *terms*: two simhashes of 64 bits that differ in at most [`MAX_DIFFERENT_BITS`] are equal in
//! one of four bands of 16 bits.

use seine_common::document_id::DocumentId;
use serde::{Deserialize, Serialize};

use crate::entry::Page;

/// Shorter texts differ in many bits when one word does, and pages of a form are alike in all the others.
const NEAR_FROM_WORDS: usize = 50;
/// Must be below the number of bands.
const MAX_DIFFERENT_BITS: u32 = 3;
const BANDS: u64 = 4;
const BAND_BITS: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Signature {
    /// Simhash of the main text.
    Near(u64),
    /// Of text and title.
    Equal(u64),
}

/// What decides about folding a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Likeness {
    pub signature: Signature,
    /// The smaller is preferred; differs between pages.
    pub rank: u64,
}

impl Signature {
    pub fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Near(a), Self::Near(b)) => (a ^ b).count_ones() <= MAX_DIFFERENT_BITS,
            (Self::Equal(a), Self::Equal(b)) => a == b,
            _ => false,
        }
    }

    /// Alike signatures have at least one term in common.
    pub fn terms(self) -> impl Iterator<Item = u64> {
        const EQUAL: u64 = 1 << 63;
        let (value, bands) = match self {
            Self::Near(simhash) => (simhash, BANDS),
            Self::Equal(key) => (key, 1),
        };
        (0..bands).map(move |band| match self {
            Self::Near(_) => (band << BAND_BITS) | ((value >> (band * BAND_BITS)) & ((1 << BAND_BITS) - 1)),
            Self::Equal(_) => EQUAL | value,
        })
    }
}

impl Likeness {
    /// `None` for a page that is like no other, as far as is known.
    pub fn of(page: &Page, id: &DocumentId) -> Option<Self> {
        let signature = if page.simhash != 0 && has_words(&page.text, NEAR_FROM_WORDS) {
            Signature::Near(page.simhash)
        } else if page.fingerprint != 0 {
            Signature::Equal(with_title(page.fingerprint, &page.title))
        } else {
            return None;
        };
        Some(Self { signature, rank: rank(page, id) })
    }

    /// Whether this one is to be shown rather than the other.
    pub fn folds(&self, other: &Self) -> bool {
        self.rank < other.rank && self.signature.is_like(other.signature)
    }
}

/// A page that names another address as its own comes last; then the shorter address. Nothing here changes from one
/// visit to the next, so the same page stays the one that is shown.
fn rank(page: &Page, id: &DocumentId) -> u64 {
    let length = page.url.len().min(127) as u64 | if page.is_canonical_elsewhere { 128 } else { 0 };
    let tie = id.as_bytes()[..7].iter().fold(0, |tie, byte| (tie << 8) | u64::from(*byte));
    (length << 56) | tie
}

fn with_title(fingerprint: u64, title: &str) -> u64 {
    // FNV-1a. Whoever forges a collision only has one of their own pages folded into another.
    let words = title.split_whitespace().flat_map(|word| word.bytes().chain([b' ']));
    words.fold(fingerprint, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Whether the text has so many words; an ideograph is one.
fn has_words(text: &str, wanted: usize) -> bool {
    let mut words = 0;
    let mut within = false;
    for c in text.chars() {
        let wide = matches!(c as u32, 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7a3 | 0x20000..=0x3ffff);
        let of_word = c.is_alphanumeric();
        if wide || (of_word && !within) {
            words += 1;
            if words >= wanted {
                return true;
            }
        }
        within = of_word && !wide;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(url: &str, words: usize) -> Page {
        Page { url: url.to_owned(), text: "word ".repeat(words), simhash: 7, fingerprint: 9, ..Page::default() }
    }

    fn likeness(page: &Page) -> Likeness {
        Likeness::of(page, &DocumentId::of(&page.url)).unwrap()
    }

    #[test]
    fn simhash_decides_from_fifty_words_on_and_equality_with_the_title_below() {
        assert_eq!(likeness(&page("u", 50)).signature, Signature::Near(7));
        let short = page("u", 49);
        assert!(matches!(likeness(&short).signature, Signature::Equal(_)));
        let titled = Page { title: "Other".to_owned(), ..short.clone() };
        assert_ne!(likeness(&titled).signature, likeness(&short).signature);
        assert_eq!(Likeness::of(&Page { fingerprint: 0, ..short }, &DocumentId::of("u")), None);
        assert!(has_words(&"水".repeat(50), 50) && !has_words(&"水".repeat(49), 50));
    }

    #[test]
    fn the_shorter_address_is_preferred_and_one_that_names_another_comes_last() {
        let (short, long) = (page("http://a.example/", 60), page("http://a.example/print", 60));
        assert!(likeness(&short).folds(&likeness(&long)) && !likeness(&long).folds(&likeness(&short)));
        let elsewhere = Page { is_canonical_elsewhere: true, ..short };
        assert!(likeness(&long).folds(&likeness(&elsewhere)));
    }

    proptest! {
        #[test]
        fn alike_simhashes_have_a_term_in_common(simhash: u64, flips in prop::collection::vec(0u32..64, 0..6)) {
            let other = flips.iter().fold(simhash, |other, bit| other ^ (1 << bit));
            let (a, b) = (Signature::Near(simhash), Signature::Near(other));
            prop_assert_eq!(a.is_like(b), (simhash ^ other).count_ones() <= 3);
            if a.is_like(b) {
                prop_assert!(a.terms().any(|term| b.terms().any(|other| other == term)));
            }
        }
    }
}
