//! Runs tiers in this process, wired together downstream first.
//!
//! A tier reaches another through the same generated clients wherever that runs: over an in-memory connection when it is in
//! this process, over mutual TLS to the nodes that registered with the Monitor when it is not. How this process stands among
//! others is in [`cluster`].
//!
//! Every task is watched over by the [supervisor](supervise): [`Process::failure`] tells when one has ended.
//!
//! Life cycle: [`Process::start`] opens stores and binds ports → [`Process::stop_collecting`] lets the collector finish
//! what is under way → [`Process::close`] ends the rest: indexer, filesaver, monitor, server, each with its own deadline.

pub mod cluster;
pub mod frontier;
mod disks;
mod health;
mod membership;
mod nearby_index;
mod server;
mod settings;
pub mod supervise;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Once};
use std::time::Duration;

use seine_analyser::filesaver::Filesaver;
use seine_analyser::rpc::AnalyserService;
use seine_collector::Collector;
use seine_common::clock::Clock;
use seine_common::config::Config;
use seine_common::data_dir::{DataDir, Endpoint, TierLock};
use seine_indexer::{Indexer, Searches};
use seine_monitor::forgetting::Forgetting;
use seine_monitor::rpc::{Access, count_nodes};
use seine_monitor::{Home, Monitor, MonitorConfig};
use seine_node::figures::FigureSampler;
use seine_node::health::HealthBoard;
use seine_node::limits::Limits;
use seine_node::membership::{
    Analysers, Channels, Directory, Filesavers, MembershipService, NodeTable, OwnLog, Standing, Told,
};
use seine_node::telemetry::Metrics;
use seine_node::transport::Channel;
use seine_node::transport::cut_off::CutOff;
use seine_node::transport::monitors::Monitors;
use seine_node::transport::user_port::{OwnCertificate, Privacy, UserPort};
use seine_node::transport::{self, MemoryDialer};
use seine_proto::monitor::v1::NodeInfo;
use seine_query::QueryService;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::args::Role;
use crate::connect::{self, Caller, Services};
use crate::failure::{Failure, Result};
use cluster::{Cluster, Place};
use frontier::Owned;
use health::Health;
use settings::{analyser_config, collector_config, filesaver_config, indexer_config, monitor_config};
use supervise::{Supervised, Supervisor};

/// Subdirectories of the data directory, one per tier that keeps something.
pub const MONITOR_DIR: &str = "monitor";
pub const FILESAVER_DIR: &str = "filesaver";
pub const INDEX_DIR: &str = "index";

/// How long each step of closing may take before the process goes on without it.
pub const CLOSE_DEADLINE: Duration = Duration::from_secs(20);

pub struct Plan {
    pub roles: BTreeSet<&'static str>,
    pub data: DataDir,
    pub config: Config,
    /// For people and programs.
    pub grpc: SocketAddr,
    pub place: Place,
    /// The frontier, where that is shared and belongs to this process already.
    pub owned: Option<Owned>,
    /// Runs until it is stopped, so that others may hand crawls to it.
    pub serves: bool,
    /// What `/metrics` shows, where it is shown.
    pub metrics: Option<Metrics>,
}

impl Plan {
    /// For a command that needs some tiers for a while and talks to no other process.
    pub fn alone(roles: &[Role], data: DataDir, config: Config) -> Self {
        Self {
            roles: roles.iter().map(|role| role.name()).collect(),
            data,
            config,
            grpc: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
            place: Place::Alone,
            owned: None,
            serves: false,
            metrics: None,
        }
    }
}

pub struct Process {
    pub grpc: SocketAddr,
    /// Of the node port, where there is one.
    pub listen: Option<SocketAddr>,
    pub node_id: String,
    pub told: Told,
    /// Where the Monitor may be, where it is elsewhere.
    monitors: Option<Monitors>,
    /// The frontier, where that is shared and belongs to this process.
    owned: Option<Owned>,
    cut_off: CutOff,
    /// Commands of this machine are told how to reach this process.
    is_published: bool,
    pub query: Option<QueryService>,
    health: Option<Supervised>,
    data: DataDir,
    reach: Reach,
    supervisor: Supervisor,
    collector: Option<Supervised>,
    indexer: Option<Supervised>,
    filesaver: Option<(Filesaver, Supervised)>,
    monitor: Option<(Monitor, Supervised)>,
    /// What belongs to no tier: directory, disks, and at last the server.
    others: Vec<Supervised>,
    _locks: Vec<TierLock>,
}

