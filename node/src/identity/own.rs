//! What a node keeps of its identity, in `identity/` of its data directory.
//!
//! The life of it: a [`PendingRequest`] is a key that is stored before anybody is asked to sign it, so that a node that
//! is killed while it asks can ask again for the same → [`complete`](PendingRequest::complete) checks the answer against
//! the key and makes an [`OwnIdentity`] → [`save`](OwnIdentity::save) replaces the one before. Key, certificates and
//! roots are one file, so there is never a key without its certificate.

use std::fmt;
use std::path::Path;

use rcgen::{CertificateParams, DistinguishedName, KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};

use super::book::{BookError, Books, base64, base64_chain};
use super::certificate::{Validity, has_dns_name, names_issuer, peer, public_point, validity};
use super::name::{ClusterId, Name, NodeId};
use super::registrar::Admitted;
use super::token::Pin;

const CURRENT: &str = "identity";
const PENDING: &str = "pending";
/// Certificates in a chain, and roots, that an answer may have.
const MAX_CERTIFICATES: usize = 16;

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error(transparent)]
    Book(#[from] BookError),
    #[error("cannot make a key: {0}")]
    Key(#[from] rcgen::Error),
    #[error("the Monitor's answer cannot be used: {0}; are both machines' versions of seine the same?")]
    Answer(&'static str),
}

/// Who this process is, with all that it needs to show it.
#[derive(Clone, Serialize, Deserialize)]
pub struct OwnIdentity {
    pub cluster: ClusterId,
    pub node: NodeId,
    pub generation: u64,
    /// The address at which it joined, to find the Monitor again.
    pub joined_at: String,
    /// Its own certificate first.
    #[serde(with = "base64_chain")]
    pub chain: Vec<CertificateDer<'static>>,
    /// What it trusts, the root that signs first.
    #[serde(with = "base64_chain")]
    pub roots: Vec<CertificateDer<'static>>,
    /// PKCS #8.
    #[serde(with = "base64")]
    key: Vec<u8>,
}

/// A key that waits for its certificate.
#[derive(Serialize, Deserialize)]
pub struct PendingRequest {
    #[serde(with = "base64")]
    key: Vec<u8>,
}

impl PendingRequest {
    /// The key that was drawn for an earlier try, or a new one. Durable when it returns.
    pub fn open_or_draw(directory: &Path) -> Result<Self, IdentityError> {
        let books = Books::open(directory)?;
        if let Some(pending) = books.load::<Self>(PENDING)? {
            let damaged = |_| BookError::Damaged { path: books.path(PENDING), what: "its key cannot be read".into() };
            key_pair(&pending.key).map_err(damaged)?;
            return Ok(pending);
        }
        let pending = Self { key: KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?.serialize_der() };
        books.store(PENDING, &pending)?;
        Ok(pending)
    }

    /// Gives up a key that will not be signed, because the token it was shown with is worth nothing.
    pub fn discard(directory: &Path) -> Result<(), IdentityError> {
        Books::open(directory)?.remove(PENDING)?;
        Ok(())
    }

    /// What is sent: the public key, signed by the private one. Names in it would be ignored.
    pub fn request_der(&self) -> Result<Vec<u8>, IdentityError> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        Ok(parameters.serialize_request(&key_pair(&self.key)?)?.der().to_vec())
    }

    /// Makes an identity of the Monitor's answer, if it is one for this key.
    pub fn complete(self, answer: Admitted, joined_at: &str) -> Result<OwnIdentity, IdentityError> {
        let identity = OwnIdentity {
            cluster: answer.cluster,
            node: answer.node,
            generation: answer.generation,
            joined_at: joined_at.to_owned(),
            chain: answer.chain,
            roots: answer.roots,
            key: self.key,
        };
        identity.check().map_err(IdentityError::Answer)?;
        Ok(identity)
    }
}

impl OwnIdentity {
    /// `None` where nothing has joined yet.
    pub fn load(directory: &Path) -> Result<Option<Self>, IdentityError> {
        let books = Books::open(directory)?;
        let identity = books.load::<Self>(CURRENT)?;
        if let Some(what) = identity.as_ref().and_then(|identity| identity.check().err()) {
            return Err(BookError::Damaged { path: books.path(CURRENT), what: what.to_owned() }.into());
        }
        Ok(identity)
    }

    /// Durable when it returns; a crash leaves the identity before, and the pending key to ask again with.
    pub fn save(&self, directory: &Path) -> Result<(), IdentityError> {
        let books = Books::open(directory)?;
        books.store(CURRENT, self)?;
        if books.load::<PendingRequest>(PENDING)?.is_some_and(|pending| pending.key == self.key) {
            books.remove(PENDING)?;
        }
        Ok(())
    }

    pub(crate) fn private_key(&self) -> PrivatePkcs8KeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.clone())
    }

    /// Whether a token of this pin is of the same cluster.
    pub fn believes(&self, pin: Pin) -> bool {
        self.roots.iter().any(|root| Pin::of(root) == pin)
    }

    /// Whether its certificate is the Monitor's. One that stands by must not show such a one.
    pub fn names_monitor(&self) -> bool {
        has_dns_name(&self.chain[0], &Name::Monitor.dns_name())
    }

    pub fn validity(&self) -> Validity {
        validity(&self.chain[0]).expect("checked when it was made or loaded")
    }

    /// When to renew; at once when another root signs now. `dice` is drawn evenly from 0 to 1.
    pub fn renew_at_ms(&self, dice: f64) -> i64 {
        let Validity { not_before_ms, not_after_ms } = self.validity();
        if !names_issuer(&self.chain[0], &self.roots[0]) {
            return not_before_ms;
        }
        renew_at(not_before_ms, not_after_ms, dice)
    }

    fn check(&self) -> Result<(), &'static str> {
        let fits = |certificates: &[CertificateDer<'_>]| {
            (1..=MAX_CERTIFICATES).contains(&certificates.len()) && certificates.iter().all(|c| validity(c).is_some())
        };
        if !fits(&self.chain) {
            return Err("its certificates cannot be read");
        }
        if !fits(&self.roots) {
            return Err("its root certificates cannot be read");
        }
        let key = key_pair(&self.key).map_err(|_| "its key cannot be read")?;
        if public_point(&self.chain[0]).as_deref() != Some(key.der_bytes()) {
            return Err("its certificate is for another key");
        }
        let named = peer(&self.chain[0]).ok_or("its certificate names no node")?;
        if named.node_id != self.node || named.cluster != self.cluster {
            return Err("its certificate names another node");
        }
        Ok(())
    }
}

