//! The query string as a search request. Unknown parameters are ignored, empty ones are absent, the last of several
//! counts; what is not a number where one is needed is refused.

use url::form_urlencoded;

use crate::error::QueryError;
use crate::request::{SearchRequest, Sort};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// `None` when the parameter was not given at all.
    pub query: Option<String>,
    pub limit: Option<usize>,
    pub offset: Option<usize>,
    pub site: Option<String>,
    pub lang: Option<String>,
    pub per_host: Option<usize>,
    pub content_type: Option<String>,
    pub after: Option<String>,
    pub before: Option<String>,
    pub sort: Option<Sort>,
    pub facets: Option<bool>,
    pub freshness: Option<u32>,
    pub cursor: Option<String>,
    /// Only for the page: counts from 1.
    pub page: Option<usize>,
}

impl Parameters {
    pub fn parse(query_string: Option<&str>) -> Result<Self, QueryError> {
        let mut parameters = Self::default();
        for (name, value) in form_urlencoded::parse(query_string.unwrap_or_default().as_bytes()) {
            if name == "q" {
                parameters.query = Some(value.into_owned());
                continue;
            }
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            match &*name {
                "limit" => parameters.limit = Some(number("limit", "invalid_limit", value)?),
                "offset" => parameters.offset = Some(number("offset", "invalid_offset", value)?),
                "per_host" => parameters.per_host = Some(number("per_host", "invalid_per_host", value)?),
                "page" => parameters.page = Some(number("page", "invalid_page", value)?),
                "site" => parameters.site = Some(value.to_owned()),
                "lang" => parameters.lang = Some(value.to_owned()),
                "type" => parameters.content_type = Some(value.to_owned()),
                "after" => parameters.after = Some(value.to_owned()),
                "before" => parameters.before = Some(value.to_owned()),
                "sort" => parameters.sort = Some(sort(value)?),
                "facets" => parameters.facets = Some(flag("facets", "invalid_facets", value)?),
                "freshness" => {
                    let days = number("freshness", "invalid_freshness", value)?;
                    // What is too large for the type is too large for the check as well.
                    parameters.freshness = Some(u32::try_from(days).unwrap_or(u32::MAX));
                }
                "cursor" => parameters.cursor = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(parameters)
    }

    pub fn into_request(self) -> SearchRequest {
        let default = SearchRequest::default();
        SearchRequest {
            query: self.query.unwrap_or_default(),
            limit: self.limit.unwrap_or(default.limit),
            offset: self.offset.unwrap_or(default.offset),
            site: self.site,
            lang: self.lang,
            per_host: self.per_host.unwrap_or(default.per_host),
            content_type: self.content_type,
            after: self.after,
            before: self.before,
            sort: self.sort.unwrap_or(default.sort),
            facets: self.facets.unwrap_or(default.facets),
            freshness: self.freshness,
            cursor: self.cursor,
        }
    }
}

fn sort(value: &str) -> Result<Sort, QueryError> {
    match value {
        "relevance" => Ok(Sort::Relevance),
        "date" => Ok(Sort::Date),
        _ => Err(QueryError::invalid("invalid_sort", format!("sort is {value:?}; it must be relevance or date"))),
    }
}

fn flag(name: &str, code: &'static str, value: &str) -> Result<bool, QueryError> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(QueryError::invalid(code, format!("{name} is {value:?}; it must be true or false"))),
    }
}

fn number(name: &str, code: &'static str, value: &str) -> Result<usize, QueryError> {
    // `usize::from_str` would also take a plus sign.
    if value.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(number) = value.parse()
    {
        return Ok(number);
    }
    Err(QueryError::invalid(code, format!("{name} is {value:?}; it must be a whole number")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_are_decoded_and_the_unknown_ignored() {
        let parameters = Parameters::parse(Some("q=%C5%99eka+b&limit=5&utm=x&site=&offset=20&page=3")).unwrap();
        let expected = Parameters {
            query: Some("řeka b".to_owned()),
            limit: Some(5),
            offset: Some(20),
            page: Some(3),
            ..Parameters::default()
        };
        assert_eq!(parameters, expected);
        assert_eq!(Parameters::parse(None).unwrap(), Parameters::default());
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for (text, code) in [
            ("limit=ten", "invalid_limit"),
            ("offset=-1", "invalid_offset"),
            ("per_host=%2B1", "invalid_per_host"),
            ("limit=99999999999999999999999", "invalid_limit"),
        ] {
            assert_eq!(Parameters::parse(Some(text)).unwrap_err().code(), code, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_query_string_is_read_or_refused(text: String) {
            let _ = Parameters::parse(Some(&text));
        }
    }
}
