//! Reading certificates and requests for them. What comes from the network is hostile: it is bounded in size, and
//! nothing but what is named here is taken from it.

use std::fmt;

use rcgen::{PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm};
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::GeneralName;
use x509_parser::oid_registry::{OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::name::{ClusterId, NodeId, Serial, parse_node_uri};

/// A request by [`new_request`](super::own::PendingRequest) has about 220 bytes, a certificate about 700.
const MAX_REQUEST_BYTES: usize = 4 << 10;
const MAX_CERTIFICATE_BYTES: usize = 8 << 10;
/// A point of P-256 that is not compressed.
const POINT_BYTES: usize = 65;

/// Who the other side of a connection is, by a certificate that rustls has verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub node_id: NodeId,
    pub serial: Serial,
    pub cluster: ClusterId,
}

/// Reads who a peer is. The certificate must have been verified; `None` if the cluster's authority did not make it for
/// a node.
pub fn peer(certificate: &CertificateDer<'_>) -> Option<Peer> {
    let certificate = parse(certificate)?;
    let serial = Serial::from_bytes(certificate.raw_serial())?;
    let names = certificate.subject_alternative_name().ok()??;
    let uris = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => Some(*uri),
        _ => None,
    });
    let [uri] = uris.collect::<Vec<_>>()[..] else { return None };
    let (cluster, node_id) = parse_node_uri(uri)?;
    Some(Peer { node_id, serial, cluster })
}

/// From when to when a certificate holds, as Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub not_before_ms: i64,
    pub not_after_ms: i64,
}

pub fn validity(certificate: &CertificateDer<'_>) -> Option<Validity> {
    let certificate = parse(certificate)?;
    Some(Validity {
        not_before_ms: certificate.validity().not_before.timestamp().checked_mul(1000)?,
        not_after_ms: certificate.validity().not_after.timestamp().checked_mul(1000)?,
    })
}

/// Whether the first is issued under the name of the second. Not a check of its signature.
pub(crate) fn names_issuer(certificate: &CertificateDer<'_>, issuer: &CertificateDer<'_>) -> bool {
    let (Some(certificate), Some(issuer)) = (parse(certificate), parse(issuer)) else { return false };
    certificate.issuer().as_raw() == issuer.subject().as_raw()
}

/// Whether a certificate is for a name, besides others.
pub(crate) fn has_dns_name(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let Some(certificate) = parse(certificate) else { return false };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return false };
    names.value.general_names.iter().any(|known| matches!(known, GeneralName::DNSName(known) if *known == name))
}

/// The point that is a certificate's public key.
pub(crate) fn public_point(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    Some(parse(certificate)?.public_key().subject_public_key.data.to_vec())
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    if certificate.len() > MAX_CERTIFICATE_BYTES {
        return None;
    }
    let (rest, certificate) = X509Certificate::from_der(certificate).ok()?;
    rest.is_empty().then_some(certificate)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongRequest {
    #[error("the request for a certificate has {0} bytes, more than {MAX_REQUEST_BYTES}")]
    TooLong(usize),
    #[error("the request for a certificate cannot be read; is it from another version of seine?")]
    Unreadable,
    #[error("the request for a certificate is not signed by its own key")]
    Signature,
    #[error("the request for a certificate has a key of another kind than ECDSA P-256")]
    Key,
}

/// A public key whose owner has shown that it has the private one. All that is taken from a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey(Vec<u8>);

impl RequestKey {
    pub fn from_request(request_der: &[u8]) -> Result<Self, WrongRequest> {
        if request_der.len() > MAX_REQUEST_BYTES {
            return Err(WrongRequest::TooLong(request_der.len()));
        }
        let (rest, request) = X509CertificationRequest::from_der(request_der).map_err(|_| WrongRequest::Unreadable)?;
        if !rest.is_empty() {
            return Err(WrongRequest::Unreadable);
        }
        let key = &request.certification_request_info.subject_pki;
        let curve = key.algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
        let point = &key.subject_public_key.data;
        if key.algorithm.algorithm != OID_KEY_TYPE_EC_PUBLIC_KEY
            || curve != Some(OID_EC_P256)
            || point.len() != POINT_BYTES
            || point[0] != 4
        {
            return Err(WrongRequest::Key);
        }
        request.verify_signature().map_err(|_| WrongRequest::Signature)?;
        Ok(Self(point.to_vec()))
    }

    pub fn digest(&self) -> KeyDigest {
        KeyDigest::of(&self.0)
    }
}

impl PublicKeyData for RequestKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

/// SHA-256 of a public key, or of a secret, as books store it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyDigest(pub(crate) [u8; 32]);

impl KeyDigest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "KeyDigest({}…)", data_encoding::HEXLOWER.encode(&self.0[..4]))
    }
}

