//! Who else runs, and how they are. Kept in memory: nodes register again every few seconds, so a restarted Monitor knows
//! them soon.
//!
//! Of two indexers one is the standby of the other, and a third is refused. Which of them is which stays so until the one that
//! works is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use seine_common::clock::Clock;
use seine_proto::monitor::v1::{Figures, NodeInfo};
use tokio::sync::watch;

use super::{REGISTER_EVERY, VERSION};

/// A node that has not registered for so long is gone.
pub const SILENCE_MS: i64 = 15_000;
/// A node that has not registered for so long may be gone: it has missed a sign of life.
pub const SUSPECT_MS: i64 = 3 * REGISTER_EVERY.as_millis() as i64 / 2;
/// After the end of its connection, a node that lives has registered again within this time.
const GRACE_MS: i64 = 1_000;
/// More nodes than this are refused.
const MAX_NODES: usize = 1024;
/// Troubles that one node may tell of, and how long each may be.
const MAX_TROUBLES: usize = 16;
const MAX_REASON_CHARS: usize = 1_000;
const INDEXER: &str = "indexer";

/// What one node says of one of its tiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTrouble {
    pub node: String,
    pub tier: String,
    pub reason: String,
    /// Nothing should be fetched until it is over.
    pub pauses: bool,
}

/// Why a node is not entered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEntered {
    #[error("{MAX_NODES} nodes run already; end some, or remove those that are not needed with `seine nodes remove`")]
    Full,
    #[error(
        "there is an indexer already (node {active}) and a standby for it (node {standby}); a third would only copy \
         their work, so leave the indexer out of --roles"
    )]
    ThirdIndexer { active: String, standby: String },
    #[error("the log {log} is with node {node}, which runs; two nodes cannot have the same")]
    LogOfAnother { log: String, node: String },
}

/// A node that has registered.
#[derive(Clone, Debug)]
pub struct Registered {
    pub node: NodeInfo,
    pub figures: Figures,
    pub version: String,
    seen: i64,
    /// Of the registration: later ones have higher numbers.
    turn: u64,
}

impl Registered {
    /// How long ago it gave its last sign of life.
    pub fn silent_ms(&self, clock: &Clock) -> i64 {
        clock.monotonic_ms() - self.seen
    }
}

#[derive(Default)]
struct Nodes {
    living: BTreeMap<String, Registered>,
    /// Those that were and are not any more, as they were last.
    departed: BTreeMap<String, Registered>,
    draining: BTreeSet<String>,
    turns: u64,
}

/// Clones are the same.
#[derive(Clone)]
pub struct NodeTable {
    clock: Clock,
    nodes: Arc<Mutex<Nodes>>,
    /// Counts the changes.
    changes: Arc<watch::Sender<u64>>,
}

impl NodeTable {
    pub fn new(clock: Clock) -> Self {
        // Whoever knows the table of a Monitor that ran earlier does not know this one.
        let changes = Arc::new(watch::Sender::new(rand::random()));
        Self { clock, nodes: Arc::default(), changes }
    }

    /// Notes that a node of this very program is alive.
    pub fn register(&self, node: &NodeInfo) -> Result<u64, NotEntered> {
        self.register_with(node, Figures::default(), VERSION)
    }

