//! What the pages say, in each language of the interface.
//!
//! A language is one value of [`Texts`] in a file of its own, so the compiler finds a text that is missing. Whatever
//! depends on a number or a name is a function, because languages differ in plural forms and in the order of words.

mod english;
mod chinese;
mod czech;

use time::Date;

use crate::error::QueryError;

/// All languages of the interface, the default first.
pub static ALL: [&Texts; 3] = [&english::TEXTS, &chinese::TEXTS, &czech::TEXTS];

pub fn default() -> &'static Texts {
    &english::TEXTS
}

pub struct Texts {
    /// As `?ui=` takes it, and as the first part of what browsers send.
    pub code: &'static str,
    /// For `<html lang>` and `Content-Language`.
    pub tag: &'static str,
    /// In the language itself.
    pub name: &'static str,

    // Around every page
    pub search: &'static str,
    pub search_label: &'static str,
    pub first_page: &'static str,
    pub skip_to_content: &'static str,
    pub language_of_the_page: &'static str,
    pub key_search: &'static str,
    pub key_results: &'static str,
    pub key_open: &'static str,
    pub suggestions: &'static str,

    // The first page
    pub pages_in_the_index: fn(u64) -> String,
    pub index_cannot_be_read: &'static str,
    pub nothing_indexed: &'static str,
    pub crawl_a_site: &'static str,
    pub found_while_crawling: &'static str,

    // Above the results
    pub results: fn(u64) -> String,
    pub on_page: fn(&str) -> String,
    pub took: fn(f64) -> String,
    pub sort_by: &'static str,
    pub by_relevance: &'static str,
    pub by_date: &'static str,
    pub showing_results_for: &'static str,
    pub search_only_for: &'static str,
    pub did_you_mean: &'static str,

    // Narrowing
    pub filters: &'static str,
    pub site: &'static str,
    pub language: &'static str,
    pub content_type: &'static str,
    pub year: &'static str,
    pub show_more: &'static str,
    pub active_filters: &'static str,
    pub remove_filter: fn(&str) -> String,
    pub remove_all_filters: &'static str,
    pub since: fn(&str) -> String,
    pub before: fn(&str) -> String,

    // One result
    pub cached_copy: &'static str,
    pub more_from: fn(&str) -> String,
    pub date: fn(Date) -> String,
    /// `None` for languages that the interface has no name for.
    pub language_name: fn(&str) -> Option<&'static str>,
    pub web_page: &'static str,
    pub plain_text: &'static str,
    pub feed: &'static str,

    // Below the results, and when there are none
    pub pages_of_results: &'static str,
    pub previous: &'static str,
    pub next: &'static str,
    pub page_number: fn(&str) -> String,
    pub page_of: fn(&str, &str) -> String,
    pub left_out: fn(u64) -> String,
    pub show_all: &'static str,
    pub no_more_results: &'static str,
    pub all_on_earlier_pages: fn(u64) -> String,
    pub no_page_has_this_word: &'static str,
    pub no_page_has_these_words: &'static str,
    pub check_the_spelling: &'static str,
    pub use_fewer_words: &'static str,
    pub search_everywhere: &'static str,

    // A cached copy
    /// Stands before the address of the original.
    pub copy_of: &'static str,
    /// Stands before the time.
    pub copy_taken: &'static str,
    pub copy_notice: &'static str,
    pub no_such_copy: &'static str,
    pub copy_not_in_index: &'static str,
    pub copy_not_kept: &'static str,
    pub copy_lost: &'static str,
    pub copy_unreadable: &'static str,
    pub archive_is_silent: &'static str,
    pub filesaver_is_away: &'static str,

    // What went wrong
    pub no_such_page: &'static str,
    pub address_may_be_mistyped: &'static str,
    pub cannot_be_searched: &'static str,
    pub index_is_not_ready: &'static str,
    pub too_many_searches: &'static str,
    pub try_again_in_a_moment: &'static str,
    pub took_too_long: &'static str,
    pub ask_more_precisely: &'static str,
    pub go_to_first_page: &'static str,
    /// What is wrong with a request, as a whole sentence.
    pub explain: fn(&QueryError) -> String,
}

impl Texts {
    /// Media types that people know by a name; others as they are.
    pub fn type_name(&self, media_type: &str) -> String {
        let known = match media_type {
            "text/html" | "application/xhtml+xml" => self.web_page,
            "text/plain" => self.plain_text,
            "application/rss+xml" | "application/atom+xml" => self.feed,
            "text/markdown" => "Markdown",
            "text/xml" | "application/xml" => "XML",
            "application/json" => "JSON",
            "application/pdf" => "PDF",
            "application/epub+zip" => "EPUB",
            "application/msword" | "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "Word",
            "application/vnd.ms-excel" | "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "Excel",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation" => "PowerPoint",
            "application/vnd.oasis.opendocument.text" => "OpenDocument",
            other => other,
        };
        known.to_owned()
    }

    pub fn language_or_code(&self, code: &str) -> String {
        (self.language_name)(code).unwrap_or(code).to_owned()
    }
}

/// 1234567 → 1,234,567
fn grouped(number: u64, separator: char) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

/// The message of an error with a capital letter and a full stop.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let grouped = |number| grouped(number, ',');
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(grouped), ["0", "12", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn counts_have_the_plural_forms_of_their_language() {
        let [english, chinese, czech] = ALL;
        assert_eq!([0, 1, 2, 1000].map(english.results), ["0 results", "1 result", "2 results", "1,000 results"]);
        assert_eq!([1, 2000].map(chinese.results), ["1 条结果", "2,000 条结果"]);
        assert_eq!(
            [0, 1, 2, 4, 5, 22, 12_345].map(czech.results),
            [
                "0 výsledků",
                "1 výsledek",
                "2 výsledky",
                "4 výsledky",
                "5 výsledků",
                "22 výsledků",
                "12\u{a0}345 výsledků"
            ]
        );
        assert_eq!(
            [1, 3, 7].map(czech.pages_in_the_index),
            ["1 stránka v indexu", "3 stránky v indexu", "7 stránek v indexu"]
        );
    }

    #[test]
    fn dates_are_written_as_in_their_language() {
        let dates: Vec<String> = ALL.iter().map(|texts| (texts.date)(date!(2026 - 03 - 09))).collect();
        assert_eq!(dates, ["9 Mar 2026", "2026年3月9日", "9.\u{a0}3.\u{a0}2026"]);
    }

    #[test]
    fn every_language_names_the_others() {
        for texts in ALL {
            for other in ALL {
                assert!((texts.language_name)(other.code).is_some(), "{} in {}", other.code, texts.code);
            }
            assert_eq!((texts.language_name)("xx"), None);
        }
    }
}
