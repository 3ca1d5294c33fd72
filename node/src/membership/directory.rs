//! Where the tiers of other processes are: registers this process with the Monitor every few seconds, with what is wrong
//! with its tiers, and keeps the channels to other roles pointed at whoever has registered for them.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::health::{Condition, HealthBoard};
use crate::membership::{Filesavers, NodeTable};
use crate::transport::{tcp_channel, tcp_endpoint};
use seine_proto::monitor::v1::nodes_client::NodesClient;
use seine_proto::monitor::v1::{NodeInfo, RegisterRequest, Trouble};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;
use tonic::transport::channel::Change;
use tonic::transport::{Channel, Endpoint};

/// How often a node says that it is alive; the Monitor forgets one after several times this.
const REGISTER_EVERY: Duration = Duration::from_secs(3);
/// Before the first answer of the Monitor, so that a cluster forms quickly.
const FIRST_TRIES_EVERY: Duration = Duration::from_millis(200);
/// Changes of the node table that a channel may have outstanding.
const PENDING_CHANGES: usize = 64;

/// Channels that follow the node table.
#[derive(Clone, Default)]
pub struct Channels {
    roles: Arc<Mutex<HashMap<&'static str, Followed>>>,
    filesavers: Filesavers,
}

struct Followed {
    channel: Channel,
    changes: Sender<Change<String, Endpoint>>,
    known: BTreeSet<String>,
}

impl Channels {
    /// A channel to whoever runs the role; calls wait until somebody does.
    pub fn channel(&self, role: &'static str) -> Channel {
        let mut roles = self.roles.lock().expect("nothing panics while holding this lock");
        let followed = roles.entry(role).or_insert_with(|| {
            let (channel, changes) = Channel::balance_channel(PENDING_CHANGES);
            Followed { channel, changes, known: BTreeSet::new() }
        });
        followed.channel.clone()
    }

    /// All filesavers, each to be asked for what it has.
    pub fn filesavers(&self) -> &Filesavers {
        &self.filesavers
    }

    fn update(&self, nodes: &[NodeInfo]) {
        self.filesavers.update(nodes, |address| tcp_channel(address).ok());
        let mut roles = self.roles.lock().expect("nothing panics while holding this lock");
        for (role, followed) in roles.iter_mut() {
            let with_role = nodes.iter().filter(|node| node.roles.iter().any(|name| name == role));
            let now: BTreeSet<String> = with_role.map(|node| node.address.clone()).collect();
            for gone in followed.known.difference(&now) {
                let _ = followed.changes.try_send(Change::Remove(gone.clone()));
            }
            for new in now.difference(&followed.known) {
                if let Ok(endpoint) = tcp_endpoint(new) {
                    let _ = followed.changes.try_send(Change::Insert(new.clone(), endpoint));
                }
            }
            followed.known = now;
        }
    }
}

/// The log of a filesaver that runs here.
#[derive(Clone, Debug, Default)]
pub struct OwnLog {
    pub id: String,
    /// The highest epoch of a lease that its entries were fetched under.
    pub highest_epoch: u64,
}

pub struct Directory {
    node: NodeInfo,
    highest_epoch: u64,
    monitor: Option<NodesClient<Channel>>,
    nodes: NodeTable,
    channels: Channels,
    board: HealthBoard,
}

impl Directory {
    /// With the Monitor in this process the table itself is followed, otherwise the Monitor is asked.
    pub fn new(
        roles: &BTreeSet<&'static str>,
        grpc: SocketAddr,
        monitor: Option<Channel>,
        log: Option<OwnLog>,
        nodes: NodeTable,
        channels: &Channels,
        board: HealthBoard,
    ) -> Self {
        let OwnLog { id: log_id, highest_epoch } = log.unwrap_or_default();
        let node = NodeInfo {
            id: format!("{}-{}", std::process::id(), grpc.port()),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            address: grpc.to_string(),
            troubles: Vec::new(),
            log_id,
        };
        // Known to others from the first moment at which they can ask.
        if monitor.is_none() {
            nodes.register(&node);
        }
        Self { node, highest_epoch, monitor: monitor.map(NodesClient::new), nodes, channels: channels.clone(), board }
    }

    pub fn node_id(&self) -> String {
        self.node.id.clone()
    }

    pub async fn run(mut self, stopped: CancellationToken) -> Result<(), Infallible> {
        let mut joined = false;
        let mut changes = self.board.changes();
        loop {
            self.node.troubles = troubles(&self.board);
            let known = tokio::select! {
                () = stopped.cancelled() => return Ok(()),
                known = self.register(&mut joined) => known,
            };
            let pause = if known.is_some() { REGISTER_EVERY } else { FIRST_TRIES_EVERY };
            if let Some(known) = known {
                self.channels.update(&known);
            }
            tokio::select! {
                () = stopped.cancelled() => return Ok(()),
                // Whoever hands out work should know at once.
                () = changes.next() => {}
                () = tokio::time::sleep(if joined || self.monitor.is_none() { pause } else { FIRST_TRIES_EVERY }) => {}
            }
        }
    }

    async fn register(&mut self, joined: &mut bool) -> Option<Vec<NodeInfo>> {
        let Some(client) = &mut self.monitor else { return self.nodes.register(&self.node) };
        let answer =
            client.register(RegisterRequest { node: Some(self.node.clone()), highest_epoch: self.highest_epoch }).await;
        report(joined, &answer);
        answer.ok().map(|answer| answer.into_inner().nodes)
    }
}

fn troubles(board: &HealthBoard) -> Vec<Trouble> {
    let unwell = board.tiers().into_iter().filter(|(_, condition)| *condition != Condition::Well);
    let trouble = |(tier, condition): (&str, Condition)| Trouble {
        tier: tier.to_owned(),
        reason: condition.reason().to_owned(),
        pauses: matches!(condition, Condition::Pausing(_)),
    };
    unwell.map(trouble).collect()
}

/// Tells once when the Monitor is reached and once when it is lost.
fn report<T>(joined: &mut bool, answer: &Result<T, tonic::Status>) {
    match answer {
        Ok(_) if !*joined => tracing::info!("joined the monitor"),
        Err(error) if *joined => tracing::warn!(%error, "the monitor does not answer; trying again"),
        _ => {}
    }
    *joined = answer.is_ok();
}
