//! The store below a frontier, opened by a test while no Seine has it: in the data directory, or in the sandbox's cluster.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_common::config::RedisSettings;
use seine_monitor::store::{DEFAULT_MEMORY_BYTES, RedisStore, RocksStore, SharedStore, Store};
use seine_test_stores::StoreCluster;
use seine_tests::sandbox::Seine;

/// An owner that was killed is known to be dead within this time.
const OWNER_IS_DEAD_AFTER: Duration = Duration::from_secs(20);

pub fn store_of(seine: &Seine) -> Box<dyn Store> {
    match seine.store() {
        None => {
            let store = RocksStore::open(&seine.data().join("monitor"), DEFAULT_MEMORY_BYTES);
            Box::new(store.expect("nobody holds the frontier"))
        }
        Some(cluster) => Box::new(owned(cluster)),
    }
}

fn owned(cluster: &StoreCluster) -> RedisStore {
    let settings = RedisSettings { nodes: cluster.nodes(), user: None, password: None, tls: None, confirmed_by: 1 };
    let shared = SharedStore::connect(&settings).expect("the store is there");
    let deadline = Instant::now() + OWNER_IS_DEAD_AFTER;
    loop {
        if let Some(ownership) = shared.try_own("a test", "").expect("the store answers") {
            return RedisStore::open(&shared, &Arc::new(ownership), DEFAULT_MEMORY_BYTES);
        }
        assert!(Instant::now() < deadline, "the owner was killed and still owns the frontier");
        std::thread::sleep(Duration::from_millis(100));
    }
}
