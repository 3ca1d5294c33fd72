//! Runs tiers in this process, wired together downstream first.
//!
//! Every process has one gRPC server for the tiers it runs. A tier reaches another through the same generated clients
//! wherever that runs: over an in-memory connection when it is in this process, over TCP to the nodes that registered
//! with the Monitor when it is not.
//!
//! Every task is watched over by the [supervisor](supervise): [`Process::failure`] tells when one has ended.
//!
//! Life cycle: [`Process::start`] opens stores and binds ports → [`Process::stop_collecting`] lets the collector finish
//! what is under way → [`Process::close`] ends the rest: indexer, filesaver, monitor, server, each with its own deadline.

mod disks;
mod health;
mod server;
mod supervise;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use seine_analyser::AnalyserConfig;
use seine_analyser::convert::ConverterConfig;
use seine_analyser::filesaver::Filesaver;
use seine_analyser::rpc::AnalyserService;
use seine_collector::{Collector, CollectorConfig};
use seine_common::clock::Clock;
use seine_common::config::Config;
use seine_common::data_dir::{DataDir, Endpoint, TierLock};
use seine_indexer::Indexer;
use seine_monitor::crawl::defaults::defaults;
use seine_monitor::keeper::Durability;
use seine_monitor::{Monitor, MonitorConfig};
use seine_node::health::HealthBoard;
use seine_node::membership::{self, Directory, Filesavers, NodeTable, OwnLog};
use seine_node::transport::{self, MemoryDialer};
use seine_query::QueryService;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;
use tonic::transport::Channel;

use crate::args::Role;
use crate::connect::{self, Services};
use crate::failure::{Failure, Result};
use health::Health;
use supervise::{Supervised, Supervisor};

/// Subdirectories of the data directory, one per tier that keeps something.
pub const MONITOR_DIR: &str = "monitor";
pub const FILESAVER_DIR: &str = "filesaver";
pub const INDEX_DIR: &str = "index";

/// How long each step of closing may take before the process goes on without it.
const CLOSE_DEADLINE: Duration = Duration::from_secs(20);

pub struct Plan {
    pub roles: BTreeSet<&'static str>,
    pub data: DataDir,
    pub config: Config,
    pub grpc: SocketAddr,
    /// The Monitor of another process.
    pub join: Option<String>,
    /// Runs until it is stopped, so that others may hand crawls to it.
    pub serves: bool,
}

pub struct Process {
    pub grpc: SocketAddr,
    pub query: Option<QueryService>,
    health: Option<Supervised>,
    data: DataDir,
    channels: Channels,
    admin_token: String,
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
struct Channels {
    roles: BTreeSet<&'static str>,
    dialer: MemoryDialer,
    directory: membership::Channels,
    monitor: Option<Channel>,
}

impl Channels {
    fn filesavers(&self) -> Filesavers {
        self.directory.filesavers().clone()
    }

