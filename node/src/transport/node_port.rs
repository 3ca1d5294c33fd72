//! The door for other nodes: gRPC over mutual TLS 1.3.
//!
//! A client without a certificate gets in as nobody, and one whose node was removed to be told so: what they may call is for
//! [`authorisation`](crate::authorisation) to say.

use std::sync::Arc;

use axum::middleware::{from_fn, from_fn_with_state};
use rustls::pki_types::CertificateDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::server::Connected;

use super::credentials::Credentials;
use super::cut_off::CutOff;
use super::handshakes::Refused;
use super::severable::Severable;
use super::{TransportError, connections, count_as_working, handshakes, tcp_server};
use crate::authorisation;
use crate::connections::{BoundedStream, Connection};
use crate::identity::{self, Peer};
use crate::membership::Members;

/// What a request knows of the connection that it came by.
#[derive(Clone)]
pub struct ConnectInfo {
    pub connection: Arc<Connection>,
    /// `None` for a client without a certificate.
    pub peer: Option<Peer>,
    /// The certificate is valid, and its node is none any more.
    pub is_removed: bool,
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

impl NodePort {
    /// Serves the services to those who may call them, until shutdown.
    pub async fn serve(
        self,
        routes: Routes,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), TransportError> {
        let Self { credentials, cut_off, members } = self;
        let incoming = handshakes::incoming("node port", listener, connections(&shutdown), move |stream| {
            shake_hands(stream, credentials.clone(), cut_off.clone())
        });
        let router = routes.prepare().into_axum_router().layer(from_fn_with_state(members, authorisation::check));
        let routes = Routes::from(router.layer(from_fn(count_as_working)));
        let stopped = shutdown.cancelled_owned();
        Ok(tcp_server().add_routes(routes).serve_with_incoming_shutdown(incoming, stopped).await?)
    }
}

async fn shake_hands(stream: BoundedStream, credentials: Credentials, cut_off: CutOff) -> Result<NodeStream, Refused> {
    let acceptor = TlsAcceptor::from(credentials.server());
    let stream = acceptor
        .accept(stream)
        .await
        .map_err(|error| Refused { reason: error.to_string(), looked_for_another: found_another(&error) })?;
    let Some(certificate) = certificate(&stream) else { return Ok(Severable::never(stream)) };
    let peer = identity::peer(certificate).ok_or("its certificate names no node")?;
    match cut_off.admit(peer.node_id.as_str()) {
        Some(admitted) => Ok(Severable::new(stream, admitted)),
        None => Ok(Severable::never(stream)),
    }
}

/// Whether the other side ended the handshake because of the name in this node's certificate.
fn found_another(error: &std::io::Error) -> bool {
    let error = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(error, Some(rustls::Error::AlertReceived(rustls::AlertDescription::BadCertificate)))
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
        let is_removed = peer.is_some() && !self.is_severable();
        ConnectInfo { connection: Arc::clone(stream.get_ref().0.connection()), peer, is_removed }
    }
}
