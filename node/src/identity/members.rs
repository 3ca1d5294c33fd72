//! The Monitor's book of members: every node that ever joined, what it may do, and which certificates it has. Pure: the
//! time is given, and whoever changes the book [stores](super::registrar) it before the change counts.
//!
//! The life of a member: joins under a name that nobody else ever had → renews its certificate, each time under the next
//! *generation* → is removed. If somebody renews with a certificate of an older generation, there are two who hold the
//! node's key, and nobody can say which is the right one: the node is locked until it joins again with a token of its
//! own. A node whose answer was lost asks again with the same new key; that is the same generation and no theft.
//!
//! Removed members stay in the book, so that their names are not given again while archives still say them.

mod deny;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::authority::SignedCertificate;
use super::certificate::{KeyDigest, Peer};
use super::name::{NodeId, Serial};

pub use deny::DenyList;
pub use settings::Settings;

/// Members at a time, and removed ones that are remembered besides.
const MAX_MEMBERS: usize = 5_000;
const MAX_REMOVED: usize = 5_000;
/// Certificates of one member that have not ended; the oldest beyond is denied. Renewals come every two weeks or so.
const MAX_CERTIFICATES: usize = 16;
const MAX_LABELS: usize = 16;
const MAX_LABEL_BYTES: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Empty: every role.
    pub roles: BTreeSet<String>,
    /// Of the newest certificate.
    pub generation: u64,
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub settings: Settings,
    pub joined_ms: i64,
    pub renewed_ms: i64,
    pub standing: Standing,
    /// Of the key that the newest certificate is for, and of the one that came with a token.
    key: KeyDigest,
    joined_with: KeyDigest,
    /// Those that have not ended, newest last.
    certificates: Vec<Issued>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Active,
    Locked { reason: String, since_ms: i64 },
    Removed { since_ms: i64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Issued {
    serial: Serial,
    generation: u64,
    not_after_ms: i64,
    /// The number of the root that signed it; unknown in books of earlier versions.
    #[serde(default)]
    root: Option<u32>,
}

/// Why a node gets no further certificate. The sentences are for the node's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenewRefusal {
    #[error(transparent)]
    Peer(#[from] PeerRefusal),
    #[error(
        "the node {node} is locked from now on: it renewed with a certificate of generation {shown}, and \
         generation {newest} was given out already, so somebody else has a copy of its key. Find out who; then \
         let it join again with `seine nodes token create --node {node}`"
    )]
    Stolen { node: NodeId, shown: u64, newest: u64 },
    #[error(
        "the node {node} says that its certificate is of generation {claimed}, and the Monitor gave it out as \
         {known}; was one of their data directories put back from a backup?"
    )]
    Generation { node: NodeId, claimed: u64, known: u64 },
}

/// Why somebody with a valid certificate may call nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerRefusal {
    #[error(
        "the Monitor does not know the node {0}; was the Monitor's data directory put back from a backup? Let the \
         node join again with a new token"
    )]
    Unknown(NodeId),
    #[error(
        "the node {0} was removed from the cluster; to use its machine again, join with a new token and an empty \
         data directory"
    )]
    Removed(NodeId),
    #[error("the node {node} is locked: {reason}")]
    Locked { node: NodeId, reason: String },
    #[error(
        "this certificate of the node {0} was replaced when it joined again; who shows it has a copy of an old key"
    )]
    Replaced(NodeId),
    #[error(
        "the Monitor has not given out this certificate of the node {0}; was the Monitor's data directory put \
         back from a backup? Let the node join again with `seine nodes token create --node {0}`"
    )]
    NotGivenOut(NodeId),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    #[error("there is no node {0}; `seine nodes list` shows all")]
    Missing(NodeId),
    #[error("the node {0} was removed before")]
    Removed(NodeId),
    #[error(
        "a token was spent with this key for the node {0} before; join with a new token and an empty data directory"
    )]
    JoinedBefore(NodeId),
    #[error("the cluster has {MAX_MEMBERS} nodes, more cannot join; remove some with `seine nodes remove`")]
    Full,
    #[error("a node has at most {MAX_LABELS} labels of at most {MAX_LABEL_BYTES} bytes, without control characters")]
    Labels,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberBook {
    members: BTreeMap<NodeId, Member>,
    /// Certificates that are worth nothing although their node is a member, until they end.
    denied: BTreeMap<Serial, i64>,
}

