//! The filesavers that run now, each by the lasting name of its log.
//!
//! A log and the archive beside it stay with their data directory, wherever and under whatever address that runs. Whoever
//! needs all logs watches [`Filesavers::changes`]; whoever reads what a position names asks for [`Filesavers::get`]. One that
//! is not among them is away, and nobody else has what it has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seine_proto::monitor::v1::NodeInfo;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::transport::Channel;

/// How long one counts as there that the Monitor does not tell of: one which has just started does not know everybody yet.
const REMEMBERED: Duration = Duration::from_secs(6);

/// By the names of their logs.
pub type KnownFilesavers = BTreeMap<String, Route>;

/// How a filesaver is reached.
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
pub struct Filesavers {
    known: Arc<watch::Sender<KnownFilesavers>>,
}

impl Filesavers {
    /// A set that does not change by itself.
    pub fn of(filesavers: impl IntoIterator<Item = (String, Channel)>) -> Self {
        let this = Self::default();
        filesavers.into_iter().for_each(|(log_id, channel)| this.insert(log_id, channel));
        this
    }

    /// One that stays, such as that of this process.
    pub fn insert(&self, log_id: String, channel: Channel) {
        self.known.send_modify(|known| {
            drop(known.insert(log_id, Route { channel, draining: false, place: None, told_at: Instant::now() }))
        });
    }

    pub fn remove(&self, log_id: &str) {
        self.known.send_if_modified(|known| known.remove(log_id).is_some());
    }

    /// `None` while it is away.
    pub fn get(&self, log_id: &str) -> Option<Route> {
        self.known.borrow().get(log_id).cloned()
    }

    pub fn all(&self) -> KnownFilesavers {
        self.known.borrow().clone()
    }

    pub fn changes(&self) -> watch::Receiver<KnownFilesavers> {
        self.known.subscribe()
    }

    /// Takes over who is where. Those that stayed where they were keep their channels.
    pub(super) fn update(&self, nodes: &[NodeInfo], connect: impl Fn(&NodeInfo) -> Channel, told_at: Instant) {
        let elsewhere: BTreeMap<&str, &NodeInfo> =
            nodes.iter().filter(|node| !node.log_id.is_empty()).map(|node| (node.log_id.as_str(), node)).collect();
        let place = |node: &NodeInfo| Some((node.id.clone(), node.address.clone()));
        self.known.send_if_modified(|known| {
            let before = known.len();
            known.retain(|log_id, route| match (&route.place, elsewhere.get(log_id.as_str())) {
                (None, _) => true,
                (Some(_), None) => told_at - route.told_at < REMEMBERED,
                (_, Some(node)) => {
                    (route.told_at, route.draining) = (told_at, node.draining);
                    route.place == place(node)
                }
            });
            let mut is_changed = known.len() != before;
            for (log_id, node) in elsewhere {
                if known.contains_key(log_id) {
                    continue;
                }
                tracing::info!(log = log_id, node = node.id, address = node.address, "filesaver is there");
                known.insert(
                    log_id.to_owned(),
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
}
