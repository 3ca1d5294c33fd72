//! The Monitor's book of tokens: who may still join with which. Pure: the time is given, and whoever changes the book
//! [stores](super::registrar) it before the change counts.
//!
//! The life of a token: created → spent, at most as often as it may be → used up, expired or revoked → forgotten some
//! days later, so that a late joiner is told the reason and not "unknown".
//!
//! A machine whose answer was lost asks again with the same key; that is the same use of the token and not another.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::certificate::KeyDigest;
use super::name::NodeId;
use super::token::{JoinToken, Pin, Secret, TokenId};

/// Tokens that the book holds, expired ones included.
const MAX_TOKENS: usize = 1_000;
/// Machines that may join with one token.
const MAX_USES: u32 = 1_000;
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);
/// How long a token that lets nobody in any more is remembered.
const REMEMBERED_MS: i64 = 7 * 24 * 3600 * 1000;

/// What a new token allows.
#[derive(Clone, Debug)]
pub struct TokenTerms {
    /// What whoever joins may do at most. Empty: every role.
    pub roles: BTreeSet<String>,
    pub ttl: Duration,
    pub uses: u32,
    /// A node that gets a new certificate under its old name: one that was locked, or that lost its key.
    pub node: Option<NodeId>,
}

impl Default for TokenTerms {
    fn default() -> Self {
        Self { roles: BTreeSet::new(), ttl: Duration::from_secs(24 * 3600), uses: 1, node: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateRefusal {
    #[error("a token for {0} uses cannot be made; use a number from 1 to {MAX_USES}")]
    Uses(u32),
    #[error("a token cannot last {0:?}; use a time from one second to 366 days")]
    Ttl(Duration),
    #[error("a token that renews one node is for one use, not {0}")]
    UsesOfOneNode(u32),
    #[error(
        "there are {MAX_TOKENS} tokens already; revoke some with `seine nodes token revoke`, or use one for \
         several machines with --uses"
    )]
    Full,
}

/// Why a token lets nobody in. The sentences are for whoever tries to join.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    #[error(
        "the Monitor does not know the join token {0}; was it created for another cluster, or long ago? Create \
         one with `seine nodes token create`"
    )]
    Unknown(String),
    #[error("the secret of the join token {0} is wrong; copy the whole token again")]
    WrongSecret(TokenId),
    #[error(
        "the join token {0} has expired; create a new one with `seine nodes token create`, with a longer --ttl if \
         need be"
    )]
    Expired(TokenId),
    #[error(
        "the join token {0} has been used as often as it may be; create a new one with `seine nodes token \
         create`, for several machines with --uses"
    )]
    UsedUp(TokenId),
    #[error("the join token {0} has been revoked; create a new one with `seine nodes token create`")]
    Revoked(TokenId),
}

/// What a spent token gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub roles: BTreeSet<String>,
    pub node: Option<NodeId>,
}

