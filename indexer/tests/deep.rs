//! Texts in which anything stands ten thousand or a million times, cut into words.

#[allow(dead_code, reason = "the fuzz targets use more of it")]
#[path = "../../fuzz/src/deep.rs"]
mod deep;

use deep::{TEXTS, WORDS, on_small_stack};
use seine_common::limits::MAX_TEXT_BYTES;
use seine_indexer::tokenizer::{Language, MAX_WORD_BYTES, WordTokenizer};
use tantivy::tokenizer::{TokenStream, Tokenizer};

fn cut(text: &str, code: &str) {
    // A description keeps no more.
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    let mut tokenizer = WordTokenizer::of(Language::of(code));
    let mut terms = tokenizer.token_stream(text);
    while terms.advance() {
        assert!(terms.token().text.len() <= 2 * MAX_WORD_BYTES);
    }
}

#[test]
fn texts_with_a_million_of_anything_are_cut_into_words() {
    for case in TEXTS.iter().copied().flatten() {
        on_small_stack(|| cut(&case.text(10_000), "en"));
    }
    for case in WORDS {
        on_small_stack(|| cut(&case.text(1_000_000), "cs"));
    }
}
