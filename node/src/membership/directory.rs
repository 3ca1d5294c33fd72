//! Keeps this process registered with the Monitor, with what is wrong with its tiers and how busy they are, and what it knows of
//! the other nodes up to date.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use crate::transport::Channel;
use bytes::Bytes;
use rustls::pki_types::CertificateDer;
use seine_proto::monitor::v1::{Figures, NodeInfo, NodeSettings, Trouble};
use seine_proto::node::v1::membership_client::MembershipClient;
use seine_proto::node::v1::{RegisterRequest, RegisterResponse};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Status};

use super::channels::Channels;
use super::table::NodeTable;
use super::{REGISTER_EVERY, VERSION};
use crate::health::{Condition, HealthBoard};
use crate::registry::Registry;
use crate::transport;
use crate::transport::cut_off::CutOff;
use crate::transport::monitors::Monitors;

/// How long the Monitor may take for an answer: it waits a while for something to tell.
const ANSWER_TAKES: Duration = Duration::from_secs(10);
/// Between attempts while the Monitor does not answer: soon at first, so that one that restarts finds everybody again.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LAST_RETRY: Duration = Duration::from_millis(500);

/// How this process stands with the Monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Joining,
    Joined,
    /// It does not answer, for this reason; it is tried again.
    Away(String),
    /// It wants nothing to do with this node, for this reason.
    Refused(String),
}

/// The log of a filesaver that runs here.
#[derive(Clone, Debug, Default)]
pub struct OwnLog {
    pub id: String,
    /// The highest epoch of a lease that its entries were fetched under.
    pub highest_epoch: u64,
}

/// Tells how busy this process is; asked before each sign of life.
pub type Sampler = Box<dyn FnMut() -> Figures + Send>;

/// What the Monitor tells besides the nodes.
#[derive(Clone)]
pub struct Told {
    pub standing: watch::Receiver<Standing>,
    /// The authorities to trust; empty until it is told.
    pub roots: watch::Receiver<Vec<CertificateDer<'static>>>,
    /// What was set for this node.
    pub settings: watch::Receiver<NodeSettings>,
}

pub struct Directory {
    node: NodeInfo,
    highest_epoch: u64,
    board: HealthBoard,
    channels: Channels,
    cut_off: CutOff,
    sampler: Sampler,
    standing: watch::Sender<Standing>,
    roots: watch::Sender<Vec<CertificateDer<'static>>>,
    settings: watch::Sender<NodeSettings>,
    /// Where the Monitor may be; `None` where it is in this process.
    monitors: Option<Monitors>,
}

impl Directory {
    pub fn new(node: NodeInfo, log: Option<OwnLog>, board: HealthBoard, channels: Channels, cut_off: CutOff) -> Self {
        let OwnLog { id: log_id, highest_epoch } = log.unwrap_or_default();
        Self {
            node: NodeInfo { log_id, ..node },
            highest_epoch,
            board,
            channels,
            cut_off,
            sampler: Box::new(Figures::default),
            standing: watch::Sender::new(Standing::Joining),
            roots: watch::Sender::default(),
            settings: watch::Sender::default(),
            monitors: None,
        }
    }

    pub fn sampling(mut self, sampler: Sampler) -> Self {
        self.sampler = sampler;
        self
    }

    pub fn told(&self) -> Told {
        Told { standing: self.standing.subscribe(), roots: self.roots.subscribe(), settings: self.settings.subscribe() }
    }

    /// With the Monitor in this process, the table itself is followed.
    pub async fn follow(
        mut self,
        table: NodeTable,
        registry: Registry,
        stopped: CancellationToken,
    ) -> Result<(), Infallible> {
        let (mut health, mut changes) = (self.board.changes(), table.changes());
        loop {
            self.node.troubles = troubles(&self.board);
            // Nobody else has the id of this process, and its log is its own.
            if let Err(refusal) = table.register_with(&self.node, (self.sampler)(), VERSION) {
                tracing::warn!(%refusal, "this process is not in its own table of nodes");
            }
            changes.borrow_and_update();
            let settings = registry.settings(&self.node.id);
            let (removed, roots) = (registry.removed(), registry.roots());
            self.learn(RegisterResponse { nodes: table.all(), known: 0, removed, roots, settings: Some(settings) });
            self.standing.send_replace(Standing::Joined);
            tokio::select! {
                () = stopped.cancelled() => return Ok(()),
                () = health.next() => {}
                _ = changes.changed() => {}
                () = sleep(REGISTER_EVERY) => {}
            }
        }
    }

