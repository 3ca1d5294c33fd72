//! Remembers the stems of the words that came last: a few thousand words make up most of any text.
//!
//! One place per hash value, the newest word taking it; so its size is bounded and it never needs to be cleaned.

use super::language::Language;

const PLACES: usize = 1 << 13;

#[derive(Clone, Default)]
pub struct StemCache {
    /// Empty until the first word comes.
    places: Vec<Place>,
}

#[derive(Clone)]
struct Place {
    language: Language,
    word: String,
    stem: String,
}

impl StemCache {
    /// The folded stem of a word, given in lower case with and without its marks.
    pub fn stem(&mut self, language: Language, lower: &str, folded: &str) -> &str {
        if self.places.is_empty() {
            self.places.resize(PLACES, Place { language: Language::Other, word: String::new(), stem: String::new() });
        }
        let place = &mut self.places[hash(lower) as usize % PLACES];
        if place.language != language || place.word != lower {
            place.language = language;
            place.word.clear();
            place.word.push_str(lower);
            place.stem.clear();
            language.stem(lower, folded, &mut place.stem);
        }
        &place.stem
    }
}

fn hash(word: &str) -> u32 {
    let hash = word.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash ^ (hash >> 15)
}
