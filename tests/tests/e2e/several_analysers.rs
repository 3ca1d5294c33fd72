//! One collector gives its pages to all analysers at once, and needs none of them.

use std::collections::BTreeSet;
use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

use crate::killing::COMMON_WORD;
use crate::server::get;
use crate::watching::value;

const HOSTS: usize = 4;
const PAGES: u32 = 100;
const DEADLINE: Duration = Duration::from_secs(120);
const LATENCY: Duration = Duration::from_millis(20);

async fn read_by(analyser: &Running) -> f64 {
    let (_, metrics) = get(analyser, "/metrics").await;
    value(&metrics, "seine_analyser_pages_total").expect("analysers count what they read")
}

fn run(seine: &Seine, words: &[&str]) -> String {
    let output = seine.run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[tokio::test]
async fn an_analyser_that_joins_is_used_and_one_that_is_killed_loses_nothing() {
    let web = FakeWebConfig::small(PAGES).with_port_hosts(HOSTS);
    let web = FakeWeb::start(FakeWebConfig { cross_host_links: 3, latency: LATENCY, ..web });
    let (main, collector, first, second) = (Seine::new(), Seine::new(), Seine::new(), Seine::new());
    let server = main.start(&["serve", "--roles", "monitor,filesaver,indexer", "--grpc", "127.0.0.1:0"]);
    let node = |seine: &Seine, roles: &str| seine.start_node(&main, &server.listen(), roles, &[]);
    let killed = node(&first, "analyser");
    let _collector = node(&collector, "collector");

    let (url, flags) = (web.host_url(0, "/"), ["--name", "site", "--scope", "any", "--delay", "0.05"]);
    run(&main, &[&["crawls", "add", &url], &flags[..], &ALLOW_LOOPBACK].concat());
    eventually(DEADLINE, "the crawl is under way", async || web.requests().len() > 20).await;
    // So that enough is left for the one that joins, however long that takes here.
    run(&main, &["crawls", "pause", "site"]);
    let other = node(&second, "analyser");
    run(&main, &["crawls", "resume", "site"]);
    let alone = read_by(&killed).await;
    eventually(DEADLINE, "both read", async || {
        let counts = (read_by(&killed).await, read_by(&other).await);
        if counts.0 > alone + 10.0 && counts.1 > 10.0 { Ok(()) } else { Err(counts) }
    })
    .await;
    let asked = web.requests().len();
    drop(killed);

    let status = eventually(DEADLINE, "the crawl finishes", async || {
        let shown = run(&main, &["crawls", "show", "site", "--json"]);
        if shown.contains("\"state\":\"finished\"") { Ok(shown) } else { Err(shown) }
    })
    .await;
    let requests = web.requests();
    assert!(requests.len() > asked, "it was killed in the middle of the crawl");
    let pages: Vec<String> = requests
        .iter()
        .filter(|request| &*request.path != "/robots.txt")
        .map(|request| format!("http://{}{}", request.host, request.path))
        .collect();
    let distinct: BTreeSet<String> = pages.iter().cloned().collect();
    assert_eq!(pages.len(), distinct.len(), "no page is fetched twice");
    assert!(distinct.len() >= HOSTS * PAGES as usize, "{} pages", distinct.len());
    let status: Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!((status["pages"].as_u64(), status["failed"].as_u64()), (Some(pages.len() as u64), Some(0)), "{status}");
    eventually(DEADLINE, "every page is found once", async || {
        let found: Vec<String> = main.documents(COMMON_WORD).into_iter().map(|document| document.url).collect();
        if found.iter().eq(&distinct) { Ok(()) } else { Err((found.len(), distinct.len())) }
    })
    .await;
}