    /// With the Monitor elsewhere, it is asked. An error when it refuses for good.
    pub async fn register(
        mut self,
        monitor: Channel,
        monitors: Monitors,
        stopped: CancellationToken,
    ) -> Result<(), String> {
        self.monitors = Some(monitors);
        let mut client = MembershipClient::new(monitor);
        let mut health = self.board.changes();
        let (mut known, mut pause) = (0, FIRST_RETRY);
        loop {
            self.node.troubles = troubles(&self.board);
            let mut request = Request::new(RegisterRequest {
                node: Some(self.node.clone()),
                highest_epoch: self.highest_epoch,
                version: VERSION.to_owned(),
                known,
                figures: Some((self.sampler)()),
            });
            request.set_timeout(ANSWER_TAKES);
            let answer = tokio::select! {
                () = stopped.cancelled() => return Ok(()),
                // Whoever hands out work should know at once.
                () = health.next() => continue,
                answer = client.register(request) => answer,
            };
            let standing = standing(&answer);
            self.report(&standing);
            if let Standing::Refused(reason) = standing {
                return Err(reason);
            }
            match answer {
                Ok(answer) => {
                    let answer = answer.into_inner();
                    (known, pause) = (answer.known, FIRST_RETRY);
                    self.learn(answer);
                }
                Err(_) => {
                    known = 0;
                    tokio::select! {
                        () = stopped.cancelled() => return Ok(()),
                        () = sleep(pause) => pause = (pause * 2).min(LAST_RETRY),
                    }
                }
            }
        }
    }

    fn learn(&self, answer: RegisterResponse) {
        let RegisterResponse { mut nodes, removed, roots, settings, .. } = answer;
        if let Some(monitors) = &self.monitors {
            let answering = monitors.likeliest();
            for node in &mut nodes {
                if let Some(address) = reachable(&node.address, host(&answering)) {
                    node.address = address;
                }
            }
            monitors.learn(&nodes, &self.node.id);
        }
        self.cut_off.remove(removed);
        self.channels.update(nodes);
        let roots: Vec<_> = roots.iter().map(|der: &Bytes| CertificateDer::from(der.to_vec())).collect();
        if !roots.is_empty() {
            tell(&self.roots, roots);
        }
        tell(&self.settings, settings.unwrap_or_default());
    }

    /// Tells once when the Monitor is reached and once when it is lost.
    fn report(&self, now: &Standing) {
        let was_joined = *self.standing.borrow() == Standing::Joined;
        match now {
            Standing::Joined if !was_joined => tracing::info!("registered with the monitor"),
            Standing::Away(reason) if was_joined => tracing::warn!(reason, "the monitor does not answer; trying again"),
            _ => {}
        }
        tell(&self.standing, now.clone());
    }
}

/// What is told again changes nothing.
fn tell<T: PartialEq>(to: &watch::Sender<T>, what: T) {
    to.send_if_modified(|known| {
        let differs = *known != what;
        *known = what;
        differs
    });
}

fn standing<T>(answer: &Result<T, Status>) -> Standing {
    match answer {
        Ok(_) => Standing::Joined,
        Err(status) => match status.code() {
            Code::PermissionDenied | Code::Unauthenticated | Code::FailedPrecondition | Code::InvalidArgument => {
                Standing::Refused(status.message().to_owned())
            }
            _ => Standing::Away(transport::cause(status)),
        },
    }
}

/// The address of a node that listens everywhere: that is the Monitor's process, or one beside it.
fn reachable(address: &str, monitor_host: &str) -> Option<String> {
    let listens: SocketAddr = address.parse().ok()?;
    (listens.ip().is_unspecified() && !monitor_host.is_empty()).then(|| format!("{monitor_host}:{}", listens.port()))
}

/// With the brackets of an IPv6 address.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

fn troubles(board: &HealthBoard) -> Vec<Trouble> {
    let unwell = board.tiers().into_iter().filter(|(_, condition)| condition.is_trouble());
    let trouble = |(tier, condition): (&str, Condition)| Trouble {
        tier: tier.to_owned(),
        reason: condition.reason().to_owned(),
        pauses: matches!(condition, Condition::Pausing(_)),
    };
    unwell.map(trouble).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_listens_everywhere_is_reached_where_the_monitor_is() {
        assert_eq!(reachable("0.0.0.0:7071", host("crawl.example.org:7071")).unwrap(), "crawl.example.org:7071");
        assert_eq!(reachable("[::]:7072", host("[2001:db8::1]:7071")).unwrap(), "[2001:db8::1]:7072");
        assert_eq!(reachable("10.0.0.7:7071", "crawl.example.org"), None);
        assert_eq!(reachable("0.0.0.0:7071", ""), None);
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_does_not_is_refused() {
        let of = |status: Status| standing(&Err::<(), _>(status));
        assert_eq!(of(Status::permission_denied("removed")), Standing::Refused("removed".to_owned()));
        assert_eq!(of(Status::failed_precondition("too old")), Standing::Refused("too old".to_owned()));
        assert_eq!(of(Status::unavailable("ending")), Standing::Away("ending".to_owned()));
        assert_eq!(standing(&Ok(())), Standing::Joined);
    }
}
