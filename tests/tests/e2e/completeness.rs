//! A crawl fetches every reachable page exactly once, and everything it counts can be found.

use std::collections::BTreeMap;

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig, RecordedRequest};

/// How often each path was asked for.
pub fn visits(requests: &[RecordedRequest]) -> BTreeMap<String, usize> {
    let mut visits = BTreeMap::new();
    for request in requests {
        *visits.entry(request.path.to_string()).or_default() += 1;
    }
    visits
}

/// Every reachable page and robots.txt once, nothing else.
pub fn assert_complete_and_exact(web: &FakeWeb) {
    let mut expected: BTreeMap<String, usize> = web.config().reachable().into_iter().map(|path| (path, 1)).collect();
    expected.insert("/robots.txt".to_owned(), 1);
    assert_eq!(visits(&web.requests()), expected);
}

#[test]
fn every_page_is_fetched_once_indexed_once_and_found_by_its_own_word() {
    let web = FakeWeb::start(FakeWebConfig::small(300));
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_complete_and_exact(&web);
    assert_eq!((run.count("pages"), run.count("indexed"), run.count("failed")), (301, 301, 0));
    assert!(run.count("refused_by_robots") > 0, "the web links to pages that robots.txt disallows");
    for page in [0, 17, 299] {
        let found = seine.search(&FakeWebConfig::unique_word(0, page), &[]);
        assert_eq!(found["total"], 1, "{found}");
        assert_eq!(found["hits"][0]["url"], web.url(&seine_tests::fake_web::page_path(page)));
    }
}

#[test]
fn several_hosts_are_crawled_together_and_links_between_them_are_followed() {
    let config = FakeWebConfig { cross_host_links: 3, ..FakeWebConfig::small(40).with_named_hosts(5) };
    let web = FakeWeb::start(config);
    let seine = Seine::new();
    let resolve: Vec<String> =
        web.resolve_args().into_iter().flat_map(|fixed| ["--resolve".to_owned(), fixed]).collect();
    let flags: Vec<&str> =
        ["--scope", "any", "--delay", "0"].into_iter().chain(resolve.iter().map(String::as_str)).collect();
    let run = seine.crawl(&web.host_url(0, "/"), &flags);
    assert_eq!(run.code, 0, "{run:?}");
    let mut per_host: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for request in web.requests() {
        *per_host.entry(request.host.to_string()).or_default().entry(request.path.to_string()).or_default() += 1;
    }
    assert_eq!(per_host.len(), 5, "{:?}", per_host.keys());
    for (host, paths) in &per_host {
        assert!(paths.values().all(|visits| *visits == 1), "{host}: {paths:?}");
        assert!((0..40).all(|page| paths.contains_key(&seine_tests::fake_web::page_path(page))), "{host}: {paths:?}");
    }
}

#[test]
fn a_finished_crawl_fetches_nothing_and_says_so() {
    let web = FakeWeb::start(FakeWebConfig::small(10));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    web.clear();
    let again = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((again.code, again.count("pages"), again.count("indexed")), (0, 11, 11));
    assert!(again.stderr.contains("--again"), "{}", again.stderr);
    assert!(web.requests().is_empty());
}
