//! How a machine becomes a node: it checks that the Monitor is the one that its token names, shows the secret, and gets a
//! certificate for the key that it has drawn.
//!
//! A key that was drawn is kept until an answer came, so that an attempt that broke off in the middle can be repeated without
//! spending the token twice.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use seine_proto::node::v1::membership_client::MembershipClient;
use seine_proto::node::v1::{Certificate, ClusterKeyRequest, JoinRequest, RegisterRequest, RenewRequest};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::transport::Endpoint;
use tonic::{Code, Status};

use crate::identity::tls;
use crate::identity::{Admitted, ClusterId, ClusterKey, JoinToken, Name, NodeId, OwnIdentity, PendingRequest, own};
use crate::membership::VERSION;
use crate::transport::credentials::Credentials;
use crate::transport::cut_off::CutOff;
use crate::transport::dial::Dialer;
use crate::transport::monitors::Monitors;
use crate::transport::{self, Channel};

const ANSWER_TAKES: Duration = Duration::from_secs(10);

/// Why this machine is not a node, in words for whoever started it.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// May pass.
    #[error("cannot reach the Monitor at {address}: {reason}")]
    Away { address: String, reason: String },
    /// Trying again would not help.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Identity(#[from] own::IdentityError),
}

/// Joins with a token and keeps the identity in the directory.
pub async fn join(
    address: &str,
    token: &JoinToken,
    roles: &BTreeSet<String>,
    directory: &Path,
) -> Result<OwnIdentity, JoinError> {
    let pending = PendingRequest::open_or_draw(directory)?;
    let request = JoinRequest {
        token_id: token.id.to_string(),
        secret: token.secret.reveal(),
        roles: roles.iter().cloned().collect(),
        signing_request: pending.request_der()?.into(),
        version: VERSION.to_owned(),
    };
    let answer = match tokio::time::timeout(ANSWER_TAKES, ask(address, token, request)).await {
        Ok(answer) => answer?,
        Err(_) => return Err(away(address, &"it does not answer")),
    };
    let own = pending.complete(answer, address)?;
    own.save(directory)?;
    PendingRequest::discard(directory)?;
    Ok(own)
}

/// Whether the Monitor still takes this machine for a node. Registers nothing.
pub async fn is_welcome(monitors: &Monitors, own: &OwnIdentity) -> Result<(), JoinError> {
    let channel = channel(monitors, own)?;
    let request = RegisterRequest { version: VERSION.to_owned(), ..RegisterRequest::default() };
    let mut client = MembershipClient::new(channel);
    let status = match tokio::time::timeout(ANSWER_TAKES, client.register(request)).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(status)) => status,
        Err(_) => return Err(away(&monitors.likeliest(), &"it does not answer")),
    };
    match status.code() {
        // It got so far as to miss the node's name.
        Code::InvalidArgument => Ok(()),
        Code::PermissionDenied | Code::Unauthenticated | Code::FailedPrecondition => {
            Err(JoinError::Refused(status.message().to_owned()))
        }
        _ if has_tls_fault(&status) => Err(JoinError::Refused(transport::cause(&status))),
        _ => Err(away(&monitors.likeliest(), &transport::cause(&status))),
    }
}

/// What opens the books of the cluster, for a node that may become the Monitor.
pub async fn cluster_key(monitors: &Monitors, own: &OwnIdentity) -> Result<ClusterKey, JoinError> {
    let mut client = MembershipClient::new(channel(monitors, own)?);
    let answer = match tokio::time::timeout(ANSWER_TAKES, client.cluster_key(ClusterKeyRequest {})).await {
        Ok(answer) => answer.map_err(|status| refusal(&monitors.likeliest(), &status))?.into_inner(),
        Err(_) => return Err(away(&monitors.likeliest(), &"it does not answer")),
    };
    ClusterKey::from_bytes(&answer.key).ok_or_else(|| {
        JoinError::Refused("the Monitor's answer is no key; are both versions of seine the same?".into())
    })
}

