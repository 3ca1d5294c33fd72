//! What somebody's words mean as terms of the index.
//!
//! A query has no language of its own: a word is looked for as every language of the index would have cut it. Ranges
//! and positions are those of a document with the same text.

use std::ops::Range;

use super::cjk::{self, RunTerm, Script};
use super::scan::{self, Piece, Scanner};
use super::{Language, WORD_SIGN, normalise, push_whole};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPiece {
    pub range: Range<usize>,
    pub position: usize,
    pub form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    Word(WordForms),
    /// Found whole, or as its parts in a row.
    Compound {
        whole: WordForms,
        parts: Vec<WordForms>,
    },
    Run(Run),
}

/// One word as the languages of the index have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordForms {
    /// As typed, folded.
    pub folded: String,
    /// The different stems, those of more frequent languages first.
    pub stems: Vec<String>,
}

/// A piece of text without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Places it takes.
    pub characters: usize,
    /// Every two neighbouring characters, with their place; of a lone character the character.
    pub pairs: Vec<RunPair>,
    /// Dictionary words of three and more characters.
    pub words: Vec<(usize, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPair {
    pub place: usize,
    pub text: String,
    /// Whether it is, or is part of, a word by the dictionary; else it reaches from one word into the next.
    pub in_word: bool,
}

impl WordForms {
    pub fn new(lower: &str, folded: &str, languages: &[Language]) -> Self {
        let mut stems: Vec<String> = Vec::new();
        for language in languages {
            let mut stem = String::new();
            language.stem(lower, folded, &mut stem);
            if !stems.contains(&stem) {
                stems.push(stem);
            }
        }
        Self { folded: folded.to_owned(), stems }
    }

    /// The same text whatever the language.
    pub fn exact(text: String) -> Self {
        Self { stems: vec![text.clone()], folded: text }
    }

    /// The term of the word as it was written, in documents whose language has another stem for it.
    pub fn written(&self) -> String {
        format!("{WORD_SIGN}{}", self.folded)
    }
}

/// The forms of one word, as if it stood alone.
pub fn word(text: &str, languages: &[Language]) -> WordForms {
    let (mut lower, mut folded) = (String::new(), String::new());
    normalise(text, false, &mut lower, &mut folded);
    WordForms::new(&lower, &folded, languages)
}

/// `languages` may be any; without one, words are taken as they are.
pub fn pieces(text: &str, languages: &[Language]) -> Vec<QueryPiece> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut scanner = Scanner::new(text, 0);
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(piece) = scanner.next() {
        let at = position;
        let (range, form) = match piece {
            Piece::Word { range, .. } => {
                position += 1;
                let forms = word(&text[range.clone()], languages);
                (range, Form::Word(forms))
            }
            Piece::Compound(range) => {
                position += 1;
                let form = compound(text, &range, languages);
                (range, form)
            }
            Piece::Run { range, script } => {
                let run = run(text, &range, script);
                position += run.characters;
                (range, Form::Run(run))
            }
        };
        found.push(QueryPiece { range, position: at, form });
    }
    found
}

fn compound(text: &str, range: &Range<usize>, languages: &[Language]) -> Form {
    let mut parts = Vec::new();
    scan::parts(text, range, &mut parts);
    let written = &text[range.clone()];
    let whole = if written.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        word(written, languages)
    } else {
        let mut whole = String::new();
        push_whole(written, &mut whole);
        WordForms::exact(whole)
    };
    Form::Compound { whole, parts: parts.into_iter().map(|part| word(&text[part], languages)).collect() }
}

fn run(text: &str, range: &Range<usize>, script: Script) -> Run {
    let (part, _) = cjk::first_part(text, range);
    let mut terms = Vec::new();
    let characters = cjk::cut(text, &part, script, false, &mut terms);
    if characters > 1 {
        // The last character alone says less than the pair that it ends.
        terms.pop();
    }
    let words = match script {
        Script::Han if !cjk::has_kana(&text[part.clone()]) => cjk::dictionary_words(text, &part),
        _ => Vec::new(),
    };
    let mut pairs: Vec<RunPair> = terms
        .iter()
        .map(|pair| RunPair {
            place: pair.place,
            text: text[pair.from..pair.to].to_owned(),
            in_word: cjk::belongs_together(text, pair, &words),
        })
        .collect();
    if !pairs.iter().any(|pair| pair.in_word) {
        pairs.iter_mut().for_each(|pair| pair.in_word = true);
    }
    let long = |word: &&RunTerm| text[word.from..word.to].chars().nth(2).is_some();
    let words = words.iter().filter(long).map(|word| (word.place, text[word.from..word.to].to_owned())).collect();
    Run { characters, pairs, words }
}
