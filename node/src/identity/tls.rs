//! TLS between nodes: 1.3 only, names and not addresses, HTTP/2 only.
//!
//! Servers ask for a client's certificate and let in who has none, because a machine that joins has none yet; the layer
//! above lets such a one call nothing but joining. Nothing is resumed: a session could outlive the removal of its node.
//! Configurations are made anew whenever certificate or roots change, and swapped by whoever accepts and connects.

mod explain;
mod pinned;

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::own::OwnIdentity;
use super::token::Pin;

pub use explain::{explain, explain_io};

const HTTP2: &[u8] = b"h2";

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("there is no root certificate to trust; this node's identity is damaged, let it join again")]
    NoRoots,
    #[error("a root certificate or the node's own cannot be used: {0}; let the node join again")]
    Certificate(#[from] rustls::Error),
    #[error("the root certificates cannot be used: {0}; let the node join again")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

/// For accepting. A client that shows a certificate shows a valid one of this cluster, or is refused.
pub fn server_config(own: &OwnIdentity, roots: &[CertificateDer<'static>]) -> Result<Arc<ServerConfig>, TlsError> {
    server_config_at(own, roots, Arc::new(DefaultTimeProvider))
}

/// For connecting to a node or the Monitor; the [name](super::name::Name::server_name) is given at each connect.
pub fn client_config(own: &OwnIdentity, roots: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, TlsError> {
    client_config_at(own, roots, Arc::new(DefaultTimeProvider))
}

/// For joining: believes exactly a Monitor whose authority the pin names, and shows no certificate.
pub fn pinned_client_config(pin: Pin) -> Arc<ClientConfig> {
    pinned_client_config_at(pin, Arc::new(DefaultTimeProvider))
}

fn server_config_at(
    own: &OwnIdentity,
    roots: &[CertificateDer<'static>],
    time: Arc<dyn TimeProvider>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let verifier = WebPkiClientVerifier::builder_with_provider(store(roots)?, provider())
        // Who asks without a certificate need not learn the cluster's name.
        .clear_root_hint_subjects()
        .allow_unauthenticated()
        .build()?;
    let mut config = ServerConfig::builder_with_details(provider(), time)
        .with_protocol_versions(&[&TLS13])
        .expect("ring has suites of TLS 1.3")
        .with_client_cert_verifier(verifier)
        .with_single_cert(own.chain.clone(), PrivateKeyDer::Pkcs8(own.private_key()))?;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn client_config_at(
    own: &OwnIdentity,
    roots: &[CertificateDer<'static>],
    time: Arc<dyn TimeProvider>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let verifier = WebPkiServerVerifier::builder_with_provider(store(roots)?, provider()).build()?;
    let config = ClientConfig::builder_with_details(provider(), time)
        .with_protocol_versions(&[&TLS13])
        .expect("ring has suites of TLS 1.3")
        .with_webpki_verifier(verifier)
        .with_client_auth_cert(own.chain.clone(), PrivateKeyDer::Pkcs8(own.private_key()))?;
    Ok(finished(config))
}

fn pinned_client_config_at(pin: Pin, time: Arc<dyn TimeProvider>) -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_details(provider(), time)
        .with_protocol_versions(&[&TLS13])
        .expect("ring has suites of TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned::PinnedAuthority::new(pin, &provider())))
        .with_no_client_auth();
    finished(config)
}

fn finished(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![HTTP2.to_vec()];
    config.resumption = Resumption::disabled();
    // Names of nodes would be readable on the wire, and a server has one certificate only.
    config.enable_sni = false;
    Arc::new(config)
}

fn store(roots: &[CertificateDer<'static>]) -> Result<Arc<RootCertStore>, TlsError> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root.clone())?;
    }
    if store.is_empty() { Err(TlsError::NoRoots) } else { Ok(Arc::new(store)) }
}

/// Ours, whichever the process has installed.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

#[cfg(test)]
mod tests;