    /// Notes that the node is alive, and how it is. Gives the number of the registration.
    pub fn register_with(&self, node: &NodeInfo, figures: Figures, version: &str) -> Result<u64, NotEntered> {
        let now = self.clock.monotonic_ms();
        let mut nodes = self.nodes();
        let Nodes { living, departed, draining, turns } = &mut *nodes;
        let has_its_log = |other: &Registered| {
            other.node.id != node.id && !node.log_id.is_empty() && other.node.log_id == node.log_id
        };
        if let Some(other) = living.values().find(|other| has_its_log(other) && now - other.seen < SUSPECT_MS) {
            return Err(NotEntered::LogOfAnother { log: node.log_id.clone(), node: other.node.id.clone() });
        }
        // A data directory is held by one process: another that had its log and is silent has ended.
        let gone: Vec<String> = living
            .iter()
            .filter(|(_, other)| now - other.seen >= SILENCE_MS || has_its_log(other))
            .map(|(id, _)| id.clone())
            .collect();
        let mut has_changed = !gone.is_empty();
        departed.extend(gone.iter().filter_map(|id| living.remove_entry(id)));
        while departed.len() > MAX_NODES {
            departed.pop_first();
        }
        let entered = match standby(living.values().filter(|other| now - other.seen < SUSPECT_MS), node) {
            Ok(_) if living.len() >= MAX_NODES && !living.contains_key(&node.id) => Err(NotEntered::Full),
            Ok(standby) => {
                let node = NodeInfo { standby, draining: draining.contains(&node.id), ..node.clone() };
                *turns += 1;
                let (turn, version) = (*turns, version.to_owned());
                let registered = Registered { node: node.clone(), figures, version, seen: now, turn };
                departed.remove(&node.id);
                let earlier = living.insert(node.id.clone(), registered);
                has_changed |= earlier.as_ref().is_none_or(|earlier| earlier.node != node);
                if earlier.is_none() {
                    let roles = node.roles.join(",");
                    tracing::info!(node = node.id, roles, address = node.address, "node registered");
                }
                Ok(turn)
            }
            Err(refusal) => Err(refusal),
        };
        drop(nodes);
        if has_changed {
            self.changed();
        }
        entered
    }

    /// The node is not among them any more.
    pub fn remove(&self, id: &str) {
        let mut nodes = self.nodes();
        nodes.living.remove(id);
        nodes.departed.remove(id);
        drop(nodes);
        // Also where it was not there: who is to be talked to no more is another matter now.
        self.changed();
    }

    /// The connection by which a node had registered has ended, so it is gone unless it registers again soon, or has already.
    pub fn lost(&self, id: &str, turn: u64) {
        let now = self.clock.monotonic_ms();
        if let Some(known) = self.nodes().living.get_mut(id).filter(|known| known.turn == turn) {
            // It may only have given up one call to make another.
            known.seen = known.seen.min(now - SUSPECT_MS + GRACE_MS);
        }
    }

    /// What nodes are told besides the table is another matter now.
    pub fn changed(&self) {
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
        let nodes = self.nodes();
        let living = nodes.living.values().filter(|known| now - known.seen < SILENCE_MS);
        living.map(|known| known.node.clone()).collect()
    }

    /// Those that have registered since the Monitor runs, also if they are gone now, with how they were last.
    pub fn registered(&self) -> BTreeMap<String, Registered> {
        let nodes = self.nodes();
        nodes.departed.iter().chain(&nodes.living).map(|(id, known)| (id.clone(), known.clone())).collect()
    }

