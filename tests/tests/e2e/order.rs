//! The order in which pages are asked for, with one connection.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig, LiveWeb};

fn body(web: &FakeWeb, path: &str) -> String {
    let mut connection = TcpStream::connect(web.addr()).expect("the test web listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", web.addr());
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
}

/// Paths linked on a page, in page order, without repeats, as a browser's parser sees them.
fn links(web: &FakeWeb, path: &str) -> Vec<String> {
    let body = body(web, path);
    let base = url::Url::parse(&web.url(path)).unwrap();
    let mut seen = BTreeSet::new();
    body.split("<a ")
        .skip(1)
        .filter_map(|rest| rest.split_once("href=\"")?.1.split_once('"'))
        .filter_map(|(href, _)| base.join(&href.replace("&amp;", "&")).ok())
        .filter(|url| url.host_str() == Some("127.0.0.1") && url.port() == Some(web.addr().port()))
        .map(|url| url.path().to_owned())
        .filter(|path| !path.starts_with("/private/") && seen.insert(path.clone()))
        .collect()
}

/// Depth-first search as it is defined: down the first link that is new, back up for the next. A link counts as found
/// with the first page that has it, so it is not taken up earlier by a later one.
fn depth_first(web: &FakeWeb) -> Vec<String> {
    let mut found = BTreeSet::from(["/".to_owned()]);
    let mut stack = vec![vec!["/".to_owned()]];
    let mut order = Vec::new();
    while let Some(level) = stack.last_mut() {
        if level.is_empty() {
            stack.pop();
            continue;
        }
        let path = level.remove(0);
        stack.push(links(web, &path).into_iter().filter(|link| found.insert(link.clone())).collect());
        order.push(path);
    }
    order
}

fn breadth_first(web: &FakeWeb) -> Vec<String> {
    let mut found = BTreeSet::from(["/".to_owned()]);
    let mut queue = std::collections::VecDeque::from(["/".to_owned()]);
    let mut order = Vec::new();
    while let Some(path) = queue.pop_front() {
        queue.extend(links(web, &path).into_iter().filter(|link| found.insert(link.clone())));
        order.push(path);
    }
    order
}

fn asked(strategy: &str, pages: u32) -> (FakeWeb, Vec<String>) {
    let web = FakeWeb::start(FakeWebConfig { links: 4, ..FakeWebConfig::small(pages) });
    let flags = ["--delay", "0", "--connections-per-host", "1", "--strategy", strategy];
    let run = Seine::new().crawl(&web.url("/"), &flags);
    assert_eq!(run.code, 0, "{run:?}");
    let paths = web.take_requests().into_iter().map(|request| request.path.to_string());
    let order = paths.filter(|path| path != "/robots.txt").collect();
    (web, order)
}

#[test]
fn depth_first_goes_down_the_first_new_link_before_the_next() {
    let (web, order) = asked("depth-first", 200);
    assert_eq!(order, depth_first(&web));
}

#[test]
fn breadth_first_finishes_a_level_before_the_next() {
    let (web, order) = asked("breadth-first", 200);
    assert_eq!(order, breadth_first(&web));
}

/// Two branches below the start; the second page of the first branch is about boats.
fn web_with_a_valuable_page() -> LiveWeb {
    let web = LiveWeb::new();
    web.put("/", "start", &["/a", "/b"]);
    web.put("/a", "nothing special", &["/a1", "/fleet", "/a3"]);
    web.put("/a1", "nothing special", &["/a1x"]);
    web.put("/a1x", "nothing special", &[]);
    web.put("/fleet", "boats and more boats: the boat, boats, boats", &["/v1", "/v2", "/v3"]);
    for (page, below) in [("/v1", "/v1x"), ("/v2", "/v2x"), ("/v3", "/v3x")] {
        web.put(page, "nothing special", &[below]);
        web.put(below, "nothing special", &[]);
    }
    web.put("/a3", "nothing special", &[]);
    web.put("/b", "nothing special", &[]);
    web
}

fn asked_of(web: &LiveWeb, flags: &[&str]) -> Vec<String> {
    let common = ["--delay", "0", "--connections-per-host", "1", "--strategy", "bounded-breadth", "--keyword", "boats"];
    let run = Seine::new().crawl(&web.url("/"), &[common.as_slice(), flags].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let paths = web.take_requests().into_iter().map(|request| request.path);
    paths.filter(|path| path != "/robots.txt").collect()
}

#[test]
fn bounded_breadth_goes_deep_and_takes_all_links_of_a_valuable_page_first() {
    let order = asked_of(&web_with_a_valuable_page(), &[]);
    // Depth-first down to the valuable page, then its three links before anything below them.
    let expected = ["/", "/a", "/a1", "/a1x", "/fleet", "/v1", "/v2", "/v3", "/v3x", "/v2x", "/v1x", "/a3", "/b"];
    assert_eq!(order, expected);
}

#[test]
fn bounded_breadth_puts_off_what_exceeds_its_budget_and_loses_nothing() {
    let order = asked_of(&web_with_a_valuable_page(), &["--breadth-budget", "1"]);
    assert_eq!(order[..7], ["/", "/a", "/a1", "/a1x", "/fleet", "/v1", "/v1x"]);
    let (mut asked, mut expected) = (order.clone(), asked_of(&web_with_a_valuable_page(), &[]));
    asked.sort();
    expected.sort();
    assert_eq!(asked, expected, "{order:?}");
    let put_off = order.iter().position(|path| path == "/v2").unwrap();
    assert!(put_off > order.iter().position(|path| path == "/b").unwrap(), "{order:?}");
}
