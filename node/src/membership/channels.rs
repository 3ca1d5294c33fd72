//! Ways to the tiers of other processes, which follow the node table.

use std::sync::Arc;

use crate::transport::Channel;
use seine_proto::monitor::v1::NodeInfo;
use tokio::time::Instant;

use super::members::Members;
use super::peers::{Analysers, Filesavers};
use crate::transport::dial::{Dialer, Target};

/// Clones are the same.
#[derive(Clone, Default)]
pub struct Channels {
    members: Arc<Members>,
    filesavers: Filesavers,
    analysers: Analysers,
    /// `None` in a process that talks to nobody else.
    dialer: Option<Dialer>,
}

impl Channels {
    pub fn new(members: Arc<Members>, dialer: Dialer) -> Self {
        Self { members, dialer: Some(dialer), ..Self::default() }
    }

    /// To whoever holds the role; calls wait until somebody does. `None` in a process that is alone.
    pub fn channel(&self, role: &str) -> Option<Channel> {
        Some(self.dialer.as_ref()?.channel(self.members.holders(role)))
    }

    /// Whether anybody holds the role now.
    pub fn has(&self, role: &str) -> bool {
        self.members.has(role)
    }

    /// All filesavers, each to be asked for what it has.
    pub fn filesavers(&self) -> &Filesavers {
        &self.filesavers
    }

    /// All analysers, each to be given a part of the pages.
    pub fn analysers(&self) -> &Analysers {
        &self.analysers
    }

    pub fn members(&self) -> &Arc<Members> {
        &self.members
    }

    pub(super) fn update(&self, nodes: Vec<NodeInfo>) {
        if let Some(dialer) = &self.dialer {
            let connect = |node: &NodeInfo| dialer.channel_to(Target::node(&node.id, &node.address));
            self.filesavers.update(&nodes, connect, Instant::now());
            self.analysers.update(&nodes, connect, Instant::now());
        }
        self.members.update(nodes);
    }
}
