//! How much a node does at once stays between the bounds that are set for it, and is told.

use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, RecordedRequest, eventually};
use serde_json::Value;

const LONG: Duration = Duration::from_secs(60);
const LATENCY: Duration = Duration::from_millis(150);
const HOSTS: usize = 5;

fn shown(monitor: &Seine, node: &str) -> Value {
    let output = monitor.run(&["nodes", "show", node, "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn limit(shown: &Value, name: &str) -> Value {
    let limits = shown["figures"]["limits"].as_array().expect("limits are a list");
    limits.iter().find(|limit| limit["name"] == name).cloned().unwrap_or_else(|| panic!("no {name} in {shown}"))
}

/// Whether pages of two hosts were under way at once.
fn overlap(requests: &[RecordedRequest]) -> bool {
    let mut pages: Vec<_> = requests.iter().filter(|request| &*request.path != "/robots.txt").collect();
    pages.sort_by_key(|request| request.at);
    pages.windows(2).any(|pair| pair[0].host != pair[1].host && pair[1].at - pair[0].at < LATENCY * 9 / 10)
}

#[tokio::test]
async fn a_node_keeps_to_bounds_that_are_set_while_it_runs_and_says_what_it_is_at() {
    let web = || {
        let small = FakeWebConfig::small(3).with_port_hosts(HOSTS);
        FakeWeb::start(FakeWebConfig { latency: LATENCY, ..small })
    };
    let (monitor, node) = (Seine::new(), Seine::new());
    let roles = "monitor,filesaver,indexer,query";
    let server = monitor.start(&["serve", "--roles", roles, "--grpc", "127.0.0.1:0"]);
    let running = node.start_node(&monitor, &server.listen(), "collector,analyser", &[]);
    let name = running.node();
    let crawl = |crawl: &str, web: &FakeWeb| {
        let seeds: Vec<String> = (0..HOSTS).map(|host| web.host_url(host, "/")).collect();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let words = [&["crawl", "--json", "--name", crawl, "--delay", "0"], &ALLOW_LOOPBACK[..], &seeds].concat();
        let output = monitor.run(&words);
        assert!(output.status.success(), "{output:?}");
    };
    let set = |flags: &[&str]| monitor.run(&[&["nodes", "set", &name], flags].concat());
    let wrong = set(&["--hosts", "9..3"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && said.contains("hosts: 9..3"), "{said}");
    assert!(set(&["--hosts", "1", "--converters", "1..3", "--analysis", "1"]).status.success());
    eventually(LONG, "the node has heard of it", async || {
        let shown = shown(&monitor, &name);
        let highest = |name: &str| limit(&shown, name)["highest"].as_u64();
        (highest("hosts"), highest("analysis"), highest("converters")) == (Some(1), Some(1), Some(3))
    })
    .await;

    let one_by_one = web();
    crawl("one", &one_by_one);
    assert!(!overlap(&one_by_one.requests()), "one host at a time");

    assert!(set(&["--hosts", "default", "--analysis", "default"]).status.success());
    eventually(LONG, "the node's own settings hold again", async || {
        let shown = shown(&monitor, &name);
        let hosts = limit(&shown, "hosts");
        let converters = shown["settings"]["converters"]["highest"].as_u64();
        (hosts["highest"].as_u64() > Some(1) && converters == Some(3) && shown["settings"]["hosts"].is_null(), hosts).0
    })
    .await;
    let at_once = web();
    crawl("all", &at_once);
    assert!(overlap(&at_once.requests()), "several hosts at a time");
    // What is set is kept.
    drop((running, server));
    let server = monitor.start(&["serve", "--roles", roles, "--grpc", "127.0.0.1:0"]);
    let _running = node.start_node(&monitor, &server.listen(), "collector,analyser", &[]);
    eventually(LONG, "it holds after restarts", async || {
        limit(&shown(&monitor, &name), "converters")["highest"].as_u64() == Some(3)
    })
    .await;
}

#[test]
fn no_more_comes_per_second_than_is_set_and_the_node_says_so() {
    const RATE: usize = 300_000;
    const PAGE_BYTES: usize = 40_000;
    let small = FakeWebConfig::small(12).with_port_hosts(HOSTS);
    let web = FakeWeb::start(FakeWebConfig { page_bytes: PAGE_BYTES..=PAGE_BYTES, ..small });
    let monitor = Seine::new();
    let _server = monitor.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let listed = monitor.run(&["nodes", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_else(|error| panic!("{error}: {listed:?}"));
    let name = listed[0]["id"].as_str().expect("the server is a node itself").to_owned();
    let set = |rate: &str| monitor.run(&["nodes", "set", &name, "--bandwidth", rate]);
    let wrong = set("12");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("12 bytes"), "{wrong:?}");
    assert!(set("300k").status.success());

    let seeds: Vec<String> = (0..HOSTS).map(|host| web.host_url(host, "/")).collect();
    let flags = ["crawl", "--json", "--name", "slow", "--delay", "0", "--connections-per-host", "1"];
    let words: Vec<&str> = flags.into_iter().chain(ALLOW_LOOPBACK).chain(seeds.iter().map(String::as_str)).collect();
    let (crawled, said) = std::thread::scope(|scope| {
        let crawling = scope.spawn(|| monitor.run(&words));
        let mut said = false;
        while !crawling.is_finished() {
            said |= limit(&shown(&monitor, &name), "hosts")["at"] == "bandwidth";
        }
        (crawling.join().expect("the command is run"), said)
    });
    assert!(crawled.status.success(), "{crawled:?}");
    let summary: Value = serde_json::from_slice(&crawled.stdout).expect("a summary");
    let bytes = summary["bytes"].as_u64().expect("bytes are counted") as usize;
    assert!(bytes > HOSTS * 12 * PAGE_BYTES, "{summary}");
    let requests = web.requests();
    let times = || requests.iter().map(|request| request.at);
    let took = times().max().expect("pages were fetched") - times().min().expect("pages were fetched");
    // A second is saved up at the start, and each host may have had a page under way when the last one began.
    let at_least = Duration::from_secs_f64((bytes - RATE - HOSTS * PAGE_BYTES) as f64 / RATE as f64);
    assert!(took >= at_least, "{bytes} bytes came in {took:?}, in less than {at_least:?}");
    assert!(said, "the node says what it is at");
}
