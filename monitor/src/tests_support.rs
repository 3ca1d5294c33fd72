//! What tests of several modules build on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use seine_common::config::RedisSettings;
use seine_common::limits::MAX_BODY_BYTES;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Crawl, Outcome, OutcomeKind, Scope, Strategy};

use seine_test_stores::{Setup, StoreCluster};

use super::place::Order;
use super::record::{QueueEntry, UrlRecord};
use crate::frontier::{Candidate, Frontier};
use crate::store::{DEFAULT_MEMORY_BYTES, MemoryStore, RedisStore, RocksStore, SharedStore, Store};

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
    on_each_kind(|open| test(&|| Frontier::over_boxed(open()).unwrap()));
}

/// The same with the store itself.
pub fn on_each_kind(test: impl Fn(&dyn Fn() -> Box<dyn Store>)) {
    let memory = MemoryStore::default();
    test(&|| Box::new(memory.clone()));
    let dir = tempfile::tempdir().unwrap();
    test(&|| Box::new(RocksStore::open(dir.path(), DEFAULT_MEMORY_BYTES).unwrap()));
    if let Some(valkey) = Valkey::take() {
        test(&|| Box::new(valkey.open()));
    }
}

/// A Valkey cluster that tests have in turn. It ends with the last that waits for it.
pub struct Valkey {
    pub cluster: Arc<StoreCluster>,
    _turn: MutexGuard<'static, ()>,
}

impl Valkey {
    /// Empty; `None` on a machine that has no Valkey.
    pub fn take() -> Option<Self> {
        static RUNNING: Mutex<Weak<StoreCluster>> = Mutex::new(Weak::new());
        static TURN: Mutex<()> = Mutex::new(());
        let cluster = {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            match running.upgrade() {
                Some(cluster) => cluster,
                None => {
                    let cluster = Arc::new(StoreCluster::start(Setup::default())?);
                    *running = Arc::downgrade(&cluster);
                    cluster
                }
            }
        };
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        cluster.flush_all();
        Some(Self { cluster, _turn: turn })
    }

    pub fn settings(&self) -> RedisSettings {
        RedisSettings { nodes: self.cluster.nodes(), user: None, password: None, tls: None, confirmed_by: 1 }
    }

    pub fn open(&self) -> RedisStore {
        let shared = SharedStore::connect(&self.settings()).unwrap();
        let ownership = shared.try_own("a test", "127.0.0.1:1").unwrap().expect("nobody else wants it");
        RedisStore::open(&shared, &Arc::new(ownership), DEFAULT_MEMORY_BYTES)
    }
}
