//! Who may call what at the node port.
//!
//! A [table](MAY_CALL) says it by role; everything else is refused and logged. Whoever has no certificate may ask to join and
//! nothing else. Which roles a node has is known from the Monitor, not from the node.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tonic::Status;

use crate::membership::Members;
use crate::transport::node_port::ConnectInfo;

const JOIN: &str = "/seine.node.v1.Membership/Join";

/// Role, and the beginnings of what it may call.
const MAY_CALL: &[(&str, &[&str])] = &[
    // It does for people what belongs to other tiers; one that stands by, what belongs to the Monitor.
    (
        "monitor",
        &[
            "/seine.filesaver.v1.Filesaver/",
            "/seine.indexer.v1.Indexer/",
            "/seine.query.v1.Query/",
            "/seine.monitor.v1.Admin/",
        ],
    ),
    ("collector", &["/seine.monitor.v1.Work/", "/seine.analyser.v1.Analyser/"]),
    ("analyser", &["/seine.filesaver.v1.Filesaver/Save"]),
    ("indexer", &["/seine.filesaver.v1.Filesaver/Follow", "/seine.filesaver.v1.Filesaver/LogEnd"]),
    ("query", &["/seine.filesaver.v1.Filesaver/Read"]),
];
/// For every node that has joined, also one whose roles are not known here yet. Who gets the cluster's key, the books say.
const EVERY_NODE: &[&str] = &["/seine.node.v1.Membership/", "/grpc.health.v1.Health/"];

/// Whether a node of these roles may make a call.
fn may_call<'r>(mut roles: impl Iterator<Item = &'r str>, path: &str) -> bool {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| path.starts_with(beginning));
    roles.any(|role| MAY_CALL.iter().any(|(name, calls)| *name == role && begins(calls)))
}

/// Refuses what the caller may not call.
pub async fn check(State(members): State<Arc<Members>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let info = request.extensions().get::<ConnectInfo>();
    let is_removed = info.is_some_and(|info| info.is_removed);
    let peer = info.and_then(|info| info.peer.clone());
    let refused = match &peer {
        Some(peer) if is_removed => Some(Status::permission_denied(format!(
            "the node {} was removed; let the machine join again with a new token",
            peer.node_id
        ))),
        None if path == JOIN => None,
        None => Some(Status::unauthenticated("a node must show the certificate that it got when it joined")),
        Some(_) if EVERY_NODE.iter().any(|beginning| path.starts_with(beginning)) => None,
        Some(peer) => match members.roles(peer.node_id.as_str()) {
            // Tables travel; the caller tries again.
            None => Some(Status::unavailable(format!("node {} is not known here yet", peer.node_id))),
            Some(roles) if may_call(roles.iter().map(String::as_str), path) => None,
            Some(roles) => Some(Status::permission_denied(format!(
                "node {} with the roles {} may not call {path}",
                peer.node_id,
                roles.join(",")
            ))),
        },
    };
    let Some(status) = refused else { return next.run(request).await };
    let node = peer.map_or_else(|| "unknown".to_owned(), |peer| peer.node_id.to_string());
    if status.code() == tonic::Code::Unavailable {
        tracing::debug!(node, path, reason = status.message(), "refused a call");
    } else {
        tracing::warn!(node, path, reason = status.message(), "refused a call");
    }
    status.into_http::<axum::body::Body>().into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_call_what_its_work_needs_and_nothing_else() {
        let may = |role: &str, path: &str| may_call([role].into_iter(), path);
        assert!(may("collector", "/seine.monitor.v1.Work/Attach"));
        assert!(may("collector", "/seine.analyser.v1.Analyser/Analyse"));
        assert!(may("analyser", "/seine.filesaver.v1.Filesaver/Save"));
        assert!(may("indexer", "/seine.filesaver.v1.Filesaver/Follow"));
        assert!(may("query", "/seine.filesaver.v1.Filesaver/Read"));
        assert!(may("monitor", "/seine.filesaver.v1.Filesaver/Withdraw"));
        assert!(may("monitor", "/seine.monitor.v1.Admin/AddCrawl") && !may("monitor", "/seine.monitor.v1.Work/Attach"));
        for role in ["collector", "analyser", "filesaver", "indexer", "query", ""] {
            for path in [
                "/seine.monitor.v1.Admin/AddCrawl",
                "/seine.filesaver.v1.Filesaver/Withdraw",
                "/seine.indexer.v1.Indexer/Rebuild",
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                "",
            ] {
                assert!(!may(role, path), "{role} {path}");
            }
        }
        assert!(!may("analyser", "/seine.filesaver.v1.Filesaver/Read"));
        assert!(!may("query", "/seine.monitor.v1.Work/Attach"));
    }
}
