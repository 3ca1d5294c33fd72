//! How usable a page is for someone who collects text: 0 for none at all, 1 for plenty of sentences in a wanted
//! language. Travels with the page, so that a crawl can stop following where nothing usable comes.

/// Bytes of sentences beyond which more do not make a page more usable.
const ENOUGH_BYTES: f32 = 1500.0;
/// Words of a line that reads like a sentence.
const MIN_WORDS: usize = 8;

/// Bytes of a line in which ideographs are counted.
const LOOKED_AT: usize = 400;

/// `wanted` are language codes; empty means all.
pub(crate) fn usability(text: &str, lang: &str, wanted: &[String]) -> f32 {
    if !wanted.is_empty() && !wanted.iter().any(|code| code == lang) {
        return 0.0;
    }
    let (mut sentences, mut all) = (0usize, 0usize);
    for line in text.lines() {
        all += line.len();
        if is_sentence_like(line) {
            sentences += line.len();
        }
    }
    if all == 0 {
        return 0.0;
    }
    let amount = (sentences as f32 / ENOUGH_BYTES).min(1.0);
    let share = sentences as f32 / all as f32;
    amount * (0.5 + 0.5 * share)
}

/// Some length, and an end such as sentences have.
fn is_sentence_like(line: &str) -> bool {
    let end = line.trim_end_matches(['"', '\'', ')', '”', '“', '»', '」']).chars().next_back();
    let ends = end.is_some_and(|end| matches!(end, '.' | '!' | '?' | '…' | ':' | '。' | '！' | '？' | '।' | '؟'));
    // Ideographs are written without spaces; two of them are about a word.
    let words = line.split_ascii_whitespace().take(MIN_WORDS * 2).count();
    let beginning = &line.as_bytes()[..line.len().min(LOOKED_AT)];
    let wide = beginning.iter().filter(|byte| (0xe3..=0xed).contains(*byte)).count();
    let words = words + wide / 2;
    words >= MIN_WORDS && (ends || words >= MIN_WORDS * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> f32 {
        usability(text, "en", &[])
    }

    const SENTENCE: &str =
        "The river rises in the hills and flows through several old towns before it reaches the sea.\n";

    #[test]
    fn many_sentences_are_usable_and_menus_are_not() {
        assert_eq!(of(""), 0.0);
        assert_eq!(of("Home\nProducts\nAbout us\nContact\n"), 0.0);
        assert!(of(SENTENCE) > 0.0 && of(SENTENCE) < 0.2);
        assert_eq!(of(&SENTENCE.repeat(30)), 1.0);
        assert!(of(&format!("{}{}", SENTENCE.repeat(30), "Menu item\n".repeat(300))) < 0.8);
        assert!(of(&"这条河发源于山区，流经几座古老的城镇，最后汇入大海。\n".repeat(40)) > 0.9);
    }

    #[test]
    fn only_wanted_languages_are_usable() {
        let text = SENTENCE.repeat(30);
        assert_eq!(usability(&text, "en", &["cs".into()]), 0.0);
        assert_eq!(usability(&text, "en", &["cs".into(), "en".into()]), 1.0);
        assert_eq!(usability(&text, "", &["cs".into()]), 0.0);
    }
}
