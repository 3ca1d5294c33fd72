//! Watches when connections open and answers begin, for the pacing of a host, and lets no request out after the lease.
//!
//! The HTTP client opens connections on its own when a request needs one. This layer around its connector tells the
//! host's worker that one is being opened, and when it is open, because only then does the request leave.
//!
//! A process may be stopped for any time between a decision and what follows from it. So the end of the lease is looked at
//! once more when a request is about to be written, and when its connection has been opened.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::Notify;
use tower::{Layer, Service};

use crate::host_worker::pacing::Marks;

/// What was seen on the connections of one lease.
#[derive(Debug, Default)]
pub struct Wire {
    marks: Mutex<Marks>,
    /// Nothing is sent from then on.
    lease_end: Mutex<Option<Instant>>,
    connected: Notify,
}

impl Wire {
    pub fn marks(&self) -> Marks {
        *self.lock()
    }

    pub fn set_lease_end(&self, at: Instant) {
        *self.lease_end.lock().expect("nothing panics while the end is locked") = Some(at);
    }

    /// An error when nothing may be sent any more.
    pub fn check_lease(&self) -> Result<(), LeaseOver> {
        let end = *self.lease_end.lock().expect("nothing panics while the end is locked");
        if end.is_some_and(|end| Instant::now() >= end) { Err(LeaseOver) } else { Ok(()) }
    }

    /// Resolves when a connection has been opened or has failed.
    pub async fn connected(&self) {
        self.connected.notified().await;
    }

    /// The answer to a request begins.
    pub fn answered(&self, request: u64) {
        let mut marks = self.lock();
        if marks.answered.is_none_or(|(latest, _)| latest < request) {
            marks.answered = Some((request, Instant::now()));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Marks> {
        self.marks.lock().expect("nothing panics while the marks are locked")
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the lease of the host is over")]
pub struct LeaseOver;

/// Counts a connection as being opened for as long as it lives.
struct Opening(Arc<Wire>);

impl Opening {
    fn new(wire: &Arc<Wire>) -> Self {
        wire.lock().connecting += 1;
        Self(wire.clone())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut marks = self.0.lock();
        marks.connecting -= 1;
        marks.connected_at = Some(Instant::now());
        drop(marks);
        self.0.connected.notify_one();
    }
}

/// Wraps the connector of an HTTP client.
#[derive(Clone)]
pub struct WatchConnections(pub Arc<Wire>);

impl<S> Layer<S> for WatchConnections {
    type Service = WatchedConnector<S>;

    fn layer(&self, connector: S) -> Self::Service {
        WatchedConnector { connector, wire: self.0.clone() }
    }
}

#[derive(Clone)]
pub struct WatchedConnector<S> {
    connector: S,
    wire: Arc<Wire>,
}

impl<S, R> Service<R> for WatchedConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
    S::Response: 'static,
    S::Error: From<LeaseOver> + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let opening = Opening::new(&self.wire);
        let connecting = self.connector.call(destination);
        let wire = self.wire.clone();
        Box::pin(async move {
            let connected = connecting.await;
            drop(opening);
            wire.check_lease()?;
            connected
        })
    }
}
