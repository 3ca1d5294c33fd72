//! The terms of a document in the order in which they are indexed fastest: all occurrences of a term in a row.
//!
//! A segment's table of all terms is far larger than any cache, so a term is looked up there once for a text, or not at all: a
//! [`Vocabulary`] remembers from text to text which terms a word gives and numbers them, so that an occurrence costs one look-up
//! in that and no stemming.
//!
//! A word as it was written ([`WORD_SIGN`]) is given once for a text: it is asked for prefixes and spelling, not for how often it
//! stands where. Invariant: the positions of one term never fall.

mod vocabulary;

use std::iter;
use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::cut::{Cutter, Scratch, Terms};
use super::{Language, is_normal, normalise};
pub(crate) use vocabulary::TermNumber;
use vocabulary::{Vocabulary, WordTerms};

/// Occurrences whose memory is kept for the next text.
const KEPT_OCCURRENCES: usize = 1 << 16;

/// For texts that are marked with their language.
#[derive(Clone, Default)]
pub struct DocumentTokenizer {
    token: Token,
    groups: Groups,
    scratch: Scratch,
}

impl DocumentTokenizer {
    /// All terms of a text.
    pub(crate) fn group(&mut self, text: &str) -> &Groups {
        self.groups.begin_text();
        let mut cutter = Cutter::new(text, None, &mut self.scratch);
        while cutter.next(&mut self.groups) {}
        &self.groups
    }
}

impl Tokenizer for DocumentTokenizer {
    type TokenStream<'a> = DocumentStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> DocumentStream<'a> {
        self.token.reset();
        self.group(text);
        DocumentStream { groups: &self.groups, token: &mut self.token, next_term: 0, next_occurrence: NONE }
    }
}

/// As tantivy takes it.
pub struct DocumentStream<'a> {
    groups: &'a Groups,
    token: &'a mut Token,
    /// In the order of the text's terms.
    next_term: usize,
    /// Of the term before.
    next_occurrence: u32,
}

impl TokenStream for DocumentStream<'_> {
    fn advance(&mut self) -> bool {
        if self.next_occurrence == NONE {
            let Some(&term) = self.groups.terms.get(self.next_term) else { return false };
            self.next_term += 1;
            self.next_occurrence = self.groups.of_term[term as usize].first;
            self.token.text.clear();
            self.token.text.push_str(str::from_utf8(self.groups.term(term)).expect("terms are made of texts"));
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

/// The terms of one text with their occurrences.
#[derive(Clone, Default)]
pub(crate) struct Groups {
    vocabulary: Vocabulary,
    /// Counts how often the vocabulary was forgotten.
    generation: u32,
    lower: String,
    folded: String,
    /// By the number of the term.
    of_term: Vec<Occurrences>,
    /// Counts texts: what is known of a term's occurrences holds for one of them.
    text: u32,
    /// Of this text, in the order in which they come first.
    terms: Vec<TermNumber>,
    occurrences: Vec<Occurrence>,
    /// Behind the last position.
    end: u32,
}

/// Of one term.
#[derive(Clone, Copy, Default)]
struct Occurrences {
    text: u32,
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
    /// Numbers of terms hold for as long as this does not change.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    pub fn term(&self, number: TermNumber) -> &[u8] {
        self.vocabulary.term(number)
    }

    /// Each term of the text with its positions, of which there is at least one.
    pub fn terms(&self) -> impl Iterator<Item = (TermNumber, impl Iterator<Item = u32> + '_)> {
        self.terms.iter().map(move |&term| {
            let mut next = self.of_term[term as usize].first;
            let positions = iter::from_fn(move || {
                let Occurrence { position, next: following } = *self.occurrences.get(next as usize)?;
                next = following;
                Some(position)
            });
            (term, positions)
        })
    }

    /// How many occurrences there are of all terms.
    pub fn occurrences(&self) -> u32 {
        self.occurrences.len() as u32
    }

    /// Behind the last position.
    pub fn end(&self) -> u32 {
        self.end
    }

    fn begin_text(&mut self) {
        self.text = self.text.wrapping_add(1);
        if self.vocabulary.forget_if_large() {
            self.generation = self.generation.wrapping_add(1);
            self.of_term = Vec::new();
        }
        if self.text == 0 {
            self.text = 1;
            self.of_term = Vec::new();
        }
        self.end = 0;
        self.terms.clear();
        self.occurrences.clear();
        self.occurrences.shrink_to(KEPT_OCCURRENCES);
    }

    fn add(&mut self, term: TermNumber, position: usize) {
        let number = self.occurrences.len() as u32;
        self.end = self.end.max(position as u32 + 1);
        self.occurrences.push(Occurrence { position: position as u32, next: NONE });
        if self.of_term.len() <= term as usize {
            self.of_term.resize(self.vocabulary.terms(), Occurrences::default());
        }
        let known = &mut self.of_term[term as usize];
        if known.text == self.text {
            self.occurrences[known.last as usize].next = number;
            known.last = number;
        } else {
            *known = Occurrences { text: self.text, first: number, last: number };
            self.terms.push(term);
        }
    }

    fn has(&self, term: TermNumber) -> bool {
        self.of_term.get(term as usize).is_some_and(|known| known.text == self.text)
    }
}

impl Terms for Groups {
    fn word(&mut self, word: &str, ascii: bool, language: Language, _: &Range<usize>, position: usize) {
        let terms = if ascii && is_normal(word) {
            self.vocabulary.word(language, word, word)
        } else {
            normalise(word, ascii, &mut self.lower, &mut self.folded);
            let lower = if ascii { &self.folded } else { &self.lower };
            self.vocabulary.word(language, lower, &self.folded)
        };
        let WordTerms { stem, written } = terms;
        self.add(stem, position);
        if let Some(written) = written
            && !self.has(written)
        {
            self.add(written, position);
        }
    }

    fn term(&mut self, term: &str, _: &Range<usize>, position: usize) {
        let term = self.vocabulary.number(term);
        self.add(term, position);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::{WORD_SIGN, WordTokenizer, mark};
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

    #[test]
    fn a_vocabulary_that_has_grown_too_large_is_forgotten_between_texts() {
        let many: String = (0..50_000).map(|number| format!("word{number}s ")).collect();
        let (few, mut tokenizer) = (marked("Rivers and word7s", "en"), DocumentTokenizer::default());
        let alone = all(tokenizer.clone(), &few);
        for text in [&few, &marked(&many, "en"), &few] {
            let mut found = 0;
            tokenizer.token_stream(text).process(&mut |_| found += 1);
            assert!(found >= alone.len());
        }
        assert!(!tokenizer.groups.vocabulary.forget_if_large());
        assert_eq!(all(tokenizer, &few), alone);
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
