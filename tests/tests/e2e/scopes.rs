//! How far a crawl goes: scope, depth, and where a seed redirects to.

use std::collections::BTreeSet;

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig};

/// Hosts a.example.test and b.example.test and other.test, all linking to each other.
fn three_hosts() -> FakeWeb {
    let mut config = FakeWebConfig { cross_host_links: 4, ..FakeWebConfig::small(8).with_named_hosts(3) };
    for (host, name) in config.hosts.iter_mut().zip(["a.example.com", "b.example.com", "other.com"]) {
        host.name = Some(name.to_owned());
    }
    FakeWeb::start(config)
}

fn hosts_asked(web: &FakeWeb, seed: &str, scope: &str) -> BTreeSet<String> {
    let resolve: Vec<String> =
        web.resolve_args().into_iter().flat_map(|fixed| ["--resolve".to_owned(), fixed]).collect();
    let flags = ["--delay", "0", "--scope", scope].into_iter().chain(resolve.iter().map(String::as_str));
    let run = Seine::new().crawl(seed, &flags.collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:?}");
    let hosts = web.take_requests().into_iter().map(|request| request.host.split(':').next().unwrap().to_owned());
    hosts.collect()
}

#[test]
fn a_crawl_stays_within_its_scope() {
    let web = three_hosts();
    let seed = web.host_url(0, "/");
    let names = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(hosts_asked(&web, &seed, "host"), names(&["a.example.com"]));
    assert_eq!(hosts_asked(&web, &seed, "domain"), names(&["a.example.com", "b.example.com"]));
    assert_eq!(hosts_asked(&web, &seed, "any"), names(&["a.example.com", "b.example.com", "other.com"]));
}

#[test]
fn prefix_scope_stays_below_the_seed() {
    let web = FakeWeb::start(FakeWebConfig::small(10));
    let run = Seine::new().crawl(&web.url("/p/0.html"), &["--delay", "0", "--scope", "prefix"]);
    assert_eq!(run.code, 0, "{run:?}");
    let outside = web.requests().into_iter().filter(|r| !r.path.starts_with("/p/") && &*r.path != "/robots.txt");
    assert_eq!(outside.count(), 0);
}

#[test]
fn depth_zero_fetches_the_seed_alone_and_one_its_links() {
    let web = FakeWeb::start(FakeWebConfig::small(100));
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0", "--depth", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 1), "{run:?}");
    web.clear();
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0", "--depth", "1"]);
    assert!(run.count("pages") > 1 && run.count("pages") < 101, "{run:?}");
}

#[test]
fn where_a_seed_redirects_to_joins_the_scope() {
    let config = FakeWebConfig::small(5).with_port_hosts(2);
    let web = FakeWeb::start(config);
    let run = Seine::new().crawl(&web.host_url(0, "/fault/redirect/host"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    let other = web.host_addr(1).to_string();
    let asked: BTreeSet<_> =
        web.requests().into_iter().filter(|r| *r.host == *other).map(|r| r.path.to_string()).collect();
    assert!((0..5).all(|page| asked.contains(&seine_tests::fake_web::page_path(page))), "{asked:?}");
}
