//! Runs of Han characters, cut into words by a dictionary.
//!
//! The cut is the most probable path through the dictionary, without guessing at unknown words: then a word that was on
//! the best path of a long text is also the best cut of itself, and a query for it finds it. The dictionary is loaded
//! when the first Han text comes, because it costs tens of megabytes that other texts do not need.

use std::ops::Range;
use std::sync::OnceLock;

use jieba_rs::Jieba;

use super::Purpose;

/// A word of a run, as bytes of the text.
#[derive(Clone, Copy, Debug)]
pub struct HanWord {
    pub from: usize,
    pub to: usize,
    /// Part of a longer word that follows.
    pub inner: bool,
}

/// Words longer than this are not searched for words inside; the dictionary has hardly any.
const MAX_CHARS_SEARCHED: usize = 16;

pub fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{3005}' | '\u{3007}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2ebef}' | '\u{2f800}'..='\u{2fa1f}' | '\u{30000}'..='\u{323af}')
}

fn dictionary() -> &'static Jieba {
    static DICTIONARY: OnceLock<Jieba> = OnceLock::new();
    DICTIONARY.get_or_init(Jieba::new)
}

/// Puts the words of the run into `words`, the last one first, so that they can be popped in order.
pub fn cut(text: &str, run: Range<usize>, purpose: Purpose, words: &mut Vec<HanWord>) {
    let dictionary = dictionary();
    let run_start = run.start;
    for token in dictionary.cut(&text[run], false) {
        let from = run_start + token.byte_start;
        if purpose == Purpose::Index && token.end - token.start > 2 {
            inner_words(dictionary, token.word, from, words);
        }
        words.push(HanWord { from, to: from + token.word.len(), inner: false });
    }
    words.reverse();
}

/// Every dictionary word of two or more characters inside a longer word, and the characters into which a query for such
/// a word might be cut.
fn inner_words(dictionary: &Jieba, word: &str, start: usize, words: &mut Vec<HanWord>) {
    let mut ends = [0usize; MAX_CHARS_SEARCHED + 1];
    let mut characters = 0;
    for (at, c) in word.char_indices() {
        if characters == MAX_CHARS_SEARCHED {
            return;
        }
        characters += 1;
        ends[characters] = at + c.len_utf8();
    }
    // Whether the character at each place must be findable alone.
    let mut alone = [false; MAX_CHARS_SEARCHED];
    for from in 0..characters {
        for to in from + 2..=characters {
            let part = &word[ends[from]..ends[to]];
            if to - from == characters || !dictionary.has_word(part) {
                continue;
            }
            words.push(HanWord { from: start + ends[from], to: start + ends[to], inner: true });
            for piece in dictionary.cut(part, false) {
                if piece.end - piece.start == 1 {
                    alone[from + piece.start] = true;
                }
            }
        }
    }
    for (at, _) in alone.iter().enumerate().filter(|(_, alone)| **alone) {
        words.push(HanWord { from: start + ends[at], to: start + ends[at + 1], inner: true });
    }
}
