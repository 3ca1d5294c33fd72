//! How processes reach each other: gRPC within one, over mutual TLS between nodes (the [`node_port`]), and at the [`user_port`]
//! for people and their programs.
//!
//! A client has a [`Channel`] and does not know where it leads. The same services and the same generated clients serve all of
//! them, so there is no second code path for one machine. What somebody at the user port asks of a tier that runs elsewhere is
//! [passed on](forward).
//! Connections over TCP are [bounded](crate::connections), and one whose other side is gone is noticed by pings.

mod channel;
mod local_body;
pub mod credentials;
pub mod cut_off;
pub mod monitors;
pub mod dial;
pub mod forward;
mod handshakes;
pub mod node_port;
mod severable;
pub mod user_client;
pub mod user_port;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::service::Routes;
use tonic::transport::{Endpoint, Server};

pub use self::channel::{Channel, MemoryDialer, MemoryListener, in_memory};
use self::node_port::ConnectInfo;
use crate::connections::{Connection, ConnectionLimits, Connections};
use crate::descriptors;
use crate::identity::tls;

/// HTTP/2 flow-control windows: a page fits, so one page never waits for the reader of another.
const WINDOW_BYTES: u32 = 8 << 20;
/// HTTP/2 frames: fewer, larger ones than the default 16 KiB cost less per page.
const FRAME_BYTES: u32 = 1 << 20;

/// Connections over TCP, as long as there are descriptors for so many: one part in [`DESCRIPTORS_PART`] of them.
const MAX_CONNECTIONS: usize = 1_000;
const DESCRIPTORS_PART: u64 = 8;
/// How long a client may take for the handshake, and how long one may be silent that answers no pings.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the other side is asked whether it is there. What is sent counts, so a connection that answers may be idle.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Calls at the same time on one connection; further ones wait at the client.
const MAX_STREAMS: u32 = 1_024;
const MAX_HEADER_BYTES: u32 = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("cannot listen on {0}: {1}; is another process using it?")]
    Listen(SocketAddr, io::Error),
    #[error("{0:?} is not the address of a server; write HOST:PORT, such as 127.0.0.1:7070")]
    NotAnAddress(String),
    #[error("{0} is on another machine, and what is sent there in clear could be read by others; write https://{0}")]
    InClear(String),
    #[error("cannot take the authorities to believe from {0}: {1}; it must hold certificates in PEM")]
    Authorities(std::path::PathBuf, String),
    #[error("this machine has no root certificates that can be used: {0}; name a file with --ca")]
    Roots(String),
    #[error(transparent)]
    Serve(#[from] tonic::transport::Error),
}

fn tuned(endpoint: Endpoint) -> Endpoint {
    endpoint.initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES)
}

/// Binds a port, so that a wrong address is known before anything starts.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, TransportError> {
    TcpListener::bind(address).await.map_err(|error| TransportError::Listen(address, error))
}

/// Serves the services to this process itself until shutdown.
pub async fn serve(routes: Routes, memory: MemoryListener, shutdown: CancellationToken) {
    memory.serve(routes, shutdown).await;
}

/// What is wrong with a connection, down to the cause and in words: "transport error" says nothing.
pub fn cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    loop {
        if let Some(error) = deepest.downcast_ref::<io::Error>()
            && error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
        {
            return tls::explain_io(error);
        }
        match deepest.source() {
            Some(earlier) => deepest = earlier,
            None => break,
        }
    }
    match error.downcast_ref::<Status>() {
        // Nothing is wrong with the connection: somebody answered.
        Some(status) if status.source().is_none() => status.message().to_owned(),
        _ => deepest.to_string(),
    }
}

fn connections(shutdown: &CancellationToken) -> Connections {
    let most = MAX_CONNECTIONS.min(descriptors::part(DESCRIPTORS_PART));
    Connections::new(ConnectionLimits { most, patience: PATIENCE }, shutdown.clone())
}

/// Until the answer has been sent to its end, however long it streams.
async fn count_as_working(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    let of_node = extensions.get::<ConnectInfo>().map(|info| &info.connection);
    let working = of_node.or_else(|| extensions.get::<Arc<Connection>>()).map(Connection::work);
    let response = next.run(request).await;
    response.map(|body| {
        axum::body::Body::new(body.map_frame(move |frame| {
            let _until_the_body_is_dropped = &working;
            frame
        }))
    })
}

fn tcp_server() -> Server {
    server()
        .http2_keepalive_interval(Some(PING_INTERVAL))
        .max_concurrent_streams(MAX_STREAMS)
        .http2_max_header_list_size(MAX_HEADER_BYTES)
}

fn server() -> Server {
    Server::builder()
        .tcp_nodelay(true)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES)
}
