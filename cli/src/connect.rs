//! Clients with which commands reach a Seine: in this process, in the one that holds a data directory, or on a server.

use std::collections::BTreeSet;

use seine_common::config::Config;
use seine_common::data_dir::{DataDir, Endpoint};
use seine_node::membership::Filesavers;
use seine_node::transport;
use seine_proto::filesaver::v1::LogEndRequest;
use seine_proto::indexer::v1::indexer_client::IndexerClient;
use seine_proto::monitor::v1::ListNodesRequest;
use seine_proto::monitor::v1::admin_client::AdminClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::End;
use crate::args::{Role, Target};
use crate::failure::{Failure, Result};
use crate::filesavers;
use crate::process::{MONITOR_DIR, Plan, Process};

pub type Admin = AdminClient<InterceptedService<Channel, BearerToken>>;

#[derive(Clone)]
pub struct Services {
    pub admin: Admin,
    /// All that are known.
    pub filesavers: Filesavers,
    pub indexer: IndexerClient<Channel>,
}

/// Presents the admin token with every call.
#[derive(Clone)]
pub struct BearerToken(Option<MetadataValue<Ascii>>);

impl Interceptor for BearerToken {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

pub fn services(monitor: Channel, filesavers: Filesavers, indexer: Channel, token: &str) -> Services {
    let bearer = BearerToken(format!("Bearer {token}").parse().ok());
    Services { admin: AdminClient::with_interceptor(monitor, bearer), filesavers, indexer: IndexerClient::new(indexer) }
}

/// Where a command's target is found.
pub enum Connection {
    /// Another process answers.
    Remote(Box<Services>),
    /// Nobody holds the data directory, so this process opened it for as long as the command lasts.
    Opened(Box<Process>),
}

impl Connection {
    /// `roles` are opened when no process holds the directory.
    pub async fn open(target: &Target, roles: &[Role], config: &Config) -> Result<Self> {
        if let Some(server) = &target.server {
            let address = server.trim_start_matches("http://").trim_end_matches('/');
            let token = target.token.clone().or_else(|| std::env::var("SEINE_TOKEN").ok()).unwrap_or_default();
            let mut services = remote(address, &token)?;
            find_tiers_of(&mut services, address, roles).await?;
            return Ok(Self::Remote(Box::new(services)));
        }
        let data = DataDir::open_existing(&target.data)?;
        if let Some(endpoint) = data.holder(MONITOR_DIR) {
            let mut services = remote(&endpoint.grpc, &endpoint.token)?;
            find_tiers(&mut services, roles).await?;
            return Ok(Self::Remote(Box::new(services)));
        }
        let roles: BTreeSet<_> = roles.iter().map(|role| role.name()).collect();
        let grpc = "127.0.0.1:0".parse().expect("it is an address");
        let plan = Plan { roles, data, config: config.clone(), grpc, join: None, serves: false };
        Ok(Self::Opened(Box::new(Process::start(plan).await?)))
    }

    pub fn services(&self) -> Services {
        match self {
            Self::Remote(services) => services.as_ref().clone(),
            Self::Opened(process) => process.services(),
        }
    }

    /// Whether another process does the work.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    pub async fn close(self) {
        if let Self::Opened(process) = self
            && let Err(failure) = process.close().await
        {
            // The command has its answer; what is wrong with the data is for the log.
            tracing::error!(%failure, "the data directory was not closed in order");
        }
    }
}

/// Asks the Monitor that the target names, opening the directory for that when nobody holds it.
pub async fn with_admin(target: &Target, config: &Config, ask: impl AsyncFnOnce(Admin) -> Result<()>) -> Result<End> {
    let connection = Connection::open(target, &[Role::Monitor], config).await?;
    let result = ask(connection.services().admin).await;
    connection.close().await;
    result.map(|()| End::Done)
}

/// The server that holds the directory and takes crawls from others.
pub fn server_of(data: &DataDir) -> Option<Endpoint> {
    data.holder(MONITOR_DIR).filter(|endpoint| endpoint.serves)
}

/// Clients of a process that runs all tiers, as far as is known before it was asked. Its filesavers are not.
pub fn remote(address: &str, token: &str) -> Result<Services> {
    let channel = transport::tcp_channel(address).map_err(Failure::from)?;
    Ok(services(channel.clone(), Filesavers::default(), channel, token))
}

/// The tiers that a server knows of, or those that it runs itself where it knows of none, or tells nobody.
async fn find_tiers_of(services: &mut Services, address: &str, roles: &[Role]) -> Result<()> {
    if !roles.iter().any(|role| [Role::Filesaver, Role::Indexer].contains(role)) {
        return Ok(());
    }
    match services.admin.list_nodes(ListNodesRequest {}).await {
        Ok(_) => return find_tiers(services, roles).await,
        Err(status) if status.code() == Code::Unauthenticated => {
            eprintln!(
                "without its token, the server is asked for what it has itself and not for what other nodes have"
            );
        }
        Err(status) if status.code() == Code::Unimplemented => {}
        Err(status) => return Err(status.into()),
    }
    if roles.contains(&Role::Filesaver) {
        let channel = transport::tcp_channel(address)?;
        let log_id = filesavers::client(channel.clone()).log_end(LogEndRequest {}).await?.into_inner().log_id;
        services.filesavers.insert(log_id, channel);
    }
    Ok(())
}

/// Asks the Monitor which nodes run the other tiers among the roles, and turns to those.
pub async fn find_tiers(services: &mut Services, roles: &[Role]) -> Result<()> {
    if !roles.iter().any(|role| [Role::Filesaver, Role::Indexer].contains(role)) {
        return Ok(());
    }
    let nodes = services.admin.list_nodes(ListNodesRequest {}).await?.into_inner().nodes;
    if roles.contains(&Role::Filesaver) {
        let savers = nodes.iter().filter(|node| !node.log_id.is_empty());
        let savers =
            savers.map(|node| -> Result<_> { Ok((node.log_id.clone(), transport::tcp_channel(&node.address)?)) });
        services.filesavers = Filesavers::of(savers.collect::<Result<Vec<_>>>()?);
        if services.filesavers.all().is_empty() {
            return Err(filesavers::none_runs());
        }
    }
    // Who reads all logs can ask it which there are, where it runs.
    let name = Role::Indexer.name();
    match nodes.iter().find(|node| node.roles.iter().any(|role| role == name)) {
        Some(node) => services.indexer = IndexerClient::new(transport::tcp_channel(&node.address)?),
        None if !roles.contains(&Role::Indexer) => {}
        None => {
            return Err(Failure::failed(format!(
                "no node runs the {name}; start one with `seine node --roles {name} --join ADDR`"
            )));
        }
    }
    Ok(())
}
