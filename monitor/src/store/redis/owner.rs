//! Who owns the frontier: one Monitor at a time, by an epoch in the store.
//!
//! The owner changes a number every second. Who would like to be the owner watches it, by its own clock: when it has stood still
//! for long enough, or the owner has said that it is free, the epoch is raised, and every slot is told of it before anything is
//! read. From then on the store refuses what the former owner still writes, wherever that has been in the meantime.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redis::Value;
use seine_common::config::RedisSettings;
use seine_node::identity::Shelf;

use super::cluster::{Call, Cluster, Tail};
use super::failure::Failure;
use super::patience::{Patience, Troubles};
use super::{layout, scripts};
use crate::store::Slot;
use crate::{MonitorError, Result};

/// How often the owner says that it is alive.
const BEAT: Duration = Duration::from_secs(1);
/// After so long without a sign of life it is taken for dead.
pub const SILENCE: Duration = Duration::from_secs(5);
/// For whoever asks once, and can ask again.
const ANSWER_TAKES: Duration = Duration::from_secs(3);
/// Slots that are told of an epoch at once.
const FENCED_AT_ONCE: u16 = 2_048;

/// The Monitor that owns the frontier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub node: String,
    /// Where other nodes reach it.
    pub address: String,
    pub epoch: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sign {
    epoch: u64,
    beat: u64,
    node: String,
    address: String,
    is_free: bool,
}

/// A store that several Monitors reach, before one of them owns it.
#[derive(Clone)]
pub struct SharedStore {
    inner: Arc<Inner>,
}

struct Inner {
    settings: RedisSettings,
    watching: Mutex<Watching>,
}

struct Watching {
    cluster: Cluster,
    last: Option<(Sign, Instant)>,
}

