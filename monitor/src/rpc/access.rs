//! Who gets in and stays in: join tokens, the list of nodes, what is set for them, and their end. Of what the Monitor itself
//! knows only the leases are needed; the books and the table belong to [`seine_node`].

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Duration;

use seine_node::identity::registrar::MONITOR;
use seine_node::identity::{Member, NodeId, Standing, TokenId, TokenTerms};
use seine_node::membership::{NodeTable, ONE_DISK, ROLES, Registered, SILENCE_MS, SUSPECT_MS, state_name};
use seine_node::registry::Registry;
use seine_node::telemetry::families::set_gauges;
use seine_proto::monitor::v1::{
    CreateJoinTokenRequest, CreateJoinTokenResponse, Figures, JoinToken, LabelNodeRequest, ListJoinTokensResponse,
    NodeInfo, NodeState, NodeStatus, RevokeJoinTokenRequest, RotateAuthorityRequest, RotateAuthorityResponse,
    SetNodeRequest,
};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::Monitor;
use crate::keeper::Command;

/// A node that has a certificate and has not registered within this time is not coming.
const JOINING_MS: i64 = 60_000;

const COUNT_EVERY: Duration = Duration::from_secs(5);
const STATES: [NodeState; 7] = [
    NodeState::Joining,
    NodeState::Idle,
    NodeState::Working,
    NodeState::Suspect,
    NodeState::Dead,
    NodeState::Draining,
    NodeState::Removed,
];

/// The books, and what the process itself is in them.
#[derive(Clone)]
pub struct Access {
    pub registry: Registry,
    /// The id of this process.
    pub own: String,
    /// Of the node port, as other machines reach it; empty where there is none.
    pub address: String,
}

impl Access {
    pub(super) async fn create_token(
        &self,
        request: CreateJoinTokenRequest,
    ) -> Result<CreateJoinTokenResponse, Status> {
        let CreateJoinTokenRequest { roles, ttl_seconds, uses, node } = request;
        if let Some(role) = roles.iter().find(|role| !ROLES.contains(&role.as_str())) {
            return Err(Status::invalid_argument(format!(
                "roles: {role:?} is no role that a node can have; use some of {}",
                ROLES.join(", ")
            )));
        }
        if roles.iter().any(|role| role == MONITOR) && self.registry.cluster_key().is_none() {
            return Err(Status::failed_precondition(ONE_DISK));
        }
        let node = if node.is_empty() { None } else { Some(id(&node)?) };
        let mut terms = TokenTerms { roles: roles.into_iter().collect(), node, ..TokenTerms::default() };
        if ttl_seconds > 0 {
            terms.ttl = Duration::from_secs(ttl_seconds);
        }
        if uses > 0 {
            terms.uses = uses;
        }
        let created = self.registry.change(move |registrar, now| {
            let token = registrar.create_token(&terms, now)?;
            Ok::<_, seine_node::identity::registrar::RegistrarError>((token, now + terms.ttl.as_millis() as i64))
        });
        let (token, expires_at_ms) = created.await.map_err(|error| Status::invalid_argument(error.to_string()))?;
        tracing::info!(token = %token.id, "created a join token");
        let (id, address) = (token.id.to_string(), self.address.clone());
        Ok(CreateJoinTokenResponse { token: token.reveal(), address, id, expires_at_ms })
    }

    pub(super) fn tokens(&self) -> ListJoinTokensResponse {
        let tokens = self.registry.look(|registrar, _| registrar.tokens()).into_iter();
        let tokens = tokens.map(|token| JoinToken {
            id: token.id.to_string(),
            roles: token.roles.into_iter().collect(),
            created_at_ms: token.created_ms,
            expires_at_ms: token.expires_ms,
            uses: token.uses,
            uses_left: token.uses_left,
            revoked: token.revoked,
            node: token.node.map(|node| node.to_string()).unwrap_or_default(),
        });
        ListJoinTokensResponse { tokens: tokens.collect() }
    }

