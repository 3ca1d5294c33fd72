//! The JSON interface.

use seine_common::config::WebConfig;
use seine_node::health::{Condition, HealthBoard};
use serde_json::Value;

use super::{rivers, serve, serve_service};

#[tokio::test]
async fn the_json_answer_has_exactly_the_fields_of_the_contract() {
    let server = serve(rivers()).await;
    let answer = server.get("/api/v1/search?q=river+seine&limit=2").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["cursor", "hits", "took_ms", "total"], "there is a third hit to page to");
    assert_eq!(json["total"], 3);
    assert_eq!(json["hits"].as_array().unwrap().len(), 2);
    let first = &json["hits"][0];
    assert_eq!(keys(first), ["fetched_at", "has_cached", "id", "lang", "score", "snippet", "title", "url"]);
    assert_eq!(first["url"], "http://a.example/seine");
    assert_eq!(first["title"], "The <Seine> & more");
    let snippet = "The <mark>river</mark> <mark>Seine</mark> flows through &lt;b&gt;Paris&lt;/b&gt;.";
    assert_eq!(first["snippet"], snippet);
    assert_eq!(first["lang"], Value::Null);
    assert_eq!(first["fetched_at"], "2023-11-14T22:13:20.001Z");
    let site = server.get("/api/v1/search?q=river&site=b.example:8080").await.json();
    assert_eq!(site["total"], 1);
    assert_eq!(site["hits"][0]["title"], "http://b.example:8080/none");
}

#[tokio::test]
async fn wrong_parameters_are_told_apart_and_unknown_ones_ignored() {
    let server = serve(rivers()).await;
    for (target, code) in [
        ("/api/v1/search", "missing_query"),
        ("/api/v1/search?q=x&limit=0", "invalid_limit"),
        ("/api/v1/search?q=x&limit=101", "invalid_limit"),
        ("/api/v1/search?q=x&limit=ten", "invalid_limit"),
        ("/api/v1/search?q=x&offset=-1", "invalid_offset"),
        ("/api/v1/search?q=x&offset=10001", "invalid_offset"),
        ("/api/v1/search?q=x&site=http://a.example", "invalid_site"),
        ("/api/v1/search?q=x&lang=english", "invalid_lang"),
        ("/api/v1/search?q=x&per_host=many", "invalid_per_host"),
        ("/api/v1/search?q=x&type=a%20b", "invalid_type"),
        ("/api/v1/search?q=x&after=soon", "invalid_after"),
        ("/api/v1/search?q=x&before=2024-13", "invalid_before"),
        ("/api/v1/search?q=x&sort=size", "invalid_sort"),
        ("/api/v1/search?q=x&facets=some", "invalid_facets"),
        ("/api/v1/suggest", "missing_query"),
        ("/api/v1/suggest?q=x&limit=21", "invalid_limit"),
    ] {
        let answer = server.get(target).await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (400, Some(code)), "{target}");
        assert!(!answer.json()["error"]["message"].as_str().unwrap().is_empty());
    }
    let long = server.get(&format!("/api/v1/search?q={}", "x".repeat(1_025))).await;
    assert_eq!((long.status, long.json()["error"]["code"].as_str()), (400, Some("query_too_long")));
    assert_eq!(server.get("/api/v1/search?q=river&utm_source=x").await.json()["total"], 3);
    for blank in ["/api/v1/search?q=", "/api/v1/search?q=+%20"] {
        let answer = server.get(blank).await;
        assert_eq!((answer.status, answer.json()["total"].as_u64()), (200, Some(0)), "{blank}");
    }
    let nowhere = server.get("/api/v2/search?q=river").await;
    assert_eq!((nowhere.status, nowhere.json()["error"]["code"].as_str()), (404, Some("not_found")));
}

#[tokio::test]
async fn an_index_that_cannot_be_read_is_not_ready_everywhere() {
    let index = rivers();
    let current = seine_indexer::publish::current(&index.path()).unwrap().unwrap();
    std::fs::write(current.join("meta.json"), "{").unwrap();
    let server = serve(index).await;
    for target in ["/readyz", "/api/v1/search?q=river"] {
        let answer = server.get(target).await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (503, Some("not_ready")), "{target}");
    }
    assert_eq!(server.get("/search?q=river").await.status, 503);
    assert_eq!(server.get("/").await.status, 200);
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn how_each_tier_is_stands_behind_ready_and_one_that_has_ended_is_not_ready() {
    let index = rivers();
    let board = HealthBoard::default();
    let (saving, task) = (board.reporter("filesaver", "saving"), board.reporter("indexer", "task"));
    let service = index.service().with_health(board);
    let server = serve_service(&service, index, &WebConfig::default()).await;
    saving.unwell("no room");
    let answer = server.get("/readyz").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "ready\nfilesaver: unwell: no room\nindexer: well\n"));
    task.report(Condition::Ended("it panicked".to_owned()));
    let answer = server.get("/readyz").await;
    assert_eq!(answer.status, 503);
    let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!(message, "indexer ended: it panicked");
}

#[tokio::test]
async fn browsers_can_add_the_server_as_a_search_engine() {
    let server = serve(rivers()).await;
    assert!(server.get("/").await.body.contains("rel=\"search\" href=\"/opensearch.xml?ui=en\""));
    let description = server.get("/opensearch.xml").await;
    assert_eq!(description.status, 200);
    assert!(description.header("content-type").unwrap().starts_with("application/opensearchdescription+xml"));
    let base = format!("http://{}", server.address);
    assert!(
        description.body.contains(&format!("template=\"{base}/search?q={{searchTerms}}\"")),
        "{}",
        description.body
    );
    assert!(description.body.contains(&format!("{base}/api/v1/suggest/opensearch?q={{searchTerms}}")));
    let suggested = server.get("/api/v1/suggest/opensearch?q=Vlt").await;
    assert_eq!(suggested.header("content-type"), Some("application/x-suggestions+json"));
    let json = suggested.json();
    assert_eq!(json[0], "Vlt");
    assert!(json[1].as_array().unwrap().contains(&Value::from("vltava")), "{json}");
    assert_eq!(server.get("/api/v1/suggest/opensearch").await.json()["error"]["code"], "missing_query");
}

#[tokio::test]
async fn an_invented_host_cannot_write_into_the_description() {
    let server = serve(rivers()).await;
    for host in ["a\"><b", "a.example/x", "user@a.example"] {
        let request = format!("GET /opensearch.xml HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let answer = server.exchange(&request).await;
        assert_eq!(answer.status, 400, "{host}: {}", answer.body);
    }
}
