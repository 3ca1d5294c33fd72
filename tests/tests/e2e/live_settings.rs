//! Settings that change while a crawl runs: they hold from the next request on, as the server sees it.

use std::time::{Duration, Instant};

use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, RecordedRequest, eventually};
use serde_json::Value;

use crate::politeness::assert_spaced;

const PATIENCE: Duration = Duration::from_secs(60);

fn serve(seine: &Seine) -> Running {
    seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
}

fn run(seine: &Seine, words: &[&str]) -> String {
    let output = seine.run(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(seine: &Seine, words: &[&str]) -> Value {
    let text = run(seine, &[words, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn add(seine: &Seine, url: &str, name: &str, flags: &[&str]) {
    run(seine, &[&["crawls", "add", url, "--name", name], ALLOW_LOOPBACK.as_slice(), flags].concat());
}

/// Requests behind the first one that came after a moment: that one may have been on its way.
fn after(web: &FakeWeb, moment: Instant) -> Vec<RecordedRequest> {
    web.requests().into_iter().filter(|request| request.at > moment).skip(1).collect()
}

/// Waits for some requests after a change, and looks how far apart they are.
async fn assert_spaced_after(web: &FakeWeb, moment: Instant, delay: Duration) {
    eventually(PATIENCE, "requests go on", async || after(web, moment).len() >= 3).await;
    assert_spaced(&after(web, moment), delay);
}

#[tokio::test]
async fn a_changed_delay_is_kept_from_the_next_request_on_and_over_a_restart_and_can_be_lowered() {
    let web = FakeWeb::start(FakeWebConfig::small(600));
    let seine = Seine::new();
    let server = serve(&seine);
    add(&seine, &web.url("/"), "site", &["--delay", "0.05"]);
    eventually(PATIENCE, "the crawl begins", async || web.requests().len() > 5).await;
    let told = run(&seine, &["crawls", "set", "site", "--delay", "1.2"]);
    assert_eq!(told.trim(), "delay: 50 ms → 1.2 s");
    assert_spaced_after(&web, Instant::now(), Duration::from_millis(1_200)).await;
    assert_eq!(server.interrupt(), 130);

    let server = serve(&seine);
    assert_spaced_after(&web, Instant::now(), Duration::from_millis(1_200)).await;
    let told = json(&seine, &["crawls", "set", "site", "--delay", "0"]);
    assert_eq!(told["changes"][0]["setting"], "delay", "{told}");
    assert_eq!((&told["changes"][0]["old"], &told["changes"][0]["new"]), (&"1.2 s".into(), &"0 s".into()), "{told}");
    eventually(PATIENCE, "the rest is fetched fast", async || {
        let shown = json(&seine, &["crawls", "show", "site"]);
        if shown["state"] == "finished" { Ok(()) } else { Err(shown["pages"].clone()) }
    })
    .await;
    crate::completeness::assert_complete_and_exact(&web);
    drop(server);
}

#[tokio::test]
async fn a_host_that_is_denied_while_it_is_crawled_gets_no_further_request() {
    let config = FakeWebConfig { cross_host_links: 4, ..FakeWebConfig::small(300) }.with_port_hosts(2);
    let web = FakeWeb::start(config);
    let seine = Seine::new();
    let _server = serve(&seine);
    let denied = web.host_addr(1).to_string();
    add(&seine, &web.url("/"), "site", &["--delay", "0.02", "--scope", "any"]);
    let asked = || web.requests().into_iter().filter(|request| *request.host == *denied).collect::<Vec<_>>();
    eventually(PATIENCE, "both hosts are crawled", async || asked().len() > 10).await;
    run(&seine, &["crawls", "set", "site", "--deny-host", &denied]);
    let moment = Instant::now();
    eventually(PATIENCE, "the crawl ends with the other host", async || {
        let shown = json(&seine, &["crawls", "show", "site"]);
        if shown["state"] == "finished" { Ok(()) } else { Err(shown) }
    })
    .await;
    let late = asked().iter().filter(|request| request.at > moment).count();
    assert!(late <= 1, "{late} requests went to {denied} after it was denied");
    let rule = format!("deny-hosts {denied:?}");
    let shown = json(&seine, &["crawls", "show", "site"]);
    let kept_out = shown["exclusions"].as_array().unwrap().iter().any(|exclusion| exclusion["rule"] == rule.as_str());
    assert!(kept_out, "{shown}");
    let never = (0..300).map(|page| format!("/p/{page}.html"));
    let states = never.map(|path| {
        let was_asked = asked().iter().any(|request| *request.path == *path);
        (was_asked, web.host_url(1, &path))
    });
    let (_, url) = states.into_iter().find(|(was_asked, _)| !was_asked).expect("not all pages were fetched");
    let explained = json(&seine, &["explain", &url]);
    assert_eq!(explained["crawls"][0]["state"], "excluded", "{explained}");
    assert!(explained["crawls"][0]["reason"].as_str().unwrap().contains("deny-hosts"), "{explained}");
}

#[tokio::test]
async fn of_two_crawls_on_one_host_the_longer_delay_holds_while_both_want_it() {
    let web = FakeWeb::start(FakeWebConfig::small(150));
    let seine = Seine::new();
    let _server = serve(&seine);
    add(&seine, &web.url("/"), "fast", &["--delay", "0.03"]);
    eventually(PATIENCE, "the first crawl begins", async || web.requests().len() > 5).await;
    add(&seine, &web.url("/"), "slow", &["--delay", "1.1"]);
    assert_spaced_after(&web, Instant::now(), Duration::from_millis(1_100)).await;
    run(&seine, &["crawls", "stop", "slow"]);
    eventually(PATIENCE, "the first crawl goes on at its own pace", async || {
        let shown = json(&seine, &["crawls", "show", "fast"]);
        if shown["state"] == "finished" { Ok(()) } else { Err(shown["pages"].clone()) }
    })
    .await;
}

#[test]
fn every_setting_of_a_crawl_is_shown() {
    let web = FakeWeb::start(FakeWebConfig::small(3));
    let seine = Seine::new();
    let flags =
        ["--delay", "0.25", "--name", "site", "--max-pages", "2", "--deny-url", "*/calendar/*", "--no-sitemaps"];
    assert_eq!(seine.crawl(&web.url("/"), &flags).code, 0);
    let shown = json(&seine, &["crawls", "show", "site"]);
    let settings = &shown["settings"];
    assert_eq!((&settings["delay"], &settings["max_pages"]), (&0.25.into(), &2.into()), "{shown}");
    assert_eq!(settings["deny_urls"][0], "*/calendar/*", "{shown}");
    assert_eq!((&settings["robots"], &settings["sitemaps"]), (&true.into(), &false.into()), "{shown}");
    assert_eq!((&settings["depth"], &settings["value_threshold"]), (&Value::Null, &0.3.into()), "{shown}");
    assert!(shown["unwanted"].is_u64() && shown["not_indexed"].is_u64(), "{shown}");
    let text = run(&seine, &["crawls", "show", "site"]);
    for (name, value) in settings.as_object().unwrap() {
        assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name} {value}: {text}");
    }
    assert!(text.contains("250 ms") && text.contains("*/calendar/*"), "{text}");

    let wrong = seine.run(&["crawls", "set", "site", "--delay", "1000"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let nobody = seine.run(&["crawls", "set", "nobody", "--delay", "1"]);
    assert!(!nobody.status.success() && String::from_utf8_lossy(&nobody.stderr).contains("nobody"), "{nobody:?}");
    let told = json(&seine, &["crawls", "set", "site", "--max-pages", "unlimited"]);
    assert_eq!(told["changes"][0]["new"], "unlimited", "{told}");
}
