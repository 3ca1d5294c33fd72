//! How well a page matches what its crawl looks for. Pure.
//!
//! Every keyword counts the same. One that occurs often counts more than one that occurs once, but never more than
//! one whole keyword; the title counts as four occurrences. So a page that has all keywords in title and text is close
//! to 1, one that has a single one of four once is below 0.1, and one without any is 0.

use seine_proto::common::v1::Description;

/// Occurrences that a keyword in the title is worth.
const TITLE_WEIGHT: f32 = 4.0;
/// With so many occurrences a keyword counts half.
const HALF_AT: f32 = 2.0;

/// From 0 to 1; 0 for a crawl without keywords.
pub fn value(keywords: &[String], description: &Description) -> f32 {
    if keywords.is_empty() {
        return 0.0;
    }
    let (title, text) = (description.title.to_lowercase(), description.text.to_lowercase());
    let score = |keyword: &String| {
        let keyword = keyword.to_lowercase();
        let found = occurrences(&text, &keyword) as f32 + TITLE_WEIGHT * occurrences(&title, &keyword) as f32;
        found / (found + HALF_AT)
    };
    keywords.iter().map(score).sum::<f32>() / keywords.len() as f32
}

/// Whole words; scripts without spaces between words match anywhere.
fn occurrences(text: &str, keyword: &str) -> usize {
    if keyword.is_empty() {
        return 0;
    }
    let is_bounded = |&(at, found): &(usize, &str)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        let (first, last) = (found.chars().next(), found.chars().next_back());
        !continues(before, first) && !continues(last, after)
    };
    text.match_indices(keyword).filter(is_bounded).count()
}

/// Whether two neighbours stand in one word.
fn continues(left: Option<char>, right: Option<char>) -> bool {
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_written_without_spaces(c));
    in_word(left) && in_word(right)
}

fn is_written_without_spaces(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(title: &str, text: &str) -> Description {
        Description { title: title.to_owned(), text: text.to_owned(), ..Description::default() }
    }

    fn score(keywords: &[&str], title: &str, text: &str) -> f32 {
        let keywords: Vec<String> = keywords.iter().map(|keyword| (*keyword).to_owned()).collect();
        value(&keywords, &page(title, text))
    }

    #[test]
    fn a_page_about_the_keywords_is_worth_more_than_one_that_names_them() {
        let about = score(&["river", "boat"], "River boats", "A boat on the river. The river is wide, the boat small.");
        let names = score(&["river", "boat"], "News", "Somebody saw a boat.");
        assert!(about > names && names > 0.0, "{about} {names}");
        assert_eq!(score(&["river"], "News", "nothing of the kind"), 0.0);
        assert_eq!(score(&[], "River", "river"), 0.0);
    }

    #[test]
    fn words_match_whole_and_chinese_matches_anywhere() {
        assert_eq!(score(&["car"], "", "scar care carpet"), 0.0);
        assert!(score(&["car"], "", "A Car, fast") > 0.0);
        assert!(score(&["河流"], "", "这条河流很长") > 0.0);
    }

    proptest! {
        #[test]
        fn the_value_is_always_between_0_and_1(keywords in prop::collection::vec(".{0,8}", 0..4), title in ".{0,40}", text in ".{0,200}") {
            let value = value(&keywords, &page(&title, &text));
            prop_assert!((0.0..=1.0).contains(&value));
        }
    }
}
