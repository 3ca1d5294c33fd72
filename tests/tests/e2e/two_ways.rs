//! The same crawl in one process over in-memory channels and in five processes over mutual TLS gives the same.

use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Document, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};

use crate::completeness::assert_complete_and_exact;
use crate::killing::COMMON_WORD;

const PAGES: u32 = 150;

fn without_base(documents: Vec<Document>, web: &FakeWeb) -> Vec<Document> {
    let base = web.url("/");
    documents.into_iter().map(|document| Document { url: document.url.replace(&base, "/"), ..document }).collect()
}

#[tokio::test]
async fn one_process_and_five_processes_gather_the_same_documents() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let alone = Seine::new();
    let run = alone.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("indexed")), (0, u64::from(PAGES) + 1), "{run:?}");
    let expected = without_base(alone.documents(COMMON_WORD), &web);
    web.clear();

    let (monitors, savers, indexes, collectors) = (Seine::new(), Seine::new(), Seine::new(), Seine::new());
    let monitor = monitors.start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
    let join = monitor.listen();
    let _saver = savers.start_node(&monitors, &join, "analyser,filesaver", &[]);
    let _indexer = indexes.start_node(&monitors, &join, "indexer", &[]);
    let query = indexes.start(&["serve", "--roles", "query", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let _collector = collectors.start_node(&monitors, &join, "collector", &[]);

    let url = web.url("/");
    let words = [&["crawls", "add", &url, "--name", "five", "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
    let added = monitors.run(&words);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    eventually(Duration::from_secs(60), "the crawl finishes", async || {
        let shown = monitors.run(&["crawls", "show", "five", "--json"]);
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        if text.contains("\"state\":\"finished\"") { Ok(()) } else { Err(text) }
    })
    .await;
    assert_complete_and_exact(&web);
    eventually(Duration::from_secs(30), "every page can be searched", async || {
        let found = without_base(indexes.documents(COMMON_WORD), &web);
        if found == expected { Ok(()) } else { Err(format!("{} documents", found.len())) }
    })
    .await;
    let server = format!("http://{}", query.http());
    let asked = std::process::Command::new(seine_tests::sandbox::binary("seine"))
        .args(["search", "--json", "--server", &server, &FakeWebConfig::unique_word(0, 3)])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&asked.stdout).contains("\"total\":1"), "{asked:?}");
}
