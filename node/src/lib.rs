//! A process among others: who it is, how it reaches them, which there are, what they may call, and how it is.
//!
//! [`identity`] is who it is, which a machine becomes by [`joining`], keeps by [`renewal`] and the Monitor has in its
//! [`registry`]; [`transport`] carries gRPC between tiers, over bounded [`connections`] within the process's [`descriptors`];
//! [`membership`] knows the other processes, [`authorisation`] what they may call; [`health`] tells how the tiers of this one
//! are, [`figures`] how busy, [`limits`] how much they do at once, [`telemetry`] what they do, [`http`] answers those who ask; [`shutdown`] ends it.

pub mod identity;
pub mod joining;
pub mod renewal;
pub mod registry;
pub mod transport;
pub mod connections;
pub mod descriptors;
pub mod membership;
pub mod authorisation;
pub mod health;
pub mod figures;
pub mod limits;
pub mod telemetry;
pub mod http;
pub mod shutdown;
