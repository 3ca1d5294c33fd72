//! Bounds the connections of a server, so that clients who only hold them keep nobody else out.
//!
//! Life of a connection: accepted → *waiting* ([`Connection`]; no request is under way: the client is silent, slow to send
//! one, or slow to read its answer) ⇄ *working* ([`Working`] lives as long as a request) → closed. One that waits longer than
//! [`ConnectionLimits::patience`] without taking any bytes is closed. When as many are open as may be, the one that has
//! waited longest makes room for a new one; while all of them work, new ones stay in the kernel's queue. After shutdown none
//! may wait for long.
//!
//! [`stream`] enforces it below whatever protocol is spoken, so reading a request line and a TLS or HTTP/2 handshake
//! are covered as well.

mod stream;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use stream::BoundedStream;

/// How long to wait when no connection can be accepted, mostly because the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Open at the same time.
    pub most: usize,
    /// How long a connection may wait.
    pub patience: Duration,
}

/// All connections of one server. Clones are the same.
#[derive(Clone)]
pub struct Connections {
    limits: ConnectionLimits,
    shutdown: CancellationToken,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    /// A connection has closed, or waits.
    changed: Notify,
}

#[derive(Default)]
struct Table {
    open: usize,
    /// Of those open, the ones that were told to close.
    leaving: usize,
    /// How often one began to wait.
    turns: u64,
    /// By turn, so the one that has waited longest comes first.
    waiting: BTreeMap<u64, CancellationToken>,
}

/// One connection, open for as long as its stream.
pub struct Connection {
    shared: Arc<Shared>,
    told_to_close: CancellationToken,
    state: Mutex<State>,
}

struct State {
    requests: usize,
    turn: u64,
    waits_since: Instant,
    /// Requests may end later than the stream that brought them.
    is_closed: bool,
}

/// A request that is under way.
pub struct Working(Arc<Connection>);

impl Connections {
    pub fn new(limits: ConnectionLimits, shutdown: CancellationToken) -> Self {
        Self { limits, shutdown, shared: Arc::default() }
    }

    /// The next connection, once there is room for it. Errors of accepting are survived.
    pub async fn accept(&self, listener: &TcpListener) -> BoundedStream {
        let mut is_told = false;
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    // An answer must not wait for the acknowledgement of the one before.
                    let _ = stream.set_nodelay(true);
                    let connection = self.admit().await;
                    return BoundedStream::new(stream, peer, connection, self.limits.patience, &self.shutdown);
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!(%error, "cannot accept a connection; closing those that wait");
                    }
                    self.shared.table().close_longest_waiting();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn admit(&self) -> Arc<Connection> {
        loop {
            let changed = self.shared.changed.notified();
            {
                let mut table = self.shared.table();
                if table.open < self.limits.most {
                    table.open += 1;
                    return Connection::open(&self.shared, &mut table);
                }
                if table.leaving == 0 {
                    table.close_longest_waiting();
                }
            }
            changed.await;
        }
    }
}

/// What went wrong concerns only the connection that would have been accepted.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn wait(&mut self, told_to_close: &CancellationToken) -> u64 {
        self.turns += 1;
        self.waiting.insert(self.turns, told_to_close.clone());
        self.turns
    }

    fn close_longest_waiting(&mut self) {
        if let Some((_, told_to_close)) = self.waiting.pop_first() {
            self.leaving += 1;
            told_to_close.cancel();
        }
    }
}

impl Connection {
    fn open(shared: &Arc<Shared>, table: &mut Table) -> Arc<Self> {
        let told_to_close = CancellationToken::new();
        let state =
            State { requests: 0, turn: table.wait(&told_to_close), waits_since: Instant::now(), is_closed: false };
        Arc::new(Self { shared: Arc::clone(shared), told_to_close, state: Mutex::new(state) })
    }

    /// A request has arrived.
    pub fn work(self: &Arc<Self>) -> Working {
        let mut state = self.state();
        state.requests += 1;
        if state.requests == 1 {
            self.shared.table().waiting.remove(&state.turn);
        }
        Working(Arc::clone(self))
    }

    /// `None` while it works.
    fn waits_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.requests == 0).then_some(state.waits_since)
    }

    fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let mut table = self.shared.table();
        table.open -= 1;
        table.waiting.remove(&state.turn);
        if self.told_to_close.is_cancelled() {
            table.leaving -= 1;
        }
        self.shared.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let Connection { shared, told_to_close, .. } = &*self.0;
        let mut state = self.0.state();
        state.requests -= 1;
        let is_leaving = state.is_closed || told_to_close.is_cancelled();
        if state.requests == 0 && !is_leaving {
            state.waits_since = Instant::now();
            state.turn = shared.table().wait(told_to_close);
            shared.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
