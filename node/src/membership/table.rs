//! Who else runs, and how they are. Kept in memory: nodes register again every few seconds, so a restarted Monitor knows
//! them soon.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use seine_common::clock::Clock;
use seine_proto::monitor::v1::NodeInfo;
use tokio::sync::watch;

/// A node that has not registered for so long is gone.
const SILENCE_MS: i64 = 15_000;
/// More nodes than this are refused: ids are chosen by the callers.
const MAX_NODES: usize = 1024;
/// Troubles that one node may tell of, and how long each may be: callers are not authenticated.
const MAX_TROUBLES: usize = 16;
const MAX_REASON_CHARS: usize = 1_000;

/// What one node says of one of its tiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTrouble {
    pub node: String,
    pub tier: String,
    pub reason: String,
    /// Nothing should be fetched until it is over.
    pub pauses: bool,
}

/// Clones are the same.
#[derive(Clone)]
pub struct NodeTable {
    clock: Clock,
    nodes: Arc<Mutex<BTreeMap<String, (i64, NodeInfo)>>>,
    /// Counts the changes.
    changes: Arc<watch::Sender<u64>>,
}

impl NodeTable {
    pub fn new(clock: Clock) -> Self {
        // Whoever knows the table of a Monitor that ran earlier does not know this one.
        let changes = Arc::new(watch::Sender::new(rand::random()));
        Self { clock, nodes: Arc::default(), changes }
    }

    /// Notes that the node is alive and gives all that are; `None` when the table is full.
    pub fn register(&self, node: &NodeInfo) -> Option<Vec<NodeInfo>> {
        let now = self.clock.monotonic_ms();
        let mut nodes = self.nodes.lock().expect("nothing panics while holding this lock");
        let before = nodes.len();
        nodes.retain(|_, (seen, _)| now - *seen < SILENCE_MS);
        // A data directory is held by one process: another that had its log is gone, though it may not be silent for long.
        nodes.retain(|id, (_, other)| *id == node.id || node.log_id.is_empty() || other.log_id != node.log_id);
        let mut has_changed = nodes.len() != before;
        let is_admitted = nodes.len() < MAX_NODES || nodes.contains_key(&node.id);
        if is_admitted {
            let earlier = nodes.insert(node.id.clone(), (now, node.clone()));
            has_changed |= earlier.as_ref().is_none_or(|(_, earlier)| earlier != node);
            if earlier.is_none() {
                tracing::info!(node = node.id, roles = node.roles.join(","), address = node.address, "node joined");
            }
        }
        if has_changed {
            self.changed();
        }
        is_admitted.then(|| nodes.values().map(|(_, node)| node.clone()).collect())
    }

    /// The node is not among them any more.
    pub fn remove(&self, id: &str) {
        self.nodes.lock().expect("nothing panics while holding this lock").remove(id);
        // Also where it was not there: who is to be talked to no more is another matter now.
        self.changed();
    }

    fn changed(&self) {
        // Zero is what those say who know nothing.
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1).max(1));
    }

    /// Tells when the table is another one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Those that have registered lately.
    pub fn all(&self) -> Vec<NodeInfo> {
        let now = self.clock.monotonic_ms();
        let nodes = self.nodes.lock().expect("nothing panics while holding this lock");
        nodes.values().filter(|(seen, _)| now - *seen < SILENCE_MS).map(|(_, node)| node.clone()).collect()
    }

    /// What the living nodes say is wrong with their tiers.
    pub fn troubles(&self) -> Vec<NodeTrouble> {
        let troubles = self.all().into_iter().flat_map(|node| {
            node.troubles.into_iter().take(MAX_TROUBLES).map(move |trouble| NodeTrouble {
                node: node.id.clone(),
                tier: trouble.tier.chars().take(MAX_REASON_CHARS).collect(),
                reason: trouble.reason.chars().take(MAX_REASON_CHARS).collect(),
                pauses: trouble.pauses,
            })
        });
        troubles.collect()
    }
}

#[cfg(test)]
mod tests {
    use seine_proto::monitor::v1::Trouble;

    use super::*;

    fn node(id: &str) -> NodeInfo {
        let (roles, address) = (vec!["collector".to_owned()], "127.0.0.1:1".to_owned());
        NodeInfo { id: id.to_owned(), roles, address, ..NodeInfo::default() }
    }

    #[test]
    fn a_silent_node_is_forgotten_and_a_renewing_one_is_not() {
        let clock = Clock::manual(0);
        let table = NodeTable::new(clock.clone());
        table.register(&node("a"));
        clock.advance(SILENCE_MS - 1);
        assert_eq!(table.register(&node("b")).unwrap().len(), 2);
        clock.advance(1);
        let ids: Vec<_> = table.register(&node("b")).unwrap().into_iter().map(|node| node.id).collect();
        assert_eq!(ids, ["b"]);
    }

    #[test]
    fn the_table_tells_when_it_is_another_one_and_only_then() {
        let clock = Clock::manual(0);
        let table = NodeTable::new(clock.clone());
        let mut changes = table.changes();
        table.register(&node("a"));
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        table.register(&node("a"));
        assert!(!changes.has_changed().unwrap());
        table.register(&NodeInfo { address: "127.0.0.1:2".to_owned(), ..node("a") });
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        clock.advance(SILENCE_MS);
        table.register(&node("b"));
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        table.remove("b");
        assert!(changes.has_changed().unwrap() && table.all().is_empty());
    }

    #[test]
    fn a_log_is_with_whoever_told_of_it_last() {
        let table = NodeTable::new(Clock::manual(0));
        let saver = |id: &str, log_id: &str| NodeInfo { log_id: log_id.to_owned(), ..node(id) };
        table.register(&saver("before", "log"));
        table.register(&saver("other", "another log"));
        table.register(&node("none"));
        let nodes = table.register(&saver("after", "log")).unwrap();
        let with_log: Vec<_> = nodes.iter().filter(|node| node.log_id == "log").map(|node| node.id.as_str()).collect();
        assert_eq!((with_log, nodes.len()), (vec!["after"], 3));
    }

    #[test]
    fn troubles_are_those_of_living_nodes_as_they_were_told_last() {
        let clock = Clock::manual(0);
        let table = NodeTable::new(clock.clone());
        let trouble = Trouble { tier: "filesaver".to_owned(), reason: "no room".to_owned(), pauses: true };
        table.register(&NodeInfo { troubles: vec![trouble.clone()], ..node("a") });
        table.register(&NodeInfo { troubles: vec![trouble], ..node("b") });
        assert_eq!(table.troubles().len(), 2);
        table.register(&node("a"));
        let nodes: Vec<_> = table.troubles().into_iter().map(|trouble| trouble.node).collect();
        assert_eq!(nodes, ["b"]);
        clock.advance(SILENCE_MS);
        assert_eq!(table.troubles(), []);
    }
}
