//! Runs tiers in this process, wired together downstream first.
//!
//! Every process has one gRPC server for the tiers it runs. A tier reaches another through the same generated clients
//! wherever that runs: over an in-memory connection when it is in this process, over TCP to the nodes that registered
//! with the Monitor when it is not.
//!
//! Life cycle: [`Process::start`] opens stores and binds ports → [`Process::stop_collecting`] lets the collector finish
//! what is under way → [`Process::close`] ends the rest: indexer, filesaver, monitor, server, each with its own deadline.

mod directory;
mod health;
mod server;

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
use seine_common::transport::{self, MemoryDialer};
use seine_indexer::Indexer;
use seine_monitor::crawl::defaults::defaults;
use seine_monitor::keeper::Durability;
use seine_monitor::nodes::NodeTable;
use seine_monitor::{Monitor, MonitorConfig};
use seine_query::QueryService;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;
use tonic::transport::Channel;

use crate::args::Role;
use crate::connect::{self, Services};
use crate::failure::{Failure, Result};
use directory::Directory;
use health::Health;

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
    health: Health,
    data: DataDir,
    channels: Channels,
    admin_token: String,
    collector: Option<(CancellationToken, JoinHandle<()>)>,
    indexer: Option<(CancellationToken, JoinHandle<()>)>,
    filesaver: Option<Filesaver>,
    monitor: Option<Monitor>,
    server: (CancellationToken, JoinHandle<()>),
    directory: Directory,
    _locks: Vec<TierLock>,
}

/// How the tiers of this process reach each other and those elsewhere.
struct Channels {
    roles: BTreeSet<&'static str>,
    dialer: MemoryDialer,
    directory: directory::Channels,
    monitor: Option<Channel>,
}

impl Channels {
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
        let listener = transport::listen(grpc).await?;
        let grpc = listener.local_addr().map_err(Failure::failed)?;
        let admin_token = data.admin_token()?;
        let (dialer, memory) = transport::in_memory();
        let monitor_channel = join.as_deref().map(transport::tcp_channel).transpose()?;
        let channels = Channels {
            roles: roles.clone(),
            dialer,
            directory: directory::Channels::default(),
            monitor: monitor_channel.clone(),
        };
        let mut routes = RoutesBuilder::default();

        let filesaver = if has(Role::Filesaver) {
            let filesaver =
                Filesaver::open(&data.tier(FILESAVER_DIR)?, filesaver_config(&config)).map_err(Failure::failed)?;
            routes.add_service(filesaver.service());
            Some(filesaver)
        } else {
            None
        };
        let indexer = if has(Role::Indexer) {
            let indexer = Indexer::open(&data.tier(INDEX_DIR)?, indexer_config(&config)).map_err(Failure::failed)?;
            routes.add_service(indexer.service());
            let stop = CancellationToken::new();
            let (filesaver, stopped) = (channels.to(Role::Filesaver), stop.clone());
            Some((stop, spawn_tier("indexer", async move { indexer.run(filesaver, stopped).await })))
        } else {
            None
        };
        if has(Role::Analyser) {
            let analyser = AnalyserService::new(channels.to(Role::Filesaver), analyser_config(&config));
            routes.add_service(analyser.into_server());
        }
        let nodes = NodeTable::new(Clock::System);
        let monitor = if has(Role::Monitor) {
            let monitor = Monitor::open(&data.tier(MONITOR_DIR)?, monitor_config(&config)?, Clock::System);
            let monitor = monitor.map_err(Failure::failed)?;
            seine_monitor::rpc::add_services(&mut routes, &monitor, nodes.clone(), admin_token.clone());
            Some(monitor)
        } else {
            None
        };
        let query = if has(Role::Query) {
            let query = QueryService::open(&data.root().join(INDEX_DIR), seine_query::QueryConfig::default());
            let query = query.map_err(Failure::failed)?.with_archive(channels.to(Role::Filesaver));
            routes.add_service(query.grpc());
            Some(query)
        } else {
            None
        };

        let health = Health::start(&roles, &mut routes).await;
        server::add_reflection(&roles, &mut routes)?;
        let stop_server = CancellationToken::new();
        let serving = server::serve(routes, listener, memory, stop_server.clone());
        let directory = Directory::start(&roles, grpc, monitor_channel, nodes, &channels.directory);
        let collector = if has(Role::Collector) {
            let embedded = has(Role::Monitor);
            let settings = collector_config(&config, &directory.node_id, embedded);
            let collector = Collector::new(settings, channels.to(Role::Monitor), channels.to(Role::Analyser));
            let stop = CancellationToken::new();
            let stopped = stop.clone();
            Some((stop, spawn_tier("collector", async move { collector.run(stopped).await })))
        } else {
            None
        };
        health.set_all(&roles, true).await;
        if has(Role::Monitor) {
            let (pid, token) = (std::process::id(), admin_token.clone());
            data.publish(&Endpoint { pid, grpc: grpc.to_string(), token, serves })?;
        }
        Ok(Self {
            grpc,
            query,
            health,
            data,
            channels,
            admin_token,
            collector,
            indexer,
            filesaver,
            monitor,
            server: (stop_server, serving),
            directory,
            _locks: locks,
        })
    }

    /// Clients of the services, wherever they run.
    pub fn services(&self) -> Services {
        connect::services(
            self.channels.to(Role::Monitor),
            self.channels.to(Role::Filesaver),
            self.channels.to(Role::Indexer),
            &self.admin_token,
        )
    }

    /// Lets the collector finish what is under way and give its leases back.
    pub async fn stop_collecting(&mut self) {
        stop("collector", self.collector.take()).await;
    }

    pub async fn close(mut self) {
        self.health.set_all(&self.channels.roles, false).await;
        self.stop_collecting().await;
        stop("indexer", self.indexer.take()).await;
        if let Some(filesaver) = self.filesaver.take() {
            match tokio::time::timeout(CLOSE_DEADLINE, filesaver.close()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the archive could not be closed"),
                Err(_) => tracing::error!("the archive took too long to close"),
            }
        }
        if let Some(monitor) = self.monitor.take() {
            self.data.withdraw();
            if tokio::time::timeout(CLOSE_DEADLINE, monitor.close()).await.is_err() {
                tracing::error!("the monitor took too long to close");
            }
        }
        self.directory.stop().await;
        let (token, serving) = self.server;
        stop("server", Some((token, serving))).await;
    }
}

async fn stop(what: &'static str, task: Option<(CancellationToken, JoinHandle<()>)>) {
    let Some((token, mut task)) = task else { return };
    token.cancel();
    if tokio::time::timeout(CLOSE_DEADLINE, &mut task).await.is_err() {
        tracing::warn!(tier = what, "did not end in time and is cut off");
        task.abort();
    }
}

fn spawn_tier<E: std::fmt::Display>(
    tier: &'static str,
    run: impl Future<Output = std::result::Result<(), E>> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(error) = run.await {
            tracing::error!(tier, %error, "tier ended");
        }
    })
}

fn monitor_config(config: &Config) -> Result<MonitorConfig> {
    Ok(MonitorConfig {
        request_timeout: config.fetch.request_timeout + config.fetch.connect_timeout,
        durability: if config.store.sync { Durability::Sync } else { Durability::Os },
        min_free_percent: config.store.min_free_percent,
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
