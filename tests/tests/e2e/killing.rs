//! `kill -9` at any moment loses nothing and breaks no promise.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use seine_monitor::frontier::Frontier;
use seine_monitor::record::CrawlId;
use seine_tests::sandbox::{Document, Seine};
use seine_tests::{FakeWeb, FakeWebConfig};

use crate::archive::assert_archives_pass_warcio;
use crate::politeness::assert_spaced;
use crate::stores::store_of;

const PAGES: u32 = 400;
const DELAY: Duration = Duration::from_millis(20);
/// A word of every page.
pub const COMMON_WORD: &str = "fake";

fn settled(seine: &Seine) -> BTreeSet<String> {
    let frontier = Frontier::over_boxed(store_of(seine)).expect("the frontier is readable");
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

/// Requests of each host, and the same for the times between two of them.
fn by_host(web: &FakeWeb) -> std::collections::BTreeMap<String, Vec<seine_tests::RecordedRequest>> {
    let mut hosts = std::collections::BTreeMap::<_, Vec<_>>::new();
    for request in web.requests() {
        hosts.entry(request.host.to_string()).or_default().push(request);
    }
    hosts
}

#[test]
fn kills_break_no_delay_no_pause_no_block_and_no_crawl_delay_of_any_of_twenty_hosts() {
    const DELAY: Duration = Duration::from_millis(60);
    const CRAWL_DELAY: Duration = Duration::from_millis(250);
    const PAUSE: Duration = Duration::from_millis(1_500);
    const PATIENCE: Duration = Duration::from_secs(2);
    const REQUESTS_BEFORE_PAUSE: usize = 7;
    let mut config = FakeWebConfig {
        cross_host_links: 4,
        fault_links: vec!["/fault/status/429".to_owned()],
        retry_after: PATIENCE.as_secs(),
        ..FakeWebConfig::small(12).with_port_hosts(20)
    };
    for host in config.hosts.iter_mut().step_by(4) {
        host.crawl_delay = Some(CRAWL_DELAY.as_secs_f64());
    }
    let web = FakeWeb::start(config);
    let seine = Seine::new();
    let flags = [
        ["--delay", "0.06"],
        ["--scope", "any"],
        ["--pause-after", "7"],
        ["--pause", "1.5s"],
        ["--pause-per", "host"],
        ["--attempts", "2"],
    ]
    .concat();
    for _ in 0..4 {
        let before = web.requests().len();
        let mut child = seine.crawl_command(&web.host_url(0, "/"), &flags).spawn().expect("seine can be started");
        let deadline = Instant::now() + Duration::from_secs(60);
        while web.requests().len() < before + 3 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(u64::from(rand::random::<u32>() % 1_500)));
        child.kill().expect("the process runs");
        child.wait().expect("it can be awaited");
    }
    let run = seine.crawl(&web.host_url(0, "/"), &flags);
    assert_eq!((run.code, run.count("pages")), (0, 20 * 13), "{run:?}");

    for (number, (host, requests)) in by_host(&web).into_iter().enumerate() {
        let slow = (0..20).step_by(4).any(|slow| web.host_url(slow, "/").contains(&host));
        // What robots.txt asks for is known from its answer on.
        assert_spaced(&requests, DELAY);
        assert_spaced(&requests[1..], if slow { CRAWL_DELAY } else { DELAY });
        for (at, request) in requests.iter().enumerate().filter(|(_, request)| request.status == 429) {
            if let Some(next) = requests.get(at + 1) {
                let gap = next.at - request.at;
                assert!(gap >= PATIENCE, "{host} ({number}) was asked {gap:?} after 429");
            }
        }
        for requests in requests.windows(REQUESTS_BEFORE_PAUSE + 1) {
            let pause = requests.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap();
            assert!(pause >= PAUSE, "{host} had {} requests without a pause", requests.len());
        }
    }
}
