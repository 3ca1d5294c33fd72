//! `kill -9` at any moment loses nothing and breaks no promise.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use seine_monitor::frontier::{CrawlId, Frontier, RocksFrontier};
use seine_tests::sandbox::{Document, Seine};
use seine_tests::{FakeWeb, FakeWebConfig};

use crate::archive::assert_archives_pass_warcio;
use crate::politeness::assert_spaced;

const PAGES: u32 = 400;
const DELAY: Duration = Duration::from_millis(20);
/// A word of every page.
pub const COMMON_WORD: &str = "fake";

fn settled(seine: &Seine) -> BTreeSet<String> {
    let frontier = RocksFrontier::open(&seine.data().join("monitor")).expect("nobody holds the frontier");
    let records = frontier.settled_urls(CrawlId(1)).expect("the frontier is readable");
    records.into_iter().map(|record| record.entry.url).collect()
}

fn documents_of(seine: &Seine, web: &FakeWeb) -> Vec<Document> {
    let base = web.url("/");
    let mut documents = seine.documents(COMMON_WORD);
    for document in &mut documents {
        document.url = document.url.replace(&base, "/");
    }
    documents
}

#[test]
fn five_kills_and_a_run_to_the_end_give_the_documents_of_an_undisturbed_crawl() {
    let undisturbed_web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let undisturbed = Seine::new();
    let run = undisturbed.crawl(&undisturbed_web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("indexed")), (0, u64::from(PAGES) + 1), "{run:?}");
    let expected = documents_of(&undisturbed, &undisturbed_web);
    assert_eq!(expected.len(), PAGES as usize + 1);

    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    let mut history = Vec::new();
    for round in 0..5u32 {
        let before = web.requests().len();
        let mut child = seine.crawl_command(&web.url("/"), &["--delay", "0.02"]).spawn().expect("seine can be started");
        // Between none and about fifty pages after the first request: any moment of the work can be hit.
        let lasts = Duration::from_millis(u64::from(rand::random::<u32>() % 1_000) + u64::from(round) * 7);
        let deadline = Instant::now() + Duration::from_secs(60);
        while web.requests().len() == before && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(lasts);
        child.kill().expect("the process runs");
        child.wait().expect("it can be awaited");
        history.push((web.requests().len(), settled(&seine)));
    }
    let run = seine.crawl(&web.url("/"), &["--delay", "0.02"]);
    assert_eq!(
        (run.code, run.count("indexed"), run.count("pages")),
        (0, u64::from(PAGES) + 1, u64::from(PAGES) + 1),
        "{run:?}"
    );

    assert_eq!(documents_of(&seine, &web), expected);
    let requests = web.requests();
    assert_spaced(&requests, DELAY);
    for (asked_before, settled) in &history {
        for request in &requests[*asked_before..] {
            let url = web.url(&request.path);
            assert!(!settled.contains(&url), "{url} was settled before a kill and fetched again");
        }
    }
    let interrupted = history.iter().filter(|(asked, _)| *asked < requests.len()).count();
    assert_eq!(interrupted, 5, "the crawl was over before the last kill; make it larger");
    assert_archives_pass_warcio(&seine);
}