impl MemberBook {
    /// Enters the holder of a key under a name that nobody has or had. Who asks again with the same key is the same.
    pub fn join(&mut self, roles: &BTreeSet<String>, key: KeyDigest, now_ms: i64) -> Result<NodeId, MemberError> {
        self.forget(now_ms);
        if let Some((id, member)) = self.members.iter().find(|(_, member)| member.joined_with == key) {
            let same = member.key == key && member.standing == Standing::Active;
            return if same { Ok(id.clone()) } else { Err(MemberError::JoinedBefore(id.clone())) };
        }
        if self.members.values().filter(|member| !member.is_removed()).count() >= MAX_MEMBERS {
            return Err(MemberError::Full);
        }
        let id = std::iter::repeat_with(NodeId::draw)
            .find(|id| !self.members.contains_key(id))
            .expect("ten thousand names are few among 41 million");
        let member = Member {
            roles: roles.clone(),
            generation: 1,
            labels: BTreeMap::new(),
            settings: Settings::default(),
            joined_ms: now_ms,
            renewed_ms: now_ms,
            standing: Standing::Active,
            key,
            joined_with: key,
            certificates: Vec::new(),
        };
        self.members.insert(id.clone(), member);
        Ok(id)
    }

    /// Gives a node that lost its key, or was locked, a new one under its old name: all that it had before is denied.
    pub fn join_again(
        &mut self,
        id: &NodeId,
        roles: &BTreeSet<String>,
        key: KeyDigest,
        now_ms: i64,
    ) -> Result<(), MemberError> {
        self.forget(now_ms);
        let member = Self::present(&mut self.members, id)?;
        if member.joined_with == key && (member.key != key || member.standing != Standing::Active) {
            return Err(MemberError::JoinedBefore(id.clone()));
        }
        if member.key != key {
            self.denied.extend(member.certificates.drain(..).map(|issued| (issued.serial, issued.not_after_ms)));
            member.generation += 1;
            (member.key, member.joined_with) = (key, key);
        }
        if !roles.is_empty() {
            member.roles.clone_from(roles);
        }
        member.standing = Standing::Active;
        member.renewed_ms = now_ms;
        Ok(())
    }

    /// Decides whether a node gets its next certificate, and of which generation. Changes the book also when it refuses:
    /// an older generation locks the node.
    pub fn renew(&mut self, peer: &Peer, claimed: u64, key: KeyDigest, now_ms: i64) -> Result<u64, RenewRefusal> {
        self.forget(now_ms);
        self.check(peer)?;
        let node = peer.node_id.clone();
        let member = self.members.get_mut(&node).expect("checked above");
        let issued = member.certificates.iter().find(|issued| issued.serial == peer.serial);
        // What the node claims is for a sentence only; what counts is what was given out with this serial.
        let shown = issued.map(|issued| issued.generation).ok_or(PeerRefusal::NotGivenOut(node.clone()))?;
        if claimed != shown {
            return Err(RenewRefusal::Generation { node, claimed, known: shown });
        }
        let newest = member.generation;
        if key == member.key {
            return Ok(newest);
        }
        if shown < newest {
            let refusal = RenewRefusal::Stolen { node, shown, newest };
            member.lock(refusal.to_string(), now_ms);
            return Err(refusal);
        }
        member.generation = newest + 1;
        member.key = key;
        member.renewed_ms = now_ms;
        Ok(member.generation)
    }

    /// The next generation for the Monitor itself, which shows its right to it by having this book.
    pub fn renew_own(&mut self, id: &NodeId, key: KeyDigest, now_ms: i64) -> Result<(), MemberError> {
        self.forget(now_ms);
        let member = Self::present(&mut self.members, id)?;
        if member.key != key {
            (member.generation, member.key) = (member.generation + 1, key);
        }
        member.renewed_ms = now_ms;
        Ok(())
    }

    /// Notes the certificate that was made for what [`join`](Self::join) or [`renew`](Self::renew) decided.
    pub fn issued(&mut self, id: &NodeId, certificate: &SignedCertificate) -> Result<(), MemberError> {
        let member = Self::present(&mut self.members, id)?;
        debug_assert_eq!(member.key, certificate.key, "a certificate is for the key that was decided on");
        if member.certificates.len() >= MAX_CERTIFICATES {
            let oldest = member.certificates.remove(0);
            self.denied.insert(oldest.serial, oldest.not_after_ms);
        }
        member.certificates.push(Issued {
            serial: certificate.serial.clone(),
            generation: member.generation,
            not_after_ms: certificate.not_after_ms,
            root: Some(certificate.root),
        });
        Ok(())
    }

    /// Whether a verified peer may call anything at all.
    pub fn check(&self, peer: &Peer) -> Result<&Member, PeerRefusal> {
        let id = || peer.node_id.clone();
        let member = self.members.get(&peer.node_id).ok_or_else(|| PeerRefusal::Unknown(id()))?;
        match &member.standing {
            Standing::Removed { .. } => Err(PeerRefusal::Removed(id())),
            Standing::Locked { reason, .. } => Err(PeerRefusal::Locked { node: id(), reason: reason.clone() }),
            Standing::Active if self.denied.contains_key(&peer.serial) => Err(PeerRefusal::Replaced(id())),
            Standing::Active => Ok(member),
        }
    }