/// How the tiers of this process reach each other and those elsewhere.
struct Reach {
    roles: BTreeSet<&'static str>,
    dialer: MemoryDialer,
    elsewhere: Channels,
    monitor: Option<Channel>,
}

impl Reach {
    fn filesavers(&self) -> Filesavers {
        self.elsewhere.filesavers().clone()
    }

    /// Those elsewhere, but where there is one here: a page that is analysed where it was fetched travels once.
    fn analysers(&self) -> Analysers {
        match self.roles.contains(Role::Analyser.name()) {
            true => Analysers::of([("here".to_owned(), self.dialer.channel())]),
            false => self.elsewhere.analysers().clone(),
        }
    }

    fn to(&self, role: Role) -> Channel {
        let elsewhere = match (role, &self.monitor) {
            _ if self.roles.contains(role.name()) => None,
            (Role::Monitor, Some(monitor)) => Some(monitor.clone()),
            _ => self.elsewhere.channel(role.name()),
        };
        elsewhere.unwrap_or_else(|| self.dialer.channel())
    }
}

impl Process {
    pub async fn start(plan: Plan) -> Result<Self> {
        let Plan { roles, data, config, grpc, place, owned, serves, metrics } = plan;
        let has = |role: Role| roles.contains(role.name());
        let owners = [(Role::Monitor, MONITOR_DIR), (Role::Filesaver, FILESAVER_DIR), (Role::Indexer, INDEX_DIR)];
        // One that may be the Monitor holds that lock from one phase to the next.
        let may_lead = place.may_lead();
        let kept = owners.iter().filter(|(role, _)| has(*role) && !(may_lead && *role == Role::Monitor));
        let locks = kept.map(|(_, dir)| data.lock(dir)).collect::<std::result::Result<Vec<_>, _>>()?;
        prepare(&data, has(Role::Monitor) || may_lead)?;
        let owned = match has(Role::Monitor) && owned.is_none() {
            true => cluster::own_frontier(&config.frontier, &data, &roles).await?,
            false => owned,
        };
        let shelf = owned.as_ref().map(|owned| owned.ownership.shelf());
        let user_listener = transport::listen(grpc).await?;
        let grpc = user_listener.local_addr().map_err(Failure::failed)?;
        let admin_token = data.admin_token()?;
        let mut cluster = Cluster::open(&roles, &data, place, config.node.advertise.as_deref(), shelf).await?;
        let node_id = cluster.node_id.clone();
        let (dialer, memory) = transport::in_memory();
        let channels = Reach {
            roles: roles.clone(),
            dialer,
            elsewhere: cluster.channels.clone(),
            monitor: cluster.monitor.as_ref().map(|(_, channel)| channel.clone()),
        };
        let mut routes = RoutesBuilder::default();
        let supervisor = Supervisor::default();
        let board = &supervisor.board;
        let limits = Limits::new(u32::try_from(config.convert.workers).unwrap_or(u32::MAX));
        let limits = limits.within(config.resources.memory_bytes);

        let filesaver = if has(Role::Filesaver) {
            let health = board.reporter(Role::Filesaver.name(), "saving");
            let filesaver = Filesaver::open_reporting(&data.tier(FILESAVER_DIR)?, filesaver_config(&config), health);
            let filesaver = filesaver.map_err(Failure::failed)?;
            routes.add_service(filesaver.service());
            channels.filesavers().insert(filesaver.log_id().to_owned(), channels.dialer.channel());
            let watching = supervisor.watch(Role::Filesaver.name(), CancellationToken::new(), filesaver.ended());
            Some((filesaver, watching))
        } else {
            None
        };
        let searches = Searches::default();
        let indexer = if has(Role::Indexer) {
            let health = board.reporter(Role::Indexer.name(), "index");
            let indexer = Indexer::open_reporting(&data.tier(INDEX_DIR)?, indexer_config(&config, &searches), health);
            let indexer = indexer.map_err(Failure::failed)?;
            routes.add_service(indexer.service());
            let stop = CancellationToken::new();
            let (filesavers, stopped) = (channels.filesavers(), stop.clone());
            Some(supervisor.watch(Role::Indexer.name(), stop, async move { indexer.run(filesavers, stopped).await }))
        } else {
            None
        };
        if has(Role::Analyser) {
            let analyser = AnalyserService::new(channels.filesavers(), analyser_config(&config, &limits));
            routes.add_service(analyser.into_server());
            // It has no task of its own: its work belongs to the streams that bring it.
            board.reporter(Role::Analyser.name(), "service");
        }
        let mut others = Vec::new();
        let nodes = NodeTable::new(Clock::System);
        let own_log = filesaver.as_ref().map(|(filesaver, _)| OwnLog {
            id: filesaver.log_id().to_owned(),
            highest_epoch: filesaver.highest_epoch(),
        });
        let monitor = if has(Role::Monitor) {
            // A frontier that was made anew beside an old log goes on above it.
            let epoch_above = own_log.as_ref().map_or(0, |log| log.highest_epoch);
            let settings = MonitorConfig { epoch_above, ..monitor_config(&config)? };
            let home = match &owned {
                Some(owned) => Home::Shared(owned.store.clone(), Arc::clone(&owned.ownership)),
                None => Home::Disk(data.tier(MONITOR_DIR)?),
            };
            let of_monitor = nodes.clone();
            let opened = frontier::blocking(move || Monitor::open(&home, settings, Clock::System, of_monitor));
            let monitor = opened.await.map_err(Failure::failed)?;
            let registry = cluster.registry.clone().expect("a process with the Monitor has its books");
            routes.add_service(MembershipService::new(nodes.clone(), registry.clone(), monitor.saw_epoch()));
            let access = Access { registry, own: node_id.clone(), address: cluster.address.clone() };
            let forgetting = Forgetting::new(monitor.clone(), channels.filesavers(), channels.to(Role::Indexer));
            seine_monitor::rpc::add_services(&mut routes, &monitor, nodes.clone(), access.clone(), forgetting.clone());
            let stop = CancellationToken::new();
            others.push(supervisor.watch("forgetting", stop.clone(), forgetting.run(stop)));
            let stop = CancellationToken::new();
            let counting = count_nodes(monitor.clone(), access, nodes.clone(), stop.clone());
            others.push(supervisor.watch("count of nodes", stop, counting));
            let watching = supervisor.watch(Role::Monitor.name(), CancellationToken::new(), monitor.ended());
            Some((monitor, watching))
        } else {
            None
        };
        let query = if has(Role::Query) {
            let query = QueryService::open(&data.root().join(INDEX_DIR), seine_query::QueryConfig::default());
            let query = query.map_err(Failure::failed)?.with_archive(channels.filesavers());
            let query = query.with_health(board.clone()).telling(searches);
            board.reporter(Role::Query.name(), "service");
            if !has(Role::Indexer) {
                let (stop, health) = (CancellationToken::new(), board.reporter(Role::Query.name(), "index"));
                let watching = nearby_index::watch(data.root().join(INDEX_DIR), health, stop.clone());
                others.push(supervisor.watch("nearby index", stop, watching));
            }
            routes.add_service(query.grpc());
            Some(query)
        } else {
            None
        };

        let health = Health::start(&roles, &mut routes, board.clone()).await;
        server::add_reflection(&roles, &mut routes)?;
        let user_port = UserPort {
            admin_token: admin_token.clone(),
            search_needs_token: config.server.grpc_search_needs_token,
            privacy: privacy(grpc, &config, &cluster)?,
            forwarding: cluster.forwarding(&roles, own_log.as_ref().map(|log| log.id.clone())),
        };
        let mut users = vec![(user_port, user_listener)];
        let mut near = grpc;
        if !grpc.ip().is_loopback() {
            // For commands of this machine, which need not know what certificate is shown to others.
            let listener = transport::listen(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)).await?;
            near = listener.local_addr().map_err(Failure::failed)?;
            users.push((UserPort { privacy: Privacy::Loopback, ..users[0].0.clone() }, listener));
        }
        let stands_by = may_lead && !has(Role::Monitor);
        let standing = stands_by.then(|| Role::Monitor.name());
        let node = NodeInfo {
            id: node_id.clone(),
            roles: standing.iter().chain(&roles).map(|role| (*role).to_owned()).collect(),
            address: cluster.address.clone(),
            monitor_standby: stands_by,
            ..NodeInfo::default()
        };
        // Known to others from the first moment at which they can ask.
        if has(Role::Monitor) {
            let log_id = own_log.as_ref().map(|log| log.id.clone()).unwrap_or_default();
            let _ = nodes.register(&NodeInfo { log_id, ..node.clone() });
        }
        let listen = cluster.listens_at;
        let stop = CancellationToken::new();
        let doors = server::Doors { users, node: cluster.node_port.take() };
        let server = supervisor.watch("gRPC server", stop.clone(), server::serve(routes, doors, memory, stop));
        let mut sampler = FigureSampler::new(metrics, data.root().to_owned(), limits.clone());
        let directory = Directory::new(node, own_log, board.clone(), cluster.channels.clone(), cluster.cut_off.clone())
            .sampling(Box::new(move || sampler.sample()));
        let (told, cut_off) = (directory.told(), cluster.cut_off.clone());
        let monitors = cluster.monitor.as_ref().map(|(monitors, _)| monitors.clone());
        others.extend(membership::start(&supervisor, directory, cluster, nodes, &limits));
        let stop = CancellationToken::new();
        let watched = owners.iter().filter(|(role, _)| has(*role));
        let watched = watched.map(|(role, dir)| (role.name(), data.root().join(dir))).collect();
        let disks = disks::watch(watched, config.store.min_free_percent, board, stop.clone());
        let disks = supervisor.watch("disk watch", stop, disks);
        let collector = if has(Role::Collector) {
            let embedded = has(Role::Monitor);
            let settings = collector_config(&config, &node_id, embedded, &limits);
            let collector = Collector::new(settings, channels.to(Role::Monitor), channels.analysers());
            let collector = collector.reporting_to(board.reporter(Role::Collector.name(), "delivery"));
            let stop = CancellationToken::new();
            Some(supervisor.watch(Role::Collector.name(), stop.clone(), collector.run(stop)))
        } else {
            None
        };
        others.extend([disks, server]);
        health.tell().await;
        let stop = CancellationToken::new();
        let health = supervisor.watch("health", stop.clone(), health.follow(stop));
        let is_published = has(Role::Monitor) || may_lead;
        if is_published {
            let (pid, token) = (std::process::id(), admin_token.clone());
            data.publish(&Endpoint { pid, grpc: near.to_string(), token, serves })?;
        }
        Ok(Self {
            grpc,
            listen,
            node_id,
            told,
            monitors,
            owned,
            cut_off,
            is_published,
            query,
            health: Some(health),
            data,
            reach: channels,
            supervisor,
            collector,
            indexer,
            filesaver,
            monitor,
            others,
            _locks: locks,
        })
    }

    /// Clients of the services, wherever they run.
    pub fn services(&self) -> Services {
        let to = |role| connect::called(self.reach.to(role), Caller::default());
        let filesavers = self.reach.filesavers().all().into_iter();
        let filesavers = filesavers.map(|(log_id, route)| (log_id, connect::called(route.channel, Caller::default())));
        Services::new(to(Role::Monitor), to(Role::Indexer), filesavers.collect())
    }

    /// Whether it has joined the Monitor of another process.
    pub fn is_node(&self) -> bool {
        self.reach.monitor.is_some()
    }

    /// Waits until this process is one of its cluster, and tells what keeps it from that. An error when it is refused.
    pub async fn joined(&self, tell: impl Fn(&str, &str)) -> Result<()> {
        if !self.is_node() {
            return Ok(());
        }
        let mut standing = self.told.standing.clone();
        loop {
            match standing.borrow_and_update().clone() {
                Standing::Joined => return Ok(()),
                Standing::Refused(reason) => return Err(Failure::failed(format!("refused: {reason}"))),
                Standing::Away(reason) => {
                    tell(&self.monitors.as_ref().map(Monitors::likeliest).unwrap_or_default(), &reason);
                }
                Standing::Joining => {}
            }
            if standing.changed().await.is_err() {
                // The task that tells is gone, and the supervisor says why.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns when a tier has ended that nobody asked to: the process cannot go on.
    pub fn failure(&self) -> impl Future<Output = Failure> + Send + 'static {
        self.supervisor.failure()
    }

    /// How the tiers are.
    pub fn health(&self) -> HealthBoard {
        self.supervisor.board.clone()
    }

    /// Watches over something more, which belongs to the caller.
    pub fn watch<E: std::fmt::Display + Send + 'static>(
        &self,
        what: &'static str,
        stop: CancellationToken,
        run: impl Future<Output = std::result::Result<(), E>> + Send + 'static,
    ) -> Supervised {
        self.supervisor.watch(what, stop, run)
    }

    /// Lets the collector finish what is under way and give its leases back.
    pub async fn stop_collecting(&mut self) {
        self.stop_collecting_within(CLOSE_DEADLINE).await;
    }

    async fn stop_collecting_within(&mut self, deadline: Duration) {
        if let Some(collector) = self.collector.take() {
            collector.end(deadline).await;
        }
    }

    /// Ends all that runs. An error when a tier failed, now or before: then not all may be as it should.
    pub async fn close(self) -> Result<()> {
        self.close_within(CLOSE_DEADLINE).await
    }

    /// The same where this process goes on as another: connections of nodes do not outlive this one.
    pub async fn close_phase(self, deadline: Duration) -> Result<()> {
        let cut_off = self.cut_off.clone();
        let closing = self.close_tiers(deadline).await;
        // They are to end, not to wonder why their connections did.
        closing.others.iter().for_each(Supervised::release);
        cut_off.end_all();
        closing.rest(deadline).await
    }

    async fn close_within(self, deadline: Duration) -> Result<()> {
        self.close_tiers(deadline).await.rest(deadline).await
    }

    /// So long for each step.
    async fn close_tiers(mut self, deadline: Duration) -> Closing {
        if let Some(health) = self.health.take() {
            health.end(deadline).await;
        }
        self.stop_collecting_within(deadline).await;
        if let Some(indexer) = self.indexer.take() {
            indexer.end(deadline).await;
        }
        let mut closed = Ok(());
        if let Some((filesaver, watching)) = self.filesaver.take() {
            watching.release();
            closed = match tokio::time::timeout(deadline, filesaver.close()).await {
                Ok(closed) => {
                    closed.map_err(|error| Failure::failed(format!("the archive could not be closed: {error}")))
                }
                Err(_) => Err(Failure::failed("the archive took too long to close; the next start seals it")),
            };
        }
        if self.is_published {
            self.data.withdraw();
        }
        if let Some((monitor, watching)) = self.monitor.take() {
            watching.release();
            if tokio::time::timeout(deadline, monitor.close()).await.is_err() {
                tracing::error!("the monitor took too long to close");
            }
        }
        if let Some(owned) = &self.owned {
            owned.release().await;
        }
        Closing { others: self.others, supervisor: self.supervisor, closed, _locks: self._locks }
    }
}

