//! What other pages call a page in their links to it.

use seine_tests::LiveWeb;
use seine_tests::sandbox::Seine;

fn html(body: &str) -> String {
    format!("<!DOCTYPE html><html lang=en><title>A page</title><body>{body}</body></html>")
}

fn urls(answer: &serde_json::Value) -> Vec<String> {
    let hits = answer["hits"].as_array().expect("hits");
    hits.iter().map(|hit| hit["url"].as_str().expect("a URL").to_owned()).collect()
}

#[test]
fn a_page_is_found_by_what_others_call_it_until_they_no_longer_do() {
    let web = LiveWeb::new();
    let home = |name: &str| html(&format!("<p>Where to go: <a href=/levels>{name}</a>, every morning anew.</p>"));
    web.put_file("/", "text/html", home("Hydrology").as_bytes());
    web.put_file("/levels", "text/html", html("<p>How high the water of our rivers and lakes stands.</p>").as_bytes());
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("indexed")), (0, 2), "{run:?}");
    let called = seine.search("hydrology", &[]);
    assert_eq!(urls(&called), [web.url("/"), web.url("/levels")], "{called}");
    let excluded = seine.search("rivers -hydrology", &[]);
    assert_eq!(urls(&excluded), [web.url("/levels")], "it does not have the word itself: {excluded}");

    web.put_file("/", "text/html", home("Gauges").as_bytes());
    let again = seine.crawl(&web.url("/"), &["--delay", "0", "--again"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(urls(&seine.search("gauges", &[])), [web.url("/"), web.url("/levels")]);
    assert_eq!(seine.search("hydrology", &[])["total"], 0);
}
