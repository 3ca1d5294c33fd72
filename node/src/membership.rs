//! Which processes there are, what each of them runs, and how they are.
//!
//! The Monitor keeps the [table](NodeTable); every process registers in it and follows it by a [`Directory`], which keeps
//! [`Channels`] pointed at whoever holds a role, [`Filesavers`] at whoever has which log, and [`Analysers`] at each of them. At
//! the node port, the [service](MembershipService) lets machines join and nodes register, and [`Members`] is what a process
//! knows of the others.

mod channels;
mod directory;
mod peers;
mod members;
mod service;
mod table;
pub mod versions;

use std::time::Duration;

use seine_proto::monitor::v1::NodeState;

pub use channels::Channels;
pub use directory::{Directory, OwnLog, Sampler, Standing, Told};
pub use members::Members;
pub use peers::{Analysers, Filesavers, KnownPeers, Route};
pub use service::{MembershipService, SawEpoch};
pub use table::{NodeTable, NodeTrouble, NotEntered, Registered, SILENCE_MS, SUSPECT_MS};

/// Of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How often a node says that it is alive; the Monitor forgets one after several times this.
pub const REGISTER_EVERY: Duration = Duration::from_secs(3);
/// What machines that join can run.
pub const ROLES: [&str; 6] = ["monitor", "collector", "analyser", "filesaver", "indexer", "query"];

/// Why no other machine can become the Monitor.
pub const ONE_DISK: &str = "the frontier lies on this machine's disk (frontier.store = \"rocksdb\"), so nothing can take over the \
    role monitor; a second Monitor needs a store that both reach: set frontier.store = \"redis\" and frontier.nodes on both";

/// As people and programs are told: joining, idle, working, suspect, dead, draining, removed.
pub fn state_name(state: NodeState) -> String {
    state.as_str_name().trim_start_matches("NODE_STATE_").to_lowercase()
}
