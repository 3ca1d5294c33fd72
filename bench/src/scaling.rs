//! Scaling by collectors: the same crawl by one, two and four of them, where the web's latency is the limit and not this
//! machine's cores.
//!
//! Each collector may have few requests under way, so each can do no more than that number by the latency. The server has all
//! other tiers and collects nothing. What counts is what the web saw in the steady part, after the first tenth of the pages,
//! when every collector is at work, and before the last, when some have run out of hosts.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, RecordedRequest};
use serde::Serialize;

const HOSTS: usize = 400;
const PAGES_PER_HOST: u32 = 11;
const LATENCY: Duration = Duration::from_millis(100);
/// Requests under way, for each collector.
const IN_FLIGHT: usize = 4;
const COLLECTORS: [usize; 3] = [1, 2, 4];
const TIME_LIMIT: Duration = Duration::from_secs(400);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The least that several collectors must do, by what one does.
pub const REQUIRED: [(usize, f64); 2] = [(2, 1.95), (4, 3.8)];

#[derive(Debug, Clone, Serialize)]
pub struct Scaling {
    pub collectors: usize,
    /// In the steady part.
    pub pages_per_second: f64,
    /// By what one collector did.
    pub ratio: f64,
}

/// The most that a number of collectors could do.
pub fn possible(collectors: usize) -> f64 {
    (collectors * IN_FLIGHT) as f64 / LATENCY.as_secs_f64()
}

pub async fn run(seine: &Path, work: &Path) -> anyhow::Result<Vec<Scaling>> {
    let mut speeds: Vec<Scaling> = Vec::new();
    for collectors in COLLECTORS {
        let pages_per_second = crawl(seine, work, collectors).await?;
        let ratio = pages_per_second / speeds.first().map_or(pages_per_second, |one| one.pages_per_second);
        speeds.push(Scaling { collectors, pages_per_second, ratio });
    }
    Ok(speeds)
}

async fn crawl(seine: &Path, work: &Path, collectors: usize) -> anyhow::Result<f64> {
    eprintln!("{HOSTS} hosts with a latency of {} ms by {collectors} collectors", LATENCY.as_millis());
    let web = FakeWeb::try_start(FakeWebConfig {
        latency: LATENCY,
        ..FakeWebConfig::small(PAGES_PER_HOST - 1).with_named_hosts(HOSTS)
    })?;
    let directory = || Seine::of(seine.to_owned(), work);
    let server = directory();
    let roles = "monitor,analyser,filesaver,indexer,query";
    let running = server.start(&["serve", "--roles", roles, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let settings = server.data().join("collector.toml");
    std::fs::write(&settings, format!("[fetch]\nmax_in_flight = {IN_FLIGHT}\n"))?;
    let settings = settings.to_str().context("the work directory is no text")?;
    let nodes: Vec<(Seine, Running)> = (0..collectors)
        .map(|_| {
            let node = directory();
            let running = node.start_node(&server, &running.listen(), "collector", &["--config", settings]);
            (node, running)
        })
        .collect();
    add_crawl(&server, &web)?;
    wait_for_its_end(&server).await?;
    drop(nodes);
    steady(&web.requests())
}

fn add_crawl(server: &Seine, web: &FakeWeb) -> anyhow::Result<()> {
    let mut words = vec!["crawls", "add", "--name", "scaling", "--delay", "0", "--connections-per-host", "1"];
    words.extend(ALLOW_LOOPBACK);
    let seeds: Vec<String> = (0..HOSTS).map(|host| web.host_url(host, "/")).collect();
    let known = web.resolve_args();
    words.extend(seeds.iter().map(String::as_str));
    words.extend(known.iter().flat_map(|known| ["--resolve", known]));
    let output = server.run(&words);
    ensure!(output.status.success(), "crawls add: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

async fn wait_for_its_end(server: &Seine) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut shown = String::new();
    while started.elapsed() < TIME_LIMIT {
        tokio::time::sleep(LOOK_EVERY).await;
        shown = String::from_utf8(server.run(&["crawls", "show", "scaling", "--json"]).stdout)?;
        if shown.contains("\"state\":\"finished\"") {
            return Ok(());
        }
    }
    bail!("the crawl did not end in {} s: {shown}", TIME_LIMIT.as_secs())
}

/// Pages per second between the first and the last tenth.
fn steady(requests: &[RecordedRequest]) -> anyhow::Result<f64> {
    let pages: Vec<_> = requests.iter().filter(|request| &*request.path != "/robots.txt").collect();
    let wanted = HOSTS * PAGES_PER_HOST as usize;
    ensure!(pages.len() == wanted, "{} pages were asked for instead of {wanted}", pages.len());
    let (first, last) = (pages.len() / 10, pages.len() * 9 / 10);
    Ok((last - first) as f64 / (pages[last].at - pages[first].at).as_secs_f64())
}
