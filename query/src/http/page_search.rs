//! A search as the page knows it: what its address says, and the address of any search that differs from it a little.
//!
//! Facets, chips, sorting, paging and the language of the interface are all links made here, so each keeps what the
//! others chose. What is the default is left out of addresses.

use url::form_urlencoded;

use super::parameters::Parameters;
use super::ui::Ui;
use crate::error::QueryError;
use crate::request::{DEFAULT_LIMIT, MAX_OFFSET, SearchRequest, Sort};

/// Results of one host on the page, as long as other hosts fill it.
const PER_HOST: usize = 2;
pub const LAST_PAGE: usize = MAX_OFFSET / DEFAULT_LIMIT + 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSearch {
    pub query: String,
    pub site: Option<String>,
    pub lang: Option<String>,
    pub content_type: Option<String>,
    pub after: Option<String>,
    pub before: Option<String>,
    pub sort: Sort,
    pub per_host: Option<usize>,
    /// Counts from 1.
    pub page: usize,
    pub ui: Option<&'static str>,
}

impl PageSearch {
    pub fn new(parameters: Parameters, ui: &Ui) -> Result<Self, QueryError> {
        let page = parameters.page.unwrap_or(1);
        if page == 0 || page > LAST_PAGE {
            let message = format!("page is {page}; it must be from 1 to {LAST_PAGE}");
            return Err(QueryError::invalid("invalid_page", message));
        }
        Ok(Self {
            query: parameters.query.unwrap_or_default(),
            site: parameters.site,
            lang: parameters.lang,
            content_type: parameters.content_type,
            after: parameters.after,
            before: parameters.before,
            sort: parameters.sort.unwrap_or_default(),
            per_host: parameters.per_host,
            page,
            ui: ui.parameter(),
        })
    }

    pub fn request(&self) -> SearchRequest {
        SearchRequest {
            query: self.query.clone(),
            limit: DEFAULT_LIMIT,
            offset: (self.page - 1) * DEFAULT_LIMIT,
            site: self.site.clone(),
            lang: self.lang.clone(),
            per_host: self.per_host.unwrap_or(if self.site.is_some() { 0 } else { PER_HOST }),
            content_type: self.content_type.clone(),
            after: self.after.clone(),
            before: self.before.clone(),
            sort: self.sort,
            facets: true,
            ..SearchRequest::default()
        }
    }

    /// The same search changed, from its first page on.
    pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = Self { page: 1, ..self.clone() };
        change(&mut changed);
        changed
    }

    pub fn without_filters(&self) -> Self {
        self.with(|search| {
            *search = Self {
                query: std::mem::take(&mut search.query),
                sort: search.sort,
                ui: search.ui,
                page: 1,
                ..Self::default()
            };
        })
    }

    pub fn is_filtered(&self) -> bool {
        [&self.site, &self.lang, &self.content_type, &self.after, &self.before].into_iter().any(Option::is_some)
    }

    /// The year that is asked for, where `after` and `before` are the two ends of one.
    pub fn year(&self) -> Option<&str> {
        let (after, before) = (self.after.as_deref()?, self.before.as_deref()?);
        (next_year(after)? == before).then_some(after)
    }

    /// What a form must send besides the words, so that a further search keeps to it.
    pub fn kept_in_forms(&self) -> Vec<(&'static str, String)> {
        let pairs = self.pairs().into_iter();
        pairs.filter(|(name, _)| !matches!(*name, "q" | "page" | "per_host")).collect()
    }

    pub fn href(&self) -> String {
        const PATH: &str = "/search?";
        let mut form = form_urlencoded::Serializer::for_suffix(PATH.to_owned(), PATH.len());
        form.extend_pairs(self.pairs());
        form.finish()
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![("q", self.query.clone())];
        let filters = [
            ("site", &self.site),
            ("lang", &self.lang),
            ("type", &self.content_type),
            ("after", &self.after),
            ("before", &self.before),
        ];
        pairs.extend(filters.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        if self.sort == Sort::Date {
            pairs.push(("sort", "date".to_owned()));
        }
        if let Some(per_host) = self.per_host {
            pairs.push(("per_host", per_host.to_string()));
        }
        if self.page > 1 {
            pairs.push(("page", self.page.to_string()));
        }
        pairs.extend(self.ui.map(|code| ("ui", code.to_owned())));
        pairs
    }
}

/// 2024 → 2025; `None` for what is no year of four digits.
pub fn next_year(year: &str) -> Option<String> {
    let is_year = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    let next = year.parse::<u16>().ok().filter(|_| is_year)? + 1;
    Some(format!("{next:04}"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use proptest::prelude::*;

    use super::*;

    fn read(query_string: &str) -> PageSearch {
        let ui = Ui::of(Some(query_string), &HeaderMap::new());
        PageSearch::new(Parameters::parse(Some(query_string)).unwrap(), &ui).unwrap()
    }

    #[test]
    fn what_is_the_default_is_not_in_addresses() {
        assert_eq!(read("q=a+b&site=&sort=relevance&page=1").href(), "/search?q=a+b");
        let all =
            "q=%C5%99eka&site=a.example&lang=cs&type=pdf&after=2024&before=2025&sort=date&per_host=0&page=3&ui=cs";
        assert_eq!(read(all).href(), format!("/search?{all}"));
        assert_eq!(read(all).without_filters().href(), "/search?q=%C5%99eka&sort=date&ui=cs");
        assert_eq!(read(all).year(), Some("2024"));
        assert_eq!(read("q=x&after=2024&before=2026").year(), None);
    }

    #[test]
    fn hosts_are_limited_unless_one_is_asked_for() {
        assert_eq!(read("q=x").request().per_host, 2);
        assert_eq!(read("q=x&site=a.example").request().per_host, 0);
        assert_eq!(read("q=x&per_host=0").request().per_host, 0);
    }

    proptest! {
        #[test]
        fn an_address_says_the_search_that_it_was_made_of(
            query in "\\PC{1,40}", site in proptest::option::of("[a-z.&=+%#]{1,10}"), page in 1..=LAST_PAGE, date: bool,
        ) {
            let sort = if date { Sort::Date } else { Sort::Relevance };
            let search = PageSearch { query, site, page, sort, ui: Some("zh"), ..PageSearch::default() };
            let href = search.href();
            prop_assert_eq!(read(href.strip_prefix("/search?").unwrap()), search);
        }
    }
}
