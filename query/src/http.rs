//! The search page and the JSON interface over HTTP.
//!
//! Every answer carries headers that keep a browser from doing more with it than show it. Errors become a JSON object
//! under `/api/` and a page elsewhere, with the same status.

mod parameters;
mod api;
mod view;
mod pages;
mod cached;
mod assets;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::error::QueryError;
use crate::search::QueryService;

/// Nothing may be loaded but our own style, script and icon; no other site may frame us or be sent our forms.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Clone)]
pub struct HttpState {
    service: QueryService,
    metrics: Option<PrometheusHandle>,
}

pub fn router(service: QueryService, metrics: Option<PrometheusHandle>) -> Router {
    Router::new()
        .route("/", get(pages::home))
        .route("/search", get(pages::search))
        .route("/cached/{id}", get(cached::show))
        .route("/api/v1/search", get(api::search))
        .route("/api/v1/suggest", get(api::suggest))
        .route("/healthz", get(api::healthz))
        .route("/readyz", get(api::readyz))
        .route("/metrics", get(api::metrics))
        .route("/openapi.json", get(api::openapi))
        .route("/assets/seine.css", get(assets::style))
        .route("/assets/seine.js", get(assets::script))
        .route("/favicon.svg", get(assets::icon))
        .route("/favicon.ico", get(assets::icon))
        .fallback(not_found)
        .layer(map_response(with_safe_headers))
        .with_state(HttpState { service, metrics })
}

async fn not_found(request: Request) -> Response {
    let path = request.uri().path();
    if path.starts_with("/api/") {
        return api::error(
            StatusCode::NOT_FOUND,
            "not_found",
            &format!("there is nothing at {path}; see /openapi.json"),
        );
    }
    pages::error(StatusCode::NOT_FOUND, "", "There is no such page", "The address may be mistyped.")
}

async fn with_safe_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        // Cached copies bring a policy of their own, which is stricter.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn status_of(error: &QueryError) -> StatusCode {
    match error {
        QueryError::Invalid { .. } => StatusCode::BAD_REQUEST,
        QueryError::NotReady(_) => StatusCode::SERVICE_UNAVAILABLE,
        QueryError::Busy => StatusCode::TOO_MANY_REQUESTS,
    }
}
