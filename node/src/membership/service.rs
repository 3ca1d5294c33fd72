//! How machines become nodes and stay them: joining by a token, certificates, registration. The Monitor's process runs it.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use seine_proto::node::v1::membership_server::{Membership, MembershipServer};
use seine_proto::node::v1::{
    ClusterKeyRequest, ClusterKeyResponse, JoinRequest, JoinResponse, RegisterRequest, RegisterResponse, RenewRequest,
    RenewResponse,
};
use tonic::{Request, Response, Status};

use super::table::{NodeTable, NotEntered};
use super::{ONE_DISK, REGISTER_EVERY, ROLES, VERSION, versions};
use crate::identity::registrar::MONITOR;
use crate::identity::{AdmissionRefusal, Peer};
use crate::joining;
use crate::registry::Registry;
use crate::transport::node_port::ConnectInfo;

/// Told of the highest epoch in a filesaver's log, before the filesaver counts as registered.
pub type SawEpoch = Arc<dyn Fn(u64) -> BoxFuture<'static, Result<(), Status>> + Send + Sync>;

pub struct MembershipService {
    table: NodeTable,
    registry: Registry,
    saw_epoch: SawEpoch,
}

impl MembershipService {
    pub fn new(table: NodeTable, registry: Registry, saw_epoch: SawEpoch) -> MembershipServer<Self> {
        MembershipServer::new(Self { table, registry, saw_epoch })
    }
}

/// The node that calls, which its certificate names.
fn peer<T>(request: &Request<T>) -> Result<Peer, Status> {
    let info = request.extensions().get::<ConnectInfo>();
    let peer = info.and_then(|info| info.peer.clone());
    peer.ok_or_else(|| Status::unauthenticated("this call is for nodes; join first"))
}

fn refused(refusal: AdmissionRefusal) -> Status {
    match refusal {
        AdmissionRefusal::Monitor(error) => Status::internal(error.to_string()),
        refusal => Status::permission_denied(refusal.to_string()),
    }
}

#[tonic::async_trait]
impl Membership for MembershipService {
    async fn join(&self, request: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        let JoinRequest { token_id, secret, roles, signing_request, version } = request.into_inner();
        versions::fit(VERSION, &version).map_err(Status::failed_precondition)?;
        if let Some(role) = roles.iter().find(|role| !ROLES.contains(&role.as_str())) {
            return Err(Status::invalid_argument(format!("{role:?} is no role that a node can have")));
        }
        if self.registry.cluster_key().is_none() && roles.iter().any(|role| role == MONITOR) {
            return Err(Status::failed_precondition(ONE_DISK));
        }
        let (roles, token): (BTreeSet<String>, _) = (roles.into_iter().collect(), token_id.clone());
        let admitted = self
            .registry
            .change(move |registrar, now| registrar.admit(&token_id, &secret, &roles, &signing_request, now));
        let admitted = admitted.await.map_err(|refusal| {
            tracing::warn!(token, reason = %refusal, "refused a machine that wanted to join");
            refused(refusal)
        })?;
        tracing::info!(node = %admitted.node, token, "a machine has joined");
        Ok(Response::new(JoinResponse {
            node_id: admitted.node.to_string(),
            certificate: Some(joining::certificate(&admitted)),
            cluster: admitted.cluster.to_string(),
        }))
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        let peer = peer(&request)?;
        let node = peer.node_id.to_string();
        let RenewRequest { signing_request, generation } = request.into_inner();
        let renewed =
            self.registry.change(move |registrar, now| registrar.renew(&peer, generation, &signing_request, now)).await;
        let renewed = renewed.map_err(|refusal| {
            tracing::warn!(node, reason = %refusal, "refused to renew a certificate");
            // It may have been locked by this.
            self.table.remove(&node);
            refused(refusal)
        })?;
        Ok(Response::new(RenewResponse { certificate: Some(joining::certificate(&renewed)) }))
    }

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<RegisterResponse>, Status> {
        let peer = peer(&request)?;
        let RegisterRequest { node, highest_epoch, version, known, figures } = request.into_inner();
        versions::fit(VERSION, &version).map_err(Status::failed_precondition)?;
        let node = node.filter(|node| node.id == peer.node_id.as_str());
        let node =
            node.ok_or_else(|| Status::invalid_argument("a node speaks for itself, by the id of its certificate"))?;
        let granted = self.registry.roles(&peer).map_err(|refusal| Status::permission_denied(refusal.to_string()))?;
        if let Some(role) = node.roles.iter().find(|role| !has_role(&granted, role)) {
            return Err(Status::permission_denied(format!(
                "node {} joined for {} and not for {role}; let it join again with a token for that",
                node.id,
                granted.join(",")
            )));
        }
        if highest_epoch > 0 {
            (self.saw_epoch)(highest_epoch).await?;
        }
        // Before the node is entered: it learns of its own entry.
        let mut changes = self.table.changes();
        let entered = self.table.register_with(&node, figures.unwrap_or_default(), &version);
        let turn = entered.map_err(|refusal| match refusal {
            NotEntered::Full => Status::resource_exhausted(refusal.to_string()),
            NotEntered::ThirdIndexer { .. } => Status::failed_precondition(refusal.to_string()),
            // It may be about to end.
            NotEntered::LogOfAnother { .. } => Status::unavailable(refusal.to_string()),
        })?;
        if *changes.borrow_and_update() == known {
            let mut lost = LostWhenDropped { table: &self.table, node: Some(&node.id), turn };
            let _ = tokio::time::timeout(REGISTER_EVERY, changes.changed()).await;
            lost.node = None;
        }
        // Read before the nodes: what changes in between is told once more.
        let known = *changes.borrow_and_update();
        let settings = Some(self.registry.settings(&node.id));
        let (removed, roots) = (self.registry.removed(), self.registry.roots());
        Ok(Response::new(RegisterResponse { nodes: self.table.all(), known, removed, roots, settings }))
    }

    async fn cluster_key(&self, request: Request<ClusterKeyRequest>) -> Result<Response<ClusterKeyResponse>, Status> {
        let peer = peer(&request)?;
        let node = &peer.node_id;
        // By the books alone: what a node says that it runs is nothing to go by here.
        let granted = self.registry.roles(&peer).map_err(|refusal| Status::permission_denied(refusal.to_string()))?;
        if !has_role(&granted, MONITOR) {
            tracing::warn!(%node, "refused the cluster's key to a node that may not become the Monitor");
            return Err(Status::permission_denied(format!(
                "node {node} did not join with the role monitor and does not get the cluster's key"
            )));
        }
        let key = self.registry.cluster_key().ok_or_else(|| Status::failed_precondition(ONE_DISK))?;
        tracing::info!(%node, "gave the cluster's key to a node that may become the Monitor");
        Ok(Response::new(ClusterKeyResponse { key: bytes::Bytes::copy_from_slice(key.reveal()) }))
    }
}

/// Whether a node may have a role. None in the book means all but the one with which goes the cluster's key.
fn has_role(granted: &[String], role: &str) -> bool {
    granted.iter().any(|known| known == role) || (granted.is_empty() && role != MONITOR)
}

/// A call that is given up by its node, or whose connection breaks, is dropped while it waits.
struct LostWhenDropped<'c> {
    table: &'c NodeTable,
    node: Option<&'c str>,
    turn: u64,
}

impl Drop for LostWhenDropped<'_> {
    fn drop(&mut self) {
        if let Some(node) = self.node {
            self.table.lost(node, self.turn);
        }
    }
}