/// The next certificate of a node, for a key that is drawn for it, kept in the directory.
pub async fn renew(monitor: Channel, own: &OwnIdentity, directory: &Path) -> Result<OwnIdentity, String> {
    let kept = directory.to_owned();
    let pending = blocking(move || PendingRequest::open_or_draw(&kept)).await?;
    let signing_request = pending.request_der().map_err(|error| error.to_string())?;
    let request = RenewRequest { signing_request: signing_request.into(), generation: own.generation };
    let answer = tokio::time::timeout(ANSWER_TAKES, MembershipClient::new(monitor).renew(request)).await;
    let answer = answer.map_err(|_| "the Monitor does not answer")?;
    let answer = answer.map_err(|status| transport::cause(&status))?.into_inner();
    let admitted = admitted(own.cluster.as_str(), own.node.as_str(), answer.certificate.unwrap_or_default());
    let admitted = admitted.ok_or("the Monitor's answer makes no sense")?;
    let renewed = pending.complete(admitted, &own.joined_at).map_err(|error| error.to_string())?;
    keep(&renewed, directory).await?;
    Ok(renewed)
}

/// On disk before it is shown to anybody.
pub(crate) async fn keep(own: &OwnIdentity, directory: &Path) -> Result<(), String> {
    let (own, directory) = (own.clone(), directory.to_owned());
    blocking(move || own.save(&directory)).await
}

async fn blocking<T: Send + 'static, E: ToString + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// To the Monitor, in the name of a node that does not run yet.
pub fn channel(monitors: &Monitors, own: &OwnIdentity) -> Result<Channel, JoinError> {
    let credentials = Credentials::new(own).map_err(|error| JoinError::Refused(error.to_string()))?;
    Ok(Dialer::new(credentials, CutOff::default()).channel_to_monitor(monitors))
}

/// Certificates that do not fit do not begin to fit when it is tried again.
fn has_tls_fault(status: &Status) -> bool {
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())) {
            return true;
        }
        cause = error.source();
    }
    false
}

async fn ask(address: &str, token: &JoinToken, request: JoinRequest) -> Result<Admitted, JoinError> {
    let stream = TcpStream::connect(address).await.map_err(|error| away(address, &error))?;
    let connector = TlsConnector::from(tls::pinned_client_config(token.pin));
    let name: ServerName<'static> = Name::Monitor.server_name();
    // Before the secret is sent: a wrong pin is no reason to try again.
    let stream = connector.connect(name, stream).await.map_err(|error| match error.get_ref() {
        Some(inner) if inner.is::<rustls::Error>() => JoinError::Refused(tls::explain_io(&error)),
        _ => away(address, &error),
    })?;
    let mut stream = Some(TokioIo::new(stream));
    let connect = tower::service_fn(move |_| {
        let stream = stream.take().ok_or_else(|| std::io::Error::other("the connection broke"));
        std::future::ready(stream)
    });
    let endpoint = Endpoint::from_static("http://monitor.seine.invalid");
    let channel = endpoint.connect_with_connector(connect).await.map_err(|error| away(address, &error))?;
    let answer = MembershipClient::new(channel).join(request).await.map_err(|status| refusal(address, &status))?;
    let answer = answer.into_inner();
    admitted(&answer.cluster, &answer.node_id, answer.certificate.unwrap_or_default())
        .ok_or_else(|| JoinError::Refused(format!("the Monitor at {address} gave an answer that makes no sense")))
}

/// What an answer of the Monitor gives.
pub fn admitted(cluster: &str, node: &str, certificate: Certificate) -> Option<Admitted> {
    let certificates = |ders: Vec<Bytes>| ders.iter().map(|der| CertificateDer::from(der.to_vec())).collect();
    Some(Admitted {
        cluster: cluster.parse::<ClusterId>().ok()?,
        node: node.parse::<NodeId>().ok()?,
        generation: certificate.generation,
        chain: certificates(certificate.chain),
        roots: certificates(certificate.roots),
    })
}

/// What the Monitor sends to somebody whom it has admitted.
pub fn certificate(admitted: &Admitted) -> Certificate {
    let ders =
        |certificates: &[CertificateDer<'_>]| certificates.iter().map(|der| Bytes::copy_from_slice(der)).collect();
    Certificate { chain: ders(&admitted.chain), roots: ders(&admitted.roots), generation: admitted.generation }
}

fn away(address: &str, reason: &impl ToString) -> JoinError {
    JoinError::Away { address: address.to_owned(), reason: reason.to_string() }
}

fn refusal(address: &str, status: &Status) -> JoinError {
    match status.code() {
        Code::Unavailable | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded => {
            away(address, &status.message())
        }
        _ => JoinError::Refused(status.message().to_owned()),
    }
}
