//! What tests of several modules build on.

use seine_common::limits::MAX_BODY_BYTES;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Crawl, Outcome, OutcomeKind, Scope, Strategy};

use super::place::Order;
use super::record::{QueueEntry, UrlRecord};
use crate::frontier::{Candidate, Frontier};
use crate::store::MemoryStore;

pub fn crawl(name: &str, seeds: &[&str]) -> Crawl {
    Crawl {
        name: name.to_owned(),
        seeds: seeds.iter().map(|seed| (*seed).to_owned()).collect(),
        scope: Scope::Host.into(),
        strategy: Strategy::DepthFirst.into(),
        delay_ms: Some(1_000),
        connections_per_host: Some(1),
        hosts_per_ip: Some(2),
        user_agent: Some("seine-test/1".to_owned()),
        max_body_bytes: Some(MAX_BODY_BYTES as u64),
        ..Crawl::default()
    }
}

pub fn candidate(url: &str, depth: u32, sequence: u64, number: u32) -> Candidate {
    let url = CanonicalUrl::parse(url).unwrap();
    Candidate {
        host: url.host(),
        place: Order::DepthFirst.place(depth, sequence, number),
        entry: QueueEntry { url: url.as_str().to_owned(), depth, ..QueueEntry::default() },
        url,
    }
}

pub fn outcome(kind: OutcomeKind) -> Outcome {
    Outcome { kind: kind.into(), bytes: 10, generate: true, fingerprint: 7, ..Outcome::default() }
}

pub fn settled(page: &Candidate, outcome: Outcome) -> UrlRecord {
    UrlRecord { entry: page.entry.clone(), outcome, ..UrlRecord::default() }
}

/// Runs a test over each kind of store. What it is given opens the frontier, and opens it again when that was dropped.
pub fn on_each_store(test: impl Fn(&dyn Fn() -> Frontier)) {
    let memory = MemoryStore::default();
    test(&|| Frontier::over(memory.clone()).unwrap());
    let dir = tempfile::tempdir().unwrap();
    test(&|| Frontier::open(dir.path()).unwrap());
}