    fn to(&self, role: Role) -> Channel {
        if self.roles.contains(role.name()) {
            return self.dialer.channel();
        }
        match (role, &self.monitor) {
            (Role::Monitor, Some(monitor)) => monitor.clone(),
            _ => self.directory.channel(role.name()),
        }
    }
}

impl Process {
    pub async fn start(plan: Plan) -> Result<Self> {
        let Plan { roles, data, config, grpc, join, serves } = plan;
        let has = |role: Role| roles.contains(role.name());
        let owners = [(Role::Monitor, MONITOR_DIR), (Role::Filesaver, FILESAVER_DIR), (Role::Indexer, INDEX_DIR)];
        let owned = owners.iter().filter(|(role, _)| has(*role));
        let locks = owned.map(|(_, dir)| data.lock(dir)).collect::<std::result::Result<Vec<_>, _>>()?;
        prepare(&data, has(Role::Monitor))?;
        let listener = transport::listen(grpc).await?;
        let grpc = listener.local_addr().map_err(Failure::failed)?;
        let admin_token = data.admin_token()?;
        let (dialer, memory) = transport::in_memory();
        let monitor_channel = join.as_deref().map(transport::tcp_channel).transpose()?;
        let channels = Channels {
            roles: roles.clone(),
            dialer,
            directory: membership::Channels::default(),
            monitor: monitor_channel.clone(),
        };
        let mut routes = RoutesBuilder::default();
        let supervisor = Supervisor::default();
        let board = &supervisor.board;

        let filesaver = if has(Role::Filesaver) {
            let health = board.reporter(Role::Filesaver.name(), "saving");
            let filesaver = Filesaver::open_reporting(&data.tier(FILESAVER_DIR)?, filesaver_config(&config), health);
            let filesaver = filesaver.map_err(Failure::failed)?;
            routes.add_service(filesaver.service());
            channels.directory.filesavers().insert(filesaver.log_id().to_owned(), channels.dialer.channel());
            let watching = supervisor.watch(Role::Filesaver.name(), CancellationToken::new(), filesaver.ended());
            Some((filesaver, watching))
        } else {
            None
        };
        let indexer = if has(Role::Indexer) {
            let health = board.reporter(Role::Indexer.name(), "index");
            let indexer = Indexer::open_reporting(&data.tier(INDEX_DIR)?, indexer_config(&config), health);
            let indexer = indexer.map_err(Failure::failed)?;
            routes.add_service(indexer.service());
            let stop = CancellationToken::new();
            let (filesavers, stopped) = (channels.filesavers(), stop.clone());
            Some(supervisor.watch(Role::Indexer.name(), stop, async move { indexer.run(filesavers, stopped).await }))
        } else {
            None
        };
        if has(Role::Analyser) {
            let analyser = AnalyserService::new(channels.filesavers(), analyser_config(&config));
            routes.add_service(analyser.into_server());
            // It has no task of its own: its work belongs to the streams that bring it.
            board.reporter(Role::Analyser.name(), "service");
        }
        let nodes = NodeTable::new(Clock::System);
        let own_log = filesaver.as_ref().map(|(filesaver, _)| OwnLog {
            id: filesaver.log_id().to_owned(),
            highest_epoch: filesaver.highest_epoch(),
        });
        let monitor = if has(Role::Monitor) {
            // A frontier that was made anew beside an old log goes on above it.
            let epoch_above = own_log.as_ref().map_or(0, |log| log.highest_epoch);
            let settings = MonitorConfig { epoch_above, ..monitor_config(&config)? };
            let path = data.tier(MONITOR_DIR)?;
            let monitor = Monitor::open(&path, settings, Clock::System, nodes.clone());
            let monitor = monitor.map_err(Failure::failed)?;
            seine_monitor::rpc::add_services(&mut routes, &monitor, nodes.clone(), admin_token.clone());
            let watching = supervisor.watch(Role::Monitor.name(), CancellationToken::new(), monitor.ended());
            Some((monitor, watching))
        } else {
            None
        };
        let query = if has(Role::Query) {
            let query = QueryService::open(&data.root().join(INDEX_DIR), seine_query::QueryConfig::default());
            let query = query.map_err(Failure::failed)?.with_archive(channels.filesavers());
            let query = query.with_health(board.clone());
            board.reporter(Role::Query.name(), "service");
            routes.add_service(query.grpc());
            Some(query)
        } else {
            None
        };

        let health = Health::start(&roles, &mut routes, board.clone()).await;
        server::add_reflection(&roles, &mut routes)?;
        let stop = CancellationToken::new();
        let serving = server::serve(routes, listener, memory, stop.clone());
        let server = supervisor.watch("gRPC server", stop, serving);
        let directory =
            Directory::new(&roles, grpc, monitor_channel, own_log, nodes, &channels.directory, board.clone());
        let node_id = directory.node_id();
        let stop = CancellationToken::new();
        let directory = supervisor.watch("node directory", stop.clone(), directory.run(stop));
        let stop = CancellationToken::new();
        let watched = owners.iter().filter(|(role, _)| has(*role));
        let watched = watched.map(|(role, dir)| (role.name(), data.root().join(dir))).collect();
        let disks = disks::watch(watched, config.store.min_free_percent, board, stop.clone());
        let disks = supervisor.watch("disk watch", stop, disks);
        let collector = if has(Role::Collector) {
            let embedded = has(Role::Monitor);
            let settings = collector_config(&config, &node_id, embedded);
            let collector = Collector::new(settings, channels.to(Role::Monitor), channels.to(Role::Analyser));
            let collector = collector.reporting_to(board.reporter(Role::Collector.name(), "delivery"));
            let stop = CancellationToken::new();
            Some(supervisor.watch(Role::Collector.name(), stop.clone(), collector.run(stop)))
        } else {
            None
        };
        health.tell().await;
        let stop = CancellationToken::new();
        let health = supervisor.watch("health", stop.clone(), health.follow(stop));
        if has(Role::Monitor) {
            let (pid, token) = (std::process::id(), admin_token.clone());
            data.publish(&Endpoint { pid, grpc: grpc.to_string(), token, serves })?;
        }
        Ok(Self {
            grpc,
            query,
            health: Some(health),
            data,
            channels,
            admin_token,
            supervisor,
            collector,
            indexer,
            filesaver,
            monitor,
            others: vec![directory, disks, server],
            _locks: locks,
        })
    }

