//! The Monitor's small certificate authority: a P-256 root that signs the certificates of nodes.
//!
//! A root is replaced without stopping: the new one signs from then on, and because the earlier one has signed *its* key
//! too (a cross certificate), whoever knows only the earlier root still trusts what the new one signs. Both are trusted
//! until every certificate of the earlier one has been renewed; then it is dropped, and its tokens with it.
//!
//! Of a request for a certificate only the public key is taken; names, dates and uses are set here.

mod root;

use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};

use super::book::{BookError, Books};
use super::certificate::{KeyDigest, RequestKey, WrongRequest};
use super::name::{ClusterId, Name, NodeId, Serial};
use super::token::Pin;
use root::Root;

pub(super) const BOOK: &str = "authority";
/// Of a node's certificate.
pub const LIFE_MS: i64 = 30 * 24 * HOUR_MS;
/// Clocks of other machines may be behind by less than this.
pub const BACKDATED_MS: i64 = HOUR_MS;
/// How long the root before is trusted after a change: as long as its certificates live, and a day.
const OVERLAP_MS: i64 = LIFE_MS + 24 * HOUR_MS;
const HOUR_MS: i64 = 3600 * 1000;

#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error(transparent)]
    Book(#[from] BookError),
    #[error(transparent)]
    Request(#[from] WrongRequest),
    #[error(
        "the root certificate was replaced lately, and the one before it is trusted until {0}; wait, or end that \
         with `seine nodes rotate-ca --finish`"
    )]
    Rotating(String),
    #[error("cannot make a certificate: {0}; is the clock of this machine right?")]
    Sign(#[from] rcgen::Error),
    #[error("{0} ms is not a time that a certificate can have; is the clock of this machine right?")]
    Time(i64),
}

/// Whom a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub node: NodeId,
    /// It is the Monitor's, and says `monitor.seine` too.
    pub monitor: bool,
}

impl Subject {
    pub fn node(node: NodeId) -> Self {
        Self { node, monitor: false }
    }

    pub fn monitor(node: NodeId) -> Self {
        Self { node, monitor: true }
    }

    fn dns_names(&self) -> Vec<String> {
        let monitor = self.monitor.then(|| Name::Monitor.dns_name());
        std::iter::once(self.node.dns_name()).chain(monitor).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCertificate {
    /// The certificate itself, then what leads to every trusted root, roots included.
    pub chain: Vec<CertificateDer<'static>>,
    pub serial: Serial,
    /// Of the public key that was signed.
    pub key: KeyDigest,
    pub not_before_ms: i64,
    pub not_after_ms: i64,
    /// The number of the root that signed it.
    pub root: u32,
}

#[derive(Clone, Debug)]
pub struct Authority {
    books: Books,
    state: State,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    cluster: ClusterId,
    /// The one that signs, and before it those that are still trusted, oldest first.
    roots: Vec<Root>,
}

impl Authority {
    /// Draws the cluster's id and first root when the directory has none.
    pub fn open_or_create(books: &Books, now_ms: i64) -> Result<Self, AuthorityError> {
        let state = match books.load::<State>(BOOK)? {
            Some(state) => {
                state.check().map_err(|what| books.damaged(BOOK, what))?;
                state
            }
            None => {
                let cluster = ClusterId::draw();
                let state = State { roots: vec![Root::draw(&cluster, 1, &[], now_ms)?], cluster };
                books.store(BOOK, &state)?;
                state
            }
        };
        Ok(Self { books: books.clone(), state })
    }

    pub fn cluster(&self) -> &ClusterId {
        &self.state.cluster
    }

    /// Of the root that signs: what new tokens say.
    pub fn pin(&self) -> Pin {
        Pin::of(self.root_der())
    }

    /// The number of the root that signs, while an earlier one is trusted besides.
    pub fn rotating_to(&self) -> Option<u32> {
        (self.state.roots.len() > 1).then(|| self.state.current().number())
    }

    /// Since when the root that signs does.
    pub fn signs_since_ms(&self) -> i64 {
        self.state.current().made_ms()
    }

    pub fn root_der(&self) -> &CertificateDer<'static> {
        self.state.current().certificate()
    }

    /// What nodes trust, the one that signs first.
    pub fn trusted_roots(&self, now_ms: i64) -> Vec<CertificateDer<'static>> {
        self.state.trusted(now_ms).map(|root| root.certificate().clone()).collect()
    }

