//! Lets browsers add this server as a search engine: a description by the OpenSearch 1.1 specification, and completion in
//! the form that browsers expect of search engines.

use askama::Template;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::texts::Texts;
use super::ui::Ui;
use super::{HttpState, api};

#[derive(Template)]
#[template(path = "opensearch.xml")]
struct Description<'a> {
    /// Scheme, host and port of this server as the browser sees them.
    base: &'a str,
    texts: &'static Texts,
    /// For pages in a language that was chosen.
    ui: &'a str,
}

pub async fn description(State(state): State<HttpState>, ui: Ui, headers: HeaderMap) -> Response {
    let Some(base) = state.public_url.as_deref().map(str::to_owned).or_else(|| requested_base(&headers)) else {
        let message = "the request has no host that could be told to browsers; set [server] public_url";
        return api::error(StatusCode::BAD_REQUEST, "invalid_host", message);
    };
    let description = Description { base: &base, texts: ui.texts, ui: ui.parameter().unwrap_or_default() };
    match description.render() {
        // Depends on who asks and how, so no cache on the way may keep it.
        Ok(xml) => {
            let content_type = "application/opensearchdescription+xml; charset=utf-8";
            ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "private, no-cache")], xml).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// We speak plain HTTP; who puts TLS before us says so by `public_url`.
fn requested_base(headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let url = url::Url::parse(&format!("http://{host}/")).ok()?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    is_bare.then(|| url.origin().ascii_serialization())
}

/// `["typed", ["completed", …]]`
pub async fn suggest(State(state): State<HttpState>, RawQuery(query_string): RawQuery) -> Response {
    match api::suggestions(&state, query_string.as_deref()).await {
        Ok(answer) => {
            let headers =
                [(header::CONTENT_TYPE, "application/x-suggestions+json"), (header::CACHE_CONTROL, "no-cache")];
            (headers, Json(answer).into_response().into_body()).into_response()
        }
        Err(error) => api::refused(&error),
    }
}
