//! The fingerprint of a page's text, by which unchanged and equal pages are known.

use std::sync::LazyLock;

use seine_common::fingerprint::Fingerprinter;

static FINGERPRINTER: LazyLock<Fingerprinter> = LazyLock::new(Fingerprinter::public);

/// The fingerprint is fast over long pieces and slow over short ones.
const BUFFER_BYTES: usize = 4 << 10;

/// Rabin fingerprint of the words with one space between them: how a page is laid out in lines changes nothing.
pub(crate) fn fingerprint(text: &str) -> u64 {
    if is_tidy(text.as_bytes()) { of_tidy(text.as_bytes()) } else { of_words(text) }
}

/// True of a text with one space or end of line between any two words, and nothing around them. Most texts are so.
fn is_tidy(text: &[u8]) -> bool {
    let [first, .., last] = text else { return false };
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let gaps = text.iter().zip(&text[1..]).fold(false, |found, (a, b)| found | (is_space(a) & is_space(b)));
    !gaps && !is_space(first) && !is_space(last)
}

fn of_tidy(text: &[u8]) -> u64 {
    let mut buffer = [0; BUFFER_BYTES];
    text.chunks(BUFFER_BYTES).fold(0, |state, piece| {
        let buffer = &mut buffer[..piece.len()];
        for (to, from) in buffer.iter_mut().zip(piece) {
            *to = if from.is_ascii_whitespace() { b' ' } else { *from };
        }
        FINGERPRINTER.extend(state, buffer)
    })
}

fn of_words(text: &str) -> u64 {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut state = 0;
    for (position, word) in text.split_ascii_whitespace().enumerate() {
        if buffer.len() + word.len() + 1 > BUFFER_BYTES {
            state = FINGERPRINTER.extend(state, &buffer);
            buffer.clear();
        }
        if position > 0 {
            buffer.push(b' ');
        }
        if word.len() < BUFFER_BYTES {
            buffer.extend_from_slice(word.as_bytes());
        } else {
            state = FINGERPRINTER.extend(FINGERPRINTER.extend(state, &buffer), word.as_bytes());
            buffer.clear();
        }
    }
    FINGERPRINTER.extend(state, &buffer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn white_space_does_not_count_and_nothing_else_is_lost(words in proptest::collection::vec("[a-zé你]{1,12}", 0..1500)) {
            let expected = Fingerprinter::public().of(words.join(" ").as_bytes());
            prop_assert_eq!(fingerprint(&words.join(" ")), expected);
            prop_assert_eq!(fingerprint(&format!("\n {} \r\n", words.join(" \t\n"))), expected);
        }
    }

    #[test]
    fn a_word_longer_than_any_buffer_counts_whole() {
        let text = format!("a {} b", "long".repeat(3000));
        assert_eq!(fingerprint(&text), Fingerprinter::public().of(text.as_bytes()));
    }
}
