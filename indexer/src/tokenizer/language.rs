//! The language of a text decides how its words lose their endings.
//!
//! An index holds texts of many languages in one field, and tantivy gives a tokenizer nothing but the text. So every
//! indexed text carries a *mark* of its language before its first character: [`mark`] puts it there, [`unmarked`] takes
//! it off again, and nothing in a text can be mistaken for it, because every text has one.

use frostem::{Algorithm, Stemmer};

use super::czech;
use super::fold;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Unknown, or one whose words stay as they are.
    Other,
    /// Also for Slovak, which detection often takes for it.
    Czech,
    Snowball(Algorithm),
}

/// Stands before the two letters of the language.
const MARK: char = '\u{1}';
const MARK_BYTES: usize = 3;
/// Words outside these bounds keep their endings: there is nothing to take, or they are no words.
const SHORTEST: usize = 3;
const LONGEST_BYTES: usize = 40;

impl Language {
    /// By its ISO 639-1 code; an empty one is unknown.
    pub fn of(code: &str) -> Self {
        let algorithm = match code {
            "cs" | "sk" => return Self::Czech,
            "ar" => Algorithm::Arabic,
            "da" => Algorithm::Danish,
            "de" => Algorithm::German,
            "el" => Algorithm::Greek,
            "en" => Algorithm::English,
            "es" => Algorithm::Spanish,
            "fi" => Algorithm::Finnish,
            "fr" => Algorithm::French,
            "hu" => Algorithm::Hungarian,
            "it" => Algorithm::Italian,
            "nl" => Algorithm::Dutch,
            "no" | "nb" | "nn" => Algorithm::Norwegian,
            "pt" => Algorithm::Portuguese,
            "ro" => Algorithm::Romanian,
            "ru" => Algorithm::Russian,
            "sv" => Algorithm::Swedish,
            "ta" => Algorithm::Tamil,
            "tr" => Algorithm::Turkish,
            _ => return Self::Other,
        };
        Self::Snowball(algorithm)
    }

    /// Appends the folded stem of a word to `stem`. `lower` is the word in lower case with its marks, `folded` without.
    pub fn stem(self, lower: &str, folded: &str, stem: &mut String) {
        let start = stem.len();
        let is_word = lower.len() <= LONGEST_BYTES
            && lower.chars().all(char::is_alphabetic)
            && lower.chars().nth(SHORTEST - 1).is_some();
        match self {
            Self::Snowball(algorithm) if is_word => {
                let stemmed = Stemmer::new(algorithm).stem(lower);
                if stemmed.is_ascii() {
                    stem.push_str(&stemmed);
                } else {
                    stemmed.chars().filter(|&c| !fold::joins(c)).for_each(|c| fold::push_folded(c, stem));
                }
            }
            Self::Czech if is_word => {
                let mut word = folded.to_owned();
                czech::stem(&mut word);
                stem.push_str(&word);
            }
            _ => {}
        }
        if stem.len() == start {
            stem.push_str(folded);
        }
    }
}

/// Marks a text with the language of its page.
pub fn mark(text: &mut String, code: &str) {
    let code = if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase()) { code } else { "--" };
    text.insert_str(0, code);
    text.insert(0, MARK);
}

/// The language of a marked text, and the text. One without a mark is its own text in an unknown language.
pub fn unmarked(text: &str) -> (Language, &str) {
    match text.strip_prefix(MARK).and_then(|_| Some((text.get(1..MARK_BYTES)?, text.get(MARK_BYTES..)?))) {
        Some((code, text)) => (Language::of(code), text),
        None => (Language::Other, text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stem(code: &str, lower: &str) -> String {
        let mut folded = String::new();
        lower.chars().filter(|&c| !fold::joins(c)).for_each(|c| fold::push_folded(c, &mut folded));
        let mut stem = String::new();
        Language::of(code).stem(lower, &folded, &mut stem);
        stem
    }

    #[test]
    fn words_lose_the_endings_of_their_language() {
        assert_eq!(stem("en", "rivers"), "river");
        assert_eq!(stem("de", "häuser"), "haus");
        assert_eq!(stem("es", "información"), stem("es", "informaciones"));
        assert_eq!(stem("ru", "реками"), stem("ru", "река"));
        assert_eq!(stem("cs", "řekou"), stem("cs", "řeka"));
        assert_eq!(stem("", "rivers"), "rivers");
        assert_eq!(stem("en", "x86"), "x86");
    }

    proptest! {
        #[test]
        fn a_mark_comes_off_as_it_was_put_on(text: String, code in "[a-z]{2}|.{0,4}") {
            let mut marked = text.clone();
            mark(&mut marked, &code);
            prop_assert_eq!(unmarked(&marked), (Language::of(&code), text.as_str()));
        }

        #[test]
        fn any_word_of_any_language_keeps_a_stem(word in "\\PC{1,30}", code in "ar|cs|da|de|el|en|es|fi|fr|hu|it|nl|no|pt|ro|ru|sv|ta|tr|--") {
            prop_assume!(!word.chars().all(fold::joins));
            let lower = word.to_lowercase();
            prop_assume!(!lower.chars().all(fold::joins));
            prop_assert!(!stem(&code, &lower).is_empty());
        }
    }
}
