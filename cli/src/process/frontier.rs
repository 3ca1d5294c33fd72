//! Where the Monitor's frontier and books are: on this machine's disk, or in a store that several machines reach, one of which
//! owns it at a time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use seine_common::config::{FrontierConfig, FrontierStore, RedisSettings};
use seine_monitor::MonitorError;
use seine_monitor::store::{Owner, Ownership, SharedStore};
use tokio::time::{Instant, sleep};

use crate::failure::{Failure, Result};

/// How often it is looked whether the frontier is free.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
/// An owner that is dead is known to be within this time.
const OWNER_IS_DEAD_AFTER: Duration = Duration::from_secs(7);

/// A shared frontier that belongs to this process.
#[derive(Clone)]
pub struct Owned {
    pub store: SharedStore,
    pub ownership: Arc<Ownership>,
}

impl Owned {
    /// Sets the frontier free, so that another takes it at once.
    pub async fn release(&self) {
        let ownership = Arc::clone(&self.ownership);
        let _ = blocking(move || ownership.release()).await;
    }
}

/// For a command that is the Monitor for a while: `None` where the frontier is on the disk.
pub async fn own(config: &FrontierConfig, node: &str) -> Result<Option<Owned>> {
    let FrontierStore::Redis(settings) = &config.store else { return Ok(None) };
    let store = connect(settings.clone()).await?;
    if let Some(ownership) = own_within(&store, node, "").await? {
        return Ok(Some(Owned { store, ownership: Arc::new(ownership) }));
    }
    let whose = owner(&store).await?.map_or_else(|| "another process".to_owned(), |owner| named(&owner));
    Err(Failure::failed(format!(
        "the frontier belongs to {whose}; run the command there, or ask it with --server and its admin token"
    )))
}

/// Waits until an owner that is dead is known to be. `None` when there is one that lives.
pub async fn own_within(store: &SharedStore, node: &str, address: &str) -> Result<Option<Ownership>> {
    let deadline = Instant::now() + OWNER_IS_DEAD_AFTER;
    loop {
        let owned = try_own(store, node, address).await?;
        if owned.is_some() || Instant::now() >= deadline {
            return Ok(owned);
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Stands for a process that has no name in the cluster, or none yet, and is no other such.
pub fn no_node() -> String {
    format!("process-{:08x}", rand::random::<u32>())
}

pub async fn connect(settings: RedisSettings) -> Result<SharedStore> {
    blocking(move || SharedStore::connect(&settings)).await.map_err(refused)
}

/// `None` while it may belong to another.
pub async fn try_own(store: &SharedStore, node: &str, address: &str) -> Result<Option<Ownership>> {
    let (store, node, address) = (store.clone(), node.to_owned(), address.to_owned());
    blocking(move || store.try_own(&node, &address)).await.map_err(refused)
}

pub async fn owner(store: &SharedStore) -> Result<Option<Owner>> {
    let store = store.clone();
    blocking(move || store.owner()).await.map_err(refused)
}

/// A store that is away may come back, one that is unfit does not change.
fn refused(error: MonitorError) -> Failure {
    tonic::Status::from(error).into()
}

/// As people are told.
pub fn named(owner: &Owner) -> String {
    match owner.address.as_str() {
        "" => owner.node.clone(),
        address => format!("{} at {address}", owner.node),
    }
}

/// On a thread that may wait for the store.
pub fn blocking<T: Send + 'static>(ask: impl FnOnce() -> T + Send + 'static) -> impl Future<Output = T> {
    let asked = tokio::task::spawn_blocking(ask);
    async {
        match asked.await {
            Ok(answer) => answer,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
