//! The gRPC server of a process: the services of its tiers behind all its doors, and reflection, by which programs that do not
//! have our `.proto` files learn what can be called. Reflection lists what this process serves.

use std::collections::BTreeSet;

use clap::ValueEnum;
use seine_node::transport::node_port::NodePort;
use seine_node::transport::user_port::UserPort;
use seine_node::transport::{self, MemoryListener, TransportError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;
use tonic_health::pb::health_server;
use tonic_reflection::pb::{v1, v1alpha};
use tonic_reflection::server::Builder;

use super::health;
use crate::args::Role;
use crate::failure::{Failure, Result};

/// Both versions: newer clients ask for v1, Python's and older ones for v1alpha.
pub fn add_reflection(roles: &BTreeSet<&'static str>, routes: &mut RoutesBuilder) -> Result<()> {
    let served = Role::value_variants().iter().filter(|role| roles.contains(role.name()));
    let served: Vec<&str> = served.flat_map(|role| health::services(*role)).copied().collect();
    let described = || {
        let builder = [seine_proto::DESCRIPTORS, tonic_health::pb::FILE_DESCRIPTOR_SET]
            .into_iter()
            .chain([v1::FILE_DESCRIPTOR_SET, v1alpha::FILE_DESCRIPTOR_SET])
            .fold(Builder::configure(), Builder::register_encoded_file_descriptor_set);
        let others = [
            health_server::SERVICE_NAME,
            v1::server_reflection_server::SERVICE_NAME,
            v1alpha::server_reflection_server::SERVICE_NAME,
        ];
        served.iter().copied().chain(others).fold(builder, Builder::with_service_name)
    };
    routes
        .add_service(described().build_v1().map_err(Failure::failed)?)
        .add_service(described().build_v1alpha().map_err(Failure::failed)?);
    Ok(())
}

/// Where others come in.
pub struct Doors {
    pub users: Vec<(UserPort, TcpListener)>,
    pub node: Option<(NodePort, TcpListener)>,
}

/// Serves behind all doors, and to this process itself, until shutdown.
pub async fn serve(
    routes: RoutesBuilder,
    doors: Doors,
    memory: MemoryListener,
    shutdown: CancellationToken,
) -> std::result::Result<(), TransportError> {
    let routes = routes.routes().prepare();
    let for_nodes = async {
        match doors.node {
            Some((port, listener)) => port.serve(routes.clone(), listener, shutdown.clone()).await,
            None => Ok(()),
        }
    };
    let users = doors.users.into_iter();
    let users = users.map(|(port, listener)| port.serve(routes.clone(), listener, shutdown.clone()));
    let for_users = futures::future::try_join_all(users);
    let ((), users, nodes) =
        tokio::join!(transport::serve(routes.clone(), memory, shutdown.clone()), for_users, for_nodes);
    users.map(drop).and(nodes)
}
