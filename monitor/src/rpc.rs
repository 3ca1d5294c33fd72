//! The Monitor's gRPC services. Generated types stop here, except where they are stored as they are (outcomes, settings).

mod work;
mod admin;
mod access;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::monitor::v1::admin_server::AdminServer;
use seine_proto::monitor::v1::work_server::{Work, WorkServer};
use tonic::service::RoutesBuilder;

use crate::Monitor;
use crate::forgetting::Forgetting;
use seine_node::membership::NodeTable;

pub use access::{Access, count_nodes};

/// Adds all services of the Monitor. Who may call them is for the doors to decide.
pub fn add_services(
    routes: &mut RoutesBuilder,
    monitor: &Monitor,
    nodes: NodeTable,
    access: Access,
    forgetting: Forgetting,
) {
    routes.add_service(work_service(monitor)).add_service(AdminServer::new(admin::AdminService::new(
        monitor.clone(),
        nodes,
        access,
        forgetting,
    )));
}

/// What collectors call.
pub fn work_service(monitor: &Monitor) -> WorkServer<impl Work> {
    let work = WorkServer::new(work::WorkService::new(monitor.clone()));
    work.max_decoding_message_size(MAX_MESSAGE_BYTES).max_encoding_message_size(MAX_MESSAGE_BYTES)
}
