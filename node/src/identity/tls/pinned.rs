//! Believes a Monitor before anything is known but the pin of its root certificate.
//!
//! The server sends its root, and the roots before it, along with its certificate. One of them must be what the pin
//! names; it becomes the only root for the ordinary checks: signatures, dates, name.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};

use crate::identity::name::Name;
use crate::identity::token::Pin;

/// Leaf, cross certificates and roots; ours has one or four.
const MAX_CHAIN: usize = 16;

#[derive(Debug, thiserror::Error)]
pub(super) enum PinRefusal {
    #[error(
        "the server's authority is not the one that the token names (pin {pin}…); the token is of another cluster, the \
         address is of another, or somebody stands in between. Nothing was sent to it"
    )]
    OtherAuthority { pin: String },
    #[error("the server sent {0} certificates, more than {MAX_CHAIN}; is there a Monitor at this address?")]
    TooMany(usize),
}

#[derive(Debug)]
pub(super) struct PinnedAuthority {
    pin: Pin,
    algorithms: WebPkiSupportedAlgorithms,
}

impl PinnedAuthority {
    pub fn new(pin: Pin, provider: &CryptoProvider) -> Self {
        Self { pin, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for PinnedAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _asked_for: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if intermediates.len() >= MAX_CHAIN {
            return Err(refused(PinRefusal::TooMany(intermediates.len() + 1)));
        }
        let root = intermediates.iter().find(|certificate| Pin::of(certificate) == self.pin).ok_or_else(|| {
            refused(PinRefusal::OtherAuthority { pin: self.pin.to_string().chars().take(8).collect() })
        })?;
        let mut roots = RootCertStore::empty();
        roots.add(root.clone().into_owned())?;
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&certificate, &roots, intermediates, now, algorithms)?;
        // Whatever name the caller connects by: only a Monitor may see a token.
        verify_server_name(&certificate, &Name::Monitor.server_name())?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn refused(refusal: PinRefusal) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refusal))))
}
