//! JSON for programs, and what watches over the process.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use seine_node::http::{metrics_text, readiness};
use serde::Serialize;

use super::parameters::Parameters;
use super::{HttpState, retry_after, status_of};
use crate::error::QueryError;
use crate::suggest::DEFAULT_SUGGESTIONS;

const OPENAPI: &str = include_str!("openapi.json");

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorDetail<'a>,
}

#[derive(Serialize)]
struct ErrorDetail<'a> {
    code: &'a str,
    message: &'a str,
}

pub fn error(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(ErrorBody { error: ErrorDetail { code, message } })).into_response()
}

pub fn refused(error: &QueryError) -> Response {
    (retry_after(error), self::error(status_of(error), error.code(), &error.to_string())).into_response()
}

pub async fn search(State(state): State<HttpState>, RawQuery(query_string): RawQuery) -> Response {
    let parameters = match Parameters::parse(query_string.as_deref()) {
        Ok(parameters) => parameters,
        Err(error) => return refused(&error),
    };
    if parameters.query.is_none() {
        let message = "the parameter q is missing; ask as /api/v1/search?q=words";
        return refused(&QueryError::invalid("missing_query", message));
    }
    let request = parameters.into_request();
    match state.service.elsewhere(move |service| service.search(&request)).await {
        Ok(response) => ([(header::CACHE_CONTROL, "no-cache")], Json(response)).into_response(),
        Err(error) => refused(&error),
    }
}

#[derive(Serialize)]
struct Suggestions {
    suggestions: Vec<String>,
}

pub async fn suggest(State(state): State<HttpState>, RawQuery(query_string): RawQuery) -> Response {
    match suggestions(&state, query_string.as_deref()).await {
        Ok((_, suggestions)) => {
            ([(header::CACHE_CONTROL, "no-cache")], Json(Suggestions { suggestions })).into_response()
        }
        Err(error) => refused(&error),
    }
}

/// What was typed, and how it may go on.
pub async fn suggestions(state: &HttpState, query_string: Option<&str>) -> Result<(String, Vec<String>), QueryError> {
    let parameters = Parameters::parse(query_string)?;
    let Some(typed) = parameters.query else {
        let message = "the parameter q is missing; ask as /api/v1/suggest?q=beginning";
        return Err(QueryError::invalid("missing_query", message));
    };
    let limit = parameters.limit.unwrap_or(DEFAULT_SUGGESTIONS);
    let beginning = typed.clone();
    let suggestions = state.service.elsewhere(move |service| service.suggest(&beginning, limit)).await?;
    Ok((typed, suggestions))
}

/// Whether searches are answered, and how each tier of the process is. A tier that is unwell takes nothing from searches.
pub async fn readyz(State(state): State<HttpState>) -> Response {
    if let Err(error) = state.service.ready().await {
        return refused(&error);
    }
    match readiness(&state.service.health) {
        Ok(text) => text.into_response(),
        Err(reason) => error(StatusCode::SERVICE_UNAVAILABLE, "not_ready", &reason),
    }
}

pub async fn metrics(State(state): State<HttpState>) -> Response {
    metrics_text(state.metrics.as_ref())
}

pub async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
