//! Health over gRPC (`grpc.health.v1.Health`): how each tier of this process is, under the name of the tier and under the
//! names of its services; the empty name stands for the process as a whole, which is as well as its worst tier.
//!
//! The one place where health is set. Names of tiers that do not run here are unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clap::ValueEnum;
use seine_proto::analyser::v1::analyser_server;
use seine_proto::filesaver::v1::filesaver_server;
use seine_proto::indexer::v1::indexer_server;
use seine_proto::monitor::v1::{admin_server, nodes_server, work_server};
use seine_proto::query::v1::query_server;
use tokio::sync::Mutex;
use tonic::service::RoutesBuilder;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::args::Role;

const WHOLE_PROCESS: &str = "";

#[derive(Clone)]
pub struct Health {
    reporter: HealthReporter,
    /// Whether each tier of this process serves. Held while reporting, so that reports arrive in the order they are made.
    tiers: Arc<Mutex<BTreeMap<&'static str, bool>>>,
}

impl Health {
    /// Adds the service; no tier serves yet.
    pub async fn start(roles: &BTreeSet<&'static str>, routes: &mut RoutesBuilder) -> Self {
        let (reporter, service) = tonic_health::server::health_reporter();
        routes.add_service(service);
        let health = Self { reporter, tiers: Arc::default() };
        health.set_all(roles, false).await;
        health
    }

    pub async fn set_all(&self, roles: &BTreeSet<&'static str>, serves: bool) {
        for role in Role::value_variants().iter().filter(|role| roles.contains(role.name())) {
            self.set(*role, serves).await;
        }
    }

    pub async fn set(&self, role: Role, serves: bool) {
        let mut tiers = self.tiers.lock().await;
        tiers.insert(role.name(), serves);
        for name in services(role).iter().chain([&role.name()]) {
            self.reporter.set_service_status(name, status(serves)).await;
        }
        let all_serve = tiers.values().all(|serves| *serves);
        self.reporter.set_service_status(WHOLE_PROCESS, status(all_serve)).await;
    }
}

fn status(serves: bool) -> ServingStatus {
    if serves { ServingStatus::Serving } else { ServingStatus::NotServing }
}

/// What a tier answers over gRPC.
pub fn services(role: Role) -> &'static [&'static str] {
    match role {
        Role::Monitor => &[admin_server::SERVICE_NAME, nodes_server::SERVICE_NAME, work_server::SERVICE_NAME],
        Role::Collector => &[],
        Role::Analyser => &[analyser_server::SERVICE_NAME],
        Role::Filesaver => &[filesaver_server::SERVICE_NAME],
        Role::Indexer => &[indexer_server::SERVICE_NAME],
        Role::Query => &[query_server::SERVICE_NAME],
    }
}
