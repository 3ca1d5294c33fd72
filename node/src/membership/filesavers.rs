//! The filesavers that run now, each by the lasting name of its log.
//!
//! A log and the archive beside it stay with their data directory, wherever and under whatever address that runs. Whoever
//! needs all logs watches [`Filesavers::changes`]; whoever reads what a position names asks for [`Filesavers::get`]. One that
//! is not among them is away, and nobody else has what it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use seine_proto::monitor::v1::NodeInfo;
use tokio::sync::watch;
use tonic::transport::Channel;

/// Tables without it that a filesaver outlives: that of a Monitor which has just started does not have everybody yet.
const MISSES: u32 = 3;

/// By the names of their logs.
pub type KnownFilesavers = BTreeMap<String, Route>;

/// How a filesaver is reached.
#[derive(Clone, Debug)]
pub struct Route {
    pub channel: Channel,
    /// `None` where the way there never changes.
    address: Option<String>,
    /// Tables in a row that did not have it.
    missed: u32,
}

impl Route {
    /// Whether both lead to the same place.
    pub fn is(&self, other: &Self) -> bool {
        self.address == other.address
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
        self.known.send_modify(|known| drop(known.insert(log_id, Route { channel, address: None, missed: 0 })));
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
    pub(super) fn update(&self, nodes: &[NodeInfo], connect: impl Fn(&str) -> Option<Channel>) {
        let elsewhere: BTreeMap<&str, &str> = nodes
            .iter()
            .filter(|node| !node.log_id.is_empty())
            .map(|node| (node.log_id.as_str(), node.address.as_str()))
            .collect();
        self.known.send_if_modified(|known| {
            let before = known.len();
            known.retain(|log_id, route| {
                let Some(address) = &route.address else { return true };
                let now = elsewhere.get(log_id.as_str());
                route.missed = if now.is_none() { route.missed + 1 } else { 0 };
                route.missed < MISSES && now.is_none_or(|now| now == address)
            });
            let mut is_changed = known.len() != before;
            for (log_id, address) in elsewhere {
                if known.contains_key(log_id) {
                    continue;
                }
                if let Some(channel) = connect(address) {
                    tracing::info!(log = log_id, address, "filesaver is there");
                    known.insert(log_id.to_owned(), Route { channel, address: Some(address.to_owned()), missed: 0 });
                    is_changed = true;
                }
            }
            is_changed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp_channel;

    fn node(log_id: &str, port: u16) -> NodeInfo {
        NodeInfo { log_id: log_id.to_owned(), address: format!("127.0.0.1:{port}"), ..NodeInfo::default() }
    }

    fn update(filesavers: &Filesavers, nodes: &[NodeInfo]) {
        filesavers.update(nodes, |address| tcp_channel(address).ok());
    }

    fn known(filesavers: &Filesavers) -> Vec<(String, Option<String>)> {
        filesavers.all().into_iter().map(|(log_id, route)| (log_id, route.address)).collect()
    }

    #[tokio::test]
    async fn a_filesaver_is_followed_to_where_it_runs_and_forgotten_while_it_does_not() {
        let filesavers = Filesavers::default();
        let mut changes = filesavers.changes();
        update(&filesavers, &[node("a", 1), node("b", 2), node("", 3)]);
        let told = |log_id: &str, port: u16| (log_id.to_owned(), Some(format!("127.0.0.1:{port}")));
        assert_eq!(known(&filesavers), [told("a", 1), told("b", 2)]);
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        update(&filesavers, &[node("b", 2), node("a", 1)]);
        assert!(!changes.has_changed().unwrap(), "nothing is new");
        let before = filesavers.get("a").unwrap();
        update(&filesavers, &[node("a", 7)]);
        assert_eq!(known(&filesavers), [told("a", 7), told("b", 2)], "one table may not have all yet");
        assert!(!filesavers.get("a").unwrap().is(&before));
        for _ in 1..MISSES {
            update(&filesavers, &[node("a", 7)]);
        }
        assert_eq!(known(&filesavers), [told("a", 7)]);
        assert!(filesavers.get("b").is_none());
    }

    #[tokio::test]
    async fn the_one_in_this_process_is_reached_in_memory_whatever_the_table_says() {
        let (dialer, _listener) = crate::transport::in_memory();
        let filesavers = Filesavers::of([("own".to_owned(), dialer.channel())]);
        update(&filesavers, &[node("own", 1), node("a", 2)]);
        assert_eq!(filesavers.get("own").unwrap().address, None);
        for _ in 0..MISSES {
            update(&filesavers, &[]);
        }
        assert_eq!(known(&filesavers), [("own".to_owned(), None)]);
    }
}
