//! The pages in English.

use super::{Texts, grouped, sentence};

fn number(number: u64) -> String {
    grouped(number, ',')
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

pub static TEXTS: Texts = Texts {
    code: "en",
    tag: "en",
    name: "English",

    search: "Search",
    search_label: "Words to search for",
    first_page: "Seine, first page",
    skip_to_content: "Skip to the content",
    language_of_the_page: "Language of this page",
    key_search: "search",
    key_results: "choose a result",
    key_open: "open it",
    suggestions: "Suggestions",

    pages_in_the_index: |count| counted(count, "page in the index", "pages in the index"),
    index_cannot_be_read: "The index cannot be read at the moment",
    nothing_indexed: "Nothing is indexed yet",
    crawl_a_site: "Crawl a site, then search it here:",
    found_while_crawling: "Pages can be found while the crawl still runs.",

    results: |count| counted(count, "result", "results"),
    on_page: |page| format!("page {page}"),
    took: |milliseconds| match milliseconds {
        ..1.0 => "in less than 1 ms".to_owned(),
        ..1_000.0 => format!("in {milliseconds:.0} ms"),
        _ => format!("in {:.1} s", milliseconds / 1_000.0),
    },
    sort_by: "Sort by",
    by_relevance: "Relevance",
    by_date: "Date",
    showing_results_for: "Showing results for",
    search_only_for: "Search only for",
    did_you_mean: "Did you mean",

    filters: "Filters",
    site: "Site",
    language: "Language",
    content_type: "Type",
    year: "Year",
    show_more: "Show more",
    active_filters: "Active filters",
    remove_filter: |filter| format!("Remove the filter {filter}"),
    remove_all_filters: "Remove all filters",
    since: |date| format!("since {date}"),
    before: |date| format!("before {date}"),

    cached_copy: "Cached copy",
    more_from: |host| format!("More from {host}"),
    date: |date| {
        let month = date.month().to_string();
        format!("{} {} {}", date.day(), &month[..3], date.year())
    },
    language_name,
    web_page: "Web page",
    plain_text: "Plain text",
    feed: "Feed",

    pages_of_results: "Pages of results",
    previous: "Previous",
    next: "Next",
    page_number: |page| format!("Page {page}"),
    page_of: |page, pages| format!("Page {page} of {pages}"),
    left_out: |count| match count {
        1 => "One more of the same hosts is left out.".to_owned(),
        _ => format!("{} more of the same hosts are left out.", number(count)),
    },
    show_all: "Show all results",
    no_more_results: "There are no more results",
    all_on_earlier_pages: |count| {
        format!("This search has {}, all on earlier pages.", counted(count, "result", "results"))
    },
    no_page_has_this_word: "No page has this word",
    no_page_has_these_words: "No page has any of these words",
    check_the_spelling: "Check the spelling, or try another word for the same thing.",
    use_fewer_words: "Use fewer or more general words.",
    search_everywhere: "Search everywhere, without filters",

    copy_of: "This is a copy of",
    copy_taken: "taken",
    copy_notice: "The page may have changed since. Scripts, forms and pictures are left out.",
    no_such_copy: "There is no such copy",
    copy_not_in_index: "The page is not in the index, or not any more.",
    copy_not_kept: "No copy of this page is shown: it asks not to be archived, or none was kept.",
    copy_lost: "The archive does not have the copy any more.",
    copy_unreadable: "The copy cannot be read now",
    archive_is_silent: "The archive does not answer at the moment. Try again, or open the original.",
    filesaver_is_away: "The filesaver that has this copy does not run at the moment. Try again later, or open the original.",

    no_such_page: "There is no such page",
    address_may_be_mistyped: "The address may be mistyped.",
    cannot_be_searched: "This search cannot be done",
    index_is_not_ready: "The index is not ready",
    too_many_searches: "Too many searches at once",
    try_again_in_a_moment: "Try again in a moment.",
    took_too_long: "This search took too long",
    ask_more_precisely: "Try again, or ask with fewer or more exact words.",
    go_to_first_page: "Go to the first page",
    explain: |error| sentence(&error.to_string()),
};

fn language_name(code: &str) -> Option<&'static str> {
    Some(match code {
        "ar" => "Arabic",
        "bg" => "Bulgarian",
        "cs" => "Czech",
        "da" => "Danish",
        "de" => "German",
        "el" => "Greek",
        "en" => "English",
        "es" => "Spanish",
        "fi" => "Finnish",
        "fr" => "French",
        "he" => "Hebrew",
        "hi" => "Hindi",
        "hr" => "Croatian",
        "hu" => "Hungarian",
        "it" => "Italian",
        "ja" => "Japanese",
        "ko" => "Korean",
        "nl" => "Dutch",
        "no" | "nb" => "Norwegian",
        "pl" => "Polish",
        "pt" => "Portuguese",
        "ro" => "Romanian",
        "ru" => "Russian",
        "sk" => "Slovak",
        "sl" => "Slovenian",
        "sv" => "Swedish",
        "tr" => "Turkish",
        "uk" => "Ukrainian",
        "vi" => "Vietnamese",
        "zh" => "Chinese",
        _ => return None,
    })
}
