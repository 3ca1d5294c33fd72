//! How soon a page is found: from the moment its server saw the request for it to the first answer that has it.
//!
//! `seine serve` with all its tiers crawls a web of one host, once at 100 pages per second, once as fast as it can. Of what
//! the web saw last, a page is taken every half second and asked for until it is found.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use seine_tests::{FakeWeb, FakeWebConfig};
use serde::Serialize;

use crate::search::client::Client;
use crate::search::server::Server;

const SAMPLED_EVERY: Duration = Duration::from_millis(500);
const ASKED_EVERY: Duration = Duration::from_millis(100);
/// The first pages come while all is starting.
const SAMPLED_AFTER_PAGES: usize = 300;
const SAMPLES: usize = 30;
const PATIENCE: Duration = Duration::from_secs(120);
/// More than are fetched meanwhile.
const PAGES: u32 = 100_000;

#[derive(Debug, Clone, Serialize)]
pub struct Searchable {
    pub name: &'static str,
    pub samples: usize,
    pub pages_per_second: f64,
    /// In seconds.
    pub p50: f64,
    pub p95: f64,
    pub longest: f64,
    pub may_take: f64,
}

pub fn run(seine: &Path, work: &Path) -> anyhow::Result<Vec<Searchable>> {
    Ok(vec![
        measure(seine, work, "at a delay of 10 ms", "0.01", 3.0)?,
        measure(seine, work, "at full speed", "0", 15.0)?,
    ])
}

fn measure(seine: &Path, work: &Path, name: &'static str, delay: &str, may_take: f64) -> anyhow::Result<Searchable> {
    eprintln!("how soon pages are found that are crawled {name}");
    let web = FakeWeb::try_start(FakeWebConfig { pages: PAGES, ..FakeWebConfig::default() })?;
    let data = work.join(format!("searchable-{delay}"));
    let server = Server::start(seine, &data, &[])?;
    let mut command = Command::new(seine);
    command.args(["crawls", "add"]).arg(web.url("/")).args(["--allow-net", "127.0.0.0/8", "--delay", delay, "--data"]);
    let added = command.arg(&data).stdin(Stdio::null()).output().context("cannot run seine crawls add")?;
    ensure!(added.status.success(), "seine crawls add failed: {}", String::from_utf8_lossy(&added.stderr));
    let started = Instant::now();
    while web.requests().len() < SAMPLED_AFTER_PAGES {
        ensure!(started.elapsed() < PATIENCE, "fewer than {SAMPLED_AFTER_PAGES} requests in {PATIENCE:?}");
        std::thread::sleep(ASKED_EVERY);
    }
    let mut client = Client::connect(&server.http)?;
    let (before, started) = (web.requests().len(), Instant::now());
    let mut took = Vec::with_capacity(SAMPLES);
    let mut waiting: Vec<(u32, Instant)> = Vec::new();
    let mut taken = 0;
    let mut sample_at = Instant::now();
    let mut pages_per_second = 0.0;
    while took.len() < SAMPLES {
        ensure!(started.elapsed() < PATIENCE, "only {} of {SAMPLES} pages were found in {PATIENCE:?}", took.len());
        if taken < SAMPLES && sample_at <= Instant::now() {
            waiting.push(latest(&web)?);
            taken += 1;
            sample_at += SAMPLED_EVERY;
            pages_per_second = (web.requests().len() - before) as f64 / started.elapsed().as_secs_f64();
        }
        let mut still = Vec::with_capacity(waiting.len());
        for (page, at) in waiting {
            if is_found(&mut client, page)? { took.push(at.elapsed()) } else { still.push((page, at)) }
        }
        waiting = still;
        std::thread::sleep(ASKED_EVERY);
    }
    took.sort_unstable();
    let seconds = |share: f64| took[((took.len() - 1) as f64 * share).round() as usize].as_secs_f64();
    let (p50, p95, longest) = (seconds(0.5), seconds(0.95), seconds(1.0));
    Ok(Searchable { name, samples: SAMPLES, pages_per_second, p50, p95, longest, may_take })
}

/// The page that was asked for last, and when.
fn latest(web: &FakeWeb) -> anyhow::Result<(u32, Instant)> {
    let requests = web.requests();
    let page = |path: &str| path.strip_prefix("/p/")?.strip_suffix(".html")?.parse().ok();
    match requests.iter().rev().find_map(|request| Some((page(&request.path)?, request.at))) {
        Some(found) => Ok(found),
        None => bail!("no page was asked for"),
    }
}

fn is_found(client: &mut Client, page: u32) -> anyhow::Result<bool> {
    let answer: serde_json::Value = serde_json::from_slice(client.search(&format!("url:{page}.html"))?)?;
    let path = format!("/p/{page}.html");
    let hits = answer["hits"].as_array().context("the answer has no hits")?;
    Ok(hits.iter().any(|hit| hit["url"].as_str().is_some_and(|url| url.ends_with(&path))))
}
