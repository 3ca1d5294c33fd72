//! Nodes that were removed: their open connections end at once, and new ones are refused. So do those of all, when this process
//! is another one from now on.
//!
//! TLS looks at a peer only at the handshake, and its certificate goes on being valid, so whoever serves must end what is open.
//! Ids of nodes are never used again; what was removed stays so.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Clones are the same.
#[derive(Clone, Default)]
pub struct CutOff {
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    is_over: bool,
    removed: BTreeSet<String>,
    /// Of nodes with open connections, and how many these are.
    open: HashMap<String, (CancellationToken, usize)>,
}

/// One connection of a node, for as long as it is open.
pub struct Admitted {
    cut_off: CutOff,
    node: String,
    ended: CancellationToken,
}

impl CutOff {
    /// `None` for a node that was removed.
    pub fn admit(&self, node: &str) -> Option<Admitted> {
        let mut table = self.table();
        if table.is_over || table.removed.contains(node) {
            return None;
        }
        let (ended, connections) = table.open.entry(node.to_owned()).or_default();
        *connections += 1;
        Some(Admitted { ended: ended.clone(), node: node.to_owned(), cut_off: self.clone() })
    }

    /// These are removed, besides those that were told before.
    pub fn remove(&self, nodes: impl IntoIterator<Item = String>) {
        let mut table = self.table();
        for node in nodes {
            if let Some((ended, _)) = table.open.get(&node) {
                ended.cancel();
            }
            table.removed.insert(node);
        }
    }

    /// Ends the connections to all nodes.
    pub fn end_all(&self) {
        let mut table = self.table();
        table.is_over = true;
        table.open.values().for_each(|(ended, _)| ended.cancel());
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admitted {
    /// Cancelled when the node is removed.
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut table = self.cut_off.table();
        if let Some((_, connections)) = table.open.get_mut(&self.node) {
            *connections -= 1;
            if *connections == 0 {
                table.open.remove(&self.node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_node_ends_its_connections_and_refuses_new_ones_and_nobody_elses() {
        let cut_off = CutOff::default();
        let (one, two) = (cut_off.admit("a").unwrap(), cut_off.admit("a").unwrap());
        let other = cut_off.admit("b").unwrap();
        cut_off.remove(["a".to_owned(), "never-seen".to_owned()]);
        assert!(one.ended().is_cancelled() && two.ended().is_cancelled() && !other.ended().is_cancelled());
        assert!(cut_off.admit("a").is_none() && cut_off.admit("never-seen").is_none());
        drop((one, two));
        assert!(cut_off.admit("a").is_none());
        assert!(cut_off.admit("b").is_some());
    }

    #[test]
    fn when_all_ends_nothing_is_left_open_and_nothing_new_opens() {
        let cut_off = CutOff::default();
        let (one, other) = (cut_off.admit("a").unwrap(), cut_off.admit("b").unwrap());
        cut_off.end_all();
        assert!(one.ended().is_cancelled() && other.ended().is_cancelled());
        assert!(cut_off.admit("a").is_none() && cut_off.admit("c").is_none());
    }

    #[test]
    fn nodes_without_connections_take_no_room() {
        let cut_off = CutOff::default();
        let admitted = (cut_off.admit("a"), cut_off.admit("a"));
        assert_eq!(cut_off.table().open.len(), 1);
        drop(admitted);
        assert_eq!(cut_off.table().open.len(), 0);
    }
}
