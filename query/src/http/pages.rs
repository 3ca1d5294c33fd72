//! The pages for people: the first page, results, and what went wrong. They work without scripts.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use url::{Url, form_urlencoded};

use super::parameters::Parameters;
use super::view::{ResultView, grouped, host_with_port};
use super::{HttpState, assets, status_of};
use crate::error::QueryError;
use crate::request::{DEFAULT_LIMIT, MAX_OFFSET, MAX_QUERY_CHARACTERS, SearchRequest, Sort};
use crate::search::{Answer, QueryService};

/// Results of one host on the page, as long as other hosts fill it.
const PER_HOST: usize = 2;
const LAST_PAGE: usize = MAX_OFFSET / DEFAULT_LIMIT + 1;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    stamp: &'static str,
    query: &'static str,
    max_length: usize,
    /// `None` when the index cannot be read now.
    documents: Option<u64>,
    documents_text: String,
}

#[derive(Template)]
#[template(path = "results.html")]
struct ResultsPage {
    stamp: &'static str,
    query: String,
    max_length: usize,
    site: String,
    lang: String,
    /// The same search without its filters.
    everywhere: String,
    total: u64,
    total_text: String,
    took_text: String,
    index_is_empty: bool,
    several_words: bool,
    results: Vec<ResultView>,
    page: usize,
    pages_text: String,
    previous: Option<String>,
    next: Option<String>,
    /// Said on the last page, when results of hosts with many were left out.
    left_out_text: Option<String>,
    show_all: String,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    stamp: &'static str,
    query: &'a str,
    max_length: usize,
    headline: &'a str,
    message: &'a str,
}

fn show(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, [(header::CACHE_CONTROL, "no-cache")], Html(html)).into_response(),
        // Writing to a string fails only if a template is wrong, which the tests would show.
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

pub fn error(status: StatusCode, query: &str, headline: &str, message: &str) -> Response {
    let max_length = MAX_QUERY_CHARACTERS;
    show(status, &ErrorPage { stamp: assets::stamp(), query, max_length, headline, message })
}

fn refused(query: &str, error: &QueryError) -> Response {
    let headline = match error {
        QueryError::Invalid { .. } => "This search cannot be done",
        QueryError::NotReady(_) => "The index is not ready",
        QueryError::Busy => "Too many searches at once",
    };
    self::error(status_of(error), query, headline, &sentence(&error.to_string()))
}

/// With a capital letter and a full stop.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}

pub async fn home(State(state): State<HttpState>) -> Response {
    let documents = state.service.elsewhere(|service| service.documents()).await.ok();
    let page = HomePage {
        stamp: assets::stamp(),
        query: "",
        max_length: MAX_QUERY_CHARACTERS,
        documents,
        documents_text: grouped(documents.unwrap_or(0)),
    };
    show(StatusCode::OK, &page)
}

pub async fn search(State(state): State<HttpState>, RawQuery(query_string): RawQuery) -> Response {
    let parameters = match Parameters::parse(query_string.as_deref()) {
        Ok(parameters) => parameters,
        Err(error) => return refused("", &error),
    };
    let query = parameters.query.clone().unwrap_or_default();
    if query.trim().is_empty() {
        return Redirect::to("/").into_response();
    }
    let page = parameters.page.unwrap_or(1);
    if page == 0 || page > LAST_PAGE {
        let message = format!("page is {page}; it must be from 1 to {LAST_PAGE}");
        return refused(&query, &QueryError::invalid("invalid_page", message));
    }
    let request = SearchRequest {
        limit: DEFAULT_LIMIT,
        offset: (page - 1) * DEFAULT_LIMIT,
        per_host: parameters.per_host.unwrap_or(if parameters.site.is_some() { 0 } else { PER_HOST }),
        ..parameters.into_request()
    };
    let asked = request.clone();
    match state.service.elsewhere(move |service| answer(service, asked)).await {
        Ok(answer) => show(StatusCode::OK, &results_page(&request, page, &answer)),
        Err(error) => refused(&query, &error),
    }
}

