//! One language's words by rank, and sentences drawn from them.
//!
//! Rank r is drawn with a weight of (r + 2.7)^-1.1, the form of Zipf's law that fits real text. The words after the
//! listed ones are derived: they look like the language, and mean nothing.

use std::collections::HashSet;

use super::Lang;
use crate::fake_web::dice::Dice;

const WORDS: usize = 30_000;
const RANK_OFFSET: f64 = 2.7;
const EXPONENT: f64 = 1.1;
/// Phrases take words from these ranks: after the articles and prepositions, before the derived words.
const PHRASE_RANKS: std::ops::Range<usize> = 140..350;

#[derive(Debug)]
pub struct Vocabulary {
    lang: Lang,
    words: Vec<String>,
    /// Sum of the weights up to and with each rank.
    weights: Vec<f64>,
}

impl Vocabulary {
    pub fn new(lang: Lang) -> Self {
        let listed = match lang {
            Lang::English => include_str!("words/en.txt"),
            Lang::Chinese => include_str!("words/zh.txt"),
            Lang::Czech => include_str!("words/cs.txt"),
        };
        let mut known = HashSet::new();
        let mut words: Vec<String> =
            listed.split_whitespace().filter(|word| known.insert((*word).to_owned())).map(str::to_owned).collect();
        let stems = words[PHRASE_RANKS.start..].to_vec();
        // The same words in every web, whatever its seed.
        let mut dice = Dice::new(lang as u64);
        while words.len() < WORDS {
            let word = derive(lang, &stems, &mut dice);
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut sum = 0.0;
        let weights = (0..words.len())
            .map(|rank| {
                sum += (rank as f64 + RANK_OFFSET).powf(-EXPONENT);
                sum
            })
            .collect();
        Self { lang, words, weights }
    }

    fn draw(&self, dice: &mut Dice) -> &str {
        let total = self.weights[self.weights.len() - 1];
        let point = dice.fraction() * total;
        let rank = self.weights.partition_point(|&sum| sum <= point);
        &self.words[rank.min(self.words.len() - 1)]
    }

    pub fn write_sentence(&self, dice: &mut Dice, out: &mut String) {
        let words = 7 + dice.below(14);
        let comma_after = if words > 10 { 3 + dice.below(words - 6) } else { usize::MAX };
        for position in 0..words {
            let word = self.draw(dice);
            if position == 0 {
                push_capitalised(out, word);
            } else {
                out.push_str(word);
            }
            let last = position + 1 == words;
            out.push_str(match (self.lang, last) {
                (Lang::Chinese, true) => "。",
                (Lang::Chinese, false) if position == comma_after => "，",
                (Lang::Chinese, false) => "",
                (_, true) => ". ",
                (_, false) if position == comma_after => ", ",
                (_, false) => " ",
            });
        }
    }

    pub fn write_phrase(&self, dice: &mut Dice, out: &mut String) {
        let space = if self.lang == Lang::Chinese { "" } else { " " };
        for position in 0..2 + dice.below(2) {
            let word = &self.words[PHRASE_RANKS.start + dice.below(PHRASE_RANKS.len())];
            if position == 0 {
                push_capitalised(out, word);
            } else {
                out.push_str(space);
                out.push_str(word);
            }
        }
    }
}

fn derive(lang: Lang, stems: &[String], dice: &mut Dice) -> String {
    const PREFIXES: [&str; 8] = ["", "", "", "", "re", "un", "over", "out"];
    const SUFFIXES: [&str; 10] = ["s", "ed", "ing", "er", "ers", "ness", "ful", "ly", "less", "able"];
    const CZECH_PREFIXES: [&str; 12] = ["ne", "po", "za", "při", "vy", "pře", "do", "roz", "nad", "pod", "od", "spolu"];
    let stem = dice.pick(stems);
    let other = dice.pick(stems);
    match lang {
        Lang::English if dice.once_in(3) => format!("{stem}{other}"),
        Lang::English => format!("{}{stem}{}", dice.pick(&PREFIXES), dice.pick(&SUFFIXES)),
        Lang::Czech if dice.once_in(3) => format!("{}{stem}", dice.pick(&CZECH_PREFIXES)),
        Lang::Czech | Lang::Chinese => format!("{stem}{other}"),
    }
}

fn push_capitalised(out: &mut String, word: &str) {
    let mut letters = word.chars();
    out.extend(letters.next().into_iter().flat_map(char::to_uppercase));
    out.push_str(letters.as_str());
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn words_follow_zipfs_law() {
        let vocabulary = Vocabulary::new(Lang::English);
        let mut dice = Dice::new(7);
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for _ in 0..200_000 {
            *counts.entry(vocabulary.draw(&mut dice)).or_default() += 1;
        }
        let mut by_rank: Vec<u32> = counts.values().copied().collect();
        by_rank.sort_unstable_by(|a, b| b.cmp(a));
        let (first, hundredth) = (f64::from(by_rank[0]), f64::from(by_rank[99]));
        let expected = ((99.0 + RANK_OFFSET) / RANK_OFFSET).powf(EXPONENT);
        assert!((0.7..1.4).contains(&(first / hundredth / expected)), "{first} against {hundredth}");
        assert!(by_rank.len() > 10_000, "the tail has only {} words", by_rank.len());
    }

    #[test]
    fn each_language_has_a_full_vocabulary_of_distinct_words() {
        for lang in [Lang::English, Lang::Chinese, Lang::Czech] {
            let vocabulary = Vocabulary::new(lang);
            let distinct: HashSet<&String> = vocabulary.words.iter().collect();
            assert_eq!(distinct.len(), WORDS);
        }
    }
}
