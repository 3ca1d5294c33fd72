//! The pages for people: the first page, results, and what went wrong. They work without scripts.

mod frame;
mod home;
mod results;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};

use self::frame::Frame;
use self::home::HomePage;
use self::results::ResultsPage;
use super::page_search::PageSearch;
use super::parameters::Parameters;
use super::ui::Ui;
use super::{HttpState, retry_after, status_of};
use crate::error::QueryError;
use crate::request::{DEFAULT_LIMIT, SearchRequest};
use crate::search::{Answer, QueryService};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: Frame,
    headline: &'a str,
    message: &'a str,
}

fn show(status: StatusCode, ui: Ui, page: &impl Template) -> Response {
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::VARY, HeaderValue::from_static("accept-language")),
        (header::CONTENT_LANGUAGE, HeaderValue::from_static(ui.texts.tag)),
    ];
    match page.render() {
        Ok(html) => (status, headers, Html(html)).into_response(),
        // Writing to a string fails only if a template is wrong, which the tests would show.
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// A page that says what went wrong; `query` stays in the box.
pub fn error(status: StatusCode, ui: Ui, query: &str, headline: &str, message: &str) -> Response {
    show(status, ui, &ErrorPage { frame: Frame::without_search(ui, query), headline, message })
}

pub fn refused(ui: Ui, query: &str, error: &QueryError) -> Response {
    let headline = match error {
        QueryError::Invalid { .. } => ui.texts.cannot_be_searched,
        QueryError::NotReady(_) => ui.texts.index_is_not_ready,
        QueryError::Busy => ui.texts.too_many_searches,
    };
    let page = self::error(status_of(error), ui, query, headline, &(ui.texts.explain)(error));
    (retry_after(error), page).into_response()
}

pub async fn home(State(state): State<HttpState>, ui: Ui) -> Response {
    let documents = state.service.elsewhere(|service| service.documents()).await.ok();
    show(StatusCode::OK, ui, &HomePage::new(ui, documents))
}

pub async fn search(State(state): State<HttpState>, ui: Ui, RawQuery(query_string): RawQuery) -> Response {
    let parameters = match Parameters::parse(query_string.as_deref()) {
        Ok(parameters) => parameters,
        Err(error) => return refused(ui, "", &error),
    };
    let query = parameters.query.clone().unwrap_or_default();
    if query.trim().is_empty() {
        return Redirect::to(&frame::home_address(ui)).into_response();
    }
    let search = match PageSearch::new(parameters, &ui) {
        Ok(search) => search,
        Err(error) => return refused(ui, &query, &error),
    };
    let request = search.request();
    match state.service.elsewhere(move |service| answer(service, request)).await {
        Ok(answer) => show(StatusCode::OK, ui, &ResultsPage::new(ui, &search, answer)),
        Err(error) => refused(ui, &query, &error),
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