    pub(super) async fn revoke_token(&self, request: RevokeJoinTokenRequest) -> Result<(), Status> {
        let id = request.id;
        let unknown = || Status::not_found(format!("there is no join token {id}; `seine nodes token list` shows all"));
        let parsed: TokenId = id.parse().map_err(|_| unknown())?;
        let revoked = self.registry.change(move |registrar, _| registrar.revoke_token(&parsed)).await;
        match revoked.map_err(|error| Status::internal(error.to_string()))? {
            true => Ok(()),
            false => Err(unknown()),
        }
    }

    /// All nodes: those that joined, and this process, with how they are.
    pub(super) fn nodes(
        &self,
        table: &NodeTable,
        leases: &BTreeMap<String, u32>,
        with_removed: bool,
    ) -> Vec<NodeStatus> {
        let mut registered = table.registered();
        let (members, now) = self.registry.look(|registrar, now| {
            let members = registrar.members().list().map(|(id, member)| (id.to_string(), member.clone()));
            (members.collect::<Vec<_>>(), now)
        });
        let mut nodes = Vec::new();
        for (id, member) in members {
            if member.is_removed() && !with_removed {
                continue;
            }
            let known = registered.remove(&id);
            let held = leases.get(&id).copied().unwrap_or_default();
            let is_monitor = id == self.own;
            nodes.push(NodeStatus { is_monitor, ..status(id, &member, known, held, table, now) });
        }
        nodes
    }

    /// One of them, by its id.
    pub(super) fn node(
        &self,
        table: &NodeTable,
        leases: &BTreeMap<String, u32>,
        id: &str,
    ) -> Result<NodeStatus, Status> {
        let nodes = self.nodes(table, leases, true);
        nodes.into_iter().find(|node| node.node.as_ref().is_some_and(|node| node.id == id)).ok_or_else(|| unknown(id))
    }

    pub(super) async fn remove(&self, table: &NodeTable, node: &str) -> Result<(), Status> {
        if node == self.own {
            return Err(Status::invalid_argument(format!(
                "node {node} is the Monitor itself, which cannot be removed from its own cluster"
            )));
        }
        let parsed = id(node)?;
        let removed = self.registry.change(move |registrar, now| registrar.remove(&parsed, now)).await;
        removed.map_err(|error| Status::not_found(error.to_string()))?;
        table.remove(node);
        tracing::info!(node, "removed a node");
        Ok(())
    }

    pub(super) async fn label(&self, request: LabelNodeRequest) -> Result<(), Status> {
        let LabelNodeRequest { node, labels } = request;
        let (parsed, labels) = (id(&node)?, labels.into_iter().collect());
        let labelled = self.registry.change(move |registrar, _| registrar.set_labels(&parsed, &labels)).await;
        labelled.map_err(|error| Status::invalid_argument(error.to_string()))
    }

    pub(super) async fn set(&self, table: &NodeTable, request: SetNodeRequest) -> Result<(), Status> {
        let SetNodeRequest { node, settings, reset } = request;
        let (parsed, name) = (id(&node)?, node.clone());
        let set = self.registry.change(move |registrar, _| {
            let member = registrar.members().get(&parsed).ok_or_else(|| unknown(&name))?;
            let changed = member.settings.changed(settings.unwrap_or_default(), &reset);
            let changed = changed.map_err(Status::invalid_argument)?;
            registrar.set(&parsed, changed).map_err(|error| Status::internal(error.to_string()))
        });
        set.await?;
        // Every node is told what is set for it.
        table.changed();
        Ok(())
    }

