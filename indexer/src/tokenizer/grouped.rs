//! The terms of a document in the order in which they are indexed fastest: all occurrences of a term in a row.
//!
//! tantivy looks up each occurrence in a table of all terms of a segment, far larger than any cache. In a row, all but the first
//! find it where it was a moment ago; and a word that stands in a text fifty times is stemmed once. What is the same for all
//! occurrences of a word is found in tables of this text alone, which are small.
//!
//! A word as it was written ([`WORD_SIGN`]) is given once for a text: it is asked for prefixes and spelling, not for how often it
//! stands where. Invariant: the positions of one term never fall.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::cut::{Cutter, Scratch, Terms};
use super::stem_cache::StemCache;
use super::{Language, WORD_SIGN, normalise};

/// A table that a text has made larger than this is given back after it.
const KEPT_ENTRIES: usize = 1 << 16;

/// For texts that are marked with their language.
#[derive(Clone, Default)]
pub struct DocumentTokenizer {
    token: Token,
    groups: Groups,
    scratch: Scratch,
}

impl Tokenizer for DocumentTokenizer {
    type TokenStream<'a> = DocumentStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> DocumentStream<'a> {
        self.token.reset();
        self.groups.clear();
        let mut cutter = Cutter::new(text, None, &mut self.scratch);
        while cutter.next(&mut self.groups) {}
        DocumentStream { groups: &self.groups, token: &mut self.token, next_term: 0, next_occurrence: NONE }
    }
}

pub struct DocumentStream<'a> {
    groups: &'a Groups,
    token: &'a mut Token,
    next_term: usize,
    /// Of the term before.
    next_occurrence: u32,
}

impl TokenStream for DocumentStream<'_> {
    fn advance(&mut self) -> bool {
        if self.next_occurrence == NONE {
            let terms = &self.groups.terms;
            let Some(found) = terms.entries.get(self.next_term) else { return false };
            self.next_term += 1;
            self.next_occurrence = found.value.first;
            self.token.text.clear();
            self.token.text.push_str(terms.key(found));
        }
        let Occurrence { position, next } = self.groups.occurrences[self.next_occurrence as usize];
        (self.token.position, self.token.position_length) = (position as usize, 1);
        self.next_occurrence = next;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// In place of the number of an occurrence.
const NONE: u32 = u32::MAX;

#[derive(Clone, Default)]
struct Groups {
    hasher: RandomState,
    stems: StemCache,
    lower: String,
    folded: String,
    written: String,
    /// Words of this text, and the terms that their occurrences are of.
    words: Keyed<u32>,
    terms: Keyed<Occurrences>,
    occurrences: Vec<Occurrence>,
}

/// Of one term.
#[derive(Clone, Copy)]
struct Occurrences {
    first: u32,
    last: u32,
}

#[derive(Clone, Copy)]
struct Occurrence {
    position: u32,
    /// Of the same term.
    next: u32,
}

impl Groups {
    fn clear(&mut self) {
        self.words.clear();
        self.terms.clear();
        self.occurrences.clear();
        self.occurrences.shrink_to(KEPT_ENTRIES);
    }

    fn add(&mut self, term: u32, position: usize) {
        let number = self.occurrences.len() as u32;
        self.occurrences.push(Occurrence { position: position as u32, next: NONE });
        let Occurrences { first, last } = &mut self.terms.entries[term as usize].value;
        match *first {
            NONE => *first = number,
            _ => self.occurrences[*last as usize].next = number,
        }
        *last = number;
    }

    fn term_of(&mut self, text: &str) -> (u32, bool) {
        self.terms.number(&self.hasher, text, Occurrences { first: NONE, last: NONE })
    }
}

impl Terms for Groups {
    fn word(&mut self, word: &str, ascii: bool, language: Language, _: &Range<usize>, position: usize) {
        normalise(word, ascii, &mut self.lower, &mut self.folded);
        let lower = if ascii { &self.folded } else { &self.lower };
        let (known, is_new) = self.words.number(&self.hasher, lower, 0);
        if !is_new {
            return self.add(self.words.entries[known as usize].value, position);
        }
        let stem = self.stems.stem(language, lower, &self.folded);
        let differs = stem != self.folded;
        let (term, _) = self.terms.number(&self.hasher, stem, Occurrences { first: NONE, last: NONE });
        self.words.entries[known as usize].value = term;
        self.add(term, position);
        if differs {
            let mut written = std::mem::take(&mut self.written);
            written.clear();
            written.push(WORD_SIGN);
            written.push_str(&self.folded);
            let (term, is_new) = self.term_of(&written);
            self.written = written;
            if is_new {
                self.add(term, position);
            }
        }
    }

    fn term(&mut self, term: &str, _: &Range<usize>, position: usize) {
        let (term, _) = self.term_of(term);
        self.add(term, position);
    }
}

/// A map from texts to values whose keys lie behind each other, so that clearing it frees nothing.
#[derive(Clone)]
struct Keyed<V> {
    table: HashTable<u32>,
    entries: Vec<KeyedEntry<V>>,
    keys: String,
}

#[derive(Clone)]
struct KeyedEntry<V> {
    hash: u64,
    key: Range<usize>,
    value: V,
}

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self { table: HashTable::new(), entries: Vec::new(), keys: String::new() }
    }
}

