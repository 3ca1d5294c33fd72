//! Numbers for terms, and the terms that each word gives, remembered from text to text.
//!
//! A few thousand words make up most of any text, so most are stemmed once and for all. Bounded: what has grown too large is
//! forgotten between two texts, never within one. The tables are seeded, so that nobody can write a page whose words all
//! collide.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::super::{Language, WORD_SIGN};

/// More words or terms, or more bytes of them, are forgotten before the next text.
const MAX_KEYS: usize = 1 << 15;
const MAX_BYTES: usize = 1 << 20;

/// Numbers are given from 0 on until everything is forgotten.
pub(super) type TermNumber = u32;

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
        let is_large = self.words.is_large() || self.terms.is_large();
        if is_large {
            (self.words, self.terms) = Default::default();
        }
        is_large
    }

    /// How many have a number.
    pub fn terms(&self) -> usize {
        self.terms.entries.len()
    }

    pub fn term(&self, number: TermNumber) -> &str {
        self.terms.key(&self.terms.entries[number as usize])
    }

    pub fn number(&mut self, term: &str) -> TermNumber {
        let hash = self.hasher.hash_one(term.as_bytes());
        self.terms.number(hash, term, |()| true, || ())
    }

    /// `lower` is the word in lower case with its marks, `folded` without.
    pub fn word(&mut self, language: Language, lower: &str, folded: &str) -> WordTerms {
        let hash = self.hasher.hash_one(lower.as_bytes());
        if let Some((_, terms)) = self.words.get(hash, lower, |(known, _)| *known == language) {
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
        self.words.number(hash, lower, |_| false, || (language, terms));
        terms
    }
}

/// A map from texts to values whose texts lie behind each other, which is one allocation for all.
#[derive(Clone)]
struct Keys<V> {
    table: HashTable<u32>,
    entries: Vec<KeysEntry<V>>,
    texts: String,
}

#[derive(Clone)]
struct KeysEntry<V> {
    hash: u64,
    start: u32,
    end: u32,
    value: V,
}

impl<V> Default for Keys<V> {
    fn default() -> Self {
        Self { table: HashTable::new(), entries: Vec::new(), texts: String::new() }
    }
}

impl<V> Keys<V> {
    fn is_large(&self) -> bool {
        self.entries.len() > MAX_KEYS || self.texts.len() > MAX_BYTES
    }

    fn key(&self, entry: &KeysEntry<V>) -> &str {
        &self.texts[entry.start as usize..entry.end as usize]
    }

    fn get(&self, hash: u64, key: &str, fits: impl Fn(&V) -> bool) -> Option<&V> {
        let number = self.table.find(hash, |&number| {
            let entry = &self.entries[number as usize];
            entry.hash == hash && self.key(entry) == key && fits(&entry.value)
        })?;
        Some(&self.entries[*number as usize].value)
    }

    /// The number of the key's entry, which is made where none fits.
    fn number(&mut self, hash: u64, key: &str, fits: impl Fn(&V) -> bool, value: impl FnOnce() -> V) -> u32 {
        let Self { table, entries, texts } = self;
        let is_it = |&number: &u32| {
            let entry = &entries[number as usize];
            entry.hash == hash && texts[entry.start as usize..entry.end as usize] == *key && fits(&entry.value)
        };
        match table.entry(hash, is_it, |&number| entries[number as usize].hash) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(vacant) => {
                let number = entries.len() as u32;
                vacant.insert(number);
                let start = texts.len() as u32;
                texts.push_str(key);
                entries.push(KeysEntry { hash, start, end: texts.len() as u32, value: value() });
                number
            }
        }
    }
}
