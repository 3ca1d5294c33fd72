//! A Monitor that stands by: when the one that leads dies, is stopped or stands still, the other goes on, and everybody finds it.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use seine_test_stores::{Setup, StoreCluster};
use seine_tests::sandbox::{Running, Seine, crawl_run, frontier_in};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

use crate::completeness::visits;
use crate::politeness::assert_spaced;

const LONG: Duration = Duration::from_secs(120);
/// Another leads so long after the one that led was killed, and after it was stopped politely.
const TAKES_OVER_IN: Duration = Duration::from_secs(10);
const AT_ONCE: Duration = Duration::from_secs(4);
const PAGES: u32 = 300;
const DELAY: Duration = Duration::from_millis(30);
/// That may be under way when a Monitor is killed.
const IN_FLIGHT: usize = 8;

/// Two machines that may lead, and one for each other tier.
struct Two {
    first: Seine,
    second: Seine,
    pages: Seine,
    leading: Option<Running>,
    standby: Option<Running>,
    _collector: (Seine, Running),
    _pages: Running,
    settings: [(&'static str, String); 2],
    _store: StoreCluster,
}

impl Two {
    /// `None` on a machine without a store to start.
    fn start() -> Option<Self> {
        let store = StoreCluster::start(Setup::default())?;
        let settings = frontier_in(&store);
        let (first, second, pages, collector) = (Seine::new(), Seine::new(), Seine::new(), Seine::new());
        let mut command = first.command(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
        let leading = Running::start(command.envs(settings.clone()));
        let join = leading.listen();
        let mut command = second.command(&["node", "--roles", "monitor", "--join", &join]);
        command.env("SEINE_JOIN_TOKEN", first.token(&["--roles", "monitor"])).envs(settings.clone());
        let standby = Running::start(&mut command);
        let saving = pages.start_node(&first, &join, "analyser,filesaver,indexer", &[]);
        let fetching = collector.start_node(&first, &join, "collector", &[]);
        Some(Self {
            first,
            second,
            pages,
            leading: Some(leading),
            standby: Some(standby),
            _collector: (collector, fetching),
            _pages: saving,
            settings,
            _store: store,
        })
    }

    /// The server that led first, at the address at which it listened.
    fn start_first_again(&self, listen: &str) -> Running {
        let words = ["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0", "--listen", listen];
        Running::start(self.first.command(&words).envs(self.settings.clone()))
    }

    /// Begins the crawl through one of the two, or follows it to its end.
    fn crawl(through: &Seine, web: &FakeWeb) -> Command {
        let delay = DELAY.as_secs_f64().to_string();
        through.crawl_command(&web.url("/"), &["--delay", &delay, "--name", "one"])
    }

    async fn until_crawled(&self, web: &FakeWeb, pages: usize) {
        eventually(LONG, "the crawl gets on", async || web.request_count() > pages).await;
    }

    /// Each page is once in the index and was asked for once, but for those under way at so many interruptions.
    fn finish(&self, through: &Seine, web: &FakeWeb, interruptions: usize) {
        let run = crawl_run(&Self::crawl(through, web).output().expect("seine can be started"));
        let pages = u64::from(PAGES) + 1;
        assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, pages, pages), "{run:?}");
        assert_eq!(self.pages.documents("fake").len() as u64, pages);
        let requests = web.requests();
        assert_spaced(&requests, DELAY);
        let again: BTreeMap<String, usize> =
            visits(&requests).into_iter().filter(|(path, visits)| path != "/robots.txt" && *visits > 1).collect();
        assert!(again.len() <= interruptions * IN_FLIGHT, "fetched again: {again:?}");
    }
}

fn nodes(through: &Seine) -> Option<Vec<Value>> {
    let output = through.run(&["nodes", "list", "--json"]);
    serde_json::from_slice::<Value>(&output.stdout).ok()?.as_array().cloned()
}

/// The node that leads, as one of the two tells.
async fn leader(through: &Seine, within: Duration) -> String {
    eventually(within, "somebody leads", async || {
        let nodes = nodes(through).unwrap_or_default();
        let leads = nodes.iter().find(|node| node["monitor"] == true && node["state"] == "idle");
        leads.map(|node| node["id"].as_str().unwrap_or_default().to_owned()).ok_or(nodes)
    })
    .await
}

async fn leads(node: &str, through: &Seine, within: Duration) {
    eventually(within, "the other leads", async || {
        let nodes = nodes(through).unwrap_or_default();
        let leads = nodes.iter().any(|known| known["monitor"] == true && known["id"] == node);
        if leads { Ok(()) } else { Err(nodes) }
    })
    .await;
}

#[tokio::test]
async fn a_killed_monitor_is_replaced_within_ten_seconds_and_no_page_is_lost_or_fetched_twice() {
    let Some(mut two) = Two::start() else { return };
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let mut crawling = Two::crawl(&two.first, &web).spawn().unwrap();
    two.until_crawled(&web, 40).await;
    let standby = two.standby.as_ref().unwrap().node();
    // Through the standby everything is as through the Monitor.
    assert_ne!(leader(&two.second, LONG).await, standby);
    drop(two.leading.take());
    let killed = Instant::now();
    let _ = crawling.wait();
    leads(&standby, &two.second, TAKES_OVER_IN).await;
    println!("took over after {:?}", killed.elapsed());
    let asked = web.request_count();
    two.until_crawled(&web, asked + 20).await;
    println!("asked for pages again after {:?}", killed.elapsed());
    two.finish(&two.second, &web, 1);
}

#[tokio::test]
async fn a_monitor_that_is_stopped_is_replaced_at_once_and_stands_by_when_it_comes_back() {
    let Some(mut two) = Two::start() else { return };
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let mut crawling = Two::crawl(&two.first, &web).spawn().unwrap();
    two.until_crawled(&web, 40).await;
    let leading = two.leading.take().unwrap();
    let (listen, standby) = (leading.listen(), two.standby.as_ref().unwrap().node());
    assert_eq!(leading.interrupt(), 130);
    let _ = crawling.wait();
    leads(&standby, &two.second, AT_ONCE).await;
    // Without a token, and under the name that it had.
    let back = two.start_first_again(&listen);
    leads(&standby, &two.first, LONG).await;
    let known = nodes(&two.first).unwrap();
    let first = known.iter().find(|node| node["id"] == back.node().as_str()).expect("it is known");
    assert_eq!((&first["monitor_standby"], known.len()), (&Value::Bool(true), 4), "{known:?}");
    assert_eq!(two.standby.take().unwrap().interrupt(), 130);
    leads(&back.node(), &two.first, AT_ONCE).await;
    two.finish(&two.first, &web, 2);
}

#[tokio::test]
async fn a_monitor_that_stood_still_changes_nothing_when_it_goes_on() {
    let Some(two) = Two::start() else { return };
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let mut crawling = Two::crawl(&two.first, &web).spawn().unwrap();
    two.until_crawled(&web, 40).await;
    let (leading, standby) = (two.leading.as_ref().unwrap(), two.standby.as_ref().unwrap().node());
    leading.signal("STOP");
    leads(&standby, &two.second, TAKES_OVER_IN).await;
    let asked = web.request_count();
    two.until_crawled(&web, asked + 20).await;
    leading.signal("CONT");
    let _ = crawling.wait();
    // It has given up, and passes on to the one that leads.
    leads(&standby, &two.first, LONG).await;
    two.finish(&two.second, &web, 1);
    leads(&standby, &two.first, LONG).await;
}

#[test]
fn a_second_monitor_of_a_frontier_on_a_disk_is_refused_with_the_reason() {
    let (first, second) = (Seine::new(), Seine::new());
    let server = first.start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let token = first.run(&["nodes", "token", "create", "--roles", "monitor"]);
    assert!(!token.status.success() && said(&token).contains("frontier.store = \"rocksdb\""), "{token:?}");
    let mut command = second.command(&["node", "--roles", "monitor", "--join", &server.listen()]);
    let refused = command.env("SEINE_JOIN_TOKEN", first.token(&[])).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(said(&refused).contains("frontier.store = \"redis\"") && said(&refused).contains("frontier.nodes"));
}
