//! The Monitor's registrar: authority, tokens and members with their books in `authority/` of the data directory or on a shared
//! shelf, and the steps that need several of them.
//!
//! Each step changes a copy, stores it, and only then takes it over, so memory never says what the disk does not. Joining
//! is three steps that a crash may part: the token is spent → the member is entered with its certificate → the answer
//! is sent. A node that asks again with the same key goes on where it was; nobody else can use what was spent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::authority::{self, Authority, AuthorityError, SignedCertificate, Subject};
use super::book::{BookError, Books};
use super::certificate::{Peer, RequestKey, WrongRequest};
use super::members::{DenyList, Member, MemberBook, MemberError, PeerRefusal, RenewRefusal, Settings, Standing};
use super::name::{ClusterId, NodeId};
use super::own::{IdentityError, OwnIdentity, PendingRequest};
use super::shelf::{ClusterKey, Shelf};
use super::token::{JoinToken, Pin, TokenId};
use super::tokens::{CreateRefusal, TokenBook, TokenRefusal, TokenSummary, TokenTerms};

/// The role of those that are the Monitor, or may become it.
pub const MONITOR: &str = "monitor";
const TOKENS: &str = "tokens";
const MEMBERS: &str = "members";

/// What a node gets when it joins or renews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    pub cluster: ClusterId,
    pub node: NodeId,
    pub generation: u64,
    /// The node's certificate first.
    pub chain: Vec<CertificateDer<'static>>,
    /// What it is to trust, the root that signs first.
    pub roots: Vec<CertificateDer<'static>>,
}