impl SharedStore {
    /// Looks whether the store is there and fit for it. Blocks.
    pub fn connect(settings: &RedisSettings) -> Result<Self> {
        let mut cluster = Cluster::new(settings).map_err(MonitorError::Invalid)?;
        cluster.read_map()?;
        super::fitness::check(&mut cluster)?;
        let inner = Inner { settings: settings.clone(), watching: Mutex::new(Watching { cluster, last: None }) };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub fn settings(&self) -> &RedisSettings {
        &self.inner.settings
    }

    /// The owner as the store has it, alive or not; `None` when the last one left politely, or there was none. Blocks.
    pub fn owner(&self) -> Result<Option<Owner>> {
        let sign = self.watching().sign()?;
        Ok((sign.epoch > 0 && !sign.is_free).then_some(Owner {
            node: sign.node,
            address: sign.address,
            epoch: sign.epoch,
        }))
    }

    /// Becomes the owner, unless there is one that may be alive. To be asked again and again: an owner is dead when it was
    /// silent between such calls. Blocks.
    pub fn try_own(&self, node: &str, address: &str) -> Result<Option<Ownership>> {
        let mut watching = self.watching();
        let sign = match watching.sign() {
            Ok(sign) => sign,
            Err(failure) => {
                // While nobody reaches the store the owner does not either, and that says nothing of it.
                watching.last = None;
                return Err(failure.into());
            }
        };
        let since = match &watching.last {
            Some((seen, since)) if *seen == sign => *since,
            _ => {
                let now = Instant::now();
                watching.last = Some((sign.clone(), now));
                now
            }
        };
        let is_own = sign.node == node && sign.epoch > 0;
        if sign.epoch > 0 && !sign.is_free && since.elapsed() < SILENCE && !is_own {
            return Ok(None);
        }
        let call = scripts::take(sign.epoch, sign.beat, node, address);
        let taken = watching.run(call)?;
        let Value::Int(epoch @ 1..) = taken else { return Ok(None) };
        watching.last = None;
        let (epoch, cluster) = (epoch as u64, watching.cluster.again());
        drop(watching);
        Ok(Some(Ownership::begin(cluster, epoch, self.settings().confirmed_by)?))
    }

    /// For a store over it.
    pub(super) fn cluster(&self) -> Cluster {
        self.watching().cluster.again()
    }

    fn watching(&self) -> std::sync::MutexGuard<'_, Watching> {
        self.inner.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watching {
    fn sign(&mut self) -> std::result::Result<Sign, Failure> {
        let key = layout::owner();
        let answer = self.run(Call::new(Slot::HOME, &[b"HGETALL", &key]))?;
        Ok(Sign::read(&answer))
    }

    /// Gives up after a while.
    fn run(&mut self, call: Call) -> std::result::Result<Value, Failure> {
        once(&mut self.cluster, call, None)
    }
}

/// Tries for a few seconds.
fn once(cluster: &mut Cluster, call: Call, tail: Option<&Tail>) -> std::result::Result<Value, Failure> {
    let deadline = Instant::now() + ANSWER_TAKES;
    let calls = [call];
    loop {
        let reply = cluster.try_all(&calls, tail).pop().unwrap_or(Err(Failure::Moved));
        match reply {
            Ok(value) => return Ok(value),
            Err(failure @ (Failure::Refused(_) | Failure::Stale(_))) => return Err(failure),
            Err(failure) if Instant::now() >= deadline => return Err(failure),
            Err(Failure::NoScript) => scripts::load(cluster),
            Err(_) => {
                if cluster.read_map().is_err() {
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }
}

impl Sign {
    fn read(answer: &Value) -> Self {
        let fields = pairs(answer);
        let text = |name: &str| fields.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value).into_owned());
        let number = |name| text(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        Self {
            epoch: number("epoch"),
            beat: number("beat"),
            node: text("node").unwrap_or_default(),
            address: text("address").unwrap_or_default(),
            is_free: text("free").as_deref() == Some("1"),
        }
    }
}

/// The fields of a hash.
pub fn pairs(answer: &Value) -> HashMap<Vec<u8>, Vec<u8>> {
    let bytes = |value: &Value| match value {
        Value::BulkString(bytes) => bytes.clone(),
        Value::SimpleString(text) => text.clone().into_bytes(),
        Value::Int(number) => number.to_string().into_bytes(),
        _ => Vec::new(),
    };
    match answer {
        Value::Array(items) => items.chunks_exact(2).map(|pair| (bytes(&pair[0]), bytes(&pair[1]))).collect(),
        Value::Map(pairs) => pairs.iter().map(|(key, value)| (bytes(key), bytes(value))).collect(),
        _ => HashMap::new(),
    }
}

#[derive(Default)]
struct State {
    lost: Option<String>,
    ends: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    told: tokio::sync::Notify,
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The frontier belongs to this process, as long as nobody takes it. Says so every second; dropping it sets the frontier free.
pub struct Ownership {
    epoch: u64,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    books: Arc<Books>,
}

impl Ownership {
    fn begin(mut cluster: Cluster, epoch: u64, replicas: u32) -> Result<Self> {
        let troubles = Arc::<Troubles>::default();
        let mut patience = Patience::new("taking over", &troubles);
        for first in (0..Slot::COUNT).step_by(usize::from(FENCED_AT_ONCE)) {
            let last = first.saturating_add(FENCED_AT_ONCE).min(Slot::COUNT);
            let calls: Vec<Call> = (first..last).map(|slot| scripts::fence(Slot(slot), epoch)).collect();
            scripts::run(&mut cluster, &calls, &mut patience)?;
        }
        let books = Arc::new(Books { epoch, replicas, cluster: Mutex::new(cluster.again()) });
        let shared = Arc::<Shared>::default();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("frontier-owner".to_owned())
            .spawn(move || renew(&mut cluster, epoch, &of_thread))
            .expect("a thread can be started");
        Ok(Self { epoch, shared, thread: Mutex::new(Some(thread)), books })
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Where the books of the cluster's nodes are kept.
    pub fn shelf(&self) -> Arc<dyn Shelf> {
        self.books.clone()
    }

    /// Returns with the reason when the frontier belongs to somebody else.
    pub async fn lost(&self) -> String {
        loop {
            let told = self.shared.told.notified();
            if let Some(reason) = self.shared.lock().lost.clone() {
                return reason;
            }
            told.await;
        }
    }

    /// Sets the frontier free, so that another takes it at once. Blocks.
    pub fn release(&self) {
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        self.release();
    }
}

struct Books {
    epoch: u64,
    replicas: u32,
    cluster: Mutex<Cluster>,
}

impl Books {
    fn run(&self, call: Call, tail: Option<&Tail>) -> io::Result<Value> {
        let mut cluster = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        once(&mut cluster, call, tail).map_err(|failure| io::Error::other(MonitorError::from(failure)))
    }
}

impl Shelf for Books {
    fn read(&self, book: &str) -> io::Result<Option<Vec<u8>>> {
        match self.run(Call::new(Slot::HOME, &[b"HGET", &layout::books(), book.as_bytes()]), None)? {
            Value::BulkString(content) => Ok(Some(content)),
            _ => Ok(None),
        }
    }

    fn write(&self, book: &str, content: &[u8]) -> io::Result<()> {
        let tail = scripts::confirmed_by(self.replicas);
        self.run(scripts::keep(self.epoch, book, content), tail.as_ref()).map(drop)
    }
}

fn renew(cluster: &mut Cluster, epoch: u64, shared: &Shared) {
    loop {
        let ends = {
            let state = shared.lock();
            let waited = shared.changed.wait_timeout_while(state, BEAT, |state| !state.ends);
            waited.unwrap_or_else(PoisonError::into_inner).0.ends
        };
        match once(cluster, scripts::beat(epoch, ends), None) {
            Err(failure @ Failure::Stale(_)) => {
                shared.lock().lost = Some(failure.to_string());
                shared.told.notify_waiters();
                return;
            }
            Err(failure) => tracing::warn!(reason = %failure, "cannot tell the store that this Monitor is alive"),
            Ok(_) => {}
        }
        if ends {
            return;
        }
    }
}
