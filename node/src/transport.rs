//! How tiers reach each other: gRPC over TCP between processes, gRPC over an in-memory stream within one.
//!
//! The same server and the same generated clients serve both, so there is no second code path for one machine.
//! In clear, TCP is loopback only; [`listen`] refuses anything else. The [`node_port`] is for other machines too, over mutual
//! TLS. Connections over TCP are [bounded](crate::connections), and one whose other side is gone is noticed by pings.

pub mod credentials;
pub mod cut_off;
pub mod dial;
pub mod node_port;
mod severable;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::{Channel, Endpoint, Server};

use self::node_port::ConnectInfo;
use crate::connections::{Connection, ConnectionLimits, Connections};
use crate::descriptors;

/// Bytes that an in-memory connection buffers in each direction.
const MEMORY_BUFFER_BYTES: usize = 1 << 20;
/// In-memory connections waiting to be accepted.
const MEMORY_BACKLOG: usize = 16;
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
    #[error(
        "gRPC address {0} is not on loopback; until nodes authenticate each other, use an address such as 127.0.0.1:7070"
    )]
    NotLoopback(SocketAddr),
    #[error("cannot listen on {0}: {1}; is another process using it?")]
    Listen(SocketAddr, io::Error),
    #[error("{0:?} is not the address of a node; write HOST:PORT, such as 127.0.0.1:7070")]
    NotAnAddress(String),
    #[error(transparent)]
    Serve(#[from] tonic::transport::Error),
}

/// Opens connections to the server of the same process.
#[derive(Clone, Debug)]
pub struct MemoryDialer {
    connections: mpsc::Sender<DuplexStream>,
}

/// Accepts what [`MemoryDialer`] opens.
#[derive(Debug)]
pub struct MemoryListener {
    connections: mpsc::Receiver<DuplexStream>,
}

pub fn in_memory() -> (MemoryDialer, MemoryListener) {
    let (sender, receiver) = mpsc::channel(MEMORY_BACKLOG);
    (MemoryDialer { connections: sender }, MemoryListener { connections: receiver })
}

impl MemoryDialer {
    /// A connection of its own, opened at first use and reopened when it breaks.
    pub fn channel(&self) -> Channel {
        let dialer = self.clone();
        let connect = tower::service_fn(move |_| {
            let connections = dialer.connections.clone();
            async move {
                let (near, far) = tokio::io::duplex(MEMORY_BUFFER_BYTES);
                connections.send(far).await.map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
                Ok::<_, io::Error>(TokioIo::new(near))
            }
        });
        tuned(Endpoint::from_static("http://memory.seine.invalid")).connect_with_connector_lazy(connect)
    }
}

/// A connection to another process, opened at first use and reopened when it breaks.
pub fn tcp_channel(address: &str) -> Result<Channel, TransportError> {
    Ok(tcp_endpoint(address)?.connect_lazy())
}

/// Where another process listens, for channels that spread over several.
pub fn tcp_endpoint(address: &str) -> Result<Endpoint, TransportError> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .map_err(|_| TransportError::NotAnAddress(address.to_owned()))?;
    Ok(tuned(endpoint).tcp_nodelay(true))
}

fn tuned(endpoint: Endpoint) -> Endpoint {
    endpoint.initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES)
}

/// Binds the gRPC port, so that a wrong address is known before anything starts.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, TransportError> {
    if !address.ip().is_loopback() {
        return Err(TransportError::NotLoopback(address));
    }
    TcpListener::bind(address).await.map_err(|error| TransportError::Listen(address, error))
}

/// Serves the services over both kinds of connection until shutdown.
pub async fn serve(
    routes: Routes,
    tcp: Option<TcpListener>,
    memory: MemoryListener,
    shutdown: CancellationToken,
) -> Result<(), TransportError> {
    let routes = routes.prepare();
    let over_memory = server().add_routes(routes.clone()).serve_with_incoming_shutdown(
        tokio_stream::StreamExt::map(ReceiverStream::new(memory.connections), Ok::<_, io::Error>),
        shutdown.clone().cancelled_owned(),
    );
    let over_tcp = async {
        let Some(listener) = tcp else { return Ok(()) };
        let incoming =
            futures::stream::unfold((listener, connections(&shutdown)), |(listener, connections)| async move {
                let stream = connections.accept(&listener).await;
                Some((Ok::<_, io::Error>(stream), (listener, connections)))
            });
        let routes = Routes::from(routes.into_axum_router().layer(from_fn(count_as_working)));
        tcp_server().add_routes(routes).serve_with_incoming_shutdown(incoming, shutdown.cancelled_owned()).await
    };
    let (memory, tcp) = tokio::join!(over_memory, over_tcp);
    memory?;
    tcp?;
    Ok(())
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
