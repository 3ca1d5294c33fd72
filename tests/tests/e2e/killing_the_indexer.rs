//! `kill -9` of the indexer, over and over while a crawl runs, leaves every saved page in the index exactly once.

use std::collections::BTreeSet;
use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};

use crate::killing::COMMON_WORD;

const PAGES: u32 = 1_000;
const KILLS: u32 = 20;
/// The longest that one indexer lives after it said that it is ready.
const LONGEST_LIFE_MS: u32 = 600;

#[tokio::test]
async fn twenty_kills_of_the_indexer_during_a_crawl_leave_every_page_in_the_index_once() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let (monitors, savers, indexes, collectors) = (Seine::new(), Seine::new(), Seine::new(), Seine::new());
    let monitor = monitors.start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
    let join = monitor.listen();
    let _saver = savers.start_node(&monitors, &join, "analyser,filesaver", &[]);
    let _collector = collectors.start_node(&monitors, &join, "collector", &[]);
    let url = web.url("/");
    let words = [&["crawls", "add", &url, "--name", "killed", "--delay", "0.02"], ALLOW_LOOPBACK.as_slice()].concat();
    let added = monitors.run(&words);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let indexer = || indexes.start_node(&monitors, &join, "indexer", &[]);
    eventually(Duration::from_secs(60), "the crawl begins", async || web.requests().len() > 10).await;
    for _ in 0..KILLS {
        let running = indexer();
        // Any moment of its work can be hit.
        tokio::time::sleep(Duration::from_millis(u64::from(rand::random::<u32>() % LONGEST_LIFE_MS))).await;
        drop(running);
    }
    let asked = web.requests().len();
    assert!(asked < PAGES as usize, "the crawl was over before the last kill; make it larger");

    let _indexer = indexer();
    let base = web.url("/");
    eventually(Duration::from_secs(120), "every page can be searched", async || {
        let shown = monitors.run(&["crawls", "show", "killed", "--json"]);
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        if !text.contains("\"state\":\"finished\"") {
            return Err(text);
        }
        let found = indexes.search(COMMON_WORD, &["--limit", "1"])["total"].as_u64().unwrap_or(0);
        if found == u64::from(PAGES) + 1 { Ok(()) } else { Err(format!("{found} documents")) }
    })
    .await;
    let found: Vec<String> =
        indexes.documents(COMMON_WORD).into_iter().map(|document| document.url.replace(&base, "/")).collect();
    let distinct: BTreeSet<&String> = found.iter().collect();
    assert_eq!((found.len(), distinct.len()), (PAGES as usize + 1, PAGES as usize + 1));
    for page in 0..PAGES {
        let word = FakeWebConfig::unique_word(0, page);
        if page % 97 == 0 {
            assert_eq!(indexes.search(&word, &[])["total"], 1, "page {page}");
        }
    }
}
