//! A Monitor that restarts, a collector that is cut off or dies: hosts go on within seconds, and no server sees two
//! collectors at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use seine_tests::sandbox::{Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, RecordedRequest, eventually};

use crate::completeness::visits;
use crate::politeness::assert_spaced;

const LONG: Duration = Duration::from_secs(120);
/// A restarted Monitor is back, and a dead collector's hosts go on elsewhere, in this time.
const BACK_IN: Duration = Duration::from_secs(5);
const ELSEWHERE_IN: Duration = Duration::from_secs(20);
/// How many collectors work.
const COLLECTORS: usize = 2;

/// Tiers in processes of their own.
struct Cluster {
    directories: Vec<Seine>,
    monitor: Option<Running>,
    address: String,
    _pages: Running,
    collectors: Vec<Running>,
}

impl Cluster {
    fn start() -> Self {
        let directories: Vec<Seine> = (0..COLLECTORS + 2).map(|_| Seine::new()).collect();
        let monitor = directories[0].start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
        let address = monitor.listen();
        let node = |directory: &Seine, roles: &str| directory.start_node(&directories[0], &address, roles, &[]);
        let pages = node(&directories[1], "analyser,filesaver,indexer");
        let collectors = directories[2..].iter().map(|directory| node(directory, "collector")).collect();
        Self { directories, monitor: Some(monitor), address, _pages: pages, collectors }
    }

    fn kill_monitor(&mut self) {
        self.monitor = None;
    }

    fn start_monitor(&mut self) {
        let words = ["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0", "--listen", &self.address];
        self.monitor = Some(self.directories[0].start(&words));
    }

    /// Begins the crawl, or follows it to its end.
    fn crawl(&self, web: &FakeWeb, delay: &str) -> std::process::Command {
        self.directories[0].crawl_command(&web.host_url(0, "/"), &["--scope", "any", "--delay", delay])
    }

    /// Waits for the end of the crawl, and checks what holds whatever happened.
    fn finish(&self, web: &FakeWeb, delay: Duration, seconds: &str) {
        let run = seine_tests::sandbox::crawl_run(&self.crawl(web, seconds).output().expect("seine can be started"));
        let pages = web.config().hosts.len() as u64 * (u64::from(web.config().pages) + 1);
        assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, pages, pages), "{run:?}");
        assert_eq!(self.directories[1].documents("fake").len() as u64, pages);
        for requests in by_host(web).values() {
            assert_spaced(requests, delay);
            assert_one_connection_after_the_other(requests);
        }
    }
}

fn by_host(web: &FakeWeb) -> BTreeMap<String, Vec<RecordedRequest>> {
    let mut hosts = BTreeMap::<_, Vec<_>>::new();
    for request in web.requests() {
        hosts.entry(request.host.to_string()).or_default().push(request);
    }
    hosts
}

/// With a delay, a collector has one connection to a host: two in use by turns are two collectors.
fn assert_one_connection_after_the_other(requests: &[RecordedRequest]) {
    let mut last_of: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, request) in requests.iter().enumerate() {
        if let Some(before) = last_of.insert(request.connection, at) {
            let (host, path) = (&request.host, &request.path);
            assert_eq!(before + 1, at, "{host}{path} came on a connection after another one was in use");
        }
    }
}

/// Paths of each host that were asked for more than once.
fn asked_twice(web: &FakeWeb) -> Vec<String> {
    let twice = by_host(web).into_iter().flat_map(|(host, requests)| {
        let twice = visits(&requests).into_iter().filter(|(_, visits)| *visits > 1);
        twice.map(move |(path, _)| format!("{host}{path}")).collect::<Vec<_>>()
    });
    twice.collect()
}

fn web(hosts: usize, pages: u32) -> FakeWeb {
    let latency = Duration::from_millis(5);
    FakeWeb::start(FakeWebConfig { cross_host_links: 4, latency, ..FakeWebConfig::small(pages).with_port_hosts(hosts) })
}