/// What is left of a process without its tiers.
struct Closing {
    others: Vec<Supervised>,
    supervisor: Supervisor,
    closed: Result<()>,
    _locks: Vec<TierLock>,
}

impl Closing {
    async fn rest(self, deadline: Duration) -> Result<()> {
        for other in self.others {
            other.end(deadline).await;
        }
        self.supervisor.check().and(self.closed)
    }
}

/// In clear nothing leaves the machine.
fn privacy(grpc: SocketAddr, config: &Config, cluster: &Cluster) -> Result<Privacy> {
    if grpc.ip().is_loopback() {
        return Ok(Privacy::Loopback);
    }
    if let Some((certificate, key)) = &config.server.grpc_certificate {
        return Ok(Privacy::Own(Arc::new(OwnCertificate::open(certificate, key).map_err(Failure::usage)?)));
    }
    let credentials = cluster.credentials.clone().ok_or_else(|| {
        Failure::usage(format!(
            "--grpc {grpc} is not on loopback, and there is no certificate to show there; set server.grpc_certificate \
             and server.grpc_key, or use an address such as 127.0.0.1:7070"
        ))
    })?;
    Ok(Privacy::Cluster(credentials))
}

/// What the holder of the locks does before anything is opened.
fn prepare(data: &DataDir, may_be_asked: bool) -> Result<()> {
    if let Some(mode) = data.open_to_others() {
        // Not again in each phase.
        static TOLD: Once = Once::new();
        let path = data.root().display();
        TOLD.call_once(|| {
            tracing::warn!(
                "others may look into the data directory {path} (mode {mode:o}); `chmod 700 {path}` closes it"
            )
        });
    }
    if may_be_asked {
        // Until this process listens, commands are told who holds the directory, not sent to a process that is gone.
        data.withdraw();
    }
    Ok(data.migrate()?)
}
