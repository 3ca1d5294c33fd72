//! Text to words: the one tokenizer of index and query.
//!
//! A word is a run of letters and digits, lower-cased and without diacritics; marks and soft hyphens inside it do not
//! end it. A run of Han characters is cut into dictionary words. [`Purpose::Index`] also gives the words inside longer
//! Han words, at the position of the longer one; [`Purpose::Query`] gives each run cut once, without overlaps.
//!
//! Invariants: offsets lie on character boundaries and rise; whatever word indexing takes from a text, the same piece of
//! text given to a query yields only words that indexing took too. So nothing in the index is out of reach.

mod fold;
mod han;
#[cfg(test)]
mod tests;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

/// Name in the schema. It carries a number: an index cut by older rules is then seen to be another one, and made anew.
pub const TOKENIZER: &str = "seine-words-1";

/// Longer words are cut here, in index and query alike: they stay findable, and noise cannot fill the dictionary.
pub const MAX_WORD_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Index,
    Query,
}

/// Cuts one text after the other, reusing its buffers.
#[derive(Clone)]
pub struct WordTokenizer {
    purpose: Purpose,
    token: Token,
    /// Words of the current Han run, last first.
    han: Vec<han::HanWord>,
}

impl WordTokenizer {
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, token: Token::default(), han: Vec::new() }
    }

    /// In the form that tantivy registers.
    pub fn analyzer(purpose: Purpose) -> TextAnalyzer {
        TextAnalyzer::from(Self::new(purpose))
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        self.han.clear();
        WordStream { text, at: 0, next_position: 0, purpose: self.purpose, token: &mut self.token, han: &mut self.han }
    }
}

pub struct WordStream<'a> {
    text: &'a str,
    /// Everything before this byte is done.
    at: usize,
    next_position: usize,
    purpose: Purpose,
    token: &'a mut Token,
    han: &'a mut Vec<han::HanWord>,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        if !self.han.is_empty() {
            return self.next_of_han_run();
        }
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            while at < bytes.len() && CLASS[usize::from(bytes[at])] == SEPARATOR {
                at += 1;
            }
            if at == bytes.len() {
                self.at = at;
                return false;
            }
            let start = at;
            let mut seen = SEPARATOR;
            while at < bytes.len() {
                let class = CLASS[usize::from(bytes[at])];
                if class & (WORD | CAPITAL) == 0 {
                    break;
                }
                seen |= class;
                at += 1;
            }
            // Most words of most texts end here: nothing but ASCII in them or behind them.
            if at > start && (at == bytes.len() || bytes[at] < 0x80) {
                let word = &mut self.token.text;
                word.clear();
                word.push_str(&self.text[start..at.min(start + MAX_WORD_BYTES)]);
                // Most words have no capital either.
                if seen & CAPITAL != 0 {
                    word.make_ascii_lowercase();
                }
                self.at = at;
                return self.emit(start, at);
            }
            match self.word_beyond_ascii(start) {
                Found::Word(end) => {
                    self.at = end;
                    return self.emit(start, end);
                }
                Found::HanRun(end) => {
                    self.at = end;
                    han::cut(self.text, start..end, self.purpose, self.han);
                    return self.next_of_han_run();
                }
                Found::Separator(end) => at = end,
            }
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// What stands at a place where the ASCII rules do not suffice; each with its end.
enum Found {
    Word(usize),
    HanRun(usize),
    Separator(usize),
}

impl WordStream<'_> {
    fn emit(&mut self, from: usize, to: usize) -> bool {
        self.token.offset_from = from;
        self.token.offset_to = to;
        self.token.position = self.next_position;
        self.next_position += 1;
        true
    }

    fn word_beyond_ascii(&mut self, start: usize) -> Found {
        let rest = &self.text[start..];
        let first = rest.chars().next().expect("the text does not end here");
        if han::is_han(first) {
            let length = rest.find(|c| !han::is_han(c)).unwrap_or(rest.len());
            return Found::HanRun(start + length);
        }
        if !first.is_alphanumeric() || fold::joins(first) {
            return Found::Separator(start + first.len_utf8());
        }
        let word = &mut self.token.text;
        word.clear();
        let mut full = false;
        for (at, c) in rest.char_indices() {
            if fold::joins(c) {
                continue;
            }
            if !c.is_alphanumeric() || han::is_han(c) {
                return Found::Word(start + at);
            }
            if !full {
                let before = word.len();
                fold::push_folded(c, word);
                if word.len() > MAX_WORD_BYTES {
                    word.truncate(before);
                    full = true;
                }
            }
        }
        Found::Word(self.text.len())
    }

    fn next_of_han_run(&mut self) -> bool {
        let Some(word) = self.han.pop() else { return false };
        self.token.text.clear();
        self.token.text.push_str(&self.text[word.from..word.to]);
        self.token.offset_from = word.from;
        self.token.offset_to = word.to;
        self.token.position = self.next_position;
        // The words inside a longer one come before it and share its position.
        self.next_position += usize::from(!word.inner);
        true
    }
}

/// What a byte is, one bit each.
const SEPARATOR: u8 = 0;
const WORD: u8 = 1;
const CAPITAL: u8 = 2;
const BEYOND_ASCII: u8 = 4;

const CLASS: [u8; 256] = {
    let mut class = [SEPARATOR; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'a'..=b'z' | b'0'..=b'9' => WORD,
            b'A'..=b'Z' => CAPITAL,
            0x80.. => BEYOND_ASCII,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    class
};
