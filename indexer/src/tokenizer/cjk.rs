//! Runs of text without spaces between words: Chinese, Japanese, Korean.
//!
//! Every two neighbouring characters are a term, at the position of the first, and the last character is one alone. So
//! nothing that stands in a text is out of reach: two or more characters are found as their pairs in a row, one
//! character as the beginning of any pair or the end of a run. Chinese words of three and more characters, by the
//! dictionary, are terms besides; those of two are pairs already.
//!
//! The dictionary's cut is the most probable path without guessing at unknown words. It is loaded when the first
//! Chinese text comes, because it costs tens of megabytes that other texts do not need.

use std::ops::Range;
use std::sync::OnceLock;

use jieba_rs::Jieba;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Chinese characters and kana, which Japanese mixes.
    Han,
    Hangul,
}

/// A term of a run, as bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTerm {
    pub from: usize,
    pub to: usize,
    /// Of the first character, counted from the beginning of the run.
    pub place: usize,
}

/// Longer runs are cut here, with one character in common, so that a text without punctuation costs no memory.
pub const MAX_RUN_CHARACTERS: usize = 128;
/// Words of fewer characters are single characters or pairs.
const SHORTEST_WORD: usize = 3;
/// Longer words are cut by the dictionary into shorter ones anyhow.
const LONGEST_INNER: usize = 8;

pub fn script(c: char) -> Option<Script> {
    match c {
        _ if c < '\u{1100}' => None,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{3005}'..='\u{3007}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2ebef}'
        | '\u{2f800}'..='\u{2fa1f}'
        | '\u{30000}'..='\u{323af}' => Some(Script::Han),
        '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' => {
            Some(Script::Han)
        }
        '\u{31f0}'..='\u{31ff}' => Some(Script::Han),
        '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' => Some(Script::Hangul),
        _ => None,
    }
}

/// Characters that mostly stand for grammar, and between the words that people look for.
const PARTICLES: &str = "的了是在和与及也不有我他她它你这那就都而着被把为吗呢吧之于以从对很又还并或个叫";

pub fn has_kana(text: &str) -> bool {
    text.chars().any(is_kana)
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

/// Whether a pair of characters is part of a word rather than the end of one and the beginning of the next. `words` is
/// the dictionary's cut, empty where the dictionary does not know the language. Single characters in a row are a name
/// that the dictionary does not know, unless they are particles.
pub fn belongs_together(text: &str, pair: &RunTerm, words: &[RunTerm]) -> bool {
    let pair_text = &text[pair.from..pair.to];
    if words.is_empty() {
        return !pair_text.chars().any(is_hiragana);
    }
    if words.iter().any(|word| word.from <= pair.from && pair.to <= word.to) {
        return true;
    }
    let alone = |at: usize| words.iter().any(|word| word.from == at && text[word.from..word.to].chars().count() == 1);
    let second = pair.from + pair_text.chars().next().map_or(0, char::len_utf8);
    alone(pair.from) && alone(second) && !pair_text.chars().any(|c| PARTICLES.contains(c))
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}')
}

fn dictionary() -> &'static Jieba {
    static DICTIONARY: OnceLock<Jieba> = OnceLock::new();
    DICTIONARY.get_or_init(Jieba::new)
}

/// The first part of a run that is cut at once, and where the next part begins.
pub fn first_part(text: &str, run: &Range<usize>) -> (Range<usize>, Option<usize>) {
    let mut characters = text[run.clone()].char_indices();
    let Some((last, _)) = characters.nth(MAX_RUN_CHARACTERS - 1) else { return (run.clone(), None) };
    match characters.next() {
        // The last character of this part is the first of the next.
        Some((end, _)) => (run.start..run.start + end, Some(run.start + last)),
        None => (run.clone(), None),
    }
}