    pub fn sign(
        &self,
        request_der: &[u8],
        subject: &Subject,
        now_ms: i64,
    ) -> Result<SignedCertificate, AuthorityError> {
        self.sign_key(&RequestKey::from_request(request_der)?, subject, now_ms)
    }

    pub(crate) fn sign_key(
        &self,
        key: &RequestKey,
        subject: &Subject,
        now_ms: i64,
    ) -> Result<SignedCertificate, AuthorityError> {
        let (serial, serial_bytes) = Serial::draw();
        let (not_before_ms, not_after_ms) = (now_ms.saturating_sub(BACKDATED_MS), now_ms.saturating_add(LIFE_MS));
        let current = self.state.current();
        let names = root::LeafNames { dns: subject.dns_names(), cluster: &self.state.cluster, node: &subject.node };
        let leaf = current.sign_leaf(key, &names, &serial_bytes, (not_before_ms, not_after_ms))?;
        let mut chain = vec![leaf];
        chain.extend(current.crosses().iter().cloned());
        chain.extend(self.trusted_roots(now_ms));
        let root = self.state.current().number();
        Ok(SignedCertificate { chain, serial, key: key.digest(), not_before_ms, not_after_ms, root })
    }

    /// Makes a new root that signs from now on. Durable when it returns.
    pub fn rotate(&mut self, now_ms: i64) -> Result<Pin, AuthorityError> {
        let mut state = self.state.clone();
        state.drop_ended(now_ms);
        if let Some(until_ms) = state.roots.first().and_then(Root::trusted_until_ms) {
            return Err(AuthorityError::Rotating(root::date(until_ms)?.date().to_string()));
        }
        let number = state.current().number() + 1;
        let new = Root::draw(&state.cluster, number, &state.roots, now_ms)?;
        for earlier in &mut state.roots {
            earlier.end_at(now_ms.saturating_add(OVERLAP_MS));
        }
        state.roots.push(new);
        self.replace(state)?;
        Ok(self.pin())
    }

    /// Drops earlier roots at once: what they signed is worth nothing any more, and nodes that have not renewed since the
    /// change must join again.
    pub fn finish_rotation(&mut self) -> Result<(), AuthorityError> {
        let mut state = self.state.clone();
        state.drop_ended(i64::MAX);
        self.replace(state)
    }

    fn replace(&mut self, state: State) -> Result<(), AuthorityError> {
        self.books.store(BOOK, &state)?;
        self.state = state;
        Ok(())
    }
}

impl State {
    fn current(&self) -> &Root {
        self.roots.last().expect("checked when it was loaded")
    }

    fn trusted(&self, now_ms: i64) -> impl Iterator<Item = &Root> {
        self.roots.iter().rev().filter(move |root| root.trusted_until_ms().is_none_or(|until_ms| now_ms < until_ms))
    }

    fn drop_ended(&mut self, now_ms: i64) {
        self.roots.retain(|root| root.trusted_until_ms().is_none_or(|until_ms| now_ms < until_ms));
        if let [only] = &mut self.roots[..] {
            only.drop_crosses();
        }
    }

    fn check(&self) -> Result<(), String> {
        let (current, earlier) = self.roots.split_last().ok_or("it has no root certificate")?;
        if current.trusted_until_ms().is_some() || earlier.iter().any(|root| root.trusted_until_ms().is_none()) {
            return Err("it does not say which root certificate signs".to_owned());
        }
        self.roots.iter().try_for_each(Root::check)
    }
}

#[cfg(test)]
mod tests;
