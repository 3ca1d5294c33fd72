//! The search page and the JSON interface over HTTP.
//!
//! Connections are those of [`seine_node::http::server`]; [`guard`] stands before every handler; [`api`] answers programs, [`pages`] people, in the language of [`ui`]. Every
//! answer carries headers that keep a browser from doing more with it than show it. Errors become a JSON object for
//! programs and a page for people, with the same status.

mod clients;
mod guard;
mod parameters;
mod api;
mod texts;
mod ui;
mod page_search;
mod narrowing;
mod paging;
mod view;
mod pages;
mod opensearch;
mod cached;
mod assets;
mod refusal;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{AppendHeaders, Response};
use axum::routing::{MethodRouter, get};
use seine_common::config::{CorsOrigins, WebConfig};
use seine_node::http::healthz;
use seine_node::telemetry::Metrics;
use tower_http::cors::{AllowOrigin, Any, CorsLayer};

use self::guard::Guard;
use self::refusal::{Asked, Refusal};
use crate::error::QueryError;
use crate::search::QueryService;

/// Nothing may be loaded but our own style, script, icon and suggestions; no other site may frame us or be sent our forms.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// How long a browser may keep our answer on who may use the API.
const PREFLIGHT_KEPT: Duration = Duration::from_secs(86_400);

#[derive(Clone)]
pub struct HttpState {
    service: QueryService,
    metrics: Option<Metrics>,
    public_url: Option<Arc<str>>,
}

/// What programs ask. Each is described in `openapi.json`.
fn api_routes() -> Vec<(&'static str, MethodRouter<HttpState>)> {
    vec![
        ("/api/v1/search", get(api::search)),
        ("/api/v1/suggest", get(api::suggest)),
        ("/api/v1/suggest/opensearch", get(opensearch::suggest)),
    ]
}

/// Pages, and what watches over the process. Described there too.
fn other_routes() -> Vec<(&'static str, MethodRouter<HttpState>)> {
    vec![
        ("/", get(pages::home)),
        ("/search", get(pages::search)),
        ("/cached/{id}", get(cached::show)),
        ("/healthz", get(healthz)),
        ("/readyz", get(api::readyz)),
        ("/metrics", get(api::metrics)),
        ("/openapi.json", get(api::openapi)),
        ("/opensearch.xml", get(opensearch::description)),
        ("/favicon.svg", get(assets::icon)),
    ]
}

/// What only our own pages ask for.
fn asset_routes() -> Vec<(&'static str, MethodRouter<HttpState>)> {
    vec![
        ("/assets/seine.css", get(assets::style)),
        ("/assets/seine.js", get(assets::script)),
        ("/favicon.ico", get(assets::icon)),
    ]
}

pub fn router(service: QueryService, metrics: Option<Metrics>, config: &WebConfig) -> Router {
    let guard = from_fn_with_state(Arc::new(Guard::new(config)), guard::guard);
    let state = HttpState { service, metrics, public_url: config.public_url.as_deref().map(Arc::from) };
    let with = |routes: Vec<(&'static str, MethodRouter<HttpState>)>| {
        let router = routes.into_iter().fold(Router::new(), |router, (path, handler)| router.route(path, handler));
        // Before any layer: what is added later would stand outside of them.
        router.method_not_allowed_fallback(method_not_allowed)
    };
    let mut api = with(api_routes()).layer(guard.clone());
    if let Some(cors) = cors(&config.cors) {
        // Around the guard, so that its refusals can be read too.
        api = api.layer(cors);
    }
    with(other_routes())
        .merge(with(asset_routes()))
        .layer(guard)
        .merge(api)
        .fallback(not_found)
        .layer(map_response(with_safe_headers))
        .with_state(state)
}

fn cors(origins: &CorsOrigins) -> Option<CorsLayer> {
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::HEAD])
        .allow_headers(Any)
        .expose_headers([header::RETRY_AFTER])
        .max_age(PREFLIGHT_KEPT);
    match origins {
        CorsOrigins::None => None,
        CorsOrigins::Any => Some(layer.allow_origin(Any)),
        CorsOrigins::These(origins) => {
            let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
            Some(layer.allow_origin(AllowOrigin::list(origins)))
        }
    }
}

async fn not_found(request: Request) -> Response {
    Refusal::NotFound.answer(&Asked::of(&request))
}

async fn method_not_allowed(request: Request) -> Response {
    Refusal::MethodNotAllowed.answer(&Asked::of(&request))
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

/// For what may go better in a moment.
fn retry_after(error: &QueryError) -> AppendHeaders<Option<(HeaderName, &'static str)>> {
    AppendHeaders(match error {
        QueryError::Invalid { .. } => None,
        QueryError::NotReady(_) | QueryError::Busy => Some((header::RETRY_AFTER, "1")),
    })
}