/// With results of one host limited as long as the first page is full then; where few hosts match, without the limit.
fn answer(service: &QueryService, mut request: SearchRequest) -> Result<Answer, QueryError> {
    let answer = service.answer(&request)?;
    if answer.reachable < answer.response.total && answer.reachable < DEFAULT_LIMIT as u64 {
        request.per_host = 0;
        return service.answer(&request);
    }
    Ok(answer)
}

fn results_page(request: &SearchRequest, page: usize, answer: &Answer) -> ResultsPage {
    let site = request.site.clone().unwrap_or_default();
    let lang = request.lang.clone().unwrap_or_default();
    let link = |page: usize| address(request, &site, page);
    let left_out = answer.response.total - answer.reachable;
    let pages = (answer.reachable as usize).div_ceil(DEFAULT_LIMIT).clamp(1, LAST_PAGE);
    ResultsPage {
        stamp: assets::stamp(),
        query: request.query.clone(),
        max_length: MAX_QUERY_CHARACTERS,
        everywhere: address(&SearchRequest { lang: None, per_host: PER_HOST, ..request.clone() }, "", 1),
        total: answer.response.total,
        total_text: grouped(answer.response.total),
        took_text: took(answer.response.took_ms),
        index_is_empty: answer.index_is_empty,
        several_words: request.query.split_whitespace().nth(1).is_some(),
        results: results(request, answer),
        page,
        pages_text: grouped(pages as u64),
        previous: (page > 1).then(|| link(page.min(pages + 1) - 1)),
        next: (page < pages).then(|| link(page + 1)),
        left_out_text: (page >= pages && left_out > 0).then(|| grouped(left_out)),
        show_all: address(&SearchRequest { per_host: 0, ..request.clone() }, &site, 1),
        site,
        lang,
    }
}

fn results(request: &SearchRequest, answer: &Answer) -> Vec<ResultView> {
    let hits = &answer.response.hits;
    let hosts: Vec<Option<String>> =
        hits.iter().map(|hit| Url::parse(&hit.url).ok().map(|url| host_with_port(&url))).collect();
    hits.iter()
        .enumerate()
        .map(|(number, hit)| {
            // Told once per host, with its last result on this page.
            let last_of_host = !hosts[number + 1..].contains(&hosts[number]);
            let left_out = answer.host_matches.get(number).is_some_and(|&matches| matches > request.per_host as u64);
            let host = hosts[number].as_deref().filter(|_| last_of_host && left_out);
            ResultView::of(hit, host.map(|host| address(request, host, 1)))
        })
        .collect()
}

/// Of this search on a page, in a site or in all. How many results a host may have is named where it is not the default.
fn address(request: &SearchRequest, site: &str, page: usize) -> String {
    const PATH: &str = "/search?";
    let mut form = form_urlencoded::Serializer::for_suffix(PATH.to_owned(), PATH.len());
    form.append_pair("q", &request.query);
    for (name, value) in [("site", site), ("lang", request.lang.as_deref().unwrap_or_default())] {
        if !value.is_empty() {
            form.append_pair(name, value);
        }
    }
    let further = [("type", &request.content_type), ("after", &request.after), ("before", &request.before)];
    for (name, value) in further {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            form.append_pair(name, value);
        }
    }
    if request.sort == Sort::Date {
        form.append_pair("sort", "date");
    }
    if site.is_empty() && request.per_host != PER_HOST {
        form.append_pair("per_host", &request.per_host.to_string());
    }
    if page > 1 {
        form.append_pair("page", &page.to_string());
    }
    form.finish()
}

fn took(milliseconds: f64) -> String {
    if milliseconds < 1.0 {
        "less than a millisecond".to_owned()
    } else if milliseconds < 1_000.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{:.1} s", milliseconds / 1_000.0)
    }
}
