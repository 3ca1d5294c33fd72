//! Why a page is as it is: `seine explain`.

use seine_tests::LiveWeb;
use seine_tests::sandbox::Seine;
use serde_json::Value;

fn explain(seine: &Seine, url: &str) -> Value {
    let output = seine.run(&["explain", url, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("explain prints JSON")
}

#[test]
fn a_url_is_explained_with_its_rule_its_line_of_robots_txt_and_its_visits() {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "start", &["/a", "/copy", "/denied/x", "/secret"]);
    web.put("/a", "the same words on two pages", &[]);
    web.put("/copy", "the same words on two pages", &[]);
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--deny-url", "*/denied/*"]);
    assert_eq!(run.code, 0, "{run:?}");

    let saved = explain(&seine, &web.url("/a#part"));
    let crawl = &saved["crawls"][0];
    assert_eq!(saved["url"], web.url("/a"));
    assert_eq!((crawl["state"].as_str(), crawl["in_index"].as_bool()), (Some("saved"), Some(true)), "{saved}");
    assert_eq!(crawl["discovered_from"], web.url("/"), "{saved}");
    assert_eq!(crawl["visits"].as_array().map(Vec::len), Some(1), "{saved}");
    assert!(crawl["rule"].as_str().unwrap().contains("no rule excludes it"), "{saved}");
    assert_eq!((saved["host_state"].as_str(), saved["address"].as_str()), (Some("done"), Some("127.0.0.1")), "{saved}");

    let excluded = explain(&seine, &web.url("/denied/x"));
    assert_eq!(excluded["crawls"][0]["state"], "excluded", "{excluded}");
    assert!(excluded["crawls"][0]["rule"].as_str().unwrap().contains("*/denied/*"), "{excluded}");
    let outside = explain(&seine, "http://elsewhere.test/");
    assert_eq!(
        (outside["crawls"][0]["state"].as_str(), outside["crawls"][0]["rule"].as_str()),
        (Some("excluded"), Some("scope"))
    );
    let missing = explain(&seine, &web.url("/secret"));
    assert_eq!(missing["crawls"][0]["state"], "not found", "{missing}");
}

#[test]
fn the_line_of_robots_txt_that_refuses_is_named() {
    use seine_tests::fake_web::RobotsMode;
    use seine_tests::{FakeWeb, FakeWebConfig};
    let robots = "# for all\nUser-agent: *\nDisallow: /p/1.html\n";
    let config = FakeWebConfig { private_links: false, ..FakeWebConfig::small(3) };
    let web = FakeWeb::start(config.with_robots(&RobotsMode::Text(robots.to_owned())));
    let seine = Seine::new();
    seine.crawl(&web.url("/"), &["--delay", "0"]);
    let refused = explain(&seine, &web.url("/p/1.html"));
    assert_eq!(refused["crawls"][0]["state"], "refused by robots", "{refused}");
    assert_eq!(refused["crawls"][0]["robots"], "refused by line 3: Disallow: /p/1.html", "{refused}");
}
