//! The Monitor: knows every URL of every crawl, decides which host may be visited when, and hands out work.
//!
//! A crawl is added ([`crawl`]); its seeds and every link found later enter the [`frontier`] once, each at its [`place`], as a
//! [`record`] in the tables of a [`store`]; [`politeness`] says when a host may be asked again, [`blocklist`] which hosts are not
//! asked at all; a [`lease`] gives a host to one collector at a time, the one that [`slots`] prefers if it can; [`visit`] is what
//! a visit changes in what is known of a URL, and [`refresh`] when the next one is; [`keeper`] is the one thread that owns all of
//! this; [`forgetting`] takes pages out of all tiers; [`rpc`] is how collectors and people reach it. It knows
//! [who else runs](seine_node::membership) and how they are: nothing is handed out while a disk is full. The Monitor never
//! touches the network beyond its own gRPC server.
//!
//! Modules use those before them and none behind them, which a test checks.

mod error;
mod metrics;
pub mod place;
pub mod record;
pub mod store;
pub mod crawl;
pub mod politeness;
pub mod refresh;
pub mod visit;
pub mod frontier;
pub mod blocklist;
pub mod slots;
pub mod lease;
pub mod keeper;
pub mod forgetting;
pub mod rpc;
#[cfg(test)]
mod tests_support;

pub use error::{MonitorError, Result};
pub use keeper::{Home, Monitor, MonitorConfig};
