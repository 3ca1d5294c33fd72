//! Serves the router over bounded connections, HTTP/1.1 and HTTP/2 without TLS, until shutdown.
//!
//! A connection counts as working while a handler runs; reading a request and sending its answer are waiting, so that
//! slow clients are the first to go when there are too many. What one connection may hold in memory is bounded too.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use seine_common::config::WebConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::connections::{BoundedStream, ConnectionLimits, Connections};
use crate::descriptors;

/// Connections when the settings name no number, as long as there are descriptors for so many.
const MAX_CONNECTIONS: usize = 10_000;
/// One part in so many of all descriptors is for connections of clients; the rest is for stores, crawls and gRPC.
const DESCRIPTORS_PART: u64 = 2;
/// What a connection may hold of a request that is not complete, and of an answer that is not read.
const BUFFER_BYTES: usize = 64 << 10;
const MAX_HEADER_BYTES: u32 = 32 << 10;
/// Requests at the same time on one connection of HTTP/2.
const MAX_STREAMS: u32 = 100;

/// Ends after shutdown when the last answer has been sent; who cannot wait so long drops it.
pub async fn serve(router: Router, listener: TcpListener, config: &WebConfig, shutdown: CancellationToken) {
    let connections = Connections::new(limits(config), shutdown.clone());
    let serving = TaskTracker::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            stream = connections.accept(&listener) => {
                serving.spawn(serve_connection(stream, router.clone(), shutdown.clone()));
            }
        }
    }
    drop(listener);
    serving.close();
    serving.wait().await;
}

fn limits(config: &WebConfig) -> ConnectionLimits {
    let possible = descriptors::part(DESCRIPTORS_PART);
    let most = config.max_connections.unwrap_or(MAX_CONNECTIONS.min(possible));
    if most > possible {
        tracing::warn!(
            max_connections = most,
            possible,
            "server.max_connections is more than half of the file descriptors that this process may open; using that"
        );
    }
    ConnectionLimits { most: most.min(possible), patience: config.idle_timeout }
}

async fn serve_connection(stream: BoundedStream, router: Router, shutdown: CancellationToken) {
    let (peer, connection) = (stream.peer(), stream.connection().clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let working = connection.work();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>(peer));
        let answering = router.clone().oneshot(request);
        async move {
            let response = answering.await;
            drop(working);
            response
        }
    });
    let builder = builder();
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = shutdown.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, error, "connection ended");
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().max_buf_size(BUFFER_BYTES);
    builder.http2().max_header_list_size(MAX_HEADER_BYTES).max_concurrent_streams(MAX_STREAMS);
    builder
}
