//! The index is made anew from the logs without fetching, on request and when it is damaged, and answers meanwhile.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seine_tests::sandbox::{Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};

use crate::killing::COMMON_WORD;

const PAGES: u32 = 120;
const SERVE: [&str; 5] = ["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];

/// Status and number of matches.
async fn search(server: &Running) -> (u16, u64) {
    // A second installation by another test is refused, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = format!("http://{}/api/v1/search?q={COMMON_WORD}", server.http());
    let response = reqwest::get(address).await.expect("the server answers");
    let status = response.status().as_u16();
    let text = response.text().await.expect("the body is text");
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    (status, answer["total"].as_u64().unwrap_or(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_search_during_rebuilds_finds_everything() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    web.clear();
    let server = seine.start(&SERVE);
    let done = AtomicBool::new(false);
    let ask = async {
        let mut asked = 0;
        while !done.load(Ordering::Relaxed) {
            assert_eq!(search(&server).await, (200, u64::from(PAGES) + 1), "search {asked}");
            asked += 1;
        }
        asked
    };
    let rebuild = async {
        for _ in 0..3 {
            let mut command = seine.command(&["index", "rebuild"]);
            let rebuilt = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
            assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
        }
        done.store(true, Ordering::Relaxed);
    };
    let (asked, ()) = tokio::join!(ask, rebuild);
    assert!(asked > 3, "{asked} searches");
    assert!(web.requests().is_empty(), "a rebuild fetches nothing");
}

#[tokio::test]
async fn a_damaged_index_is_found_at_start_and_heals_without_fetching() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    web.clear();
    let files = |extension: &str| -> Vec<PathBuf> {
        let index = seine.data().join("index");
        let name = std::fs::read_to_string(index.join("CURRENT")).expect("there is an index");
        let entries = std::fs::read_dir(index.join(name.trim())).expect("its directory is readable");
        let paths = entries.map(|entry| entry.expect("entries are readable").path());
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
    };
    for extension in ["store", "idx", "term", "fast"] {
        for file in files(extension) {
            let mut bytes = std::fs::read(&file).expect("the file is readable");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x55;
            std::fs::write(&file, bytes).expect("the file can be written");
        }
        let server = seine.start(&SERVE);
        eventually(Duration::from_secs(60), "everything can be found again", async || {
            let found = search(&server).await;
            if found == (200, u64::from(PAGES) + 1) { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
        assert_eq!(server.interrupt(), 130);
    }
    assert_eq!(seine.documents(COMMON_WORD).len(), PAGES as usize + 1);
    assert!(web.requests().is_empty(), "healing fetches nothing");
}
