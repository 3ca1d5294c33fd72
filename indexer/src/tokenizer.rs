//! Text to terms: the one analysis of index and query.
//!
//! [`scan`] finds words, compounds and runs; words are folded ([`fold`]) and lose the endings of the text's language
//! ([`language`]); runs of scripts without spaces become pairs of characters and dictionary words ([`cjk`]).
//! The rules are in [`cut`]. [`WordTokenizer`] gives terms in the order of the text, [`grouped`] all of a document in the order in
//! which they are indexed fastest, [`query`] what somebody's words mean as terms.
//!
//! A word gives its *stem* as a term, and where that is another than the folded word, the word itself behind a
//! [`WORD_SIGN`] at the same position: so all forms of a word share one list, and each form can still be told apart, for
//! prefixes and spelling. The parts of a compound stand at the position of the whole.
//!
//! Invariants: offsets lie on character boundaries, positions never fall, and whatever words a document gives, a query
//! for the same piece of text in the same language asks only for terms that the document has.

mod scan;
mod fold;
mod cjk;
mod czech;
mod language;
mod stem_cache;
mod cut;
mod grouped;
pub mod query;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

pub use fold::fold_into;
pub use language::{Language, mark, unmarked};

use cut::{Cutter, Scratch, Terms};
pub(crate) use grouped::DocumentTokenizer;
use stem_cache::StemCache;

/// Name in the schema. It carries a number: an index cut by older rules is then seen to be another one, and made anew.
pub const TOKENIZER: &str = "seine-words-3";

/// Longer words are cut here, in index and query alike: they stay findable, and noise cannot fill the dictionary.
pub const MAX_WORD_BYTES: usize = 64;

/// Stands before a word as it was written, where its stem is another. No stem begins with it.
pub const WORD_SIGN: char = '=';

/// Cuts one text after the other, reusing its buffers.
#[derive(Clone, Default)]
pub struct WordTokenizer {
    /// `None`: each text is marked with its language.
    language: Option<Language>,
    token: Token,
    queue: Queue,
    scratch: Scratch,
}

/// Terms found and not given yet, and what is kept from word to word, and from text to text.
#[derive(Clone, Default)]
struct Queue {
    stems: StemCache,
    lower: String,
    folded: String,
    /// From `given` to `found`; the strings behind them are reused.
    waiting: Vec<Token>,
    given: usize,
    found: usize,
}

impl WordTokenizer {
    /// For texts that are marked with their language.
    pub fn marked() -> Self {
        Self::default()
    }

    /// For texts of one language.
    pub fn of(language: Language) -> Self {
        Self { language: Some(language), ..Self::default() }
    }

    pub fn set_language(&mut self, language: Language) {
        self.language = Some(language);
    }
}

/// For documents, in the form that tantivy registers.
pub fn analyzer() -> TextAnalyzer {
    TextAnalyzer::from(DocumentTokenizer::default())
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        (self.queue.given, self.queue.found) = (0, 0);
        let cutter = Cutter::new(text, self.language, &mut self.scratch);
        WordStream { cutter, token: &mut self.token, queue: &mut self.queue }
    }
}

pub struct WordStream<'a> {
    cutter: Cutter<'a>,
    token: &'a mut Token,
    queue: &'a mut Queue,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        while self.queue.given == self.queue.found {
            (self.queue.given, self.queue.found) = (0, 0);
            if !self.cutter.next(self.queue) {
                return false;
            }
        }
        std::mem::swap(self.token, &mut self.queue.waiting[self.queue.given]);
        self.queue.given += 1;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

impl Terms for Queue {
    fn word(&mut self, word: &str, ascii: bool, language: Language, at: &Range<usize>, position: usize) {
        normalise(word, ascii, &mut self.lower, &mut self.folded);
        let lower = if ascii { &self.folded } else { &self.lower };
        let stem = self.stems.stem(language, lower, &self.folded);
        let differs = stem != self.folded;
        put(&mut self.waiting, &mut self.found, at, position).push_str(stem);
        if differs {
            let text = put(&mut self.waiting, &mut self.found, at, position);
            text.push(WORD_SIGN);
            text.push_str(&self.folded);
        }
    }

    fn term(&mut self, term: &str, at: &Range<usize>, position: usize) {
        put(&mut self.waiting, &mut self.found, at, position).push_str(term);
    }
}

/// A new term, whose text is to be written.
fn put<'a>(waiting: &'a mut Vec<Token>, found: &mut usize, range: &Range<usize>, position: usize) -> &'a mut String {
    if *found == waiting.len() {
        waiting.push(Token::default());
    }
    let token = &mut waiting[*found];
    *found += 1;
    (token.offset_from, token.offset_to) = (range.start, range.end);
    (token.position, token.position_length) = (position, 1);
    token.text.clear();
    &mut token.text
}

/// A word in lower case with its marks, and folded; both cut to the same length. Of an ASCII word only the latter.
fn normalise(word: &str, ascii: bool, lower: &mut String, folded: &mut String) {
    lower.clear();
    folded.clear();
    if ascii {
        folded.push_str(&word[..word.len().min(MAX_WORD_BYTES)]);
        folded.make_ascii_lowercase();
        return;
    }
    for c in word.chars() {
        if fold::joins(c) {
            continue;
        }
        let before = folded.len();
        fold::push_folded(c, folded);
        if folded.len() > MAX_WORD_BYTES {
            folded.truncate(before);
            return;
        }
        lower.extend(c.to_lowercase());
    }
}

/// True of an ASCII word that is as [`normalise`] would make it, which most are.
fn is_normal(word: &str) -> bool {
    word.len() <= MAX_WORD_BYTES && !word.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// The whole of a compound: lower case, thousands without their separators.
fn push_whole(compound: &str, text: &mut String) {
    let start = text.len();
    text.push_str(&compound[..compound.len().min(MAX_WORD_BYTES)]);
    text.make_ascii_lowercase();
    let grouped = compound.contains(',') && !compound.contains('.');
    if grouped && compound.split(',').skip(1).all(|group| group.len() == 3) {
        let digits: String = text[start..].chars().filter(char::is_ascii_digit).collect();
        text.truncate(start);
        text.push_str(&digits);
    }
}
