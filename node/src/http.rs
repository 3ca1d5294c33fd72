//! What watches over a process asks by HTTP: `/metrics`, `/healthz` and `/readyz`.
//!
//! Every process answers these. One that has the query answers them beside the search page, with its own notion of being
//! ready; for all others there is [`serve`].

pub mod server;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use seine_common::config::WebConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::health::{Condition, HealthBoard};
use crate::telemetry::Metrics;

const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone)]
struct Watched {
    metrics: Option<Metrics>,
    health: HealthBoard,
}

/// Answers nothing else, until shutdown.
pub async fn serve(
    listener: TcpListener,
    metrics: Option<Metrics>,
    health: HealthBoard,
    config: &WebConfig,
    shutdown: CancellationToken,
) {
    server::serve(router(metrics, health), listener, config, shutdown).await;
}

fn router(metrics: Option<Metrics>, health: HealthBoard) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(async |State(watched): State<Watched>| metrics_text(watched.metrics.as_ref())))
        .with_state(Watched { metrics, health })
}

/// The process answers.
pub async fn healthz() -> &'static str {
    "ok\n"
}

async fn readyz(State(watched): State<Watched>) -> Response {
    match readiness(&watched.health) {
        Ok(text) => text.into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{reason}\n")).into_response(),
    }
}

/// A line for each tier of the process with its state and the reason; an error when one has ended, which takes the process
/// with it. One that is unwell does what it can.
pub fn readiness(health: &HealthBoard) -> Result<String, String> {
    let tiers = health.tiers();
    if let Some((tier, ended)) = tiers.iter().find(|(_, condition)| matches!(condition, Condition::Ended(_))) {
        return Err(format!("{tier} {ended}"));
    }
    let lines: String = tiers.iter().map(|(tier, condition)| format!("{tier}: {condition}\n")).collect();
    Ok(format!("ready\n{lines}"))
}

/// Empty where nothing is counted.
pub fn metrics_text(metrics: Option<&Metrics>) -> Response {
    let text = metrics.map(Metrics::render).unwrap_or_default();
    ([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], text).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    async fn ask(health: &HealthBoard, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router(None, health.clone()).oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_process_is_ready_until_a_tier_has_ended() {
        let health = HealthBoard::default();
        let disk = health.reporter("filesaver", "disk");
        assert_eq!(ask(&health, "/readyz").await, (200, "ready\nfilesaver: well\n".to_owned()));
        disk.unwell("it is slow");
        assert_eq!(ask(&health, "/readyz").await, (200, "ready\nfilesaver: unwell: it is slow\n".to_owned()));
        disk.report(Condition::Ended("it panicked".into()));
        let (status, text) = ask(&health, "/readyz").await;
        assert!(status == 503 && text.contains("filesaver ended: it panicked"), "{status} {text}");
        assert_eq!(ask(&health, "/healthz").await, (200, "ok\n".to_owned()));
        assert_eq!(ask(&health, "/metrics").await, (200, String::new()));
        assert_eq!(ask(&health, "/").await.0, 404);
    }
}