/// What may be shown of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenSummary {
    pub id: TokenId,
    pub roles: BTreeSet<String>,
    pub node: Option<NodeId>,
    pub created_ms: i64,
    pub expires_ms: i64,
    pub uses: u32,
    pub uses_left: u32,
    pub revoked: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TokenBook {
    tokens: BTreeMap<TokenId, StoredToken>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredToken {
    /// SHA-256 of the secret.
    secret: KeyDigest,
    roles: BTreeSet<String>,
    node: Option<NodeId>,
    created_ms: i64,
    expires_ms: i64,
    uses: u32,
    /// Keys of those who joined.
    spent_by: BTreeSet<KeyDigest>,
    revoked: bool,
}

impl TokenBook {
    pub fn create(&mut self, pin: Pin, terms: &TokenTerms, now_ms: i64) -> Result<JoinToken, CreateRefusal> {
        if terms.uses == 0 || terms.uses > MAX_USES {
            return Err(CreateRefusal::Uses(terms.uses));
        }
        if terms.node.is_some() && terms.uses != 1 {
            return Err(CreateRefusal::UsesOfOneNode(terms.uses));
        }
        if terms.ttl < Duration::from_secs(1) || terms.ttl > MAX_TTL {
            return Err(CreateRefusal::Ttl(terms.ttl));
        }
        self.forget(now_ms);
        if self.tokens.len() >= MAX_TOKENS {
            return Err(CreateRefusal::Full);
        }
        let id = std::iter::repeat_with(TokenId::draw)
            .find(|id| !self.tokens.contains_key(id))
            .expect("a thousand tokens are few among 2^40 ids");
        let secret = Secret::draw();
        let ttl_ms = i64::try_from(terms.ttl.as_millis()).expect("a year in milliseconds fits");
        let stored = StoredToken {
            secret: KeyDigest(secret.digest()),
            roles: terms.roles.clone(),
            node: terms.node.clone(),
            created_ms: now_ms,
            expires_ms: now_ms.saturating_add(ttl_ms),
            uses: terms.uses,
            spent_by: BTreeSet::new(),
            revoked: false,
        };
        self.tokens.insert(id.clone(), stored);
        Ok(JoinToken { pin, id, secret })
    }

    /// Whether somebody knows a token. Whoever does not learns nothing of its state.
    pub fn verify(&self, id: &str, secret: &str) -> Result<TokenId, TokenRefusal> {
        let unknown = || TokenRefusal::Unknown(id.chars().filter(char::is_ascii_alphanumeric).take(16).collect());
        let id: TokenId = id.parse().map_err(|_| unknown())?;
        let token = self.tokens.get(&id).ok_or_else(unknown)?;
        let shown = secret.parse::<Secret>().map_err(|_| TokenRefusal::WrongSecret(id.clone()))?;
        if bool::from(shown.digest().ct_eq(&token.secret.0)) { Ok(id) } else { Err(TokenRefusal::WrongSecret(id)) }
    }

    /// Uses the token for the holder of a key.
    pub fn spend(&mut self, id: &str, secret: &str, key: &KeyDigest, now_ms: i64) -> Result<Grant, TokenRefusal> {
        let id = self.verify(id, secret)?;
        let token = self.tokens.get_mut(&id).expect("verified above");
        if token.revoked {
            return Err(TokenRefusal::Revoked(id));
        }
        if now_ms >= token.expires_ms {
            return Err(TokenRefusal::Expired(id));
        }
        if !token.spent_by.contains(key) {
            if token.uses_left() == 0 {
                return Err(TokenRefusal::UsedUp(id));
            }
            token.spent_by.insert(*key);
        }
        Ok(Grant { roles: token.roles.clone(), node: token.node.clone() })
    }

    /// Whether there was such a token. Those who have joined with it stay.
    pub fn revoke(&mut self, id: &TokenId) -> bool {
        let token = self.tokens.get_mut(id);
        token.map(|token| token.revoked = true).is_some()
    }

    /// All that were made before.
    pub fn revoke_before(&mut self, made_ms: i64) {
        for token in self.tokens.values_mut().filter(|token| token.created_ms < made_ms) {
            token.revoked = true;
        }
    }

    /// Oldest first.
    pub fn list(&self) -> Vec<TokenSummary> {
        let mut all: Vec<_> = self.tokens.iter().map(|(id, token)| token.summary(id)).collect();
        all.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        all
    }

    fn forget(&mut self, now_ms: i64) {
        self.tokens.retain(|_, token| now_ms < token.expires_ms.saturating_add(REMEMBERED_MS));
    }
}

impl StoredToken {
    fn uses_left(&self) -> u32 {
        self.uses.saturating_sub(u32::try_from(self.spent_by.len()).unwrap_or(u32::MAX))
    }

    fn summary(&self, id: &TokenId) -> TokenSummary {
        TokenSummary {
            id: id.clone(),
            roles: self.roles.clone(),
            node: self.node.clone(),
            created_ms: self.created_ms,
            expires_ms: self.expires_ms,
            uses: self.uses,
            uses_left: self.uses_left(),
            revoked: self.revoked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const DAY: i64 = 24 * 3600 * 1000;

    fn key(number: u8) -> KeyDigest {
        KeyDigest::of(&[number])
    }

    fn create(book: &mut TokenBook, uses: u32) -> JoinToken {
        let roles = BTreeSet::from(["collector".to_owned()]);
        book.create(Pin::of(b"root"), &TokenTerms { roles, uses, ..TokenTerms::default() }, NOW).unwrap()
    }

    fn spend(book: &mut TokenBook, token: &JoinToken, by: u8, now_ms: i64) -> Result<Grant, TokenRefusal> {
        book.spend(token.id.as_str(), &token.secret.reveal(), &key(by), now_ms)
    }

    #[test]
    fn each_refusal_is_given_for_its_reason() {
        let mut book = TokenBook::default();
        let token = create(&mut book, 1);
        let other = create(&mut book, 1);
        let id = || token.id.clone();
        assert_eq!(
            book.spend("aaaaaaaa", &token.secret.reveal(), &key(1), NOW),
            Err(TokenRefusal::Unknown("aaaaaaaa".into()))
        );
        for wrong in [other.secret.reveal(), String::new(), "x".repeat(10_000)] {
            assert_eq!(book.spend(id().as_str(), &wrong, &key(1), NOW), Err(TokenRefusal::WrongSecret(id())));
        }
        assert_eq!(spend(&mut book, &token, 1, NOW + DAY), Err(TokenRefusal::Expired(id())));
        let grant = spend(&mut book, &token, 1, NOW + DAY - 1).unwrap();
        assert_eq!(grant, Grant { roles: BTreeSet::from(["collector".to_owned()]), node: None });
        assert_eq!(spend(&mut book, &token, 2, NOW), Err(TokenRefusal::UsedUp(id())));
        assert!(book.revoke(&other.id));
        assert_eq!(spend(&mut book, &other, 1, NOW), Err(TokenRefusal::Revoked(other.id.clone())));
        assert!(!book.revoke(&"aaaaaaaa".parse().unwrap()));
    }

    #[test]
    fn who_asks_again_with_the_same_key_spends_nothing_more() {
        let mut book = TokenBook::default();
        let token = create(&mut book, 2);
        for by in [1, 1, 2, 1, 2] {
            spend(&mut book, &token, by, NOW).unwrap();
        }
        assert_eq!(spend(&mut book, &token, 3, NOW), Err(TokenRefusal::UsedUp(token.id.clone())));
        book.revoke(&token.id);
        assert_eq!(spend(&mut book, &token, 1, NOW), Err(TokenRefusal::Revoked(token.id)));
    }

    #[test]
    fn lists_and_files_show_no_secret() {
        let mut book = TokenBook::default();
        let token = create(&mut book, 3);
        spend(&mut book, &token, 1, NOW).unwrap();
        let [summary] = &book.list()[..] else { panic!("one token") };
        assert_eq!((&summary.id, summary.uses, summary.uses_left, summary.revoked), (&token.id, 3, 2, false));
        assert_eq!((summary.created_ms, summary.expires_ms), (NOW, NOW + DAY));
        let stored = serde_json::to_string(&book).unwrap();
        let shown = format!("{:?} {book:?} {stored} {}", book.list(), serde_json::to_string(&book.list()).unwrap());
        assert!(!shown.contains(&token.secret.reveal()));
    }

    #[test]
    fn the_book_is_bounded_and_forgets_expired_tokens_after_a_week() {
        let mut book = TokenBook::default();
        let first = create(&mut book, 1);
        for _ in 1..MAX_TOKENS {
            create(&mut book, 1);
        }
        let terms = TokenTerms::default();
        let full = book.create(Pin::of(b"root"), &terms, NOW + DAY + REMEMBERED_MS - 1).unwrap_err();
        assert_eq!(full, CreateRefusal::Full);
        assert_eq!(spend(&mut book, &first, 1, NOW + 2 * DAY), Err(TokenRefusal::Expired(first.id.clone())));
        book.create(Pin::of(b"root"), &terms, NOW + DAY + REMEMBERED_MS).unwrap();
        assert_eq!(book.list().len(), 1);
        assert!(matches!(spend(&mut book, &first, 1, NOW), Err(TokenRefusal::Unknown(_))));
    }

    #[test]
    fn terms_that_cannot_be_are_refused() {
        let mut book = TokenBook::default();
        let mut create = |terms: TokenTerms| book.create(Pin::of(b"root"), &terms, NOW).unwrap_err();
        assert_eq!(create(TokenTerms { uses: 0, ..TokenTerms::default() }), CreateRefusal::Uses(0));
        assert_eq!(create(TokenTerms { uses: 1001, ..TokenTerms::default() }), CreateRefusal::Uses(1001));
        for ttl in [Duration::ZERO, Duration::MAX] {
            assert_eq!(create(TokenTerms { ttl, ..TokenTerms::default() }), CreateRefusal::Ttl(ttl));
        }
        let node = Some(NodeId::draw());
        assert_eq!(create(TokenTerms { node, uses: 2, ..TokenTerms::default() }), CreateRefusal::UsesOfOneNode(2));
    }
}
