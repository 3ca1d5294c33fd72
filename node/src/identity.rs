//! Who a process is, and how others can be sure of it.
//!
//! The life of an identity, in order: the Monitor's [`authority`] draws a root certificate → a person creates a
//! [`token`], which the Monitor keeps in its [book](tokens) → a machine checks the token's pin against the Monitor's
//! certificate ([`tls::pinned_client_config`]) before it shows the secret → the [`registrar`] spends the token, enters
//! a lasting [name](name::NodeId) in the book of [`members`], and signs the machine's public key → the machine keeps
//! [what it got](own) and renews it → both sides make their [`tls`] configurations of it → a member that is removed is
//! on the deny list until its last certificate has ended. Books that another Monitor is to go on with lie on a [`shelf`].
//!
//! Not here: sockets, and the calls that carry requests and certificates ([`transport`](crate::transport)).
//!
//! Invariant: what a book says is on disk, synced, before anything that follows from it leaves the process.

pub mod name;
pub mod token;
pub mod tokens;
pub mod certificate;
pub mod authority;
pub mod members;
pub mod shelf;
pub mod book;
pub mod registrar;
pub mod own;
pub mod tls;

pub use authority::{Authority, AuthorityError, SignedCertificate, Subject};
pub use book::BookError;
pub use certificate::{Peer, peer};
pub use members::{DenyList, Member, MemberBook, PeerRefusal, RenewRefusal, Settings, Standing};
pub use name::{ClusterId, Name, NodeId, Serial};
pub use own::{OwnIdentity, PendingRequest};
pub use registrar::{AdmissionRefusal, Admitted, Registrar};
pub use shelf::{ClusterKey, Shelf};
pub use token::{JoinToken, Pin, Secret, TokenId, WrongToken};
pub use tokens::{TokenBook, TokenRefusal, TokenSummary, TokenTerms};