    /// Clients of the services, wherever they run.
    pub fn services(&self) -> Services {
        connect::services(
            self.channels.to(Role::Monitor),
            self.channels.filesavers(),
            self.channels.to(Role::Indexer),
            &self.admin_token,
        )
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
        if let Some(collector) = self.collector.take() {
            collector.end(CLOSE_DEADLINE).await;
        }
    }

    /// Ends all that runs. An error when a tier failed, now or before: then not all may be as it should.
    pub async fn close(mut self) -> Result<()> {
        if let Some(health) = self.health.take() {
            health.end(CLOSE_DEADLINE).await;
        }
        self.stop_collecting().await;
        if let Some(indexer) = self.indexer.take() {
            indexer.end(CLOSE_DEADLINE).await;
        }
        let mut closed = Ok(());
        if let Some((filesaver, watching)) = self.filesaver.take() {
            watching.release();
            closed = match tokio::time::timeout(CLOSE_DEADLINE, filesaver.close()).await {
                Ok(closed) => {
                    closed.map_err(|error| Failure::failed(format!("the archive could not be closed: {error}")))
                }
                Err(_) => Err(Failure::failed("the archive took too long to close; the next start seals it")),
            };
        }
        if let Some((monitor, watching)) = self.monitor.take() {
            watching.release();
            self.data.withdraw();
            if tokio::time::timeout(CLOSE_DEADLINE, monitor.close()).await.is_err() {
                tracing::error!("the monitor took too long to close");
            }
        }
        for other in self.others {
            other.end(CLOSE_DEADLINE).await;
        }
        self.supervisor.check().and(closed)
    }
}

/// What the holder of the locks does before anything is opened.
fn prepare(data: &DataDir, is_monitor: bool) -> Result<()> {
    if let Some(mode) = data.open_to_others() {
        let path = data.root().display();
        tracing::warn!("others may look into the data directory {path} (mode {mode:o}); `chmod 700 {path}` closes it");
    }
    if is_monitor {
        // Until this process listens, commands are told who holds the directory, not sent to a process that is gone.
        data.withdraw();
    }
    Ok(data.migrate()?)
}

fn monitor_config(config: &Config) -> Result<MonitorConfig> {
    Ok(MonitorConfig {
        durability: if config.store.sync { Durability::Sync } else { Durability::Os },
        collector_memory: config.fetch.memory_bytes,
        collector_load: config.fetch.max_load,
        crawl_defaults: defaults(config).map_err(Failure::usage)?,
        ..MonitorConfig::default()
    })
}

fn filesaver_config(config: &Config) -> seine_analyser::filesaver::FilesaverConfig {
    use seine_analyser::filesaver::Durability;
    seine_analyser::filesaver::FilesaverConfig {
        durability: if config.store.sync { Durability::Sync } else { Durability::Os },
        segment_bytes: config.store.archive_file_bytes,
        software: concat!("seine/", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

fn analyser_config(config: &Config) -> AnalyserConfig {
    let converter = ConverterConfig {
        program: own_program(),
        workers: config.convert.workers,
        timeout: config.convert.timeout,
        memory_bytes: config.convert.memory_bytes,
    };
    AnalyserConfig {
        wanted_languages: config.analyse.languages.clone(),
        keeps_ip: config.analyse.keep_ip,
        converter: Some(converter),
        ..AnalyserConfig::default()
    }
}

/// The program of this very process, even if its file was replaced by another version since it started.
fn own_program() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    if link.exists() {
        return link;
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("seine"))
}

fn indexer_config(config: &Config) -> seine_indexer::IndexerConfig {
    seine_indexer::IndexerConfig {
        memory_bytes: config.index.memory_bytes,
        commit_interval: config.index.commit_interval,
        ..seine_indexer::IndexerConfig::default()
    }
}

fn collector_config(config: &Config, node_id: &str, embedded: bool) -> CollectorConfig {
    CollectorConfig {
        connect_timeout: config.fetch.connect_timeout,
        request_timeout: config.fetch.request_timeout,
        max_in_flight: config.fetch.max_in_flight,
        keeps_answers: config.archive.keeps_answers,
        id: node_id.to_owned(),
        embedded,
        ..CollectorConfig::default()
    }
}
