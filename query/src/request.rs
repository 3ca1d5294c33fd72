//! What can be asked, and within which limits.
//!
//! [`SearchRequest`] is what somebody wants; [`SearchRequest::check`] turns it into a [`CheckedRequest`] that cannot be
//! out of range, or says what is wrong with it.

use seine_common::url::CanonicalUrl;

use crate::error::QueryError;
use crate::parse::{media_type, period};

pub const DEFAULT_LIMIT: usize = 10;
pub const MAX_LIMIT: usize = 100;
/// Whoever wants more than this should ask more precisely.
pub const MAX_OFFSET: usize = 10_000;
pub const MAX_QUERY_CHARACTERS: usize = 1_024;
/// As many of each host are kept in memory while a search ranks its matches.
pub const MAX_PER_HOST: usize = MAX_LIMIT;
/// A hundred years.
pub const MAX_FRESHNESS_DAYS: u32 = 36_500;

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Relevance,
    /// The newest.
    Date,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    pub query: String,
    /// 1 to [`MAX_LIMIT`].
    pub limit: usize,
    pub offset: usize,
    /// A host (with port where not default) and its subdomains.
    pub site: Option<String>,
    /// ISO 639-1.
    pub lang: Option<String>,
    /// At most this many hits of one host, up to [`MAX_PER_HOST`]; 0 for no limit.
    pub per_host: usize,
    /// A media type or one of its halves, as `text/html` or `pdf`.
    pub content_type: Option<String>,
    /// Pages of this year, month or day or later: `2024`, `2024-05`, `2024-05-31`.
    pub after: Option<String>,
    /// Pages before this year, month or day.
    pub before: Option<String>,
    pub sort: Sort,
    /// Whether matches are to be counted by site, language, type and year.
    pub facets: bool,
    /// Newer pages count more: so many days make half of the difference. `None` for no difference.
    pub freshness: Option<u32>,
    /// Of an earlier answer to the same question: the page of results after it. Not together with an offset.
    pub cursor: Option<String>,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self {
            query: String::new(),
            limit: DEFAULT_LIMIT,
            offset: 0,
            site: None,
            lang: None,
            per_host: 0,
            content_type: None,
            after: None,
            before: None,
            sort: Sort::default(),
            facets: false,
            freshness: None,
            cursor: None,
        }
    }
}

impl SearchRequest {
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<CheckedRequest, QueryError> {
        let characters = self.query.chars().count();
        if characters > MAX_QUERY_CHARACTERS {
            let message = format!("the query has {characters} characters; at most {MAX_QUERY_CHARACTERS} are allowed");
            return Err(QueryError::invalid("query_too_long", message));
        }
        if self.limit == 0 || self.limit > MAX_LIMIT {
            let message = format!("limit is {}; it must be from 1 to {MAX_LIMIT}", self.limit);
            return Err(QueryError::invalid("invalid_limit", message));
        }
        if self.offset > MAX_OFFSET {
            let message = format!("offset is {}; it must be at most {MAX_OFFSET}", self.offset);
            return Err(QueryError::invalid("invalid_offset", message));
        }
        if self.per_host > MAX_PER_HOST {
            let message = format!("per_host is {}; it must be from 0 (no limit) to {MAX_PER_HOST}", self.per_host);
            return Err(QueryError::invalid("invalid_per_host", message));
        }
        if let Some(days) = self.freshness.filter(|days| *days == 0 || *days > MAX_FRESHNESS_DAYS) {
            let message = format!("freshness is {days}; it must be from 1 to {MAX_FRESHNESS_DAYS} days");
            return Err(QueryError::invalid("invalid_freshness", message));
        }
        let cursor = wanted(self.cursor.as_deref());
        if cursor.is_some() && self.offset > 0 {
            let message = format!("offset is {} beside a cursor; give only one of them", self.offset);
            return Err(QueryError::invalid("invalid_cursor", message));
        }
        Ok(CheckedRequest {
            query: self.query.clone(),
            limit: self.limit,
            offset: self.offset,
            site: wanted(self.site.as_deref()).map(check_site).transpose()?,
            lang: wanted(self.lang.as_deref()).map(check_lang).transpose()?,
            per_host: self.per_host,
            content_type: wanted(self.content_type.as_deref()).map(check_type).transpose()?,
            after: wanted(self.after.as_deref()).map(|date| check_date("after", "invalid_after", date)).transpose()?,
            before: wanted(self.before.as_deref())
                .map(|date| check_date("before", "invalid_before", date))
                .transpose()?,
            sort: self.sort,
            facets: self.facets,
            freshness: self.freshness,
            cursor: cursor.map(str::to_owned),
        })
    }
}

