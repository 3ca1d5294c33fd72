//! Politeness, as the server sees it: the delay, robots.txt, Crawl-delay, Retry-After.

use std::time::Duration;

use seine_tests::fake_web::RobotsMode;
use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig, LiveWeb, RecordedRequest};

use crate::completeness::{assert_complete_and_exact, visits};

/// No two requests start closer together than the delay.
pub fn assert_spaced(requests: &[RecordedRequest], delay: Duration) {
    for pair in requests.windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= delay, "{} came {gap:?} after {}", pair[1].path, pair[0].path);
    }
}

#[test]
fn two_thousand_pages_are_each_asked_for_once_twenty_milliseconds_apart_and_nothing_else() {
    let web = FakeWeb::start(FakeWebConfig::small(1_999));
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0.02"]);
    assert_eq!((run.code, run.count("pages")), (0, 2_000), "{run:?}");
    assert_complete_and_exact(&web);
    assert_spaced(&web.requests(), Duration::from_millis(20));
}

#[test]
fn a_longer_crawl_delay_wins_over_a_shorter_delay() {
    let mut config = FakeWebConfig::small(6);
    config.hosts[0].crawl_delay = Some(0.3);
    let web = FakeWeb::start(config);
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_spaced(&web.requests(), Duration::from_millis(300));
    assert_complete_and_exact(&web);
}

#[test]
fn what_robots_txt_disallows_is_never_asked_for() {
    let config = FakeWebConfig { private_links: false, ..FakeWebConfig::small(30) };
    let web = FakeWeb::start(config.with_robots(&RobotsMode::Text(
        "User-agent: other\nDisallow: /\n\nUser-agent: seine\nDisallow: /p/1\nAllow: /p/1.html\n".to_owned(),
    )));
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    let asked = visits(&web.requests());
    assert!(asked.contains_key("/p/1.html"));
    assert!(!asked.keys().any(|path| path.starts_with("/p/1") && path != "/p/1.html"), "{asked:?}");
    assert!(run.count("refused_by_robots") > 0);
}

#[test]
fn no_robots_is_only_by_request() {
    let web = FakeWeb::start(
        FakeWebConfig { private_links: false, ..FakeWebConfig::small(5) }
            .with_robots(&RobotsMode::Text("User-agent: *\nDisallow: /\n".to_owned())),
    );
    let refused = Seine::new().crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((refused.code, refused.count("refused_by_robots")), (1, 1), "{refused:?}");
    assert_eq!(visits(&web.take_requests()).into_keys().collect::<Vec<_>>(), ["/robots.txt"]);
    let forced = Seine::new().crawl(&web.url("/"), &["--delay", "0", "--no-robots"]);
    assert!(forced.count("pages") >= 6, "{forced:?}");
    assert!(!visits(&web.requests()).contains_key("/robots.txt"));
}

#[test]
fn robots_txt_that_is_missing_allows_and_one_that_cannot_be_read_forbids() {
    for (mode, code) in [
        (RobotsMode::Status(404), 0),
        (RobotsMode::Status(403), 0),
        (RobotsMode::Redirect, 0),
        (RobotsMode::Huge, 0),
        (RobotsMode::Garbage, 0),
        (RobotsMode::Status(500), 1),
        (RobotsMode::Reset, 1),
    ] {
        let config = FakeWebConfig { private_links: false, ..FakeWebConfig::small(3) };
        let web = FakeWeb::start(config.with_robots(&mode));
        let run = Seine::new().crawl(&web.url("/"), &["--delay", "0"]);
        assert_eq!(run.code, code, "{mode:?}: {run:?}");
        let pages = visits(&web.requests()).into_keys().filter(|path| path.starts_with("/p/")).count();
        assert_eq!(pages, if code == 0 { 3 } else { 0 }, "{mode:?}");
    }
}

#[test]
fn a_robots_txt_that_was_written_to_be_slow_is_obeyed_and_holds_up_no_other_host() {
    let (hostile, other) = (LiveWeb::new(), LiveWeb::new());
    let rules: String = (0..1_000).map(|number| format!("disallow: /*a*a*a*a{number}*b\n")).collect();
    hostile.put_file("/robots.txt", "text/plain", format!("user-agent: *\n{rules}disallow: /a\n").as_bytes());
    let long = |number: u32| format!("/{}0123456789b{number}", "a".repeat(1_900));
    let mut links: Vec<String> = (0..300).map(long).collect();
    links.push(other.url("/"));
    hostile.put("/", "start", &links.iter().map(String::as_str).collect::<Vec<_>>());
    other.put("/robots.txt", "", &[]);
    let pages: Vec<String> = (0..20).map(|number| format!("/{number}")).collect();
    other.put("/", "other", &pages.iter().map(String::as_str).collect::<Vec<_>>());
    for page in &pages {
        other.put(page, page, &[]);
    }
    let run = Seine::new().crawl(&hostile.url("/"), &["--delay", "0", "--scope", "any"]);
    assert_eq!((run.code, run.count("pages"), run.count("refused_by_robots")), (0, 22, 300), "{run:?}");
    let asked: Vec<String> = hostile.take_requests().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, ["/robots.txt", "/"]);
}

#[test]
fn a_host_that_asks_for_patience_gets_it() {
    for path in ["/fault/status/429", "/fault/status/503"] {
        let config = FakeWebConfig { fault_links: vec![path.to_owned()], retry_after: 2, ..FakeWebConfig::small(3) };
        let web = FakeWeb::start(config);
        let run = Seine::new().crawl(&web.url("/"), &["--delay", "0", "--connections-per-host", "1"]);
        assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 4, 1), "{run:?}");
        let requests = web.requests();
        for (number, request) in requests.iter().enumerate().filter(|(_, request)| &*request.path == path) {
            if let Some(next) = requests.get(number + 1) {
                let gap = next.at - request.at;
                assert!(gap >= Duration::from_secs(2), "{} came {gap:?} after {path}", next.path);
            }
        }
        assert_eq!(visits(&requests)[path], 3, "it is tried three times in all");
    }
}

#[test]
fn every_request_names_the_robot() {
    let web = FakeWeb::start(FakeWebConfig::small(3));
    Seine::new().crawl(&web.url("/"), &["--delay", "0", "--user-agent", "example-bot/7 (+https://example.org/bot)"]);
    let requests = web.requests();
    assert!(requests.len() > 3);
    assert!(requests.iter().all(|request| request.user_agent() == "example-bot/7 (+https://example.org/bot)"));
}