impl<V> Keyed<V> {
    fn clear(&mut self) {
        if self.entries.len() > KEPT_ENTRIES {
            *self = Self::default();
        }
        self.table.clear();
        self.entries.clear();
        self.keys.clear();
    }

    fn key(&self, entry: &KeyedEntry<V>) -> &str {
        &self.keys[entry.key.clone()]
    }

    /// The number of this key's entry, and whether it is new.
    fn number(&mut self, hasher: &RandomState, key: &str, value: V) -> (u32, bool) {
        let Self { table, entries, keys } = self;
        // Seeded, so that nobody can write a page whose words all collide.
        let hash = hasher.hash_one(key.as_bytes());
        let is_it = |&number: &u32| {
            let entry = &entries[number as usize];
            entry.hash == hash && keys[entry.key.clone()] == *key
        };
        match table.entry(hash, is_it, |&number| entries[number as usize].hash) {
            Entry::Occupied(found) => (*found.get(), false),
            Entry::Vacant(vacant) => {
                let number = entries.len() as u32;
                vacant.insert(number);
                let start = keys.len();
                keys.push_str(key);
                entries.push(KeyedEntry { hash, key: start..keys.len(), value });
                (number, true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::{WordTokenizer, mark};
    use super::*;

    fn all<T: Tokenizer>(mut tokenizer: T, text: &str) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        tokenizer.token_stream(text).process(&mut |token| found.push((token.text.clone(), token.position)));
        found
    }

    fn marked(text: &str, lang: &str) -> String {
        let mut text = text.to_owned();
        mark(&mut text, lang);
        text
    }

    fn by_term(found: Vec<(String, usize)>) -> BTreeMap<String, Vec<usize>> {
        let mut terms: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        found.into_iter().for_each(|(term, position)| terms.entry(term).or_default().push(position));
        terms
    }

    #[test]
    fn occurrences_of_a_term_come_in_a_row_and_a_written_form_once() {
        let text = marked("Rivers flow. A river's rivers, RIVERS", "en");
        let found = all(DocumentTokenizer::default(), &text);
        let expected =
            [("river", 0), ("river", 3), ("river", 5), ("river", 6), ("=rivers", 0), ("flow", 1), ("a", 2), ("s", 4)];
        assert_eq!(found, expected.map(|(term, position)| (term.to_owned(), position)));
    }

    proptest! {
        #[test]
        fn the_terms_and_positions_are_those_of_the_text_in_order(
            texts in proptest::collection::vec("([a-zA-Z]{1,3}s? |[éč中国語_.0-9]{1,4}|.){0,60}", 1..4),
            lang in "en|cs|zh|",
        ) {
            // One after the other by one tokenizer, which must not remember anything.
            let (mut grouped, mut in_order) = (DocumentTokenizer::default(), WordTokenizer::marked());
            for text in texts {
                let text = marked(&text, &lang);
                let mut found = Vec::new();
                grouped.token_stream(&text).process(&mut |token| found.push((token.text.clone(), token.position)));
                let mut expected = Vec::new();
                in_order.token_stream(&text).process(&mut |token| expected.push((token.text.clone(), token.position)));
                let mut expected = by_term(expected);
                for (term, positions) in &mut expected {
                    if term.starts_with(WORD_SIGN) {
                        positions.truncate(1);
                    }
                }
                prop_assert_eq!(by_term(found), expected);
            }
        }
    }
}
