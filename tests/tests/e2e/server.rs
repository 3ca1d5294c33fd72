//! `seine serve`: the HTTP API, health, and crawls that are added, paused and resumed while it runs.

use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

pub async fn get(server: &Running, path: &str) -> (u16, String) {
    // A second installation by another test is refused, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let response = reqwest::get(format!("http://{}{path}", server.http())).await.expect("the server answers");
    (response.status().as_u16(), response.text().await.expect("the body is text"))
}

async fn json(server: &Running, path: &str) -> (u16, Value) {
    let (status, text) = get(server, path).await;
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}")))
}

#[tokio::test]
async fn a_served_crawl_is_added_paused_resumed_searched_and_survives_a_restart() {
    let web = FakeWeb::start(FakeWebConfig::small(60));
    let seine = Seine::new();
    let serve = ["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
    let server = seine.start(&serve);
    let url = web.url("/");
    let add = [&["crawls", "add", &url, "--name", "site", "--delay", "0.02"], ALLOW_LOOPBACK.as_slice()].concat();
    assert!(seine.run(&add).status.success());
    eventually(Duration::from_secs(30), "the crawl begins", async || web.requests().len() > 5).await;
    let paused = seine.run(&["crawls", "pause", "site", "--json"]);
    assert!(String::from_utf8_lossy(&paused.stdout).contains("\"paused\""), "{paused:?}");
    let mut last = 0;
    eventually(Duration::from_secs(30), "requests stop", async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        std::mem::replace(&mut last, web.requests().len()) == web.requests().len()
    })
    .await;
    assert!(last < 60, "it was over before it was paused");
    assert_eq!(server.interrupt(), 130);

    let server = seine.start(&serve);
    let shown = seine.run(&["crawls", "show", "site", "--json"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("paused by admin"), "{shown:?}");
    assert!(seine.run(&["crawls", "resume", "site"]).status.success());
    eventually(Duration::from_secs(60), "all pages can be searched over HTTP", async || {
        let (_, answer) = json(&server, "/api/v1/search?q=fake&limit=100").await;
        if answer["total"] == 61 { Ok(()) } else { Err(answer["total"].clone()) }
    })
    .await;
    crate::completeness::assert_complete_and_exact(&web);
}

#[tokio::test]
async fn the_http_api_answers_as_its_contract_says() {
    let web = FakeWeb::start(FakeWebConfig::small(12));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let (status, answer) = json(&server, "/api/v1/search?q=fake&limit=5").await;
    assert_eq!((status, answer["total"].as_u64(), answer["hits"].as_array().map(Vec::len)), (200, Some(13), Some(5)));
    let hit = &answer["hits"][0];
    assert!(hit["url"].as_str().is_some_and(|url| url.starts_with(&web.url("/"))), "{hit}");
    assert!(hit["score"].is_number() && hit["fetched_at"].as_str().is_some_and(|time| time.ends_with('Z')), "{hit}");
    let word = FakeWebConfig::unique_word(0, 3);
    let (_, found) = json(&server, &format!("/api/v1/search?q={word}")).await;
    let snippet = found["hits"][0]["snippet"].as_str().unwrap_or_default();
    assert!(snippet.contains(&format!("<mark>{word}</mark>")), "{found}");
    let site = web.addr().to_string();
    assert_eq!(json(&server, &format!("/api/v1/search?q=fake&site={site}")).await.1["total"], 13);
    assert_eq!(json(&server, "/api/v1/search?q=fake&site=example.org").await.1["total"], 0);
    for wrong in ["limit=0", "limit=101", "limit=x", "offset=-1"] {
        let (status, answer) = json(&server, &format!("/api/v1/search?q=fake&{wrong}")).await;
        assert_eq!(status, 400, "{wrong}");
        assert!(answer["error"]["code"].is_string() && answer["error"]["message"].is_string(), "{answer}");
    }
    for (path, part) in
        [("/healthz", ""), ("/readyz", ""), ("/metrics", "seine_"), ("/openapi.json", "/api/v1/search"), ("/", "<form")]
    {
        let (status, text) = get(&server, path).await;
        assert!(status == 200 && text.contains(part), "{path}: {status} {text}");
    }
}

#[tokio::test]
async fn admin_calls_without_the_token_are_refused() {
    let seine = Seine::new();
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let ask = |token: &str| {
        let words = ["crawls", "list", "--server", &server.grpc(), "--token", token];
        std::process::Command::new(seine_tests::sandbox::binary("seine")).args(words).output().unwrap()
    };
    let refused = ask("wrong");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("token"), "{refused:?}");
    let token = std::fs::read_to_string(seine.data().join("admin-token")).unwrap();
    assert!(ask(&token).status.success());
}