impl fmt::Debug for OwnIdentity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, cluster, generation) = (&self.node, &self.cluster, self.generation);
        write!(out, "OwnIdentity({node} of {cluster}, generation {generation}, key hidden)")
    }
}

impl fmt::Debug for PendingRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PendingRequest(key hidden)")
    }
}

/// A moment between 50 and 80 % of a certificate's life, so that nodes that joined together do not renew together, and
/// a Monitor that is away for days is away before the end.
pub fn renew_at(not_before_ms: i64, not_after_ms: i64, dice: f64) -> i64 {
    let life = not_after_ms.saturating_sub(not_before_ms).max(0);
    let part = 0.5 + 0.3 * dice.clamp(0.0, 1.0);
    // Lives of certificates are far below 2^53 ms.
    not_before_ms.saturating_add((life as f64 * part) as i64)
}

fn key_pair(pkcs8: &[u8]) -> Result<KeyPair, rcgen::Error> {
    KeyPair::from_pkcs8_der_and_sign_algo(&PrivatePkcs8KeyDer::from(pkcs8), &PKCS_ECDSA_P256_SHA256)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::identity::authority::{Authority, Subject};

    const NOW: i64 = 1_800_000_000_000;

    fn authority() -> (tempfile::TempDir, Authority) {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::open_or_create(&Books::open(directory.path()).unwrap(), NOW).unwrap();
        (directory, authority)
    }

    fn answer(authority: &Authority, pending: &PendingRequest, node: &str) -> Admitted {
        let node: NodeId = node.parse().unwrap();
        let signed = authority.sign(&pending.request_der().unwrap(), &Subject::node(node.clone()), NOW).unwrap();
        let roots = authority.trusted_roots(NOW);
        Admitted { cluster: authority.cluster().clone(), node, generation: 1, chain: signed.chain, roots }
    }

    #[test]
    fn a_key_waits_for_its_certificate_and_is_never_current_without_it() {
        let (_books, authority) = authority();
        let home = tempfile::tempdir().unwrap();
        let pending = PendingRequest::open_or_draw(home.path()).unwrap();
        assert!(OwnIdentity::load(home.path()).unwrap().is_none(), "killed before the answer");
        assert_eq!(PendingRequest::open_or_draw(home.path()).unwrap().key, pending.key, "asks again with the same");
        let own = pending.complete(answer(&authority, &PendingRequest::open_or_draw(home.path()).unwrap(), "a-b"), "x");
        own.unwrap().save(home.path()).unwrap();
        let own = OwnIdentity::load(home.path()).unwrap().unwrap();
        assert!(!home.path().join("pending.jsonl").exists());

        let renewal = PendingRequest::open_or_draw(home.path()).unwrap();
        assert_ne!(renewal.key, own.key);
        own.save(home.path()).unwrap();
        assert_eq!(OwnIdentity::load(home.path()).unwrap().unwrap().chain, own.chain);
        assert_eq!(PendingRequest::open_or_draw(home.path()).unwrap().key, renewal.key, "new roots leave it waiting");
        PendingRequest::discard(home.path()).unwrap();
        assert_ne!(PendingRequest::open_or_draw(home.path()).unwrap().key, renewal.key);
    }

    #[test]
    fn answers_for_another_key_or_node_and_broken_ones_are_refused() {
        let (_books, authority) = authority();
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open = |home: &tempfile::TempDir| PendingRequest::open_or_draw(home.path()).unwrap();
        let right = answer(&authority, &open(&home), "a-b");
        let root = authority.root_der().clone();
        let wrong = [
            (answer(&authority, &open(&other), "a-b"), "for another key"),
            (Admitted { node: "c-d".parse().unwrap(), ..right.clone() }, "names another node"),
            (Admitted { cluster: "other".parse().unwrap(), ..right.clone() }, "names another node"),
            (Admitted { chain: Vec::new(), ..right.clone() }, "certificates cannot be read"),
            (Admitted { chain: vec![vec![1, 2].into()], ..right.clone() }, "certificates cannot be read"),
            (Admitted { roots: Vec::new(), ..right.clone() }, "root certificates cannot be read"),
            (Admitted { roots: vec![root; 17], ..right.clone() }, "root certificates cannot be read"),
        ];
        for (answer, sentence) in wrong {
            let error = open(&home).complete(answer, "x").unwrap_err().to_string();
            assert!(error.contains(sentence), "{error}");
        }
        open(&home).complete(right, "x").unwrap();
    }

    #[test]
    fn a_damaged_identity_is_refused_by_its_files_name_and_keys_are_shown_nowhere() {
        let (_books, authority) = authority();
        let home = tempfile::tempdir().unwrap();
        let pending = PendingRequest::open_or_draw(home.path()).unwrap();
        let answer = answer(&authority, &pending, "a-b");
        let key = data_encoding::BASE64.encode(&pending.key);
        let mut shown = format!("{pending:?}");
        let own = pending.complete(answer, "x").unwrap();
        shown += &format!("{own:?}");
        own.save(home.path()).unwrap();
        let path = home.path().join("identity.jsonl");
        let whole = fs::read_to_string(&path).unwrap();
        assert!(whole.contains(&key));
        fs::write(&path, whole.replace("a-b", "a-c")).unwrap();
        let error = OwnIdentity::load(home.path()).unwrap_err().to_string();
        assert!(error.contains("identity.jsonl is damaged"), "{error}");
        shown += &error;
        assert!(!shown.contains(&key[..16]), "{shown}");
    }

    #[test]
    fn renewal_is_due_between_half_and_four_fifths_of_a_life() {
        assert_eq!((renew_at(1000, 2000, 0.0), renew_at(1000, 2000, 1.0)), (1500, 1800));
        assert_eq!(renew_at(1000, 2000, 0.5), 1650);
        for (dice, due) in [(-3.0, 1500), (9.0, 1800)] {
            assert_eq!(renew_at(1000, 2000, dice), due);
        }
        assert_eq!(renew_at(2000, 1000, 0.3), 2000, "one that ended before it began");
    }
}
