//! One root certificate with its key.

use std::fmt;

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, SanType, SerialNumber,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::{AuthorityError, HOUR_MS};
use crate::identity::book::{base64, base64_chain};
use crate::identity::certificate::{RequestKey, public_point, validity};
use crate::identity::name::{ClusterId, NodeId, Serial, node_uri};

const LIFE_MS: i64 = 20 * 365 * 24 * HOUR_MS;
const BACKDATED_MS: i64 = 24 * HOUR_MS;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Root {
    number: u32,
    /// PKCS #8.
    #[serde(with = "base64")]
    key: Vec<u8>,
    /// Itself alone; a list because that is how certificates are stored.
    #[serde(with = "base64_chain")]
    certificate: Vec<CertificateDer<'static>>,
    /// This root's key, signed by the roots before it.
    #[serde(with = "base64_chain")]
    crosses: Vec<CertificateDer<'static>>,
    /// `None` while it is the one that signs.
    trusted_until_ms: Option<i64>,
}

/// What a node's certificate says.
pub(super) struct LeafNames<'a> {
    pub dns: Vec<String>,
    pub cluster: &'a ClusterId,
    pub node: &'a NodeId,
}

impl Root {
    /// A root whose key is signed by those before it, too.
    pub fn draw(cluster: &ClusterId, number: u32, before: &[Root], now_ms: i64) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = parameters(cluster, number, 1, now_ms)?.self_signed(&key)?;
        let cross = |earlier: &Root| {
            let certificate = parameters(cluster, number, 0, now_ms)?.signed_by(&key, &earlier.issuer()?)?;
            Ok::<_, AuthorityError>(certificate.into())
        };
        Ok(Self {
            number,
            crosses: before.iter().map(cross).collect::<Result<_, _>>()?,
            certificate: vec![certificate.into()],
            key: key.serialize_der(),
            trusted_until_ms: None,
        })
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate[0]
    }

    pub fn crosses(&self) -> &[CertificateDer<'static>] {
        &self.crosses
    }

    pub fn drop_crosses(&mut self) {
        self.crosses.clear();
    }

    /// When it was made, to the end of that second: certificates know no parts of one.
    pub fn made_ms(&self) -> i64 {
        validity(self.certificate()).map_or(0, |validity| validity.not_before_ms.saturating_add(BACKDATED_MS + 1000))
    }

    pub fn trusted_until_ms(&self) -> Option<i64> {
        self.trusted_until_ms
    }

    pub fn end_at(&mut self, until_ms: i64) {
        self.trusted_until_ms = Some(until_ms);
    }

    /// What a load verifies, so that a root in memory can sign.
    pub fn check(&self) -> Result<(), String> {
        let [certificate] = &self.certificate[..] else { return Err("a root has no certificate".to_owned()) };
        let key = self.key_pair().map_err(|_| "the key of a root certificate cannot be read")?;
        if validity(certificate).is_none() || public_point(certificate).as_deref() != Some(key.der_bytes()) {
            return Err("a root certificate does not belong to its key".to_owned());
        }
        Ok(())
    }

    pub fn sign_leaf(
        &self,
        key: &RequestKey,
        names: &LeafNames<'_>,
        serial: &[u8],
        (not_before_ms, not_after_ms): (i64, i64),
    ) -> Result<CertificateDer<'static>, AuthorityError> {
        let mut leaf = CertificateParams::default();
        leaf.distinguished_name = DistinguishedName::new();
        leaf.distinguished_name.push(DnType::CommonName, names.node.as_str());
        for name in &names.dns {
            leaf.subject_alt_names.push(SanType::DnsName(Ia5String::try_from(name.as_str())?));
        }
        let uri = node_uri(names.cluster, names.node);
        leaf.subject_alt_names.push(SanType::URI(Ia5String::try_from(uri.as_str())?));
        leaf.is_ca = IsCa::ExplicitNoCa;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        leaf.use_authority_key_identifier_extension = true;
        leaf.serial_number = Some(SerialNumber::from_slice(serial));
        (leaf.not_before, leaf.not_after) = (date(not_before_ms)?, date(not_after_ms)?);
        Ok(leaf.signed_by(key, &self.issuer()?)?.into())
    }

    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, AuthorityError> {
        Ok(Issuer::from_ca_cert_der(self.certificate(), self.key_pair()?)?)
    }

    fn key_pair(&self) -> Result<KeyPair, rcgen::Error> {
        let key = PrivatePkcs8KeyDer::from(self.key.as_slice());
        KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ECDSA_P256_SHA256)
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Root({}, key hidden)", self.number)
    }
}

/// Of a root, with a name of its own so that a chain can lead to one root only; `below` as many certificates of
/// authorities as may follow.
fn parameters(cluster: &ClusterId, number: u32, below: u8, now_ms: i64) -> Result<CertificateParams, AuthorityError> {
    let mut root = CertificateParams::default();
    root.distinguished_name = DistinguishedName::new();
    root.distinguished_name.push(DnType::OrganizationName, format!("Seine {cluster}"));
    root.distinguished_name.push(DnType::CommonName, format!("Seine {cluster} root {number}"));
    root.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    root.serial_number = Some(SerialNumber::from_slice(&Serial::draw().1));
    root.not_before = date(now_ms.saturating_sub(BACKDATED_MS))?;
    root.not_after = date(now_ms.saturating_add(LIFE_MS))?;
    Ok(root)
}

/// To the second, as certificates have it.
pub(super) fn date(unix_ms: i64) -> Result<OffsetDateTime, AuthorityError> {
    OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1000)).map_err(|_| AuthorityError::Time(unix_ms))
}