    pub(super) async fn rotate(
        &self,
        table: &NodeTable,
        request: RotateAuthorityRequest,
    ) -> Result<RotateAuthorityResponse, Status> {
        let RotateAuthorityRequest { finish, force } = request;
        let rotated = self.registry.change(move |registrar, now| {
            let late = if finish && !force { registrar.not_renewed(now) } else { Vec::new() };
            if !late.is_empty() {
                let late: Vec<String> = late.iter().map(NodeId::to_string).collect();
                return Err(format!(
                    "the trust in the root before cannot end yet: nodes that have not renewed since are {}. Those that run do \
                     so within seconds; use --force to shut out the others, which must join again",
                    late.join(", ")
                ));
            }
            let done = if finish { registrar.finish_rotation() } else { registrar.rotate(now).map(|_| ()) };
            done.map_err(|error| error.to_string())
        });
        rotated.await.map_err(Status::failed_precondition)?;
        tracing::info!(finish, "changed the root certificate");
        table.changed();
        Ok(RotateAuthorityResponse {})
    }
}

fn id(node: &str) -> Result<NodeId, Status> {
    node.parse().map_err(|_| unknown(node))
}

fn unknown(node: &str) -> Status {
    Status::not_found(format!("there is no node {node:?}; `seine nodes list` shows all"))
}

fn status(
    id: String,
    member: &Member,
    known: Option<Registered>,
    leases: u32,
    table: &NodeTable,
    now_ms: i64,
) -> NodeStatus {
    let silent_ms = known.as_ref().map(|known| known.silent_ms(table.clock()));
    let (state, reason) = state(member, known.as_ref(), silent_ms, leases, now_ms);
    let granted: BTreeSet<&String> = member.roles.iter().collect();
    let unseen = NodeInfo { id, roles: granted.into_iter().cloned().collect(), ..NodeInfo::default() };
    let (node, figures, version) =
        known.map_or_else(|| (unseen, None, String::new()), |known| (known.node, Some(known.figures), known.version));
    let figures = figures.map(|figures| Figures { hosts_at_work: leases.into(), ..figures });
    NodeStatus {
        node: Some(node),
        state: state.into(),
        reason,
        figures,
        labels: member.labels.clone().into_iter().collect(),
        version,
        joined_at_ms: member.joined_ms,
        silent_ms: silent_ms.unwrap_or(-1),
        leases,
        certificate_ends_at_ms: member.certificate_ends_ms().unwrap_or_default(),
        settings: Some(member.settings.to_message()),
        is_monitor: false,
    }
}

fn state(
    member: &Member,
    known: Option<&Registered>,
    silent_ms: Option<i64>,
    leases: u32,
    now_ms: i64,
) -> (NodeState, String) {
    let unexplained = |state| (state, String::new());
    match (&member.standing, known, silent_ms) {
        (Standing::Removed { .. }, _, _) => unexplained(NodeState::Removed),
        (Standing::Locked { reason, .. }, _, _) => (NodeState::Removed, format!("locked: {reason}")),
        (_, Some(known), Some(silent_ms)) if silent_ms < SUSPECT_MS => {
            let is_busy = leases > 0 || known.figures.pages_per_second > 0.0;
            unexplained(match (known.node.draining, is_busy) {
                (true, _) => NodeState::Draining,
                (false, true) => NodeState::Working,
                (false, false) => NodeState::Idle,
            })
        }
        (_, Some(_), Some(silent_ms)) if silent_ms < SILENCE_MS => unexplained(NodeState::Suspect),
        (_, None, _) if now_ms - member.joined_ms < JOINING_MS => unexplained(NodeState::Joining),
        _ => unexplained(NodeState::Dead),
    }
}

/// Counts the nodes for `/metrics` until told to stop.
pub async fn count_nodes(
    monitor: Monitor,
    access: Access,
    table: NodeTable,
    stop: CancellationToken,
) -> Result<(), Infallible> {
    loop {
        if let Ok(leases) = monitor.ask(|answer| Command::LeaseCounts { answer }).await {
            let mut counts: BTreeMap<String, f64> = STATES.iter().map(|state| (state_name(*state), 0.0)).collect();
            for node in access.nodes(&table, &leases, true) {
                *counts.entry(state_name(node.state())).or_default() += 1.0;
            }
            set_gauges("seine_monitor_nodes", "Nodes, by how they are.", "state", counts.into_iter().collect());
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(COUNT_EVERY) => {}
        }
    }
}