/// In range, and `site` and `lang` in the form that the index has.
#[derive(Clone, Debug)]
pub(crate) struct CheckedRequest {
    pub query: String,
    pub limit: usize,
    pub offset: usize,
    pub site: Option<String>,
    pub lang: Option<String>,
    pub per_host: usize,
    pub content_type: Option<String>,
    pub after: Option<i64>,
    pub before: Option<i64>,
    pub sort: Sort,
    pub facets: bool,
    pub freshness: Option<u32>,
    pub cursor: Option<String>,
}

fn wanted(filter: Option<&str>) -> Option<&str> {
    filter.map(str::trim).filter(|filter| !filter.is_empty())
}

/// The host as the index spells it: lower case, international names encoded, default ports left out.
pub(crate) fn check_site(site: &str) -> Result<String, QueryError> {
    let invalid = || {
        let message = format!("{site:?} is not a host; write it as example.org or example.org:8080");
        QueryError::invalid("invalid_site", message)
    };
    if site.contains(['/', '?', '#', '@', '\\', ' ']) {
        return Err(invalid());
    }
    let url = CanonicalUrl::parse(&format!("http://{site}/")).map_err(|_| invalid())?;
    Ok(url.host().as_str().to_owned())
}

pub(crate) fn check_lang(lang: &str) -> Result<String, QueryError> {
    if matches!(lang.len(), 2 | 3) && lang.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Ok(lang.to_ascii_lowercase());
    }
    Err(QueryError::invalid("invalid_lang", format!("{lang:?} is not a language code; write it as en, zh or cs")))
}

fn check_type(content_type: &str) -> Result<String, QueryError> {
    media_type(content_type).ok_or_else(|| {
        let message = format!("{content_type:?} is not a media type; write it as text/html or pdf");
        QueryError::invalid("invalid_type", message)
    })
}

fn check_date(name: &str, code: &'static str, date: &str) -> Result<i64, QueryError> {
    let first = period(date).map(|(first, _)| first);
    first.ok_or_else(|| {
        let message = format!("{name} is {date:?}; write it as 2024, 2024-05 or 2024-05-31");
        QueryError::invalid(code, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(request: &SearchRequest) -> &'static str {
        request.check().unwrap_err().code()
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_its_own_code() {
        assert_eq!(code(&SearchRequest { limit: 0, ..SearchRequest::default() }), "invalid_limit");
        assert_eq!(code(&SearchRequest { limit: 101, ..SearchRequest::default() }), "invalid_limit");
        assert_eq!(code(&SearchRequest { offset: 10_001, ..SearchRequest::default() }), "invalid_offset");
        assert_eq!(code(&SearchRequest { per_host: 101, ..SearchRequest::default() }), "invalid_per_host");
        assert_eq!(code(&SearchRequest::new("ž".repeat(1_025))), "query_too_long");
        for site in ["http://example.org", "a b", "a/b", ":80", "user@example.org"] {
            assert_eq!(
                code(&SearchRequest { site: Some(site.into()), ..SearchRequest::default() }),
                "invalid_site",
                "{site}"
            );
        }
        for lang in ["e", "english", "e1", "čs"] {
            assert_eq!(
                code(&SearchRequest { lang: Some(lang.into()), ..SearchRequest::default() }),
                "invalid_lang",
                "{lang}"
            );
        }
        assert!(
            SearchRequest { limit: 100, offset: 10_000, per_host: 100, ..SearchRequest::new("ž".repeat(1_024)) }
                .check()
                .is_ok()
        );
    }

    #[test]
    fn a_site_is_spelled_as_the_index_spells_it() {
        let site = |text: &str| {
            SearchRequest { site: Some(text.into()), ..SearchRequest::default() }.check().unwrap().site.unwrap()
        };
        assert_eq!(site(" Example.ORG "), "example.org");
        assert_eq!(site("example.org:80"), "example.org");
        assert_eq!(site("example.org:443"), "example.org");
        assert_eq!(site("example.org:8080"), "example.org:8080");
        assert_eq!(site("příklad.cz"), "xn--pklad-zsa96e.cz");
        assert_eq!(site("[::1]:81"), "[::1]:81");
    }

    #[test]
    fn an_empty_filter_is_none() {
        let request = SearchRequest { site: Some(" ".into()), lang: Some(String::new()), ..SearchRequest::default() };
        let checked = request.check().unwrap();
        assert_eq!((checked.site, checked.lang), (None, None));
    }
}
