//! The nodes as this process knows them: told by the Monitor, asked by whoever connects or serves.
//!
//! Roles of a node count for a while after it is not told any more: the table of a Monitor that has just started does not have
//! everybody yet. One that was removed is [cut off](crate::transport::cut_off) besides.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use seine_proto::monitor::v1::NodeInfo;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::transport::dial::Target;

const INDEXER: &str = "indexer";
/// How long roles count after a node was told for the last time.
const REMEMBERED: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Members {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    nodes: HashMap<String, NodeInfo>,
    /// Roles of those that are not told any more, and until when they count.
    earlier: HashMap<String, (Vec<String>, Instant)>,
    /// Of the roles that somebody has asked for.
    holders: BTreeMap<String, watch::Sender<Vec<Target>>>,
}

impl Members {
    /// The roles of a node; `None` for one that is not known.
    pub fn roles(&self, node_id: &str) -> Option<Vec<String>> {
        let known = self.known();
        let roles = known.nodes.get(node_id).map(|node| &node.roles);
        roles.or_else(|| known.earlier.get(node_id).map(|(roles, _)| roles)).cloned()
    }

    /// Whether anybody holds a role now.
    pub fn has(&self, role: &str) -> bool {
        !targets(&self.known().nodes, role).is_empty()
    }

    /// Who holds a role, now and later.
    pub fn holders(&self, role: &str) -> watch::Receiver<Vec<Target>> {
        let mut known = self.known();
        let Known { nodes, holders, .. } = &mut *known;
        let holders = holders.entry(role.to_owned());
        holders.or_insert_with(|| watch::Sender::new(targets(nodes, role))).subscribe()
    }

    /// These are all there are.
    pub fn update(&self, nodes: Vec<NodeInfo>) {
        let mut known = self.known();
        let Known { nodes: current, earlier, holders } = &mut *known;
        let now = Instant::now();
        let before = std::mem::take(current).into_iter().map(|(id, node)| (id, (node.roles, now + REMEMBERED)));
        earlier.extend(before);
        earlier.retain(|_, (_, until)| now < *until);
        *current = nodes.into_iter().map(|node| (node.id.clone(), node)).collect();
        for (role, holders) in holders {
            let now = targets(current, role);
            holders.send_if_modified(|before| {
                let differs = *before != now;
                *before = now;
                differs
            });
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn targets(nodes: &HashMap<String, NodeInfo>, role: &str) -> Vec<Target> {
    // An indexer that waits for the end of another one is not asked, and whoever is draining only where there is nobody else.
    let holders = nodes.values().filter(|node| node.roles.iter().any(|name| name == role));
    let holders: Vec<&NodeInfo> = holders.filter(|node| !(node.standby && role == INDEXER)).collect();
    let all_drain = holders.iter().all(|node| node.draining);
    let holders = holders.into_iter().filter(|node| all_drain || !node.draining);
    let mut targets: Vec<Target> = holders.map(|node| Target::node(&node.id, &node.address)).collect();
    targets.sort();
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, roles: &[&str]) -> NodeInfo {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        NodeInfo { id: id.to_owned(), roles, address: format!("127.0.0.1:{}", id.len()), ..NodeInfo::default() }
    }

    #[test]
    fn whoever_asked_for_a_role_learns_who_holds_it_and_only_when_that_changes() {
        let members = Members::default();
        let mut analysers = members.holders("analyser");
        assert_eq!(*analysers.borrow_and_update(), []);
        members.update(vec![node("a", &["analyser", "collector"]), node("bb", &["collector"])]);
        let ids = |targets: &[Target]| targets.iter().map(|target| target.node_id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&analysers.borrow_and_update()), ["a"]);
        members.update(vec![node("a", &["analyser"]), node("ccc", &["filesaver"])]);
        assert!(!analysers.has_changed().unwrap());
        members.update(Vec::new());
        assert_eq!(ids(&analysers.borrow_and_update()), [""; 0]);
        assert_eq!(members.roles("a"), Some(vec!["analyser".to_owned()]), "a table may not have all yet");
        assert_eq!(members.roles("nobody"), None);
    }
}
