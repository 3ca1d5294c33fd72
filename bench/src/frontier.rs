//! The frontier under load: millions of new URLs, a long queue, and the fingerprints that tell URLs apart.
//!
//! Runs in a child process, so that its memory is its own. Durability is left to the operating system, as with
//! `durability = "os"`.

mod fingerprints;
mod in_cluster;
mod lease;
mod over_grpc;
mod urls;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use seine_monitor::frontier::Frontier;
use seine_monitor::record::CrawlId;
use serde::{Deserialize, Serialize};

use crate::measure;
use urls::UrlSource;

const CRAWL: CrawlId = CrawlId(1);
const TIME_LIMIT: Duration = Duration::from_secs(1_800);
/// Links that come together, as those of a page do.
pub const BATCH: u64 = 100;
const MILLION: u64 = 1_000_000;
/// Memory is looked at this often.
const SAMPLE_EVERY: u64 = 10_000;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FrontierReport {
    pub new_urls: u64,
    pub hosts: u64,
    pub urls_per_second: f64,
    pub rss_mb_at_3_of_10: f64,
    pub rss_mb_at_end: f64,
    pub bytes_per_url_on_disk: f64,
    pub grpc_urls: u64,
    pub grpc_urls_per_second: f64,
    #[serde(default)]
    pub cluster_urls: u64,
    #[serde(default)]
    pub cluster_urls_per_second: f64,
    /// Summed over all servers.
    #[serde(default)]
    pub cluster_cpu_us_per_url: f64,
    #[serde(default)]
    pub cluster_bytes_per_known: f64,
    #[serde(default)]
    pub cluster_bytes_per_queued: f64,
    pub lease_queue: u64,
    pub lease_settled: u64,
    pub lease_p50_ms: f64,
    pub lease_p99_ms: f64,
    pub fingerprinted: u64,
    pub collisions: u64,
    pub fingerprint_cpu_seconds: f64,
}

pub async fn run_in_child(urls: u64, work: &Path) -> anyhow::Result<FrontierReport> {
    eprintln!("frontier takes in {urls} URLs");
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--frontier-of").arg(urls.to_string()).arg("--work-dir").arg(work);
    let finished = measure::run("frontier", &mut command, work, TIME_LIMIT).await?.must_succeed()?;
    serde_json::from_str(&finished.stdout).context("the frontier ended without figures")
}

/// What the child does.
pub fn run_here(urls: u64, work: &Path) -> anyhow::Result<()> {
    let mut report = FrontierReport { new_urls: urls, ..FrontierReport::default() };
    take_in(&mut report, &work.join("frontier"))?;
    over_grpc::measure(&mut report, urls / 10, &work.join("frontier-grpc"))?;
    lease::measure(&mut report, &work.join("frontier-lease"))?;
    in_cluster::measure(&mut report, (urls / 10).max(BATCH))?;
    fingerprints::measure(&mut report)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// New URLs through the trait.
fn take_in(report: &mut FrontierReport, directory: &Path) -> anyhow::Result<()> {
    let mut frontier = Frontier::open(directory)?;
    let mut source = UrlSource::new(report.new_urls);
    report.hosts = source.hosts();
    // Making the URLs is not the frontier's work.
    let mut busy = Duration::ZERO;
    let mut taken = 0;
    while taken < report.new_urls {
        let candidates = source.batch(BATCH.min(report.new_urls - taken));
        let started = Instant::now();
        let new = frontier.admit(CRAWL, &candidates, 0)?;
        busy += started.elapsed();
        taken += new.iter().filter(|new| **new).count() as u64;
        if taken % MILLION < BATCH {
            eprintln!("{taken} URLs, {:.0}/s, {:.0} MB", taken as f64 / busy.as_secs_f64(), measure::own_rss_mb()?);
        }
        // Memory goes up and down with what is not written yet, so the most of a stretch is taken.
        if taken % SAMPLE_EVERY < BATCH {
            let reached = taken as f64 / report.new_urls as f64;
            let rss_mb = measure::own_rss_mb()?;
            if (0.25..=0.3).contains(&reached) {
                report.rss_mb_at_3_of_10 = report.rss_mb_at_3_of_10.max(rss_mb);
            } else if reached >= 0.95 {
                report.rss_mb_at_end = report.rss_mb_at_end.max(rss_mb);
            }
        }
    }
    report.urls_per_second = taken as f64 / busy.as_secs_f64();
    drop(frontier);
    report.bytes_per_url_on_disk = measure::bytes_below(directory)? as f64 / taken as f64;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
