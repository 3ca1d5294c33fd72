//! The gRPC server of a process: the services of its tiers, health and reflection.

use seine_common::transport::{self, MemoryListener};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;
use tonic_health::ServingStatus;

use crate::failure::{Failure, Result};

pub async fn serve(
    mut routes: RoutesBuilder,
    listener: TcpListener,
    memory: MemoryListener,
    shutdown: CancellationToken,
) -> Result<JoinHandle<()>> {
    let (health, health_service) = tonic_health::server::health_reporter();
    // The empty name stands for the server as a whole.
    health.set_service_status("", ServingStatus::Serving).await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(seine_proto::DESCRIPTORS)
        .build_v1()
        .map_err(Failure::failed)?;
    routes.add_service(health_service).add_service(reflection);
    Ok(tokio::spawn(async move {
        if let Err(error) = transport::serve(routes.routes(), Some(listener), memory, shutdown).await {
            tracing::error!(%error, "the gRPC server ended");
        }
    }))
}
