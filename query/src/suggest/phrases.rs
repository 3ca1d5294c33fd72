//! Phrases that pages have for what somebody is typing.
//!
//! Wherever the words typed stand in a row in a text, the last one as a beginning, they and the words that follow in the
//! same sentence are a phrase. What several of the pages read have is worth to be offered.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use seine_indexer::tokenizer::fold_into;

/// Only the beginning of a long page is read.
const READ_BYTES: usize = 32 << 10;
/// Words of a phrase beyond those typed.
const MAX_MORE: usize = 3;
/// Pages that must have a phrase.
const MIN_PAGES: usize = 2;
/// Shorter words seldom have a meaning of their own.
const SHORTEST_LAST: usize = 4;
/// Longer ones are no completions.
const LONGEST_BYTES: usize = 80;

pub struct Phrases {
    /// Folded.
    earlier: Vec<String>,
    beginning: String,
    /// By its folded words.
    found: HashMap<String, Found>,
    buffer: String,
}

struct Found {
    written: String,
    pages: usize,
}

/// A word of the text.
struct Word {
    range: Range<usize>,
    /// Of the folded text.
    folded: Range<usize>,
    /// Whether nothing but a space or a hyphen stands between it and the word before.
    follows: bool,
}

impl Phrases {
    pub fn new(typed: &str) -> Self {
        let mut folded = String::new();
        let words = scan(typed, &mut folded);
        let mut words: Vec<String> = words.into_iter().map(|word| folded[word.folded].to_owned()).collect();
        let beginning = words.pop().unwrap_or_default();
        Self { earlier: words, beginning, found: HashMap::new(), buffer: String::new() }
    }

    /// The text of another page.
    pub fn read(&mut self, text: &str) {
        if self.beginning.is_empty() {
            return;
        }
        let text = &text[..text.floor_char_boundary(READ_BYTES)];
        let mut folded = std::mem::take(&mut self.buffer);
        let words = scan(text, &mut folded);
        let mut of_this_page: HashSet<String> = HashSet::new();
        let last = self.earlier.len();
        for at in 0..words.len() {
            if !self.stands_at(&words[at..], &folded) {
                continue;
            }
            let more = words[at + last + 1..].iter().take(MAX_MORE).take_while(|word| word.follows).count();
            // One word alone is no phrase.
            let shortest = at + last + usize::from(last == 0);
            for end in shortest..=at + last + more {
                let key = &folded[words[at].folded.start..words[end].folded.end];
                if key.len() <= LONGEST_BYTES && of_this_page.insert(key.to_owned()) {
                    let written = || text[words[at].range.start..words[end].range.end].to_lowercase();
                    let found = self.found.entry(key.to_owned());
                    found.or_insert_with(|| Found { written: written(), pages: 0 }).pages += 1;
                }
            }
        }
        self.buffer = folded;
    }

    fn stands_at(&self, words: &[Word], folded: &str) -> bool {
        let Some(last) = words.get(self.earlier.len()) else { return false };
        folded[last.folded.clone()].starts_with(&self.beginning)
            && words[1..=self.earlier.len()].iter().all(|word| word.follows)
            && self.earlier.iter().zip(words).all(|(typed, word)| folded[word.folded.clone()] == **typed)
    }

    /// Those that most pages have, as they write them; none that ends in a word without a meaning of its own.
    pub fn frequent<E>(
        self,
        most: usize,
        mut is_common: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<Vec<String>, E> {
        let mut found: Vec<(String, Found)> = self.found.into_iter().filter(|(_, it)| it.pages >= MIN_PAGES).collect();
        // Of as frequent ones the longest, which then speaks for its beginning.
        found.sort_by(|(a, a_found), (b, b_found)| {
            b_found.pages.cmp(&a_found.pages).then(b.len().cmp(&a.len())).then(a.cmp(b))
        });
        let mut chosen: Vec<(String, String)> = Vec::new();
        for (key, found) in found {
            if chosen.len() == most {
                break;
            }
            let is_told = chosen.iter().any(|(known, _)| known.starts_with(&key));
            let last = key.rsplit(' ').next().unwrap_or_default();
            if !is_told && last.chars().count() >= SHORTEST_LAST && !is_common(last)? {
                chosen.push((key, found.written));
            }
        }
        Ok(chosen.into_iter().map(|(_, written)| written).collect())
    }
}

/// The words of a text in order; `folded` becomes them folded, with single spaces between.
fn scan(text: &str, folded: &mut String) -> Vec<Word> {
    folded.clear();
    let mut words: Vec<Word> = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(char::is_alphanumeric).map(|at| rest + at) {
        let end = text[start..].find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |at| start + at);
        let before = words.last().map(|word| &text[word.range.end..start]);
        let follows = before.is_some_and(|before| matches!(before, " " | "-" | "'" | "’"));
        if !folded.is_empty() {
            folded.push(' ');
        }
        let folded_start = folded.len();
        fold_into(&text[start..end], folded);
        words.push(Word { range: start..end, folded: folded_start..folded.len(), follows });
        rest = end;
    }
    words
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn frequent(typed: &str, pages: &[&str]) -> Vec<String> {
        let mut phrases = Phrases::new(typed);
        pages.iter().for_each(|page| phrases.read(page));
        let common = |word: &str| Ok::<_, Infallible>(word == "with");
        phrases.frequent(3, common).unwrap()
    }

    #[test]
    fn what_several_pages_have_is_offered_the_longest_for_its_beginnings() {
        let pages = [
            "The river bank of Paris.",
            "A River Bank of Paris, or a river boat",
            "river boat with a sail; boat with; river mouth",
        ];
        assert_eq!(frequent("riv", &pages), ["river bank of paris", "river boat"]);
        assert_eq!(frequent("river bo", &pages), ["river boat"]);
        assert_eq!(frequent("bank of", &pages), ["bank of paris"]);
    }

    #[test]
    fn a_phrase_is_written_with_its_marks_and_stays_in_its_sentence() {
        let pages = ["Na záhon růží. Záhon mrkve", "záhon růží\nzáhon mrkve", "Záhon. Mrkve. záhon, mrkve"];
        assert_eq!(frequent("zahon", &pages), ["záhon mrkve", "záhon růží"]);
    }

    #[test]
    fn one_page_says_nothing_however_often_it_does() {
        assert_eq!(frequent("riv", &["river bank river bank river bank"]), Vec::<String>::new());
        assert_eq!(frequent("", &["river bank", "river bank"]), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn whatever_is_typed_and_read_a_phrase_begins_with_it(typed in "[a-c ]{0,6}|\\PC{0,5}", page in "([a-c]{1,2}[ .-]){0,60}|\\PC{0,60}") {
            let mut phrases = Phrases::new(&typed);
            phrases.read(&page);
            phrases.read(&page);
            let beginning = scan_folded(&typed);
            for phrase in phrases.frequent(9, |_| Ok::<_, Infallible>(false)).unwrap() {
                prop_assert!(scan_folded(&phrase).starts_with(&beginning), "{:?} of {:?}", phrase, typed);
            }
        }
    }

    fn scan_folded(text: &str) -> String {
        let mut folded = String::new();
        scan(text, &mut folded);
        folded
    }
}
