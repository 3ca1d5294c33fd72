//! The nodes of one kind that run now, each with a way of its own to it.
//!
//! [`Filesavers`] are known by the lasting names of their logs: a log and the archive beside it stay with their data directory,
//! wherever and under whatever address that runs. Whoever needs all logs watches [`Peers::changes`]; whoever reads what a
//! position names asks for [`Peers::get`]. One that is not among them is away, and nobody else has what it has.
//!
//! [`Analysers`] are known by their nodes. Whoever has pages uses all of them.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::transport::Channel;
use seine_proto::monitor::v1::NodeInfo;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long one counts as there that the Monitor does not tell of: one which has just started does not know everybody yet.
const REMEMBERED: Duration = Duration::from_secs(6);

/// Which nodes belong to a set.
pub trait Kind {
    const NAME: &str;

    /// What it is known by; `None` for a node that does not belong to them.
    fn key(node: &NodeInfo) -> Option<&str>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ByLog;

#[derive(Clone, Copy, Debug, Default)]
pub struct ByAnalyser;

impl Kind for ByLog {
    const NAME: &str = "filesaver";

    fn key(node: &NodeInfo) -> Option<&str> {
        (!node.log_id.is_empty()).then_some(&node.log_id)
    }
}

impl Kind for ByAnalyser {
    const NAME: &str = "analyser";

