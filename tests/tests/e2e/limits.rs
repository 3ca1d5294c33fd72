//! Limits hold exactly.

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig};

#[test]
fn max_pages_saves_exactly_that_many_and_more_later_when_raised() {
    let web = FakeWeb::start(FakeWebConfig::small(80));
    let seine = Seine::new();
    let flags = |pages: &'static str| ["--delay", "0", "--max-pages", pages];
    let run = seine.crawl(&web.url("/"), &flags("37"));
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 37, 37), "{run:?}");
    let run = seine.crawl(&web.url("/"), &flags("50"));
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 50, 50), "{run:?}");
    assert!(run.stderr.contains("max_pages was 37, now 50"), "{}", run.stderr);
    let run = seine.crawl(&web.url("/"), &flags("1000"));
    assert_eq!((run.code, run.count("pages")), (0, 81), "{run:?}");
}

#[test]
fn max_pages_holds_over_many_hosts_at_once() {
    let config = FakeWebConfig { cross_host_links: 5, ..FakeWebConfig::small(30).with_port_hosts(6) };
    let web = FakeWeb::start(config);
    let run = Seine::new().crawl(&web.host_url(0, "/"), &["--delay", "0", "--scope", "any", "--max-pages", "100"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 100, 100), "{run:?}");
}

#[test]
fn an_endless_calendar_ends_at_the_page_limit() {
    let fault_links = vec!["/fault/calendar/2020/1".to_owned()];
    let web = FakeWeb::start(FakeWebConfig { fault_links, ..FakeWebConfig::small(3) });
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0", "--max-pages", "60"]);
    assert_eq!((run.code, run.count("pages")), (0, 60), "{run:?}");
}
