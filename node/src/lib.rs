//! A process among others: how it reaches them, which there are, and how it is.
//!
//! [`identity`] is who it is and how it shows that; [`transport`] carries gRPC between tiers, over bounded [`connections`] within the process's [`descriptors`];
//! [`membership`] knows the other processes; [`health`] tells how the tiers of this one are, [`telemetry`] what they do;
//! [`shutdown`] ends it.

pub mod identity;
pub mod transport;
pub mod connections;
pub mod descriptors;
pub mod membership;
pub mod health;
pub mod telemetry;
pub mod shutdown;
