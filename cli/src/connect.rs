//! Clients with which commands reach a Seine: in this process, in the one that holds a data directory, or on a server.

use std::collections::BTreeSet;

use seine_common::config::Config;
use seine_common::data_dir::{DataDir, Endpoint};
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_common::transport;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::indexer::v1::indexer_client::IndexerClient;
use seine_proto::monitor::v1::admin_client::AdminClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::args::{Role, Target};
use crate::failure::{Failure, Result};
use crate::process::{Plan, Process};

pub type Admin = AdminClient<InterceptedService<Channel, BearerToken>>;

#[derive(Clone)]
pub struct Services {
    pub admin: Admin,
    pub filesaver: FilesaverClient<Channel>,
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

pub fn services(monitor: Channel, filesaver: Channel, indexer: Channel, token: &str) -> Services {
    let bearer = BearerToken(format!("Bearer {token}").parse().ok());
    Services {
        admin: AdminClient::with_interceptor(monitor, bearer),
        filesaver: FilesaverClient::new(filesaver).max_decoding_message_size(MAX_MESSAGE_BYTES),
        indexer: IndexerClient::new(indexer),
    }
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
            return Ok(Self::Remote(Box::new(remote(address, &token)?)));
        }
        let data = DataDir::open_existing(&target.data)?;
        if let Some(endpoint) = data.endpoint().filter(is_alive) {
            return Ok(Self::Remote(Box::new(remote(&endpoint.grpc, &endpoint.token)?)));
        }
        let roles: BTreeSet<_> = roles.iter().map(|role| role.name()).collect();
        let grpc = "127.0.0.1:0".parse().expect("it is an address");
        let plan = Plan { roles, data, config: config.clone(), grpc, join: None };
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
        if let Self::Opened(process) = self {
            process.close().await;
        }
    }
}

fn remote(address: &str, token: &str) -> Result<Services> {
    let channel = transport::tcp_channel(address).map_err(Failure::from)?;
    Ok(services(channel.clone(), channel.clone(), channel, token))
}

/// A process that was killed leaves its endpoint behind.
fn is_alive(endpoint: &Endpoint) -> bool {
    std::path::Path::new("/proc").join(endpoint.pid.to_string()).exists()
}