    fn key(node: &NodeInfo) -> Option<&str> {
        node.roles.iter().any(|role| role == Self::NAME).then_some(&node.id)
    }
}

pub type Filesavers = Peers<ByLog>;
pub type Analysers = Peers<ByAnalyser>;

/// By what each is known by.
pub type KnownPeers = BTreeMap<String, Route>;

/// How a node is reached.
#[derive(Clone, Debug)]
pub struct Route {
    pub channel: Channel,
    /// It is to be given nothing new, as long as there are others.
    pub draining: bool,
    /// Node and address; `None` where the way there never changes.
    place: Option<(String, String)>,
    /// When it was told for the last time.
    told_at: Instant,
}

impl Route {
    /// Whether both lead to the same place.
    pub fn is(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

/// Clones are the same set.
#[derive(Clone, Debug, Default)]
pub struct Peers<K> {
    known: Arc<watch::Sender<KnownPeers>>,
    kind: PhantomData<K>,
}

impl<K: Kind + Default> Peers<K> {
    /// A set that does not change by itself.
    pub fn of(peers: impl IntoIterator<Item = (String, Channel)>) -> Self {
        let this = Self::default();
        peers.into_iter().for_each(|(key, channel)| this.insert(key, channel));
        this
    }

    /// One that stays, such as that of this process.
    pub fn insert(&self, key: String, channel: Channel) {
        self.known.send_modify(|known| {
            drop(known.insert(key, Route { channel, draining: false, place: None, told_at: Instant::now() }))
        });
    }

    pub fn remove(&self, key: &str) {
        self.known.send_if_modified(|known| known.remove(key).is_some());
    }

    /// `None` while it is away.
    pub fn get(&self, key: &str) -> Option<Route> {
        self.known.borrow().get(key).cloned()
    }

    pub fn all(&self) -> KnownPeers {
        self.known.borrow().clone()
    }

    pub fn changes(&self) -> watch::Receiver<KnownPeers> {
        self.known.subscribe()
    }

    /// Takes over who is where. Those that stayed where they were keep their channels.
    pub(super) fn update(&self, nodes: &[NodeInfo], connect: impl Fn(&NodeInfo) -> Channel, told_at: Instant) {
        let elsewhere: BTreeMap<&str, &NodeInfo> =
            nodes.iter().filter_map(|node| Some((K::key(node)?, node))).collect();
        let place = |node: &NodeInfo| Some((node.id.clone(), node.address.clone()));
        self.known.send_if_modified(|known| {
            let (before, mut is_changed) = (known.len(), false);
            known.retain(|key, route| match (&route.place, elsewhere.get(key.as_str())) {
                (None, _) => true,
                (Some(_), None) => told_at - route.told_at < REMEMBERED,
                (_, Some(node)) => {
                    is_changed |= route.draining != node.draining;
                    (route.told_at, route.draining) = (told_at, node.draining);
                    route.place == place(node)
                }
            });
            is_changed |= known.len() != before;
            for (key, node) in elsewhere {
                if known.contains_key(key) {
                    continue;
                }
                tracing::info!(tier = K::NAME, key, node = node.id, address = node.address, "peer is there");
                known.insert(
                    key.to_owned(),
                    Route { channel: connect(node), draining: node.draining, place: place(node), told_at },
                );
                is_changed = true;
            }
            is_changed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::user_client::user_channel;

    fn node(log_id: &str, port: u16) -> NodeInfo {
        NodeInfo { log_id: log_id.to_owned(), address: format!("127.0.0.1:{port}"), ..NodeInfo::default() }
    }

    fn update(filesavers: &Filesavers, nodes: &[NodeInfo], after: Duration) {
        filesavers.update(nodes, |node| user_channel(&node.address, None).unwrap(), Instant::now() + after);
    }

    fn known(filesavers: &Filesavers) -> Vec<(String, Option<String>)> {
        filesavers.all().into_iter().map(|(log_id, route)| (log_id, route.place.map(|(_, address)| address))).collect()
    }

    #[tokio::test]
    async fn a_filesaver_is_followed_to_where_it_runs_and_forgotten_while_it_does_not() {
        let filesavers = Filesavers::default();
        let mut changes = filesavers.changes();
        update(&filesavers, &[node("a", 1), node("b", 2), node("", 3)], Duration::ZERO);
        let told = |log_id: &str, port: u16| (log_id.to_owned(), Some(format!("127.0.0.1:{port}")));
        assert_eq!(known(&filesavers), [told("a", 1), told("b", 2)]);
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        update(&filesavers, &[node("b", 2), node("a", 1)], Duration::ZERO);
        assert!(!changes.has_changed().unwrap(), "nothing is new");
        let before = filesavers.get("a").unwrap();
        update(&filesavers, &[node("a", 7)], Duration::ZERO);
        assert_eq!(known(&filesavers), [told("a", 7), told("b", 2)], "one table may not have all yet");
        assert!(!filesavers.get("a").unwrap().is(&before));
        update(&filesavers, &[node("a", 7)], REMEMBERED * 2);
        assert_eq!(known(&filesavers), [told("a", 7)]);
        assert!(filesavers.get("b").is_none());
    }

    #[tokio::test]
    async fn the_one_in_this_process_is_reached_in_memory_whatever_the_table_says() {
        let (dialer, _listener) = crate::transport::in_memory();
        let filesavers = Filesavers::of([("own".to_owned(), dialer.channel())]);
        update(&filesavers, &[node("own", 1), node("a", 2)], Duration::ZERO);
        assert_eq!(filesavers.get("own").unwrap().place, None);
        update(&filesavers, &[], REMEMBERED * 2);
        assert_eq!(known(&filesavers), [("own".to_owned(), None)]);
    }

    #[tokio::test]
    async fn analysers_are_the_nodes_with_that_role_and_whoever_watches_learns_that_one_drains() {
        let analysers = Analysers::default();
        let node = |id: &str, role: &str, draining: bool| NodeInfo {
            id: id.to_owned(),
            roles: vec!["collector".to_owned(), role.to_owned()],
            address: "127.0.0.1:1".to_owned(),
            draining,
            ..NodeInfo::default()
        };
        let tell = |nodes: &[NodeInfo]| {
            analysers.update(nodes, |node| user_channel(&node.address, None).unwrap(), Instant::now());
        };
        let mut changes = analysers.changes();
        tell(&[node("a", "analyser", false), node("b", "analyser", false), node("c", "query", false)]);
        assert_eq!(changes.borrow_and_update().keys().collect::<Vec<_>>(), ["a", "b"]);
        tell(&[node("a", "analyser", true), node("b", "analyser", false)]);
        assert!(changes.has_changed().unwrap());
        let draining: Vec<bool> = changes.borrow_and_update().values().map(|route| route.draining).collect();
        assert_eq!(draining, [true, false]);
    }
}
