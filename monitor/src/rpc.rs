//! The Monitor's gRPC services. Generated types stop here, except where they are stored as they are (outcomes, settings).

mod work;
mod admin;
mod nodes;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::monitor::v1::admin_server::AdminServer;
use seine_proto::monitor::v1::nodes_server::NodesServer;
use seine_proto::monitor::v1::work_server::WorkServer;
use tonic::service::RoutesBuilder;

use crate::Monitor;
use seine_node::membership::NodeTable;

/// Adds all services of the Monitor. Admin calls must present the token.
pub fn add_services(routes: &mut RoutesBuilder, monitor: &Monitor, nodes: NodeTable, admin_token: String) {
    let work = WorkServer::new(work::WorkService::new(monitor.clone()));
    routes
        .add_service(work.max_decoding_message_size(MAX_MESSAGE_BYTES).max_encoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(AdminServer::with_interceptor(
            admin::AdminService::new(monitor.clone(), nodes.clone()),
            admin::TokenCheck(admin_token),
        ))
        .add_service(NodesServer::new(nodes::NodesService::new(nodes, monitor.clone())));
}
