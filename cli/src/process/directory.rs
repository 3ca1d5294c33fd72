//! Where the tiers of other processes are: registers this process with the Monitor every few seconds and keeps the
//! channels to other roles pointed at whoever has registered for them.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use seine_common::transport::tcp_endpoint;
use seine_monitor::nodes::NodeTable;
use seine_proto::monitor::v1::nodes_client::NodesClient;
use seine_proto::monitor::v1::{NodeInfo, RegisterRequest};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
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

    fn update(&self, nodes: &[NodeInfo]) {
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

pub struct Directory {
    pub node_id: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Directory {
    /// With the Monitor in this process the table itself is followed, otherwise the Monitor is asked.
    pub fn start(
        roles: &BTreeSet<&'static str>,
        grpc: SocketAddr,
        monitor: Option<Channel>,
        nodes: NodeTable,
        channels: &Channels,
    ) -> Self {
        let node_id = format!("{}-{}", std::process::id(), grpc.port());
        let node = NodeInfo {
            id: node_id.clone(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            address: grpc.to_string(),
        };
        // Known to others from the first moment at which they can ask.
        if monitor.is_none() {
            nodes.register(&node);
        }
        let (stop, channels) = (CancellationToken::new(), channels.clone());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut client = monitor.map(NodesClient::new);
            let mut joined = false;
            loop {
                let known = match &mut client {
                    Some(client) => {
                        let answer = client.register(RegisterRequest { node: Some(node.clone()) }).await;
                        report(&mut joined, &answer);
                        answer.ok().map(|answer| answer.into_inner().nodes)
                    }
                    None => nodes.register(&node),
                };
                let pause = if known.is_some() { REGISTER_EVERY } else { FIRST_TRIES_EVERY };
                if let Some(known) = known {
                    channels.update(&known);
                }
                tokio::select! {
                    () = stopped.cancelled() => return,
                    () = tokio::time::sleep(if joined || client.is_none() { pause } else { FIRST_TRIES_EVERY }) => {}
                }
            }
        });
        Self { node_id, stop, task }
    }

    pub async fn stop(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
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
