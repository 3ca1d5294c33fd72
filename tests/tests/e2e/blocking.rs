//! `seine hosts block`: as the blocked host's server sees it.

use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

const SERVE: [&str; 5] = ["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
const LONG: Duration = Duration::from_secs(120);

fn json(seine: &Seine, words: &[&str]) -> Value {
    let output = seine.run(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words:?}: {output:?}"))
}

/// Two hosts of one web that link to each other.
fn two_hosts(pages: u32) -> FakeWeb {
    FakeWeb::start(FakeWebConfig { cross_host_links: 2, ..FakeWebConfig::small(pages).with_port_hosts(2) })
}

fn requests_of(web: &FakeWeb, host: usize) -> usize {
    let name = web.host_addr(host).to_string();
    web.requests().iter().filter(|request| *request.host == *name).count()
}

#[tokio::test]
async fn a_blocked_host_is_asked_no_more_while_others_go_on_and_after_unblocking_it_is_finished() {
    let web = two_hosts(60);
    let seine = Seine::new();
    let server = seine.start(&SERVE);
    let (url, blocked) = (web.host_url(0, "/"), web.host_addr(1).to_string());
    let flags = ["crawls", "add", &url, "--name", "both", "--scope", "any", "--delay", "0.03"];
    assert!(seine.run(&[&flags, ALLOW_LOOPBACK.as_slice()].concat()).status.success());
    eventually(LONG, "both hosts are asked", async || requests_of(&web, 0) > 5 && requests_of(&web, 1) > 5).await;

    let answer = json(&seine, &["hosts", "block", &blocked, "--reason", "they asked us to stop"]);
    let asked = requests_of(&web, 1);
    assert_eq!(answer["blocked"]["pattern"], blocked.as_str());
    assert!(asked < 50, "it was over before it was blocked");
    // The other host is the clock: it goes on to its end, and the crawl ends with it.
    eventually(LONG, "the crawl ends without the blocked host", async || {
        let shown = json(&seine, &["crawls", "show", "both"]);
        if shown["state"] == "finished" { Ok(()) } else { Err(shown) }
    })
    .await;
    assert!(requests_of(&web, 1) <= asked + 1, "at most the request under way came in after the command had returned");
    let asked = requests_of(&web, 1);
    let shown = json(&seine, &["crawls", "show", "both"]);
    assert_eq!(shown["blocked_hosts"], 1, "{shown}");
    assert!(shown["queued"].as_u64().unwrap() > 0, "{shown}");
    assert!(shown["waiting"].as_str().unwrap().contains("they asked us to stop"), "{shown}");
    let host = json(&seine, &["hosts", "show", &blocked]);
    assert_eq!((host["state"].as_str(), &host["lease"]), (Some("waiting"), &Value::Null), "{host}");
    assert_eq!(host["blocked"][0]["reason"], "they asked us to stop", "{host}");

    // It holds over a restart, and for crawls that are run again.
    assert_eq!(server.interrupt(), 130);
    let run = seine.crawl(&url, &["--name", "both", "--scope", "any", "--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("is blocked") && run.stderr.contains("they asked us to stop"), "{}", run.stderr);
    assert_eq!(requests_of(&web, 1), asked);
    assert!(run.count("indexed") > 61, "the pages that were fetched stay: {run:?}");
    let listed = json(&seine, &["hosts", "list", "--blocked"]);
    assert_eq!(listed["hosts"][0]["host"], blocked.as_str(), "{listed}");

    let answer = json(&seine, &["hosts", "unblock", &blocked]);
    assert_eq!((answer["hosts"].as_u64(), answer["finished_crawls"][0].as_str()), (Some(1), Some("both")), "{answer}");
    let run = seine.crawl(&url, &["--name", "both", "--scope", "any", "--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 122), "{run:?}");
    let wrong = seine.run(&["hosts", "unblock", &blocked]);
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
}

#[test]
fn hosts_in_a_blocked_network_and_below_a_blocked_domain_are_never_asked() {
    for pattern in ["127.0.0.0/8", "*.test"] {
        let web = FakeWeb::start(FakeWebConfig::small(3).with_named_hosts(1));
        let seine = Seine::new();
        // A directory comes to be with its first crawl; this one finds nothing.
        assert_eq!(seine.crawl("http://127.0.0.1:2/", &["--delay", "0", "--attempts", "1"]).code, 1);
        json(&seine, &["hosts", "block", pattern, "--reason", "not ours"]);
        let (url, resolve) = (web.host_url(0, "/"), web.resolve_args().remove(0));
        let flags = ["--resolve", &resolve, "--delay", "0"];
        let run = seine.crawl(&url, &flags);
        assert_eq!((run.code, run.count("pages")), (1, 0), "{run:?}");
        assert!(run.stderr.contains("wait on blocked hosts") && run.stderr.contains("not ours"), "{}", run.stderr);
        assert!(web.requests().is_empty(), "{:?}", web.requests());
        json(&seine, &["hosts", "unblock", pattern]);
        let run = seine.crawl(&url, &flags);
        assert_eq!((run.code, run.count("pages")), (0, 4), "{run:?}");
    }
}

#[test]
fn a_pattern_that_names_no_host_is_refused_with_what_to_write() {
    let seine = Seine::new();
    assert_eq!(seine.crawl("http://127.0.0.1:2/", &["--delay", "0", "--attempts", "1"]).code, 1);
    for wrong in ["http://example.org/", "*", "10.0.0.0/99"] {
        let output = seine.run(&["hosts", "block", wrong]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(wrong) && stderr.contains("*.example.org"), "{stderr}");
    }
}
