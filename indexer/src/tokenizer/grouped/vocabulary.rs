//! Numbers for terms, and the terms that each word gives, remembered from text to text.
//!
//! A few thousand words make up most of any text, so most are stemmed once and for all. Bounded: what has grown too large is
//! forgotten between two texts, never within one. The tables are seeded, so that nobody can write a page whose words all
//! collide.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::super::{Language, WORD_SIGN};
use crate::keys::Keys;

/// More words or terms, or more bytes of them, are forgotten before the next text.
const MAX_KEYS: usize = 1 << 15;
const MAX_BYTES: usize = 1 << 20;

/// Numbers are given from 0 on until everything is forgotten.
pub(crate) type TermNumber = u32;

#[derive(Clone, Copy)]
pub(super) struct WordTerms {
    pub stem: TermNumber,
    /// The word as it was written, where its stem is another.
    pub written: Option<TermNumber>,
}

#[derive(Clone, Default)]
pub(super) struct Vocabulary {
    hasher: RandomState,
    words: Keys<(Language, WordTerms)>,
    terms: Keys<()>,
    /// The term that is being made.
    text: String,
}

impl Vocabulary {
    /// Whether all numbers given so far are void.
    pub fn forget_if_large(&mut self) -> bool {
        let is_large = is_large(&self.words) || is_large(&self.terms);
        if is_large {
            (self.words, self.terms) = Default::default();
        }
        is_large
    }

    /// How many have a number.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    pub fn term(&self, number: TermNumber) -> &[u8] {
        self.terms.key(number)
    }

    pub fn number(&mut self, term: &str) -> TermNumber {
        let hash = self.hasher.hash_one(term.as_bytes());
        self.terms.number(hash, term.as_bytes(), |()| true, || ())
    }

    /// `lower` is the word in lower case with its marks, `folded` without.
    pub fn word(&mut self, language: Language, lower: &str, folded: &str) -> WordTerms {
        let hash = self.hasher.hash_one(lower.as_bytes());
        if let Some((_, terms)) = self.words.get(hash, lower.as_bytes(), |(known, _)| *known == language) {
            return *terms;
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        language.stem(lower, folded, &mut text);
        let stem = self.number(&text);
        let written = (text != folded).then(|| {
            text.clear();
            text.push(WORD_SIGN);
            text.push_str(folded);
            self.number(&text)
        });
        self.text = text;
        let terms = WordTerms { stem, written };
        self.words.number(hash, lower.as_bytes(), |_| false, || (language, terms));
        terms
    }
}

fn is_large<V>(keys: &Keys<V>) -> bool {
    keys.len() > MAX_KEYS || keys.key_bytes() > MAX_BYTES
}
