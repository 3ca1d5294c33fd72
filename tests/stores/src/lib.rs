//! Real Valkey and Redis clusters on loopback, for tests and the bench.
//!
//! A cluster is made of processes of its own, in a directory that vanishes with it. A test starts one, points what it tests
//! at [`StoreCluster::nodes`], kills and pauses nodes and moves slots while that works, and reads the outcome over
//! [`StoreCluster::command`]. Nothing of a server is imitated.
//!
//! Everything here blocks. All waiting has a deadline and panics at it with what was awaited and the end of the servers' logs.
//!
//! - [`program`]: which server, and where it is; [`setup`]: what a cluster is made of and how its nodes are configured.
//! - [`certificates`], [`ports`], [`process`]: what a node needs of the machine.
//! - [`node`]: one server; [`resp`]: the language that it speaks.
//! - [`form`]: strangers become a cluster; [`view`]: what one node says of all; [`agreement`]: what all say together; [`moving`]: slots go elsewhere.
//! - [`cluster`]: what tests use.

mod program;
mod setup;
mod certificates;
mod ports;
mod process;
mod resp;
mod wait;
mod node;
mod form;
mod view;
mod agreement;
mod moving;
mod cluster;

pub use cluster::StoreCluster;
pub use program::Program;
pub use resp::{Bytes, Connection, Reply};
pub use setup::Setup;
