//! Handing out URLs of a host whose queue is long and was longer: what was settled must not be waded through.

use std::path::Path;
use std::time::Instant;

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_monitor::frontier::{Candidate, Frontier, Settlement};
use seine_monitor::place::Order;
use seine_monitor::record::{HostRecord, LeaseRecord, QueueEntry, UrlRecord};
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::{CRAWL, FrontierReport};

const QUEUE: u64 = 500_000;
const SETTLED: u64 = 400_000;
const URLS_PER_LEASE: usize = 100;
const LEASES: usize = 1_000;

pub fn measure(report: &mut FrontierReport, directory: &Path) -> anyhow::Result<()> {
    let mut frontier = Frontier::open(directory)?;
    let pages: Vec<_> = (0..QUEUE).map(candidate).collect();
    let host = pages[0].host.clone();
    for links in pages.chunks(100) {
        frontier.admit(CRAWL, links, 0)?;
    }
    for page in pages.iter().take(SETTLED as usize) {
        settle(&mut frontier, &host, page)?;
    }
    let mut waiting = pages.iter().skip(SETTLED as usize);
    let mut times = Vec::with_capacity(LEASES);
    for _ in 0..LEASES {
        let started = Instant::now();
        let token = frontier.next_token()?;
        let record = HostRecord { host: host.as_str().to_owned(), lease_token: token, ..HostRecord::default() };
        frontier.promote_retries(CRAWL, &host, 1)?;
        let stretch = frontier.stretch(CRAWL, &host, None, URLS_PER_LEASE)?;
        let lease = LeaseRecord { token, crawl: CRAWL.0, host: host.as_str().to_owned(), ..LeaseRecord::default() };
        frontier.grant(&lease, &record)?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        anyhow::ensure!(stretch.urls.len() == URLS_PER_LEASE, "the queue gave {} URLs", stretch.urls.len());
        // The queue goes on moving, as it does in a crawl.
        for page in waiting.by_ref().take(20) {
            settle(&mut frontier, &host, page)?;
        }
        frontier.release(token, &HostRecord { lease_token: 0, ..record })?;
        frontier.requeue_host(CRAWL, &host, 0)?;
    }
    times.sort_by(f64::total_cmp);
    (report.lease_queue, report.lease_settled) = (QUEUE, SETTLED);
    (report.lease_p50_ms, report.lease_p99_ms) = (times[LEASES / 2], times[LEASES * 99 / 100]);
    drop(frontier);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

fn candidate(number: u64) -> Candidate {
    let url = CanonicalUrl::parse(&format!("https://www.example.org/archive/{number}/page.html")).expect("it is a URL");
    let entry = QueueEntry { url: url.as_str().to_owned(), depth: 1, ..QueueEntry::default() };
    Candidate { host: url.host(), url, place: Order::BreadthFirst.place(1, number / 100, (number % 100) as u32), entry }
}

fn settle(frontier: &mut Frontier, host: &HostKey, page: &Candidate) -> anyhow::Result<()> {
    let outcome = Outcome { kind: OutcomeKind::Saved.into(), bytes: 10_000, ..Outcome::default() };
    let record = UrlRecord { entry: page.entry.clone(), outcome, next_visit_ms: 1, ..UrlRecord::default() };
    frontier.settle(CRAWL, host, page.place, Settlement::Done(Box::new(record)))?;
    Ok(())
}
