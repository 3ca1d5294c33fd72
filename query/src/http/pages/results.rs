//! The page of results, or of what to do when there are none.

use askama::Template;
use url::Url;

use super::frame::Frame;
use crate::http::narrowing::{Chip, FacetGroup, chips, facet_groups};
use crate::http::page_search::{LAST_PAGE, PageSearch};
use crate::http::paging::{Step, steps};
use crate::http::ui::Ui;
use crate::http::view::{ResultView, host_with_port};
use crate::request::{DEFAULT_LIMIT, Sort};
use crate::search::Answer;

#[derive(Template)]
#[template(path = "results.html")]
pub struct ResultsPage {
    frame: Frame,
    total: u64,
    /// "1,234 results, page 2".
    count_text: String,
    took_text: String,
    index_is_empty: bool,
    no_page_has: &'static str,
    all_on_earlier_pages: String,
    spelling: Option<Spelling>,
    is_filtered: bool,
    chips: Vec<Chip>,
    /// The same search without its filters.
    everywhere: String,
    sorts: [SortLink; 2],
    facets: Vec<FacetGroup>,
    results: Vec<ResultView>,
    first_number: usize,
    has_pages: bool,
    pages: Vec<PageLink>,
    page_of: String,
    previous: Option<String>,
    next: Option<String>,
    /// Said on the last page, when results of hosts with many were left out.
    left_out: Option<String>,
    show_all: String,
}

/// The search as it may have been meant, and exactly as it was typed.
struct Spelling {
    meant: String,
    meant_href: String,
    /// Absent where nothing would be found, or where it cannot be asked for.
    exactly: Option<String>,
}

struct SortLink {
    label: &'static str,
    href: String,
    is_current: bool,
}

/// `href` is absent for the page shown and where numbers are left out.
struct PageLink {
    text: String,
    label: String,
    href: Option<String>,
    is_current: bool,
}

impl ResultsPage {
    pub fn new(ui: Ui, search: &PageSearch, mut answer: Answer) -> Self {
        let texts = ui.texts;
        let response = &answer.response;
        let link = |page: usize| PageSearch { page, ..search.clone() }.href();
        let pages = (answer.reachable as usize).div_ceil(DEFAULT_LIMIT).clamp(1, LAST_PAGE);
        let left_out = response.total - answer.reachable;
        let mut count_text = (texts.results)(response.total);
        if search.page > 1 {
            count_text = format!("{count_text}, {}", (texts.on_page)(&search.page.to_string()));
        }
        let several_words = search.query.split_whitespace().nth(1).is_some();
        let facets = answer.response.facets.take().unwrap_or_default();
        let response = &answer.response;
        Self {
            frame: Frame::of(ui, search),
            total: response.total,
            count_text,
            took_text: (texts.took)(response.took_ms),
            index_is_empty: answer.index_is_empty,
            no_page_has: if several_words { texts.no_page_has_these_words } else { texts.no_page_has_this_word },
            all_on_earlier_pages: (texts.all_on_earlier_pages)(response.total),
            spelling: response.did_you_mean.as_deref().map(|meant| Spelling::new(search, meant, response.total > 0)),
            is_filtered: search.is_filtered(),
            chips: chips(search, texts),
            everywhere: search.without_filters().href(),
            sorts: [(texts.by_relevance, Sort::Relevance), (texts.by_date, Sort::Date)].map(|(label, sort)| SortLink {
                label,
                href: search.with(|search| search.sort = sort).href(),
                is_current: search.sort == sort,
            }),
            facets: facet_groups(search, &facets, texts),
            results: results(ui, search, &answer),
            first_number: (search.page - 1) * DEFAULT_LIMIT + 1,
            has_pages: pages > 1 || search.page > 1,
            pages: page_links(ui, search.page, pages, link),
            page_of: (texts.page_of)(&search.page.to_string(), &pages.to_string()),
            previous: (search.page > 1).then(|| link(search.page.min(pages + 1) - 1)),
            next: (search.page < pages).then(|| link(search.page + 1)),
            left_out: (search.page >= pages && left_out > 0).then(|| (texts.left_out)(left_out)),
            show_all: search.with(|search| search.per_host = Some(0)).href(),
        }
    }
}

impl Spelling {
    fn new(search: &PageSearch, meant: &str, something_was_found: bool) -> Self {
        let with_query = |query: String| search.with(|search| search.query = query).href();
        Self {
            meant: meant.to_owned(),
            meant_href: with_query(meant.to_owned()),
            exactly: exactly(&search.query, meant).filter(|_| something_was_found).map(with_query),
        }
    }
}

/// The query with quotes around the words that were found under another spelling: quoted words are taken as they are.
fn exactly(query: &str, meant: &str) -> Option<String> {
    let (typed, meant): (Vec<&str>, Vec<&str>) =
        (query.split_whitespace().collect(), meant.split_whitespace().collect());
    if typed.len() != meant.len() {
        return None;
    }
    let mut words = Vec::with_capacity(typed.len());
    for (typed, meant) in typed.into_iter().zip(meant) {
        match typed == meant {
            true => words.push(typed.to_owned()),
            false if typed.chars().all(char::is_alphanumeric) => words.push(format!("\"{typed}\"")),
            false => return None,
        }
    }
    Some(words.join(" "))
}

fn page_links(ui: Ui, page: usize, pages: usize, link: impl Fn(usize) -> String) -> Vec<PageLink> {
    let links = steps(page, pages).into_iter().map(|step| match step {
        Step::Page(number) => PageLink {
            text: number.to_string(),
            label: (ui.texts.page_number)(&number.to_string()),
            href: (number != page).then(|| link(number)),
            is_current: number == page,
        },
        Step::Gap => PageLink { text: "…".to_owned(), label: String::new(), href: None, is_current: false },
    });
    links.collect()
}

fn results(ui: Ui, search: &PageSearch, answer: &Answer) -> Vec<ResultView> {
    let hits = &answer.response.hits;
    let per_host = search.request().per_host as u64;
    let hosts: Vec<Option<String>> =
        hits.iter().map(|hit| Url::parse(&hit.url).ok().map(|url| host_with_port(&url))).collect();
    hits.iter()
        .zip(&answer.details)
        .enumerate()
        .map(|(number, (hit, details))| {
            // Told once per host, with its last result on this page.
            let last_of_host = !hosts[number + 1..].contains(&hosts[number]);
            let host = hosts[number].as_ref().filter(|_| last_of_host && details.host_matches > per_host);
            let of_host = |host: &String| search.with(|s| (s.site, s.per_host) = (Some(host.clone()), None)).href();
            let more = host.map(of_host);
            ResultView::of(hit, details, more, ui.texts)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::exactly;

    #[test]
    fn only_words_of_another_spelling_are_quoted() {
        assert_eq!(exactly("seine rivver boats", "seine river boats").as_deref(), Some("seine \"rivver\" boats"));
        assert_eq!(exactly("title:rivver", "title:river"), None);
        assert_eq!(exactly("rivver", "river bank"), None);
    }
}
