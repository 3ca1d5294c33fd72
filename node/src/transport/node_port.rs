//! The door for other nodes: gRPC over mutual TLS 1.3.
//!
//! A handshake runs in a task of its own and within a time, so a client that stays silent holds up nobody; how many may be
//! open is bounded below, by [`Connections`]. A client without a certificate gets in as nobody: what it may call is for
//! [`authorisation`](crate::authorisation) to say.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::{from_fn, from_fn_with_state};
use futures::Stream;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::server::Connected;

use super::credentials::Credentials;
use super::cut_off::CutOff;
use super::severable::Severable;
use super::{TransportError, connections, count_as_working, tcp_server};
use crate::authorisation;
use crate::connections::{BoundedStream, Connection, Connections};
use crate::identity::{self, Peer};
use crate::membership::Members;

const HANDSHAKE_TAKES: Duration = Duration::from_secs(10);
/// Connections with a finished handshake that wait to be served.
const BACKLOG: usize = 16;

/// What a request knows of the connection that it came by.
#[derive(Clone)]
pub struct ConnectInfo {
    pub connection: Arc<Connection>,
    /// `None` for a client without a certificate.
    pub peer: Option<Peer>,
}

/// A connection of a node, or of somebody who wants to become one.
pub type NodeStream = Severable<TlsStream<BoundedStream>>;

/// What the port needs to tell who comes.
#[derive(Clone)]
pub struct NodePort {
    pub credentials: Credentials,
    pub cut_off: CutOff,
    pub members: Arc<Members>,
}

/// Binds the port, so that a wrong address is known before anything starts.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, TransportError> {
    TcpListener::bind(address).await.map_err(|error| TransportError::Listen(address, error))
}

impl NodePort {
    /// Serves the services to those who may call them, until shutdown.
    pub async fn serve(
        self,
        routes: Routes,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), TransportError> {
        let Self { credentials, cut_off, members } = self;
        let incoming = incoming(listener, connections(&shutdown), credentials, cut_off);
        let router = routes.prepare().into_axum_router().layer(from_fn_with_state(members, authorisation::check));
        let routes = Routes::from(router.layer(from_fn(count_as_working)));
        let stopped = shutdown.cancelled_owned();
        Ok(tcp_server().add_routes(routes).serve_with_incoming_shutdown(incoming, stopped).await?)
    }
}

/// Everybody who has shaken hands.
fn incoming(
    listener: TcpListener,
    connections: Connections,
    credentials: Credentials,
    cut_off: CutOff,
) -> impl Stream<Item = io::Result<NodeStream>> + Send {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let accepting = async move {
        loop {
            let stream = connections.accept(&listener).await;
            let (credentials, cut_off, sender) = (credentials.clone(), cut_off.clone(), sender.clone());
            tokio::spawn(async move {
                let from = stream.peer();
                match timeout(HANDSHAKE_TAKES, shake_hands(stream, &credentials, &cut_off)).await {
                    Ok(Ok(stream)) => drop(sender.send(Ok(stream)).await),
                    Ok(Err(reason)) => tell(from, &reason),
                    Err(_) => tell(from, "the handshake took too long"),
                }
            });
        }
    };
    // Accepts for as long as somebody takes what was accepted.
    let accepting = AbortOnDrop(tokio::spawn(accepting));
    let streams = ReceiverStream::new(receiver);
    tokio_stream::StreamExt::map(streams, move |stream| {
        let _accepting = &accepting;
        stream
    })
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn tell(from: SocketAddr, reason: &str) {
    tracing::warn!(%from, reason, "refused a connection to the node port");
}

async fn shake_hands(stream: BoundedStream, credentials: &Credentials, cut_off: &CutOff) -> Result<NodeStream, String> {
    let acceptor = TlsAcceptor::from(credentials.server());
    let stream = acceptor.accept(stream).await.map_err(|error| error.to_string())?;
    let Some(certificate) = certificate(&stream) else { return Ok(Severable::never(stream)) };
    let peer = identity::peer(certificate).ok_or("its certificate names no node")?;
    let admitted = cut_off.admit(peer.node_id.as_str());
    let admitted = admitted.ok_or_else(|| format!("node {} was removed", peer.node_id))?;
    Ok(Severable::new(stream, admitted))
}

/// What the other side has shown, verified.
fn certificate(stream: &TlsStream<BoundedStream>) -> Option<&CertificateDer<'static>> {
    stream.get_ref().1.peer_certificates()?.first()
}

/// Asked once for each connection.
impl Connected for NodeStream {
    type ConnectInfo = ConnectInfo;

    fn connect_info(&self) -> ConnectInfo {
        let stream = self.get_ref();
        let peer = certificate(stream).and_then(identity::peer);
        ConnectInfo { connection: Arc::clone(stream.get_ref().0.connection()), peer }
    }
}
