//! The Monitor's books of tokens and nodes, for many callers at once.
//!
//! Changes come one after the other and are written before they count, on threads that may wait for the disk or a store. Looking
//! something up never waits for them.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use seine_common::clock::Clock;
use seine_proto::monitor::v1::NodeSettings;

use crate::identity::registrar::RegistrarError;
use crate::identity::{ClusterKey, NodeId, Peer, PeerRefusal, Registrar, Shelf};

/// Clones are the same.
#[derive(Clone)]
pub struct Registry {
    /// With the last change that is written.
    current: Arc<Mutex<Arc<Registrar>>>,
    /// Held by the one that changes something.
    changing: Arc<Mutex<()>>,
    clock: Clock,
}

impl Registry {
    pub fn open(directory: &Path, clock: Clock) -> Result<Self, RegistrarError> {
        let registrar = Registrar::open_or_create(directory, clock.now_ms())?;
        Ok(Self::of(registrar, clock))
    }

    /// The same with books that others read who may become the Monitor.
    pub fn open_shared(directory: &Path, shelf: Arc<dyn Shelf>, clock: Clock) -> Result<Self, RegistrarError> {
        let registrar = Registrar::open_shared(directory, shelf, clock.now_ms())?;
        Ok(Self::of(registrar, clock))
    }

    fn of(registrar: Registrar, clock: Clock) -> Self {
        Self { current: Arc::new(Mutex::new(Arc::new(registrar))), changing: Arc::default(), clock }
    }

    /// Looks something up.
    pub fn look<T>(&self, ask: impl FnOnce(&Registrar, i64) -> T) -> T {
        let current = Arc::clone(&locked(&self.current));
        ask(&current, self.clock.now_ms())
    }

    /// Changes something where waiting is no harm.
    pub fn with<T>(&self, change: impl FnOnce(&mut Registrar, i64) -> T) -> T {
        let _alone = locked(&self.changing);
        let mut next = self.look(|registrar, _| registrar.clone());
        let changed = change(&mut next, self.clock.now_ms());
        // Also after a refusal: a step that was written before it counts.
        *locked(&self.current) = Arc::new(next);
        changed
    }

    /// Changes something, from an async thread.
    pub async fn change<T: Send + 'static>(&self, change: impl FnOnce(&mut Registrar, i64) -> T + Send + 'static) -> T {
        let this = self.clone();
        match tokio::task::spawn_blocking(move || this.with(change)).await {
            Ok(changed) => changed,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// The roles that a node may have; an error for one that may not come any more.
    pub fn roles(&self, peer: &Peer) -> Result<Vec<String>, PeerRefusal> {
        self.look(|registrar, _| registrar.members().check(peer).map(|member| member.roles.iter().cloned().collect()))
    }

    /// Opens the books to whoever may become the Monitor; `None` where they lie on this machine alone.
    pub fn cluster_key(&self) -> Option<ClusterKey> {
        self.look(|registrar, _| registrar.cluster_key().cloned())
    }

    /// Nodes that nobody must talk to.
    pub fn removed(&self) -> Vec<String> {
        self.look(|registrar, now| registrar.deny_list(now).nodes.keys().map(ToString::to_string).collect())
    }

    /// DER, of the authorities that are trusted now, the one that signs first.
    pub fn roots(&self) -> Vec<Bytes> {
        let roots = self.look(|registrar, now| registrar.trusted_roots(now));
        roots.iter().map(|root| Bytes::copy_from_slice(root)).collect()
    }

    /// What was set for a node.
    pub fn settings(&self, node: &str) -> NodeSettings {
        let Ok(id) = node.parse::<NodeId>() else { return NodeSettings::default() };
        self.look(|registrar, _| {
            registrar.members().get(&id).map(|member| member.settings.to_message()).unwrap_or_default()
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
