//! Limits that protect the server, and who may use it from other sites.

use std::time::Duration;

use seine_common::config::{ClientLimit, CorsOrigins, WebConfig};

use super::{rivers, serve, serve_service, serve_with};
use crate::search::{QueryConfig, QueryService};

fn limited(on_loopback: bool) -> WebConfig {
    let client_limit = Some(ClientLimit { per_second: 0.01, burst: 2, on_loopback });
    WebConfig { client_limit, ..WebConfig::default() }
}

#[tokio::test]
async fn a_client_that_asks_too_often_is_told_when_to_come_back() {
    let server = serve_with(rivers(), &limited(true)).await;
    for _ in 0..2 {
        assert_eq!(server.get("/api/v1/search?q=river").await.status, 200);
    }
    let refused = server.get("/api/v1/search?q=river").await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (429, Some("too_many_requests")));
    assert!((1..=100).contains(&refused.header("retry-after").unwrap().parse::<u64>().unwrap()));
    let page = server.ask_with("GET", "/search?q=river", "accept-language: cs\r\n").await;
    assert_eq!(page.status, 429);
    assert!(page.header("retry-after").is_some() && page.body.contains("Příliš mnoho hledání najednou"));
    for free in ["/healthz", "/readyz", "/metrics", "/assets/seine.css", "/favicon.svg"] {
        assert_eq!(server.get(free).await.status, 200, "{free}");
    }
}

#[tokio::test]
async fn behind_a_trusted_proxy_its_clients_are_told_apart() {
    let believed = WebConfig { trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()], ..limited(false) };
    let server = serve_with(rivers(), &believed).await;
    let ask = async |client: &str| {
        let headers = format!("x-forwarded-for: {client}\r\n");
        server.ask_with("GET", "/api/v1/search?q=river", &headers).await.status
    };
    assert_eq!([ask("192.0.2.1").await, ask("192.0.2.1").await, ask("192.0.2.1").await], [200, 200, 429]);
    assert_eq!(ask("192.0.2.2").await, 200);
    assert_eq!(ask("192.0.2.3, 192.0.2.1").await, 429, "what the client wrote itself does not count");

    let server = serve_with(rivers(), &limited(true)).await;
    let mut statuses = Vec::new();
    for client in 1..=3 {
        let headers = format!("x-forwarded-for: 192.0.2.{client}\r\n");
        statuses.push(server.ask_with("GET", "/api/v1/search?q=river", &headers).await.status);
    }
    assert_eq!(statuses, [200, 200, 429], "nobody is believed by default");
}

#[tokio::test]
async fn who_comes_through_an_unknown_proxy_on_this_machine_is_limited_and_who_sits_at_it_is_not() {
    let server = serve_with(rivers(), &limited(false)).await;
    for _ in 0..4 {
        assert_eq!(server.get("/api/v1/search?q=river").await.status, 200, "no proxy is involved");
    }
    let mut statuses = Vec::new();
    for sign in ["x-forwarded-for: 192.0.2.1", "forwarded: for=192.0.2.2", "x-forwarded-for: 127.0.0.1", "via: 1.1 a"] {
        let headers = format!("{sign}\r\n");
        statuses.push(server.ask_with("GET", "/api/v1/search?q=river", &headers).await.status);
    }
    assert_eq!(statuses, [200, 200, 429, 429], "they share one limit");
    assert_eq!(server.get("/api/v1/search?q=river").await.status, 200);

    // A trusted one that does not say for whom it asks is no better.
    let trusted = WebConfig { trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()], ..limited(false) };
    let server = serve_with(rivers(), &trusted).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(server.ask_with("GET", "/api/v1/search?q=river", "forwarded: for=192.0.2.2\r\n").await.status);
    }
    assert_eq!(statuses, [200, 200, 429]);
}

#[tokio::test]
async fn a_request_past_its_deadline_is_given_up() {
    let index = rivers();
    let one_at_a_time = QueryConfig { concurrent_searches: 1, ..QueryConfig::default() };
    let service = QueryService::open(&index.path(), one_at_a_time).unwrap();
    let config = WebConfig { deadline: Duration::from_millis(50), ..WebConfig::default() };
    let server = serve_service(&service, index, &config).await;
    let (started, has_started) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let busy = tokio::spawn(async move {
        let held = service.elsewhere(move |_| {
            let _ = started.send(());
            let _ = released.recv_timeout(Duration::from_secs(30));
            Ok(())
        });
        held.await
    });
    has_started.await.unwrap();
    let late = server.get("/api/v1/search?q=river").await;
    assert_eq!((late.status, late.json()["error"]["code"].as_str()), (503, Some("deadline_exceeded")));
    assert_eq!(late.header("retry-after"), Some("1"));
    assert_eq!(server.get("/readyz").await.status, 200, "health waits for no search");
    let page = server.get("/search?q=river").await;
    assert!(page.status == 503 && page.body.contains("This search took too long"), "{}", page.body);
    release.send(()).unwrap();
    busy.await.unwrap().unwrap();
    assert_eq!(server.get("/api/v1/search?q=river").await.status, 200);
}

#[tokio::test]
async fn other_sites_may_use_the_api_only_when_they_are_named() {
    const ASKING: &str = "origin: https://a.example\r\naccess-control-request-method: GET\r\n";
    let named = CorsOrigins::These(vec!["https://a.example".to_owned()]);
    let server = serve_with(rivers(), &WebConfig { cors: named, ..limited(true) }).await;
    let preflight = server.ask_with("OPTIONS", "/api/v1/search?q=river", ASKING).await;
    assert_eq!(preflight.status, 200);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://a.example"));
    let other = server.ask_with("GET", "/api/v1/search?q=river", "origin: https://b.example\r\n").await;
    assert_eq!((other.status, other.header("access-control-allow-origin")), (200, None));
    for status in [200, 429] {
        let answer = server.ask_with("GET", "/api/v1/search?q=river", ASKING).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://a.example"), "{status}");
    }
    let page = server.ask_with("GET", "/search?q=river", ASKING).await;
    assert_eq!(page.header("access-control-allow-origin"), None, "pages are for people");

    let any = serve_with(rivers(), &WebConfig { cors: CorsOrigins::Any, ..WebConfig::default() }).await;
    let answer = any.ask_with("GET", "/api/v1/suggest?q=riv", ASKING).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let none = serve(rivers()).await.ask_with("GET", "/api/v1/suggest?q=riv", ASKING).await;
    assert_eq!(none.header("access-control-allow-origin"), None);
}
