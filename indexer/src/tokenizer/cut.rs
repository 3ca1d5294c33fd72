//! The one set of rules by which a text gives terms, whatever order they are wanted in.

use std::ops::Range;

use super::cjk::{self, RunTerm, Script};
use super::scan::{self, Piece, Scanner};
use super::{Language, push_whole, unmarked};

/// Takes the terms of a text, in the order of their positions.
pub(super) trait Terms {
    /// A word, which gives its stem and where that is another, itself.
    fn word(&mut self, word: &str, ascii: bool, language: Language, at: &Range<usize>, position: usize);

    /// A term as it is.
    fn term(&mut self, term: &str, at: &Range<usize>, position: usize);
}

/// Buffers that are reused from text to text.
#[derive(Clone, Default)]
pub(super) struct Scratch {
    parts: Vec<Range<usize>>,
    run: Vec<RunTerm>,
    whole: String,
}

/// Goes through one text.
pub(super) struct Cutter<'a> {
    text: &'a str,
    scanner: Scanner<'a>,
    language: Language,
    /// Of the next piece.
    position: usize,
    /// What a long run has left to cut.
    rest_of_run: Option<(Range<usize>, Script)>,
    scratch: &'a mut Scratch,
}

impl<'a> Cutter<'a> {
    /// Without a language the text is marked with it.
    pub fn new(text: &'a str, language: Option<Language>, scratch: &'a mut Scratch) -> Self {
        let (language, start) = match language {
            Some(language) => (language, 0),
            None => {
                let (language, unmarked) = unmarked(text);
                (language, text.len() - unmarked.len())
            }
        };
        Self { text, scanner: Scanner::new(text, start), language, position: 0, rest_of_run: None, scratch }
    }

    /// The terms of the next piece; false at the end. A piece may have none.
    pub fn next(&mut self, terms: &mut impl Terms) -> bool {
        if let Some((rest, script)) = self.rest_of_run.take() {
            self.run(rest, script, terms);
            return true;
        }
        match self.scanner.next() {
            None => return false,
            Some(Piece::Word { range, ascii }) => {
                terms.word(&self.text[range.clone()], ascii, self.language, &range, self.position);
                self.position += 1;
            }
            Some(Piece::Compound(range)) => {
                self.compound(range, terms);
                self.position += 1;
            }
            Some(Piece::Run { range, script }) => self.run(range, script, terms),
        }
        true
    }

    fn compound(&mut self, range: Range<usize>, terms: &mut impl Terms) {
        let Scratch { parts, whole, .. } = &mut *self.scratch;
        scan::parts(self.text, &range, parts);
        let compound = &self.text[range.clone()];
        // Without anything but letters and digits it is a word like others.
        if compound.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            terms.word(compound, true, self.language, &range, self.position);
        } else {
            whole.clear();
            push_whole(compound, whole);
            terms.term(whole, &range, self.position);
        }
        for part in parts.drain(..) {
            terms.word(&self.text[part.clone()], true, self.language, &part, self.position);
        }
    }

    fn run(&mut self, range: Range<usize>, script: Script, terms: &mut impl Terms) {
        let (part, next) = cjk::first_part(self.text, &range);
        let run = &mut self.scratch.run;
        let places = cjk::cut(self.text, &part, script, true, run);
        for term in &*run {
            terms.term(&self.text[term.from..term.to], &(term.from..term.to), self.position + term.place);
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