/// The terms of a run in the order of their places, and how many places it takes.
pub fn cut(text: &str, run: &Range<usize>, script: Script, with_words: bool, terms: &mut Vec<RunTerm>) -> usize {
    terms.clear();
    let piece = &text[run.clone()];
    let mut previous: Option<usize> = None;
    let mut characters = 0;
    let mut kana = false;
    for (at, c) in piece.char_indices() {
        let from = run.start + at;
        if let Some(previous) = previous {
            terms.push(RunTerm { from: previous, to: from + c.len_utf8(), place: characters - 1 });
        }
        previous = Some(from);
        characters += 1;
        kana |= is_kana(c);
    }
    if let Some(last) = previous {
        terms.push(RunTerm { from: last, to: run.end, place: characters - 1 });
    }
    if with_words && script == Script::Han && !kana && characters >= SHORTEST_WORD {
        words(piece, run.start, terms);
        terms.sort_by_key(|term| (term.place, term.to));
    }
    characters
}

fn words(piece: &str, start: usize, terms: &mut Vec<RunTerm>) {
    let dictionary = dictionary();
    for token in dictionary.cut(piece, false) {
        let length = token.end - token.start;
        if length < SHORTEST_WORD {
            continue;
        }
        let from = start + token.byte_start;
        terms.push(RunTerm { from, to: from + token.word.len(), place: token.start });
        if length > SHORTEST_WORD {
            inner_words(dictionary, token.word, from, token.start, terms);
        }
    }
}

/// The dictionary's words inside a longer one: whoever looks for them gets them cut alone.
fn inner_words(dictionary: &Jieba, word: &str, from: usize, place: usize, terms: &mut Vec<RunTerm>) {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    let characters = starts.len() - 1;
    for first in 0..characters {
        for length in SHORTEST_WORD..=LONGEST_INNER.min(characters - first) {
            let part = &word[starts[first]..starts[first + length]];
            if length < characters && dictionary.has_word(part) {
                let term =
                    RunTerm { from: from + starts[first], to: from + starts[first + length], place: place + first };
                terms.push(term);
            }
        }
    }
}

/// The most probable cut of a run into words, of one character or more: what people mean by the words of a query.
pub fn dictionary_words(text: &str, run: &Range<usize>) -> Vec<RunTerm> {
    let tokens = dictionary().cut(&text[run.clone()], false);
    let term = |token: &jieba_rs::Token<'_>| {
        let from = run.start + token.byte_start;
        RunTerm { from, to: from + token.word.len(), place: token.start }
    };
    tokens.iter().map(term).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<&str> {
        let mut terms = Vec::new();
        let script = script(text.chars().next().unwrap()).unwrap();
        cut(text, &(0..text.len()), script, true, &mut terms);
        terms.iter().map(|term| &text[term.from..term.to]).collect()
    }

    #[test]
    fn pairs_and_longer_words_are_terms_in_the_order_of_their_places() {
        assert_eq!(
            terms("在中国科学院工作"),
            ["在中", "中国", "中国科学院", "国科", "科学", "科学院", "学院", "院工", "工作", "作"]
        );
        assert_eq!(terms("中"), ["中"]);
    }

    #[test]
    fn japanese_and_korean_are_pairs() {
        assert_eq!(terms("東京タワー"), ["東京", "京タ", "タワ", "ワー", "ー"]);
        assert_eq!(terms("한국어"), ["한국", "국어", "어"]);
    }

    #[test]
    fn a_run_without_end_is_cut_with_one_character_in_common() {
        let text = "中国".repeat(MAX_RUN_CHARACTERS);
        let (part, next) = first_part(&text, &(0..text.len()));
        assert_eq!(part, 0..3 * MAX_RUN_CHARACTERS);
        assert_eq!(next, Some(3 * (MAX_RUN_CHARACTERS - 1)));
        assert_eq!(first_part("中国", &(0..6)), (0..6, None));
        let exact = "中".repeat(MAX_RUN_CHARACTERS);
        assert_eq!(first_part(&exact, &(0..exact.len())), (0..exact.len(), None));
    }
}
