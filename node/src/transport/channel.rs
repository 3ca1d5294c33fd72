//! A way to the services of this process or of another, for the generated clients.
//!
//! Within a process a call is handed to its service as it is: the same generated code as over the network, without HTTP/2 framing
//! and flow control in between, and its messages [move](LocalBody). A stream is pulled by whoever reads it, so a slow reader slows
//! its sender down.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tower::{Service, ServiceExt};

use super::local_body::LocalBody;

/// Clones are the same.
#[derive(Clone, Debug)]
pub struct Channel(Way);

#[derive(Clone, Debug)]
enum Way {
    Memory(MemoryDialer),
    Network(tonic::transport::Channel),
}

impl From<tonic::transport::Channel> for Channel {
    fn from(network: tonic::transport::Channel) -> Self {
        Self(Way::Network(network))
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = tonic::transport::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match &mut self.0 {
            Way::Memory(_) => Poll::Ready(Ok(())),
            Way::Network(channel) => channel.poll_ready(context),
        }
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match &mut self.0 {
            Way::Memory(dialer) => dialer.clone().call(request).map(Ok).boxed(),
            Way::Network(channel) => channel.call(request).boxed(),
        }
    }
}

/// Reaches the services of the same process.
#[derive(Clone, Debug)]
pub struct MemoryDialer {
    services: watch::Receiver<Services>,
}

/// Where the services of a process will be, for [`MemoryListener::serve`].
#[derive(Debug)]
pub struct MemoryListener {
    services: watch::Sender<Services>,
}

#[derive(Clone, Debug, Default)]
enum Services {
    /// Calls wait.
    #[default]
    Starting,
    Here(Arc<Routes>, TaskTracker),
    Ended,
}

pub fn in_memory() -> (MemoryDialer, MemoryListener) {
    let (sender, receiver) = watch::channel(Services::Starting);
    (MemoryDialer { services: receiver }, MemoryListener { services: sender })
}

impl MemoryDialer {
    pub fn channel(&self) -> Channel {
        Channel(Way::Memory(self.clone()))
    }

    async fn call(mut self, request: Request<Body>) -> Response<Body> {
        let found = self.services.wait_for(|services| !matches!(services, Services::Starting)).await;
        let services = found.map_or(Services::Ended, |services| services.clone());
        let Services::Here(routes, calls) = services else {
            return Status::unavailable("this process is ending").into_http();
        };
        // Until the answer has been read to its end, or nobody wants it any more.
        let under_way = calls.token();
        let (request, asker_moves) = LocalBody::of_request(request);
        let Ok(response) = Routes::clone(&routes).oneshot(request).await;
        response.map(|body| Body::new(LocalBody::of_response(body, asker_moves, under_way)))
    }
}

impl MemoryListener {
    /// Answers until shutdown, and then until all calls under way have ended.
    pub(super) async fn serve(self, routes: Routes, shutdown: CancellationToken) {
        let calls = TaskTracker::new();
        self.services.send_replace(Services::Here(Arc::new(routes.prepare()), calls.clone()));
        shutdown.cancelled().await;
        self.services.send_replace(Services::Ended);
        calls.close();
        calls.wait().await;
    }
}
