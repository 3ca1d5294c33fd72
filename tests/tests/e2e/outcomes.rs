//! Whatever a server does, a crawl goes on and says how each page ended.

use seine_tests::fake_web::fault;
use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig};
use serde_json::Value;

fn state(seine: &Seine, url: &str) -> String {
    let output = seine.run(&["explain", url, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("explain prints JSON");
    answer["crawls"][0]["state"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_web_full_of_faults_is_crawled_to_the_end_with_an_outcome_for_each() {
    let config = FakeWebConfig { fault_links: fault::quick_paths(), huge_bytes: 40 << 20, ..FakeWebConfig::small(20) };
    let web = FakeWeb::start(config);
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    for (path, expected) in [
        ("/fault/status/404", "not found"),
        ("/fault/status/410", "not found"),
        ("/fault/status/403", "client error"),
        ("/fault/status/500", "server error"),
        ("/fault/status/503", "slow down"),
        ("/fault/recover/1", "saved"),
        ("/fault/redirect/chain/3", "redirected"),
        ("/fault/redirect/loop/a", "redirected"),
        ("/fault/huge/declared", "too large"),
        ("/fault/huge/endless", "too large"),
        ("/fault/length/short", "connection failed"),
        ("/fault/length/long", "saved"),
        ("/fault/gzip/valid", "saved"),
        ("/fault/gzip/broken", "saved"),
        ("/fault/chunked", "saved"),
        ("/fault/binary", "unwanted type"),
        ("/fault/reset/before", "connection failed"),
        ("/fault/reset/body", "connection failed"),
        ("/fault/garbage", "connection failed"),
        ("/p/7.html", "saved"),
    ] {
        assert_eq!(state(&seine, &web.url(path)), expected, "{path}");
    }
    let found = |path: &str| seine.search(&fault::unique_word(path), &[])["total"].as_u64();
    assert_eq!(found("/fault/gzip/valid"), Some(1));
    assert_eq!(found("/fault/chunked"), Some(1));
}

#[test]
fn pages_that_say_noindex_are_followed_but_not_found_and_those_that_say_nofollow_are_found_but_not_followed() {
    let paths: Vec<String> = fault::quick_paths().into_iter().filter(|path| path.contains("/robots/")).collect();
    assert!(paths.len() >= 2, "{paths:?}");
    let web = FakeWeb::start(FakeWebConfig { fault_links: paths.clone(), ..FakeWebConfig::small(2) });
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    let asked: Vec<_> = web.requests().into_iter().map(|request| request.path.to_string()).collect();
    for path in paths {
        let found = seine.search(&fault::unique_word(&path), &[])["total"].as_u64().unwrap();
        let kept_out = path.contains("noindex") || path.contains("none");
        assert_eq!(found, u64::from(!kept_out), "{path}");
        // Each of these pages links to one that nothing else links to.
        let beyond = path.replace("/robots/", "/robots/beyond-");
        let not_followed = path.contains("nofollow") || path.contains("none");
        assert_eq!(asked.contains(&beyond), !not_followed, "{beyond}");
    }
}

#[test]
fn pages_in_other_charsets_are_found_by_their_words() {
    let paths: Vec<String> = fault::quick_paths().into_iter().filter(|path| path.contains("/charset/")).collect();
    let web = FakeWeb::start(FakeWebConfig { fault_links: paths.clone(), ..FakeWebConfig::small(2) });
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    for path in paths {
        let total = seine.search(&fault::unique_word(&path), &[])["total"].as_u64();
        assert_eq!(total, Some(1), "{path}");
    }
}
