//! What at least two tiers need today.
//!
//! A URL arrives as text and becomes a [`url::CanonicalUrl`] with its [`host::HostKey`]; [`scope::ScopeRules`] and
//! [`admission::Admission`] take it in; its [`fingerprint`] says whether it was seen, its [`document_id`] names its
//! document; [`address`] says which machines may be contacted for it, [`robots`] what it asks of robots, and
//! [`filter::Filters`] whether it is followed and indexed.
//! [`config`], [`clock`], [`data_dir`], [`disk`] and [`panics`] carry the services themselves.

pub mod url;
pub mod host;
pub mod scope;
pub mod admission;
pub mod filter;
pub mod robots;
pub mod http_date;
pub mod fingerprint;
pub mod document_id;
pub mod address;
pub mod limits;
pub mod secret;
pub mod config;
pub mod clock;
pub mod data_dir;
pub mod panics;
pub mod disk;