    /// These are given nothing new, and no others.
    pub fn set_draining(&self, draining: BTreeSet<String>) {
        let mut nodes = self.nodes();
        for (id, known) in &mut nodes.living {
            known.node.draining = draining.contains(id);
        }
        nodes.draining = draining;
        drop(nodes);
        self.changed();
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
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

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the indexer of a node that registers waits for the end of another one, among those that live.
fn standby<'n>(living: impl Iterator<Item = &'n Registered>, node: &NodeInfo) -> Result<bool, NotEntered> {
    if !node.roles.iter().any(|role| role == INDEXER) {
        return Ok(false);
    }
    let others = living.map(|other| &other.node).filter(|other| other.id != node.id);
    let others = others.filter(|other| other.roles.iter().any(|role| role == INDEXER));
    let (waiting, active): (Vec<&NodeInfo>, Vec<&NodeInfo>) = others.partition(|other| other.standby);
    match (active.first(), waiting.first()) {
        (Some(active), Some(standby)) => {
            Err(NotEntered::ThirdIndexer { active: active.id.clone(), standby: standby.id.clone() })
        }
        (Some(_), None) => Ok(true),
        // It waits by itself: another process has its directory.
        (None, _) => Ok(node.standby),
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
        table.register(&node("a")).unwrap();
        clock.advance(SILENCE_MS - 1);
        table.register(&node("b")).unwrap();
        assert_eq!(table.all().len(), 2);
        clock.advance(1);
        table.register(&node("b")).unwrap();
        let ids: Vec<_> = table.all().into_iter().map(|node| node.id).collect();
        assert_eq!(ids, ["b"]);
    }

    #[test]
    fn the_table_tells_when_it_is_another_one_and_only_then() {
        let clock = Clock::manual(0);
        let table = NodeTable::new(clock.clone());
        let mut changes = table.changes();
        table.register(&node("a")).unwrap();
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        table.register(&node("a")).unwrap();
        assert!(!changes.has_changed().unwrap());
        table.register(&NodeInfo { address: "127.0.0.1:2".to_owned(), ..node("a") }).unwrap();
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        clock.advance(SILENCE_MS);
        table.register(&node("b")).unwrap();
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        table.remove("b");
        assert!(changes.has_changed().unwrap() && table.all().is_empty());
    }

    #[test]
    fn a_log_is_with_one_node_until_that_is_silent() {
        let clock = Clock::manual(0);
        let table = NodeTable::new(clock.clone());
        let saver = |id: &str, log_id: &str| NodeInfo { log_id: log_id.to_owned(), ..node(id) };
        let turn = table.register(&saver("before", "log")).unwrap();
        table.register(&saver("other", "another log")).unwrap();
        table.register(&node("none")).unwrap();
        assert!(matches!(table.register(&saver("after", "log")), Err(NotEntered::LogOfAnother { .. })));
        table.lost("before", turn + 7);
        clock.advance(GRACE_MS);
        assert!(table.register(&saver("after", "log")).is_err(), "it has registered since");
        table.lost("before", turn);
        clock.advance(GRACE_MS);
        table.register(&saver("after", "log")).unwrap();
        let nodes = table.all();
        let with_log: Vec<_> = nodes.iter().filter(|node| node.log_id == "log").map(|node| node.id.as_str()).collect();
        assert_eq!((with_log, nodes.len()), (vec!["after"], 3));
    }

    #[test]
    fn of_two_indexers_one_waits_until_the_other_is_gone_and_a_third_is_refused() {
        let clock = Clock::manual(0);
        let table = NodeTable::new(clock.clone());
        let indexer = |id: &str| NodeInfo { roles: vec!["indexer".to_owned()], ..node(id) };
        let waiting =
            || -> Vec<String> { table.all().into_iter().filter(|node| node.standby).map(|node| node.id).collect() };
        for id in ["b", "a", "b"] {
            table.register(&indexer(id)).unwrap();
        }
        assert_eq!(waiting(), ["a"]);
        let refusal = table.register(&indexer("c")).unwrap_err();
        assert!(refusal.to_string().contains("node b") && refusal.to_string().contains("node a"), "{refusal}");
        clock.advance(SUSPECT_MS);
        table.register(&indexer("a")).unwrap();
        assert_eq!(waiting(), [""; 0]);
        table.register(&indexer("b")).unwrap();
        assert_eq!(waiting(), ["b"]);
    }

    #[test]
    fn troubles_are_those_of_living_nodes_as_they_were_told_last() {
        let clock = Clock::manual(0);
        let table = NodeTable::new(clock.clone());
        let trouble = Trouble { tier: "filesaver".to_owned(), reason: "no room".to_owned(), pauses: true };
        table.register(&NodeInfo { troubles: vec![trouble.clone()], ..node("a") }).unwrap();
        table.register(&NodeInfo { troubles: vec![trouble], ..node("b") }).unwrap();
        assert_eq!(table.troubles().len(), 2);
        table.register(&node("a")).unwrap();
        let nodes: Vec<_> = table.troubles().into_iter().map(|trouble| trouble.node).collect();
        assert_eq!(nodes, ["b"]);
        clock.advance(SILENCE_MS);
        assert_eq!(table.troubles(), []);
    }
}
