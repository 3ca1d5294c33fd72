//! A fingerprint that changes little when the text changes little: near copies differ in few bits.
//!
//! Over runs of words, so that order counts; what is not a letter or digit and the case of letters do not. Not for
//! telling whether two texts are equal: that is `fingerprint`.

/// Words in a run.
const RUN: usize = 3;
/// Longer texts are judged by their beginning.
const MAX_BYTES: usize = 256 << 10;

/// 0 for a text without words.
pub(crate) fn simhash(text: &str) -> u64 {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut votes = Votes::default();
    let mut last = [0u64; RUN];
    let mut seen = 0usize;
    for_each_word(text, |word| {
        last.rotate_left(1);
        last[RUN - 1] = word;
        seen += 1;
        if seen >= RUN {
            votes.add(mix(last[0] ^ last[1].rotate_left(21) ^ last[2].rotate_left(42)));
        }
    });
    if seen < RUN {
        for word in &last[RUN - seen..] {
            votes.add(mix(*word));
        }
    }
    votes.majority()
}

/// Hashes of words: runs of letters and digits, or single ideographs.
fn for_each_word(text: &str, mut take: impl FnMut(u64)) {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = text.as_bytes();
    let mut word = START;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() {
            if byte.is_ascii_alphanumeric() {
                word = (word ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(PRIME);
            } else if word != START {
                take(std::mem::replace(&mut word, START));
            }
            at += 1;
            continue;
        }
        let length = match byte {
            0xf0.. => 4,
            0xe0.. => 3,
            _ => 2,
        };
        let end = (at + length).min(bytes.len());
        let character = bytes[at..end].iter().fold(START, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
        // Signs in general punctuation and ideographic punctuation part words; ideographs are words.
        let is_sign = matches!(bytes[at..end], [0xe2, 0x80..=0x81, _] | [0xe3, 0x80, _] | [0xef, 0xbc, _] | [0xc2, _]);
        let is_wide = matches!(byte, 0xe3..=0xed | 0xf0);
        if (is_sign || is_wide) && word != START {
            take(std::mem::replace(&mut word, START));
        }
        if is_wide && !is_sign {
            take(character);
        } else if !is_sign {
            word = (word ^ character).wrapping_mul(PRIME);
        }
        at = end;
    }
    if word != START {
        take(word);
    }
}

/// Spreads a hash over all bits.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

/// Counts for each bit how many hashes have it set, eight counters in a word at a time.
struct Votes {
    small: [u64; 8],
    in_small: u32,
    counts: [u32; 64],
    all: u32,
}

impl Default for Votes {
    fn default() -> Self {
        Self { small: [0; 8], in_small: 0, counts: [0; 64], all: 0 }
    }
}

/// For each byte its bits, each in a byte of its own.
const SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte] |= ((byte as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    table
};

impl Votes {
    fn add(&mut self, hash: u64) {
        for (counters, byte) in self.small.iter_mut().zip(hash.to_le_bytes()) {
            *counters += SPREAD[usize::from(byte)];
        }
        self.all += 1;
        self.in_small += 1;
        if self.in_small == 255 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (counts, counters) in self.counts.chunks_mut(8).zip(&mut self.small) {
            for (count, small) in counts.iter_mut().zip(std::mem::take(counters).to_le_bytes()) {
                *count += u32::from(small);
            }
        }
        self.in_small = 0;
    }

    fn majority(mut self) -> u64 {
        self.flush();
        let bits = self.counts.iter().enumerate().filter(|(_, count)| **count * 2 > self.all);
        bits.fold(0, |hash, (bit, _)| hash | 1 << bit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(words: usize, seed: u64) -> String {
        let mut state = seed | 1;
        let words = (0..words).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            format!("w{}", state % 900)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn near_copies_are_near_and_other_texts_far() {
        let original = text(600, 7);
        let changed = original.replacen("w", "changed ", 3) + " and a new ending";
        assert!((simhash(&original) ^ simhash(&changed)).count_ones() <= 8);
        assert!((simhash(&original) ^ simhash(&text(600, 99))).count_ones() >= 16);
    }

    #[test]
    fn signs_and_case_do_not_count() {
        assert_eq!(simhash("One, two: THREE – four!"), simhash("one two three four"));
        assert_eq!(simhash("今天，天气很好。"), simhash("今天天气很好"));
        assert_ne!(simhash("one two three four"), simhash("four three two one"));
        assert_eq!(simhash(""), 0);
        assert_ne!(simhash("one"), 0);
    }

    proptest! {
        #[test]
        fn any_text_has_one(text in ".{0,200}") {
            prop_assert_eq!(simhash(&text), simhash(&text));
        }
    }
}