    pub fn lock(&mut self, id: &NodeId, reason: &str, now_ms: i64) -> Result<(), MemberError> {
        Self::present(&mut self.members, id)?.lock(reason.to_owned(), now_ms);
        Ok(())
    }

    pub fn remove(&mut self, id: &NodeId, now_ms: i64) -> Result<(), MemberError> {
        self.forget(now_ms);
        Self::present(&mut self.members, id)?.standing = Standing::Removed { since_ms: now_ms };
        Ok(())
    }

    pub fn set_labels(&mut self, id: &NodeId, labels: &BTreeMap<String, String>) -> Result<(), MemberError> {
        let fits = |text: &String| text.len() <= MAX_LABEL_BYTES && !text.chars().any(char::is_control);
        let whole = labels.iter().all(|(name, value)| !name.is_empty() && fits(name) && fits(value));
        if labels.len() > MAX_LABELS || !whole {
            return Err(MemberError::Labels);
        }
        Self::present(&mut self.members, id)?.labels.clone_from(labels);
        Ok(())
    }

    /// What the node may do from now on.
    pub fn set(&mut self, id: &NodeId, settings: Settings) -> Result<(), MemberError> {
        Self::present(&mut self.members, id)?.settings = settings;
        Ok(())
    }

    pub fn set_roles(&mut self, id: &NodeId, roles: &BTreeSet<String>) -> Result<(), MemberError> {
        Self::present(&mut self.members, id)?.roles.clone_from(roles);
        Ok(())
    }

    pub fn get(&self, id: &NodeId) -> Option<&Member> {
        self.members.get(id)
    }

    /// All, removed ones too, by name.
    pub fn list(&self) -> impl Iterator<Item = (&NodeId, &Member)> {
        self.members.iter()
    }

    /// Those whose certificates others must not believe, although rustls would.
    pub fn deny_list(&self, now_ms: i64) -> DenyList {
        let mut list = DenyList::default();
        for (id, member) in self.members.iter().filter(|(_, member)| member.standing != Standing::Active) {
            let live = member.certificates.iter().filter(|issued| now_ms < issued.not_after_ms);
            for issued in live {
                list.deny_node(id, issued.not_after_ms);
                list.deny_serial(&issued.serial, issued.not_after_ms);
            }
        }
        for (serial, until_ms) in self.denied.iter().filter(|(_, until_ms)| now_ms < **until_ms) {
            list.deny_serial(serial, *until_ms);
        }
        list
    }

    fn present<'a>(members: &'a mut BTreeMap<NodeId, Member>, id: &NodeId) -> Result<&'a mut Member, MemberError> {
        let member = members.get_mut(id).ok_or_else(|| MemberError::Missing(id.clone()))?;
        if member.is_removed() { Err(MemberError::Removed(id.clone())) } else { Ok(member) }
    }

    /// Forgets certificates that have ended, and of too many removed members those that went first.
    fn forget(&mut self, now_ms: i64) {
        self.denied.retain(|_, until_ms| now_ms < *until_ms);
        for member in self.members.values_mut() {
            member.certificates.retain(|issued| now_ms < issued.not_after_ms);
        }
        let ended = |member: &Member| match member.standing {
            Standing::Removed { since_ms } if member.certificates.is_empty() => Some(since_ms),
            _ => None,
        };
        let removed = self.members.values().filter(|member| member.is_removed()).count();
        let mut gone: Vec<_> =
            self.members.iter().filter_map(|(id, member)| Some((ended(member)?, id.clone()))).collect();
        gone.sort();
        for (_, id) in gone.iter().take(removed.saturating_sub(MAX_REMOVED)) {
            self.members.remove(id);
        }
    }
}

impl Member {
    pub fn is_removed(&self) -> bool {
        matches!(self.standing, Standing::Removed { .. })
    }

    /// Whether the newest certificate is of another root, and still good.
    pub fn has_other_root(&self, root: u32, now_ms: i64) -> bool {
        let newest = self.certificates.last();
        newest.is_some_and(|issued| issued.root != Some(root) && now_ms < issued.not_after_ms)
    }

    /// When the newest certificate ends; `None` when all have.
    pub fn certificate_ends_ms(&self) -> Option<i64> {
        self.certificates.last().map(|issued| issued.not_after_ms)
    }

    /// The first reason stays: what follows from it would hide it.
    fn lock(&mut self, reason: String, now_ms: i64) {
        if self.standing == Standing::Active {
            self.standing = Standing::Locked { reason, since_ms: now_ms };
        }
    }
}

#[cfg(test)]
mod tests;
