//! Watches when connections open and answers begin, for the pacing of a host.
//!
//! The HTTP client opens connections on its own when a request needs one. This layer around its connector tells the
//! host's worker that one is being opened, and when it is open, because only then does the request leave.

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
    connected: Notify,
}

impl Wire {
    pub fn marks(&self) -> Marks {
        *self.lock()
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
    S::Error: 'static,
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
        Box::pin(async move {
            let connected = connecting.await;
            drop(opening);
            connected
        })
    }
}
