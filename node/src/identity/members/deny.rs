//! Whom nodes must not believe although the certificate is valid. The Monitor makes it and every node gets it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::identity::certificate::Peer;
use crate::identity::name::{NodeId, Serial};

/// Each entry ends with the last certificate that it is about, so the list stays short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenyList {
    /// Removed and locked nodes, each with the Unix milliseconds until which it stands here.
    pub nodes: BTreeMap<NodeId, i64>,
    /// Single certificates.
    pub serials: BTreeMap<Serial, i64>,
}

impl DenyList {
    pub fn denies(&self, peer: &Peer) -> bool {
        self.nodes.contains_key(&peer.node_id) || self.serials.contains_key(&peer.serial)
    }

    pub(super) fn deny_node(&mut self, id: &NodeId, until_ms: i64) {
        let until = self.nodes.entry(id.clone()).or_insert(until_ms);
        *until = until_ms.max(*until);
    }

    pub(super) fn deny_serial(&mut self, serial: &Serial, until_ms: i64) {
        self.serials.insert(serial.clone(), until_ms);
    }
}
