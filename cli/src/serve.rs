//! `seine serve`: the tiers asked for, until Ctrl-C. By HTTP it serves the search page, when the query is among them, and
//! what those ask who watch over the process.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use seine_common::config::{Config, FrontierStore};
use seine_common::data_dir::DataDir;
use seine_node::shutdown::Shutdown;
use seine_node::telemetry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::End;
use crate::args::{Role, ServeArguments};
use crate::candidate::{self, Candidate};
use crate::failure::{Failure, Result};
use crate::nodes;
use crate::process::cluster::{self, Place};
use crate::process::supervise::Supervised;
use crate::process::{Plan, Process};

/// Where those without a search page listen unless they are told: whoever watches over them reads it in the `ready` line.
const ANY_PORT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

pub async fn run(arguments: ServeArguments, config: Config) -> Result<End> {
    let roles: BTreeSet<_> = arguments.roles.iter().map(|role| role.name()).collect();
    let alone = [Role::Collector, Role::Indexer, Role::Analyser];
    if !roles.contains(Role::Monitor.name())
        && let Some(role) = alone.iter().find(|role| roles.contains(role.name()))
    {
        let role = role.name();
        return Err(Failure::usage(format!(
            "{role} needs a monitor; add it to --roles, or use `seine node --roles {role} --join ADDR`"
        )));
    }
    let grpc = arguments.grpc.unwrap_or(config.server.grpc);
    let listen = arguments.listen.or(config.node.listen);
    // Whoever says where to listen means to let others join.
    let invites = arguments.listen.is_some() && std::io::stderr().is_terminal();
    if let (FrontierStore::Redis(store), true) = (&config.frontier.store, roles.contains(Role::Monitor.name())) {
        let (store, data) = (store.clone(), DataDir::open(&arguments.data)?);
        let door = cluster::door_of_server(listen, config.node.advertise.as_deref(), &store).await?;
        let (shutdown, metrics) = (stop_on_signals()?, telemetry::start_metrics());
        let http = arguments.http;
        let candidate = Candidate { roles, data, config, store, grpc, http, metrics, door, joining: None, invites };
        return Box::pin(candidate::run(candidate, shutdown)).await;
    }
    let place = match roles.contains(Role::Monitor.name()) {
        true => Place::Monitor { listen },
        false => Place::Alone,
    };
    let data = DataDir::open(&arguments.data)?;
    let shutdown = stop_on_signals()?;
    let metrics = telemetry::start_metrics();
    let plan = Plan { roles, data, config, grpc, place, owned: None, serves: true, metrics };
    until_stopped(plan, arguments.http, shutdown, invites).await
}

pub fn stop_on_signals() -> Result<Shutdown> {
    Shutdown::on_signals(|| eprintln!("stopping: finishing what is under way; press Ctrl-C again to stop at once"))
        .map_err(Failure::failed)
}

/// Runs what is planned, with the search page when the query is among it, until Ctrl-C.
pub async fn until_stopped(plan: Plan, http: Option<SocketAddr>, shutdown: Shutdown, invites: bool) -> Result<End> {
    let serving = Serving::start(plan, http, shutdown.token.clone(), invites).await?;
    let ended = tokio::select! {
        () = shutdown.token.cancelled() => Ok(End::Interrupted),
        failure = serving.process.failure() => Err(failure),
        refused = serving.serve_until_refused() => Err(refused),
    };
    let closed = serving.end().await;
    ended.and_then(|end| closed.map(|()| end))
}

/// A process with its HTTP side.
pub struct Serving {
    pub process: Process,
    pub http: SocketAddr,
    invites: bool,
    stop: CancellationToken,
    server: Supervised,
    sampling: Supervised,
}

impl Serving {
    pub async fn start(plan: Plan, http: Option<SocketAddr>, stop: CancellationToken, invites: bool) -> Result<Self> {
        let metrics = plan.metrics.clone();
        let web = plan.config.server.web.clone();
        let has_query = plan.roles.contains(Role::Query.name());
        let http = http.unwrap_or(if has_query { plan.config.server.http } else { ANY_PORT });
        let listener = listen(http).await?;
        let process = Process::start(plan).await?;
        let http = listener.local_addr().map_err(Failure::failed)?;
        let stopped = stop.clone();
        let sampling = telemetry::process::sample(metrics.clone(), process.health(), stop.clone());
        let sampling = process.watch("metrics", stop.clone(), sampling);
        let (query, health) = (process.query.clone(), process.health());
        let server = process.watch("HTTP server", stop.clone(), async move {
            match query {
                Some(query) => query.serve_http(listener, metrics, &web, stopped).await,
                None => seine_node::http::serve(listener, metrics, health, &web, stopped).await,
            }
            Ok::<_, Infallible>(())
        });
        Ok(Self { process, http, invites, stop, server, sampling })
    }

    /// Ends all of it.
    pub async fn end(self) -> Result<()> {
        self.stop.cancel();
        let closed = self.process.close().await;
        Self::end_watching(self.server, self.sampling).await;
        closed
    }

    /// The same where this process goes on as another, with so long for each step.
    pub async fn end_phase(self, deadline: Duration) -> Result<()> {
        self.stop.cancel();
        let closed = self.process.close_phase(deadline).await;
        Self::end_watching(self.server, self.sampling).await;
        closed
    }

    async fn end_watching(server: Supervised, sampling: Supervised) {
        // Open keep-alive connections do not hold the process up.
        server.end(Duration::from_secs(2)).await;
        sampling.end(Duration::from_secs(2)).await;
    }

    /// Waits until it is one of its cluster, and tells what keeps it from that. An error when it is refused.
    pub async fn joined(&self) -> Result<()> {
        self.process.joined(|monitor, reason| eprintln!("cannot reach {monitor}: {reason}; trying again")).await
    }

    pub async fn say_ready(&self) {
        let process = &self.process;
        let word = |name: &str, address: Option<SocketAddr>| address.map(|address| format!(" {name}={address}"));
        let node = process.is_node().then(|| format!(" node={}", process.node_id));
        let addresses =
            [word("http", Some(self.http)), word("grpc", Some(process.grpc)), word("listen", process.listen)];
        say!("ready{}", node.into_iter().chain(addresses.into_iter().flatten()).collect::<String>());
        if self.invites {
            nodes::invite(process.services().admin).await;
        }
    }

    /// Says that it is ready as soon as it is one of its cluster.
    async fn serve_until_refused(&self) -> Failure {
        if let Err(refused) = self.joined().await {
            return refused;
        }
        self.say_ready().await;
        std::future::pending().await
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::failed(format!("cannot listen on {address}: {error}; choose another address with --http"))
    })
}
