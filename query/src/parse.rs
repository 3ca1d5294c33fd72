//! What somebody typed, as words to look for. Nothing typed is an error.
//!
//! Everything is words, cut as the index cuts them; words between quotation marks must stand together. A quotation mark
//! without a partner is ignored.

use seine_indexer::tokenizer::{Purpose, WordTokenizer};
use tantivy::tokenizer::{TokenStream, Tokenizer};

/// Further words are ignored: they cost time and hardly change the order.
pub const MAX_UNITS: usize = 32;

/// What a document has or has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    Word(String),
    /// Two or more words, each with its place.
    Phrase(Vec<(usize, String)>),
}

impl Unit {
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let (word, phrase) = match self {
            Self::Word(word) => (Some(word.as_str()), None),
            Self::Phrase(words) => (None, Some(words)),
        };
        word.into_iter().chain(phrase.into_iter().flatten().map(|(_, word)| word.as_str()))
    }
}

pub fn parse(query: &str) -> Vec<Unit> {
    let mut tokenizer = WordTokenizer::new(Purpose::Query);
    let mut units: Vec<Unit> = Vec::new();
    let parts: Vec<&str> = query.split(is_quotation_mark).collect();
    for (number, part) in parts.iter().enumerate() {
        // Every second part is quoted, but the last one only when its closing mark follows.
        let quoted = number % 2 == 1 && number + 1 < parts.len();
        let mut words = Vec::new();
        let mut stream = tokenizer.token_stream(part);
        stream.process(&mut |token| words.push((token.position, token.text.clone())));
        if quoted && words.len() > 1 {
            add(&mut units, Unit::Phrase(words));
        } else {
            words.into_iter().for_each(|(_, word)| add(&mut units, Unit::Word(word)));
        }
    }
    units
}

fn add(units: &mut Vec<Unit>, unit: Unit) {
    if units.len() < MAX_UNITS && !units.contains(&unit) {
        units.push(unit);
    }
}

fn is_quotation_mark(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '「' | '」' | '『' | '』' | '＂')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn word(text: &str) -> Unit {
        Unit::Word(text.to_owned())
    }

    #[test]
    fn words_are_taken_once_and_in_one_form() {
        assert_eq!(parse("The  the RIVER, Řeka!"), [word("the"), word("river"), word("reka")]);
        assert_eq!(parse("AND OR -not site:(x) *?~^\\"), parse("and or not site x"));
        assert_eq!(parse(" … \" \" "), []);
    }

    #[test]
    fn quoted_words_stand_together_and_a_lone_mark_is_nothing() {
        let phrase = Unit::Phrase(vec![(0, "river".to_owned()), (1, "bank".to_owned())]);
        assert_eq!(parse("\"River bank\" loan"), [phrase.clone(), word("loan")]);
        assert_eq!(parse("loan „river bank“"), [word("loan"), phrase]);
        assert_eq!(parse("\"river\""), [word("river")]);
        assert_eq!(parse("river \"bank loan"), [word("river"), word("bank"), word("loan")]);
    }

    #[test]
    fn chinese_is_cut_into_words() {
        assert_eq!(parse("我们的手机"), [word("我们"), word("的"), word("手机")]);
    }

    proptest! {
        #[test]
        fn nothing_typed_is_an_error_and_the_number_of_words_is_bounded(query: String, many in "([a-z]{1,3}[\" ]){0,200}") {
            for text in [query, many] {
                let units = parse(&text);
                prop_assert!(units.len() <= MAX_UNITS);
                for unit in &units {
                    prop_assert!(unit.words().all(|word| !word.is_empty()));
                    prop_assert!(matches!(unit, Unit::Word(_)) || unit.words().count() > 1);
                }
            }
        }
    }
}
