//! Text to terms: the one analysis of index and query.
//!
//! [`scan`] finds words, compounds and runs; words are folded ([`fold`]) and lose the endings of the text's language
//! ([`language`]); runs of scripts without spaces become pairs of characters and dictionary words ([`cjk`]).
//! [`WordTokenizer`] gives the terms of a document, [`query`] what somebody's words mean as terms.
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
pub mod query;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

pub use fold::fold_into;
pub use language::{Language, mark, unmarked};

use cjk::{RunTerm, Script};
use scan::{Piece, Scanner};
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
    buffers: Buffers,
}

/// What is kept from word to word, and from text to text.
#[derive(Clone, Default)]
struct Buffers {
    stems: StemCache,
    lower: String,
    folded: String,
    parts: Vec<Range<usize>>,
    run: Vec<RunTerm>,
    /// Terms found and not given yet, from `given` on; the strings behind them are reused.
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

    /// In the form that tantivy registers.
    pub fn analyzer() -> TextAnalyzer {
        TextAnalyzer::from(Self::marked())
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        (self.buffers.given, self.buffers.found) = (0, 0);
        let (language, start) = match self.language {
            Some(language) => (language, 0),
            None => {
                let (language, unmarked) = unmarked(text);
                (language, text.len() - unmarked.len())
            }
        };
        WordStream {
            text,
            scanner: Scanner::new(text, start),
            language,
            position: 0,
            rest_of_run: None,
            token: &mut self.token,
            buffers: &mut self.buffers,
        }
    }
}

pub struct WordStream<'a> {
    text: &'a str,
    scanner: Scanner<'a>,
    language: Language,
    /// Of the next piece.
    position: usize,
    /// What a long run has left to cut.
    rest_of_run: Option<(Range<usize>, Script)>,
    token: &'a mut Token,
    buffers: &'a mut Buffers,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        while self.buffers.given == self.buffers.found {
            (self.buffers.given, self.buffers.found) = (0, 0);
            if let Some((rest, script)) = self.rest_of_run.take() {
                self.run(rest, script);
                continue;
            }
            match self.scanner.next() {
                None => return false,
                Some(Piece::Word { range, ascii }) => {
                    self.word(range, ascii);
                    self.position += 1;
                }
                Some(Piece::Compound(range)) => {
                    self.compound(range);
                    self.position += 1;
                }
                Some(Piece::Run { range, script }) => self.run(range, script),
            }
        }
        std::mem::swap(self.token, &mut self.buffers.waiting[self.buffers.given]);
        self.buffers.given += 1;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

impl WordStream<'_> {
    fn word(&mut self, range: Range<usize>, ascii: bool) {
        let buffers = &mut *self.buffers;
        normalise(&self.text[range.clone()], ascii, &mut buffers.lower, &mut buffers.folded);
        let lower = if ascii { &buffers.folded } else { &buffers.lower };
        let stem = buffers.stems.stem(self.language, lower, &buffers.folded);
        let differs = stem != buffers.folded;
        put(&mut buffers.waiting, &mut buffers.found, &range, self.position).push_str(stem);
        if differs {
            let text = put(&mut buffers.waiting, &mut buffers.found, &range, self.position);
            text.push(WORD_SIGN);
            text.push_str(&buffers.folded);
        }
    }

    fn compound(&mut self, range: Range<usize>) {
        let mut parts = std::mem::take(&mut self.buffers.parts);
        scan::parts(self.text, &range, &mut parts);
        // Without anything but letters and digits it is a word like others.
        if self.text[range.clone()].bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            self.word(range, true);
        } else {
            let buffers = &mut *self.buffers;
            let text = put(&mut buffers.waiting, &mut buffers.found, &range, self.position);
            push_whole(&self.text[range], text);
        }
        for part in parts.drain(..) {
            self.word(part, true);
        }
        self.buffers.parts = parts;
    }

    fn run(&mut self, range: Range<usize>, script: Script) {
        let (part, next) = cjk::first_part(self.text, &range);
        let buffers = &mut *self.buffers;
        let places = cjk::cut(self.text, &part, script, true, &mut buffers.run);
        for term in &buffers.run {
            let range = term.from..term.to;
            let text = put(&mut buffers.waiting, &mut buffers.found, &range, self.position + term.place);
            text.push_str(&self.text[range.clone()]);
        }
        match next {
            // The character in common has one place.
            Some(next) => {
                self.rest_of_run = Some((next..range.end, script));
                self.position += places - 1;
            }
            None => self.position += places,
        }
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
