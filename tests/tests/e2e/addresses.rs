//! IP addresses and ports, as servers see them: hosts of one address rest together, and ports of other services are not asked.

use std::time::{Duration, Instant};

use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, LiveWeb, RecordedRequest};

const PAUSE: Duration = Duration::from_millis(1_200);
const REQUESTS_BEFORE_PAUSE: usize = 9;

/// Of any requests in a row that are one more than allowed, two stand so far apart.
fn assert_paused(requests: &[RecordedRequest]) {
    assert!(requests.len() > 2 * REQUESTS_BEFORE_PAUSE, "only {} requests", requests.len());
    for requests in requests.windows(REQUESTS_BEFORE_PAUSE + 1) {
        let pause = requests.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap_or_default();
        let asked: Vec<_> = requests.iter().map(|request| (&*request.host, &*request.path)).collect();
        assert!(pause >= PAUSE, "no pause longer than {pause:?} between {asked:?}");
    }
}

fn web_of_four_hosts() -> FakeWeb {
    FakeWeb::start(FakeWebConfig { cross_host_links: 3, ..FakeWebConfig::small(4).with_named_hosts(4) })
}

fn flags(web: &FakeWeb, per: &str) -> Vec<String> {
    let words = ["--delay", "0", "--scope", "any", "--pause-after", "9", "--pause", "1.2s", "--pause-per", per];
    let resolve = web.resolve_args().into_iter().flat_map(|fixed| ["--resolve".to_owned(), fixed]);
    words.map(str::to_owned).into_iter().chain(resolve).collect()
}

fn wait_for_requests(web: &FakeWeb, number: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while web.requests().len() < number {
        assert!(Instant::now() < deadline, "{} requests, waiting for {number}", web.requests().len());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn explain(seine: &Seine, url: &str) -> serde_json::Value {
    let output = seine.run(&["explain", url, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("explain prints JSON")
}

#[test]
fn all_hosts_of_one_address_rest_together_after_so_many_requests_also_when_killed() {
    let web = web_of_four_hosts();
    let seine = Seine::new();
    let flags = flags(&web, "address");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut child = seine.crawl_command(&web.host_url(0, "/"), &flags).spawn().expect("seine can be started");
    wait_for_requests(&web, REQUESTS_BEFORE_PAUSE + 2);
    child.kill().expect("the process runs");
    child.wait().expect("it can be awaited");
    let run = seine.crawl(&web.host_url(0, "/"), &flags);
    assert_eq!((run.code, run.count("pages")), (0, 4 * 5), "{run:?}");
    assert_paused(&web.requests());
}

#[test]
fn each_host_can_have_its_own_pause() {
    let web = web_of_four_hosts();
    let flags = flags(&web, "host");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let run = Seine::new().crawl(&web.host_url(0, "/"), &flags);
    assert_eq!((run.code, run.count("pages")), (0, 4 * 5), "{run:?}");
    let requests = web.requests();
    // Six requests to each host, so nobody has to rest.
    let pause = requests.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap();
    assert!(requests.len() > 2 * REQUESTS_BEFORE_PAUSE && pause < PAUSE, "{pause:?}");
}

#[test]
fn an_address_that_rests_is_said_to_rest() {
    let web = web_of_four_hosts();
    let seine = Seine::new();
    let mut flags = flags(&web, "address");
    // Longer than the test.
    let pause = flags.iter().position(|flag| flag == "1.2s").unwrap();
    flags[pause] = "1h".to_owned();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut child = seine.crawl_command(&web.host_url(0, "/"), &flags).spawn().expect("seine can be started");
    wait_for_requests(&web, REQUESTS_BEFORE_PAUSE);
    child.kill().expect("the process runs");
    child.wait().expect("it can be awaited");
    let explained = explain(&seine, &web.host_url(0, "/"));
    assert_eq!(explained["address_state"], "resting", "{explained}");
    assert_eq!(explained["host_state"], "resting", "{explained}");
    let because = explained["host_rests_because"].as_str().unwrap_or_default();
    assert!(because.contains("general pause") && because.contains("127.0.0.1"), "{explained}");
    assert_eq!(web.requests().len(), REQUESTS_BEFORE_PAUSE);
}

#[test]
fn a_port_of_another_service_is_neither_a_seed_nor_followed() {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "start", &["http://127.0.0.1:25/", "http://127.0.0.1:6667/join"]);
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--scope", "any"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 1, 0), "{run:?}");
    let explained = explain(&seine, "http://127.0.0.1:25/");
    let crawl = &explained["crawls"][0];
    assert_eq!(
        (crawl["state"].as_str(), crawl["rule"].as_str()),
        (Some("excluded"), Some("refused-port 25")),
        "{explained}"
    );
    let refused = seine.run(&[&["crawl", "http://127.0.0.1:6667/"][..], &ALLOW_LOOPBACK].concat());
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("6667") && stderr.contains("another port"), "{stderr}");
}

#[test]
fn a_configured_contact_is_sent_behind_any_user_agent() {
    let web = FakeWeb::start(FakeWebConfig::small(2));
    let seine = Seine::new();
    std::fs::write(seine.data().join("seine.toml"), "[crawl]\ncontact = \"https://example.org/robot\"\n").unwrap();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--user-agent", "example-bot/7"]);
    assert_eq!(run.code, 0, "{run:?}");
    let requests = web.requests();
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!(request.user_agent(), "example-bot/7 (+https://example.org/robot)");
    }
}
