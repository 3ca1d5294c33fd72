//! Which processes there are, what each of them runs, and how they are.
//!
//! The Monitor keeps the [table](NodeTable); every process registers in it and follows it by a [`Directory`], which keeps
//! [`Channels`] pointed at whoever runs a role.

mod directory;
mod table;

pub use directory::{Channels, Directory};
pub use table::{NodeTable, NodeTrouble};