async fn every_host_is_at_work(web: &FakeWeb) {
    let hosts = web.config().hosts.len();
    eventually(LONG, "every host is at work", async || {
        let asked = by_host(web);
        if asked.len() == hosts && asked.values().all(|requests| requests.len() >= 6) {
            Ok(())
        } else {
            Err(asked.len())
        }
    })
    .await;
}

/// Waits until every host that has anything left was asked after that moment, and tells how long the longest took.
async fn every_host_goes_on(web: &FakeWeb, since: Instant, within: Duration) {
    let all = web.config().pages as usize + 2;
    let waiting = |requests: &Vec<RecordedRequest>| requests.len() < all && requests.last().unwrap().at < since;
    eventually(within, "every host goes on", async || {
        let waiting: Vec<String> =
            by_host(web).into_iter().filter(|(_, asked)| waiting(asked)).map(|(host, _)| host).collect();
        if waiting.is_empty() { Ok(()) } else { Err(waiting) }
    })
    .await;
}

fn longest_gap(web: &FakeWeb) -> Duration {
    let hosts = by_host(web);
    let gaps = hosts.values().flat_map(|requests| requests.windows(2).map(|pair| pair[1].at - pair[0].at));
    gaps.max().unwrap_or_default()
}

#[tokio::test]
async fn a_monitor_that_is_killed_and_restarted_is_back_in_five_seconds_and_nothing_is_fetched_twice() {
    let web = web(8, 60);
    let mut cluster = Cluster::start();
    let mut following = cluster.crawl(&web, "0.1").spawn().expect("seine can be started");
    every_host_is_at_work(&web).await;
    // The server does the crawl; who follows it is of no concern here.
    following.kill().expect("it runs");
    following.wait().expect("it can be awaited");
    cluster.kill_monitor();
    cluster.start_monitor();
    every_host_goes_on(&web, Instant::now(), BACK_IN).await;
    cluster.finish(&web, Duration::from_millis(100), "0.1");
    println!("longest time in which a host was not asked: {:?}", longest_gap(&web));
    assert_eq!(asked_twice(&web), Vec::<String>::new());
}

#[tokio::test]
async fn the_hosts_of_a_stopped_collector_go_on_elsewhere_in_twenty_seconds_and_it_asks_nothing_when_it_comes_back() {
    let web = web(10, 110);
    let cluster = Cluster::start();
    let mut following = cluster.crawl(&web, "0.25").spawn().expect("seine can be started");
    every_host_is_at_work(&web).await;
    let stopped = Instant::now();
    cluster.collectors[0].signal("STOP");
    every_host_goes_on(&web, stopped + Duration::from_millis(500), ELSEWHERE_IN).await;
    println!("longest time in which a host was not asked: {:?}", longest_gap(&web));
    assert!(longest_gap(&web) > Duration::from_secs(5), "no host was at the collector that was stopped");
    cluster.collectors[0].signal("CONT");
    following.wait().expect("it can be awaited");
    cluster.finish(&web, Duration::from_millis(250), "0.25");
    let twice = asked_twice(&web);
    // Those that were fetched and not settled when it was stopped.
    assert!(twice.len() <= web.config().hosts.len() * 2, "{twice:?}");
}

#[tokio::test]
async fn collectors_outlast_a_monitor_that_stands_still_for_longer_than_their_leases() {
    let web = web(6, 120);
    let cluster = Cluster::start();
    let mut following = cluster.crawl(&web, "0.2").spawn().expect("seine can be started");
    every_host_is_at_work(&web).await;
    let monitor = cluster.monitor.as_ref().expect("it runs");
    monitor.signal("STOP");
    std::thread::sleep(Duration::from_secs(20));
    monitor.signal("CONT");
    every_host_goes_on(&web, Instant::now(), BACK_IN).await;
    following.wait().expect("it can be awaited");
    cluster.finish(&web, Duration::from_millis(200), "0.2");
    println!("longest time in which a host was not asked: {:?}", longest_gap(&web));
    let twice = asked_twice(&web);
    // At most those whose requests were cut off by the end of a lease.
    assert!(twice.len() <= web.config().hosts.len(), "{twice:?}");
}