impl From<KeyDigest> for String {
    fn from(digest: KeyDigest) -> String {
        data_encoding::HEXLOWER.encode(&digest.0)
    }
}

impl TryFrom<String> for KeyDigest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("a digest has 64 hexadecimal digits")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{
        BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, PKCS_ECDSA_P384_SHA384,
        PKCS_ED25519,
    };

    use super::*;

    fn request(key: &KeyPair) -> Vec<u8> {
        CertificateParams::default().serialize_request(key).unwrap().der().to_vec()
    }

    fn key() -> KeyPair {
        KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()
    }

    #[test]
    fn only_the_key_is_taken_from_a_request() {
        let key = key();
        let mut greedy = CertificateParams::new(vec!["monitor.seine".to_owned()]).unwrap();
        greedy.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        greedy.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        let greedy = greedy.serialize_request(&key).unwrap();
        let taken = RequestKey::from_request(greedy.der()).unwrap();
        assert_eq!(taken, RequestKey::from_request(&request(&key)).unwrap());
        assert_eq!(taken.der_bytes(), key.der_bytes());
    }

    #[test]
    fn requests_of_other_kinds_are_refused_with_their_reason() {
        for kind in [&PKCS_ED25519, &PKCS_ECDSA_P384_SHA384] {
            let other = request(&KeyPair::generate_for(kind).unwrap());
            assert_eq!(RequestKey::from_request(&other), Err(WrongRequest::Key));
        }
        let long = vec![0; MAX_REQUEST_BYTES + 1];
        assert_eq!(RequestKey::from_request(&long), Err(WrongRequest::TooLong(long.len())));
        let mut trailing = request(&key());
        trailing.push(0);
        assert_eq!(RequestKey::from_request(&trailing), Err(WrongRequest::Unreadable));
    }

    #[test]
    fn no_one_can_ask_for_the_key_of_another() {
        let (mine, victim) = (key(), key());
        let mut forged = request(&mine);
        let at = forged.windows(65).position(|window| window == mine.der_bytes()).unwrap();
        forged[at..at + 65].copy_from_slice(victim.der_bytes());
        assert_eq!(RequestKey::from_request(&forged), Err(WrongRequest::Signature));
    }

    #[test]
    fn a_certificate_that_is_not_of_a_node_names_no_peer() {
        let own = CertificateParams::new(vec!["bado-kire.node.seine".to_owned()]).unwrap().self_signed(&key()).unwrap();
        assert_eq!(peer(own.der()), None);
        assert_eq!(peer(&CertificateDer::from(vec![0x30; MAX_CERTIFICATE_BYTES + 1])), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = RequestKey::from_request(&bytes);
            let certificate = CertificateDer::from(bytes);
            prop_assert!(peer(&certificate).is_none() && validity(&certificate).is_none());
            prop_assert!(!names_issuer(&certificate, &certificate) && public_point(&certificate).is_none());
        }

        /// Bytes that get further than random ones do.
        #[test]
        fn requests_and_certificates_with_wrong_bytes_are_read_or_refused(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
        ) {
            let key = key();
            let mut request = request(&key);
            let certificate = CertificateParams::new(vec!["a".to_owned()]).unwrap().self_signed(&key).unwrap();
            let mut certificate = certificate.der().to_vec();
            for (at, byte) in changes {
                let length = request.len();
                request[at.index(length)] = byte;
                let length = certificate.len();
                certificate[at.index(length)] = byte;
            }
            let _ = RequestKey::from_request(&request);
            let certificate = CertificateDer::from(certificate);
            let _ = (peer(&certificate), validity(&certificate), public_point(&certificate));
        }
    }
}