/// Why somebody was not admitted, or why the books could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionRefusal {
    #[error(transparent)]
    Token(#[from] TokenRefusal),
    #[error(
        "the join token {token} is not for the role {role}, only for {allowed}; ask for a token with --roles {role}"
    )]
    Role { token: String, role: String, allowed: String },
    #[error(transparent)]
    Request(#[from] WrongRequest),
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Renew(#[from] RenewRefusal),
    /// Not the caller's fault.
    #[error("the Monitor cannot admit anybody now: {0}")]
    Monitor(#[from] RegistrarError),
}

/// What goes wrong on the Monitor's side.
#[derive(Debug, thiserror::Error)]
pub enum RegistrarError {
    #[error(transparent)]
    Book(#[from] BookError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Peer(#[from] PeerRefusal),
    #[error(transparent)]
    Create(#[from] CreateRefusal),
    #[error(
        "{directory} holds the identity of the node {node} of another cluster; use another directory with --data, \
         or remove that one's `identity`"
    )]
    OtherCluster { directory: String, node: NodeId },
}

/// A clone is as it was when it was made, and costs little.
#[derive(Clone, Debug)]
pub struct Registrar {
    books: Books,
    authority: Authority,
    tokens: Arc<TokenBook>,
    members: Arc<MemberBook>,
}

impl Registrar {
    /// Opens the books in the directory, or begins them when it holds none.
    pub fn open_or_create(directory: &Path, now_ms: i64) -> Result<Self, RegistrarError> {
        Self::of(Books::open(directory)?, now_ms)
    }

    /// The same with books that others read who may become the Monitor. What the directory holds is put on an empty shelf.
    pub fn open_shared(directory: &Path, shelf: Arc<dyn Shelf>, now_ms: i64) -> Result<Self, RegistrarError> {
        Self::of(Books::open_shared(directory, shelf, &[TOKENS, MEMBERS, authority::BOOK])?, now_ms)
    }

    fn of(books: Books, now_ms: i64) -> Result<Self, RegistrarError> {
        // The authority is written last when they are begun. What is missing later is damage: a lost book may have known
        // who was removed, and a lost authority is the key to all that others hold.
        let begun = books.has(authority::BOOK)?;
        let tokens: TokenBook = Self::open_book(&books, TOKENS, begun)?;
        let members: MemberBook = Self::open_book(&books, MEMBERS, begun)?;
        if !begun && members.list().next().is_some() {
            return Err(Self::missing(&books, authority::BOOK).into());
        }
        let authority = Authority::open_or_create(&books, now_ms)?;
        Ok(Self { authority, tokens: Arc::new(tokens), members: Arc::new(members), books })
    }

    fn open_book<T: Default + Serialize + DeserializeOwned>(
        books: &Books,
        name: &str,
        begun: bool,
    ) -> Result<T, BookError> {
        match books.load(name)? {
            Some(book) => Ok(book),
            None if begun => Err(Self::missing(books, name)),
            None => {
                let book = T::default();
                books.store(name, &book)?;
                Ok(book)
            }
        }
    }

    fn missing(books: &Books, name: &str) -> BookError {
        books.damaged(name, "it is missing".to_owned())
    }

    /// For those who may become the Monitor; `None` where the books lie on this machine alone.
    pub fn cluster_key(&self) -> Option<&ClusterKey> {
        self.books.cluster_key()
    }

    pub fn cluster(&self) -> &ClusterId {
        self.authority.cluster()
    }

    pub fn pin(&self) -> Pin {
        self.authority.pin()
    }

    pub fn trusted_roots(&self, now_ms: i64) -> Vec<CertificateDer<'static>> {
        self.authority.trusted_roots(now_ms)
    }

    /// The same as text, for other programs.
    pub fn trusted_roots_pem(&self, now_ms: i64) -> String {
        let pem = |root: &CertificateDer<'_>| {
            let text = data_encoding::BASE64.encode(root);
            let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>();
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
        };
        self.trusted_roots(now_ms).iter().map(pem).collect()
    }

    pub fn members(&self) -> &MemberBook {
        &self.members
    }

    pub fn deny_list(&self, now_ms: i64) -> DenyList {
        self.members.deny_list(now_ms)
    }

    pub fn tokens(&self) -> Vec<TokenSummary> {
        self.tokens.list()
    }

    pub fn create_token(&mut self, terms: &TokenTerms, now_ms: i64) -> Result<JoinToken, RegistrarError> {
        if let Some(node) = &terms.node {
            match self.members.get(node) {
                None => return Err(MemberError::Missing(node.clone()).into()),
                Some(member) if member.is_removed() => return Err(MemberError::Removed(node.clone()).into()),
                Some(_) => {}
            }
        }
        let mut tokens = TokenBook::clone(&self.tokens);
        let token = tokens.create(self.authority.pin(), terms, now_ms)?;
        self.replace_tokens(tokens)?;
        Ok(token)
    }

    /// Whether there was such a token.
    pub fn revoke_token(&mut self, id: &TokenId) -> Result<bool, RegistrarError> {
        let mut tokens = TokenBook::clone(&self.tokens);
        let was = tokens.revoke(id);
        if was {
            self.replace_tokens(tokens)?;
        }
        Ok(was)
    }

    /// Lets a machine in that shows a token, with the roles it wants or, if it names none, all that the token allows.
    pub fn admit(
        &mut self,
        token: &str,
        secret: &str,
        wanted: &BTreeSet<String>,
        request_der: &[u8],
        now_ms: i64,
    ) -> Result<Admitted, AdmissionRefusal> {
        // First, because it is cheap: strangers must not be able to make the Monitor work.
        self.tokens.verify(token, secret)?;
        let key = RequestKey::from_request(request_der)?;
        let mut tokens = TokenBook::clone(&self.tokens);
        let grant = tokens.spend(token, secret, &key.digest(), now_ms)?;
        // Who may become the Monitor gets the authority's key: a token for every role is not meant for that.
        let known = grant.node.as_ref().and_then(|node| self.members.get(node));
        let may_lead = known.is_some_and(|member| member.roles.contains(MONITOR));
        let is_granted =
            |role: &String| grant.roles.contains(role) || (grant.roles.is_empty() && (role != MONITOR || may_lead));
        if let Some(role) = wanted.iter().find(|role| !is_granted(role)) {
            let allowed = match grant.roles.is_empty() {
                true => "every other".to_owned(),
                false => grant.roles.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            };
            return Err(AdmissionRefusal::Role { token: token.to_owned(), role: role.clone(), allowed });
        }
        let roles = if wanted.is_empty() { &grant.roles } else { wanted };
        let mut members = MemberBook::clone(&self.members);
        let node = match grant.node {
            Some(node) => members.join_again(&node, roles, key.digest(), now_ms).map(|()| node)?,
            None => members.join(roles, key.digest(), now_ms)?,
        };
        let certificate = self.sign(&key, &Subject::node(node.clone()), now_ms)?;
        members.issued(&node, &certificate)?;
        self.replace_tokens(tokens)?;
        self.replace_members(members)?;
        Ok(self.admitted(node, certificate, now_ms))
    }

    /// Gives a member its next certificate. The peer is who the connection's certificate says.
    pub fn renew(
        &mut self,
        peer: &Peer,
        generation: u64,
        request_der: &[u8],
        now_ms: i64,
    ) -> Result<Admitted, AdmissionRefusal> {
        let key = RequestKey::from_request(request_der)?;
        let mut members = MemberBook::clone(&self.members);
        if let Err(refusal) = members.renew(peer, generation, key.digest(), now_ms) {
            if members != *self.members {
                self.replace_members(members)?;
            }
            return Err(refusal.into());
        }
        let certificate = self.sign(&key, &Subject::node(peer.node_id.clone()), now_ms)?;
        members.issued(&peer.node_id, &certificate)?;
        self.replace_members(members)?;
        Ok(self.admitted(peer.node_id.clone(), certificate, now_ms))
    }

    pub fn remove(&mut self, id: &NodeId, now_ms: i64) -> Result<(), RegistrarError> {
        self.change_members(|members| members.remove(id, now_ms))
    }

    pub fn lock(&mut self, id: &NodeId, reason: &str, now_ms: i64) -> Result<(), RegistrarError> {
        self.change_members(|members| members.lock(id, reason, now_ms))
    }

    pub fn set_labels(&mut self, id: &NodeId, labels: &BTreeMap<String, String>) -> Result<(), RegistrarError> {
        self.change_members(|members| members.set_labels(id, labels))
    }

    pub fn set(&mut self, id: &NodeId, settings: Settings) -> Result<(), RegistrarError> {
        self.change_members(|members| members.set(id, settings))
    }

    pub fn set_roles(&mut self, id: &NodeId, roles: &BTreeSet<String>) -> Result<(), RegistrarError> {
        self.change_members(|members| members.set_roles(id, roles))
    }

    /// Replaces the root certificate; nodes should be told [what to trust](Self::trusted_roots) and renew soon.
    pub fn rotate(&mut self, now_ms: i64) -> Result<Pin, RegistrarError> {
        Ok(self.authority.rotate(now_ms)?)
    }

    /// Members whose newest certificate was signed by an earlier root and has not ended: they would be shut out if the trust
    /// in that root ended now.
    pub fn not_renewed(&self, now_ms: i64) -> Vec<NodeId> {
        let Some(root) = self.authority.rotating_to() else { return Vec::new() };
        let shut_out = |member: &Member| member.standing == Standing::Active && member.has_other_root(root, now_ms);
        self.members.list().filter(|(_, member)| shut_out(member)).map(|(node, _)| node.clone()).collect()
    }

    /// Ends the trust in earlier roots, and with it the tokens that name them.
    pub fn finish_rotation(&mut self) -> Result<(), RegistrarError> {
        let mut tokens = TokenBook::clone(&self.tokens);
        tokens.revoke_before(self.authority.signs_since_ms());
        self.replace_tokens(tokens)?;
        Ok(self.authority.finish_rotation()?)
    }

    /// The Monitor's own identity, from its directory, or signed anew where there is none, half of its life is over,
    /// another root signs, or it was not the Monitor's before.
    pub fn own_identity(
        &mut self,
        directory: &Path,
        roles: &BTreeSet<String>,
        now_ms: i64,
    ) -> Result<OwnIdentity, RegistrarError> {
        let earlier = OwnIdentity::load(directory)?;
        if let Some(own) = &earlier {
            if own.cluster != *self.cluster() {
                let directory = directory.display().to_string();
                return Err(RegistrarError::OtherCluster { directory, node: own.node.clone() });
            }
            if self.cluster_key().is_some() {
                self.check_may_lead(&own.node, roles)?;
            }
            let known = self.members.get(&own.node).is_some_and(|member| !member.is_removed());
            if known && own.names_monitor() && own.roots == self.trusted_roots(now_ms) && now_ms < own.renew_at_ms(0.0)
            {
                return Ok(own.clone());
            }
        }
        let request = PendingRequest::open_or_draw(directory)?;
        let key = RequestKey::from_request(&request.request_der()?).map_err(AuthorityError::from)?;
        let mut members = MemberBook::clone(&self.members);
        let joined_at = earlier.as_ref().map(|own| own.joined_at.clone()).unwrap_or_default();
        let known = earlier.filter(|own| members.get(&own.node).is_some_and(|member| !member.is_removed()));
        let node = match known {
            Some(own) => members.renew_own(&own.node, key.digest(), now_ms).map(|()| own.node)?,
            None => members.join(roles, key.digest(), now_ms)?,
        };
        let certificate = self.sign(&key, &Subject::monitor(node.clone()), now_ms)?;
        members.issued(&node, &certificate)?;
        self.replace_members(members)?;
        let own = request.complete(self.admitted(node, certificate, now_ms), &joined_at)?;
        own.save(directory)?;
        Ok(own)
    }

    /// Of several that have the books, one that was removed is not the Monitor; one that is has all the roles that it runs.
    fn check_may_lead(&mut self, node: &NodeId, roles: &BTreeSet<String>) -> Result<(), RegistrarError> {
        let Some(member) = self.members.get(node) else { return Ok(()) };
        match &member.standing {
            Standing::Removed { .. } => return Err(PeerRefusal::Removed(node.clone()).into()),
            Standing::Locked { reason, .. } => {
                return Err(PeerRefusal::Locked { node: node.clone(), reason: reason.clone() }.into());
            }
            Standing::Active if roles.is_subset(&member.roles) => return Ok(()),
            Standing::Active => {}
        }
        let all = member.roles.union(roles).cloned().collect();
        self.set_roles(node, &all)
    }

    fn sign(&self, key: &RequestKey, subject: &Subject, now_ms: i64) -> Result<SignedCertificate, RegistrarError> {
        Ok(self.authority.sign_key(key, subject, now_ms)?)
    }

    fn admitted(&self, node: NodeId, certificate: SignedCertificate, now_ms: i64) -> Admitted {
        let generation = self.members.get(&node).map_or(0, |member| member.generation);
        let roots = self.authority.trusted_roots(now_ms);
        Admitted { cluster: self.cluster().clone(), node, generation, chain: certificate.chain, roots }
    }

    fn change_members(
        &mut self,
        change: impl FnOnce(&mut MemberBook) -> Result<(), MemberError>,
    ) -> Result<(), RegistrarError> {
        let mut members = MemberBook::clone(&self.members);
        change(&mut members)?;
        self.replace_members(members)
    }

    fn replace_tokens(&mut self, tokens: TokenBook) -> Result<(), RegistrarError> {
        self.books.store(TOKENS, &tokens)?;
        self.tokens = Arc::new(tokens);
        Ok(())
    }

    fn replace_members(&mut self, members: MemberBook) -> Result<(), RegistrarError> {
        self.books.store(MEMBERS, &members)?;
        self.members = Arc::new(members);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
