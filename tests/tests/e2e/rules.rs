//! What a crawl takes and what it leaves, seen from the server and told to people.

use seine_tests::LiveWeb;
use seine_tests::sandbox::Seine;
use serde_json::Value;

fn shown(seine: &Seine) -> Value {
    let output = seine.run(&["crawls", "list", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    list[0].clone()
}

fn asked(web: &LiveWeb) -> Vec<String> {
    let mut paths: Vec<String> = web.take_requests().into_iter().map(|request| request.path).collect();
    paths.retain(|path| path != "/robots.txt");
    paths.sort();
    paths
}

#[test]
fn denied_urls_are_never_asked_for_and_are_counted_with_an_example() {
    let web = LiveWeb::new();
    web.put("/", "start", &["/docs/1", "/calendar/2020", "/calendar/2021", "/file.zip", "/x?a=1&b=2&c=3"]);
    web.put("/docs/1", "a page", &["/calendar/2022"]);
    let seine = Seine::new();
    let flags = ["--delay", "0", "--deny-url", "*/calendar/*", "--deny-suffix", "zip", "--deny-url", "re:[?]a="];
    let run = seine.crawl(&web.url("/"), &flags);
    assert_eq!((run.code, run.count("pages")), (0, 2), "{run:?}");
    assert_eq!(asked(&web), ["/", "/docs/1"]);
    let crawl = shown(&seine);
    let rule = |name: &str| {
        let rules = crawl["exclusions"].as_array().unwrap();
        rules.iter().find(|rule| rule["rule"].as_str().unwrap().contains(name)).cloned().unwrap_or_default()
    };
    assert_eq!(rule("calendar")["links"], 3, "{crawl}");
    assert!(rule("calendar")["example"].as_str().unwrap().contains("/calendar/"), "{crawl}");
    assert_eq!((rule("zip")["links"].as_u64(), rule("re:[?]a=")["links"].as_u64()), (Some(1), Some(1)), "{crawl}");
}

#[test]
fn parameters_that_do_not_matter_are_taken_off_and_pages_fetched_once() {
    let web = LiveWeb::new();
    web.put("/", "start", &["/p?id=1&utm_source=a", "/p?utm_source=b&id=1", "/p?id=1&PHPSESSID=abc", "/p?id=2"]);
    web.put("/p?id=1", "one", &[]);
    web.put("/p?id=2", "two", &[]);
    let flags = ["--delay", "0", "--strip-parameter", "utm_*", "--strip-parameter", "phpsessid"];
    let run = Seine::new().crawl(&web.url("/"), &flags);
    assert_eq!((run.code, run.count("pages")), (0, 3), "{run:?}");
    assert_eq!(asked(&web), ["/", "/p?id=1", "/p?id=2"]);
}

#[test]
fn a_limit_per_host_holds_exactly_and_the_crawl_ends() {
    let web = LiveWeb::new();
    let links: Vec<String> = (0..30).map(|number| format!("/{number}")).collect();
    web.put("/", "start", &links.iter().map(String::as_str).collect::<Vec<_>>());
    for link in &links {
        web.put(link, link, &[]);
    }
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--max-pages-per-host", "12"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 12, 0), "{run:?}");
}

#[test]
fn links_that_grow_for_ever_are_a_trap() {
    let web = LiveWeb::new();
    let mut path = String::from("/");
    for _ in 0..12 {
        web.put(&path, "deeper", &[&format!("{path}again/")]);
        path.push_str("again/");
    }
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.count("pages"), 5, "the same segment at most four times: {run:?}");
}
