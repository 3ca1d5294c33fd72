//! Health over gRPC (`grpc.health.v1.Health`): whether each tier of this process is well, under the name of the tier and under
//! the names of its services. The empty name stands for the process as a whole, which serves as long as no tier has ended.
//!
//! The one place where health is set, from what the tiers report. Names of tiers that do not run here are unknown.

use std::collections::BTreeSet;
use std::convert::Infallible;

use clap::ValueEnum;
use seine_node::health::{Condition, HealthBoard};
use seine_proto::analyser::v1::analyser_server;
use seine_proto::filesaver::v1::filesaver_server;
use seine_proto::indexer::v1::indexer_server;
use seine_proto::monitor::v1::{admin_server, work_server};
use seine_proto::node::v1::membership_server;
use seine_proto::query::v1::query_server;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::args::Role;

const WHOLE_PROCESS: &str = "";

pub struct Health {
    reporter: HealthReporter,
    roles: Vec<Role>,
    board: HealthBoard,
}

impl Health {
    /// Adds the service; no tier serves yet.
    pub async fn start(roles: &BTreeSet<&'static str>, routes: &mut RoutesBuilder, board: HealthBoard) -> Self {
        let (reporter, service) = tonic_health::server::health_reporter();
        routes.add_service(service);
        let roles = Role::value_variants().iter().copied().filter(|role| roles.contains(role.name())).collect();
        let health = Self { reporter, roles, board };
        health.set_all(false).await;
        health
    }

    /// Tells what the tiers report now.
    pub async fn tell(&self) {
        for role in &self.roles {
            self.set(*role, !self.board.tier(role.name()).is_trouble()).await;
        }
        let has_ended = self.board.tiers().iter().any(|(_, condition)| matches!(condition, Condition::Ended(_)));
        self.reporter.set_service_status(WHOLE_PROCESS, status(!has_ended)).await;
    }

    /// Tells what the tiers report until told to stop; then none serves any more.
    pub async fn follow(self, stop: CancellationToken) -> Result<(), Infallible> {
        let mut changes = self.board.changes();
        loop {
            self.tell().await;
            tokio::select! {
                () = stop.cancelled() => break,
                () = changes.next() => {}
            }
        }
        self.set_all(false).await;
        Ok(())
    }

    async fn set_all(&self, serves: bool) {
        for role in &self.roles {
            self.set(*role, serves).await;
        }
        self.reporter.set_service_status(WHOLE_PROCESS, status(serves)).await;
    }

    async fn set(&self, role: Role, serves: bool) {
        for name in services(role).iter().chain([&role.name()]) {
            self.reporter.set_service_status(name, status(serves)).await;
        }
    }
}

fn status(serves: bool) -> ServingStatus {
    if serves { ServingStatus::Serving } else { ServingStatus::NotServing }
}

/// What a tier answers over gRPC.
pub fn services(role: Role) -> &'static [&'static str] {
    match role {
        Role::Monitor => &[admin_server::SERVICE_NAME, membership_server::SERVICE_NAME, work_server::SERVICE_NAME],
        Role::Collector => &[],
        Role::Analyser => &[analyser_server::SERVICE_NAME],
        Role::Filesaver => &[filesaver_server::SERVICE_NAME],
        Role::Indexer => &[indexer_server::SERVICE_NAME],
        Role::Query => &[query_server::SERVICE_NAME],
    }
}
