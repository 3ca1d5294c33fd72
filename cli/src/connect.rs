//! Clients with which commands reach a Seine: in this process, in the one that holds a data directory, or on a server.
//!
//! One address is enough for a whole cluster: the Monitor's process passes on what belongs to tiers elsewhere.

use std::collections::BTreeMap;

use seine_common::config::{Config, FrontierStore};
use seine_common::data_dir::{DataDir, Endpoint};
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::transport::Channel;
use seine_node::transport::forward::LOG;
use seine_node::transport::user_client::user_channel;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::indexer::v1::indexer_client::IndexerClient;
use seine_proto::monitor::v1::admin_client::AdminClient;
use seine_proto::monitor::v1::{ListNodesRequest, NodeState};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Status};

use crate::End;
use crate::args::{Role, Target};
use crate::failure::{Failure, Result};
use crate::filesavers;
use crate::process::cluster::IDENTITY_DIR;
use crate::process::{MONITOR_DIR, Plan, Process};

/// A channel on which every call says who calls and which filesaver is meant.
pub type Called = InterceptedService<Channel, Caller>;
pub type Admin = AdminClient<Called>;
pub type FilesaverCalls = FilesaverClient<Called>;

#[derive(Clone)]
pub struct Services {
    pub admin: Admin,
    pub indexer: IndexerClient<Called>,
    /// All that are known, by the names of their logs.
    pub filesavers: BTreeMap<String, FilesaverCalls>,
}

/// Presents the admin token with every call, and names the filesaver that is meant.
#[derive(Clone, Default)]
pub struct Caller {
    bearer: Option<MetadataValue<Ascii>>,
    log: Option<MetadataValue<Ascii>>,
}

impl Caller {
    fn with_token(token: &str) -> Self {
        Self { bearer: format!("Bearer {token}").parse().ok(), log: None }
    }

    fn to_log(&self, log_id: &str) -> Self {
        Self { log: log_id.parse().ok(), ..self.clone() }
    }
}

impl Interceptor for Caller {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if let Some(value) = &self.bearer {
            request.metadata_mut().insert("authorization", value.clone());
        }
        if let Some(log) = &self.log {
            request.metadata_mut().insert(LOG, log.clone());
        }
        Ok(request)
    }
}

pub fn called(channel: Channel, caller: Caller) -> Called {
    InterceptedService::new(channel, caller)
}

impl Services {
    pub fn new(monitor: Called, indexer: Called, filesavers: BTreeMap<String, Called>) -> Self {
        let filesavers = filesavers.into_iter().map(|(log_id, called)| (log_id, filesaver(called)));
        Self {
            admin: AdminClient::new(monitor),
            indexer: IndexerClient::new(indexer),
            filesavers: filesavers.collect(),
        }
    }
}

fn filesaver(called: Called) -> FilesaverCalls {
    FilesaverClient::new(called).max_decoding_message_size(MAX_MESSAGE_BYTES)
}

/// Another process, which passes on what is not its own.
#[derive(Clone)]
pub struct Remote {
    channel: Channel,
    caller: Caller,
    pub services: Services,
}

/// Where a command's target is found.
pub enum Connection {
    /// Another process answers.
    Remote(Box<Remote>),
    /// Nobody holds the data directory, so this process opened it for as long as the command lasts.
    Opened(Box<Process>),
}

impl Connection {
    /// `roles` are opened when no process holds the directory.
    pub async fn open(target: &Target, roles: &[Role], config: &Config) -> Result<Self> {
        if let Some(server) = &target.server {
            let token = target.token.clone().or_else(|| std::env::var("SEINE_TOKEN").ok()).unwrap_or_default();
            let channel = user_channel(server, target.ca.as_deref())?;
            let mut remote = Remote::new(channel, &token);
            remote.find_tiers(roles).await?;
            return Ok(Self::Remote(Box::new(remote)));
        }
        let data = DataDir::open_existing(&target.data)?;
        if let Some(endpoint) = data.holder(MONITOR_DIR) {
            let mut remote = remote(&endpoint)?;
            remote.find_tiers(roles).await?;
            return Ok(Self::Remote(Box::new(remote)));
        }
        refuse_node(&data, roles, config)?;
        let plan = Plan::alone(roles, data, config.clone());
        Ok(Self::Opened(Box::new(Process::start(plan).await?)))
    }

    pub fn services(&self) -> Services {
        match self {
            Self::Remote(remote) => remote.services.clone(),
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

/// The process that holds a data directory. Its filesavers are not known before it is asked.
pub fn remote(endpoint: &Endpoint) -> Result<Remote> {
    Ok(Remote::new(user_channel(&endpoint.grpc, None)?, &endpoint.token))
}

/// A node's directory has no Monitor, and none is to be made in it by mistake.
fn refuse_node(data: &DataDir, roles: &[Role], config: &Config) -> Result<()> {
    let identities = data.root().join(IDENTITY_DIR);
    // The frontier of one that may lead is elsewhere.
    let may_lead = matches!(config.frontier.store, FrontierStore::Redis(_)) && identities.join(MONITOR_DIR).exists();
    let has_frontier = may_lead || data.root().join(MONITOR_DIR).exists();
    if roles.contains(&Role::Monitor) && identities.exists() && !has_frontier {
        return Err(Failure::failed(format!(
            "{} is the directory of a node; ask its server, with --server or with --data and the server's directory",
            data.root().display()
        )));
    }
    Ok(())
}

impl Remote {
    fn new(channel: Channel, token: &str) -> Self {
        let caller = Caller::with_token(token);
        let to = || called(channel.clone(), caller.clone());
        let services = Services::new(to(), to(), BTreeMap::new());
        Self { channel, caller, services }
    }

    /// Asks the Monitor which nodes run the other tiers among the roles.
    pub async fn find_tiers(&mut self, roles: &[Role]) -> Result<()> {
        if !roles.iter().any(|role| [Role::Filesaver, Role::Indexer].contains(role)) {
            return Ok(());
        }
        let nodes = self.services.admin.list_nodes(ListNodesRequest::default()).await?.into_inner().nodes;
        let living = nodes
            .into_iter()
            .filter(|node| !matches!(node.state(), NodeState::Dead | NodeState::Joining | NodeState::Removed));
        let living: Vec<_> = living.filter_map(|node| node.node).collect();
        if roles.contains(&Role::Filesaver) {
            let logs = living.iter().map(|node| &node.log_id).filter(|log_id| !log_id.is_empty());
            let to = |log_id: &String| filesaver(called(self.channel.clone(), self.caller.to_log(log_id)));
            self.services.filesavers = logs.map(|log_id| (log_id.clone(), to(log_id))).collect();
            if self.services.filesavers.is_empty() {
                return Err(filesavers::none_runs());
            }
        }
        let name = Role::Indexer.name();
        if roles.contains(&Role::Indexer) && !living.iter().any(|node| node.roles.iter().any(|role| role == name)) {
            return Err(Failure::failed(format!(
                "no node runs the {name}; start one with `seine node --roles {name} --join ADDR`"
            )));
        }
        Ok(())
    }
}
