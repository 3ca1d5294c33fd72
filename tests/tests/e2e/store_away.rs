//! While the store of the frontier does not answer, a crawl waits and says why, searches go on, and it resumes by itself.

use std::time::Duration;

use seine_test_stores::{Setup, StoreCluster};
use seine_tests::sandbox::{Seine, crawl_run, frontier_in};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

use crate::completeness::visits;
use crate::killing::COMMON_WORD;
use crate::politeness::assert_spaced;

const LONG: Duration = Duration::from_secs(60);
const PAGES: u32 = 150;
const DELAY: Duration = Duration::from_millis(20);
/// That may be under way when the store stops answering, and are asked for again when their host's lease has ended meanwhile.
const IN_FLIGHT: usize = 8;

#[tokio::test]
async fn a_crawl_whose_store_is_away_waits_with_that_reason_and_resumes_by_itself() {
    let setup = Setup { node_timeout: LONG, ..Setup::default() };
    let Some(store) = StoreCluster::start(setup) else { return };
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    let delay = DELAY.as_secs_f64().to_string();
    let url = web.url("/");
    let mut command = seine.crawl_command(&url, &["--delay", &delay, "--name", "one"]);
    let crawling = command.envs(frontier_in(&store)).spawn().expect("seine can be started");
    eventually(LONG, "the crawl gets on", async || web.request_count() > 40).await;
    let show = || {
        let output = seine.run(&["crawls", "show", "one", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| Value::from(format!("{output:?}")))
    };
    assert_eq!(show()["state"], "running");
    let nodes = 0..store.nodes().len();
    nodes.clone().for_each(|node| store.pause(node));
    let says_why = async || {
        let shown = show();
        let waits = shown["waiting"].as_str().is_some_and(|reason| reason.contains("store does not answer"));
        if waits { Ok(()) } else { Err(shown) }
    };
    eventually(LONG, "the reason is told", says_why).await;
    assert!(!seine.documents(COMMON_WORD).is_empty(), "searches go on");
    tokio::time::sleep(Duration::from_secs(2)).await;
    nodes.for_each(|node| store.resume(node));
    let run = crawl_run(&crawling.wait_with_output().expect("it can be awaited"));
    let pages = u64::from(PAGES) + 1;
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, pages, pages), "{run:?}");
    let requests = web.requests();
    assert_spaced(&requests, DELAY);
    let again = visits(&requests).into_iter().filter(|(path, visits)| path != "/robots.txt" && *visits > 1).count();
    assert!(again <= IN_FLIGHT, "{again} pages were fetched again");
}
