//! The frontier in a cluster of stores: three masters with a replica each on this machine, every change on the disks of both.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures::executor::block_on;
use seine_common::config::RedisSettings;
use seine_monitor::frontier::{Frontier, Reads};
use seine_monitor::store::{RedisStore, SharedStore};
use seine_test_stores::{Reply, Setup, StoreCluster};

use super::urls::UrlSource;
use super::{BATCH, CRAWL, FrontierReport};

/// Pages whose links wait together, as they do at a busy Monitor.
const PAGES_AT_ONCE: u64 = 20;
/// Keys of each kind whose memory is asked for.
const KEYS_LOOKED_AT: usize = 2_000;
const MEMORY_BYTES: usize = 48 << 20;
/// The letters of the sieve's and the queue's keys.
const SIEVE: u8 = b's';
const QUEUE: u8 = b'q';

/// Leaves the figures at zero where there is no Valkey to start.
pub fn measure(report: &mut FrontierReport, urls: u64) -> anyhow::Result<()> {
    let Some(cluster) = StoreCluster::start(Setup::default()) else { return Ok(()) };
    let settings = RedisSettings { nodes: cluster.nodes(), user: None, password: None, tls: None, confirmed_by: 1 };
    let store = SharedStore::connect(&settings)?;
    let ownership = store.try_own("bench", "127.0.0.1:1")?.context("nobody else wants it")?;
    let mut frontier = Frontier::over(RedisStore::open(&store, &ownership.into(), MEMORY_BYTES))?;
    let syncer = frontier.syncer();
    let mut source = UrlSource::new(urls);
    let cpu_before = cluster.cpu_seconds();
    let (mut busy, mut taken) = (Duration::ZERO, 0);
    while taken < urls {
        let pages: Vec<_> = (0..PAGES_AT_ONCE).map(|_| source.batch(BATCH)).collect();
        let started = Instant::now();
        let mut reads = Reads::default();
        for candidate in pages.iter().flatten() {
            frontier.reads_of_link(&mut reads, CRAWL, &candidate.url);
        }
        frontier.load(&reads)?;
        for candidates in &pages {
            taken += frontier.admit(CRAWL, candidates, 0)?.iter().filter(|new| **new).count() as u64;
        }
        busy += started.elapsed();
    }
    let started = Instant::now();
    block_on(syncer.sync())?;
    busy += started.elapsed();
    report.cluster_urls = taken;
    report.cluster_urls_per_second = taken as f64 / busy.as_secs_f64();
    report.cluster_cpu_us_per_url = (cluster.cpu_seconds() - cpu_before) * 1e6 / taken as f64;
    report.cluster_bytes_per_known = bytes_per_entry(&cluster, SIEVE, "HLEN")?;
    report.cluster_bytes_per_queued = bytes_per_entry(&cluster, QUEUE, "ZCARD")?;
    Ok(())
}

/// The memory of keys of one kind, their names and the server's own share included.
fn bytes_per_entry(cluster: &StoreCluster, letter: u8, count: &str) -> anyhow::Result<f64> {
    let (mut bytes, mut entries, mut keys) = (0, 0, 0);
    for master in cluster.masters() {
        let mut node = cluster.connect(master);
        let mut cursor = b"0".to_vec();
        loop {
            let mut answer = node.call(&[b"SCAN", cursor.as_slice(), b"COUNT", b"1000"])?.array().into_iter();
            cursor = answer.next().context("SCAN gives a cursor")?.text().into_bytes();
            for name in answer.next().context("SCAN gives keys")?.array() {
                let Reply::Bulk(name) = name else { continue };
                let kind = name.0.iter().position(|byte| *byte == b'}').and_then(|end| name.0.get(end + 1));
                if kind != Some(&letter) {
                    continue;
                }
                bytes += node.call(&[b"MEMORY".as_slice(), b"USAGE", name.0.as_slice(), b"SAMPLES", b"0"])?.integer();
                entries += node.call(&[count.as_bytes(), name.0.as_slice()])?.integer();
                keys += 1;
            }
            if cursor == b"0" || keys > KEYS_LOOKED_AT {
                break;
            }
        }
    }
    Ok(bytes as f64 / (entries as f64).max(1.0))
}
