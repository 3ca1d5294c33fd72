//! `seine nodes`: who is in the cluster, letting machines in and cutting them off.

mod display;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, IsTerminal, Write};

use seine_common::config::Config;
use seine_proto::monitor::v1::{
    Bounds, CreateJoinTokenRequest, CreateJoinTokenResponse, DrainNodeRequest, LabelNodeRequest, ListJoinTokensRequest,
    ListNodesRequest, NodeSettings, NodeStatus, RemoveNodeRequest, RevokeJoinTokenRequest, RotateAuthorityRequest,
    SetNodeRequest,
};
use serde_json::json;

use crate::End;
use crate::args::nodes::{Change, DEFAULT, NodeChanges, NodesArguments, NodesCommand, Rate, TokenCommand};
use crate::args::{Role, Target};
use crate::connect::{Admin, with_admin};
use crate::failure::{Failure, Result};
use crate::output::time_text;

pub async fn run(arguments: NodesArguments, config: &Config) -> Result<End> {
    use NodesCommand as C;
    match arguments.command {
        C::List { removed, target } => list(removed, &target, config).await,
        C::Show { node, target } => show(&node, &target, config).await,
        C::Drain { node, undo, target } => drain(node, undo, &target, config).await,
        C::Remove { node, target } => {
            with_admin(&target, config, async |mut admin| {
                admin.remove_node(RemoveNodeRequest { node: node.clone() }).await?;
                match target.json {
                    true => say!("{}", json!({ "removed": node })),
                    false => say!("removed {node}: nobody in the cluster talks to it any more"),
                }
                Ok(())
            })
            .await
        }
        C::Label { node, labels, target } => {
            with_admin(&target, config, async |mut admin| {
                let labels: HashMap<String, String> = labels.into_iter().collect();
                let labelled = admin.label_node(LabelNodeRequest { node, labels }).await?.into_inner();
                display::node(labelled.node.as_ref(), &target)
            })
            .await
        }
        C::Set { node, changes, target } => {
            with_admin(&target, config, async |mut admin| {
                let request = set_request(node, changes);
                display::node(admin.set_node(request).await?.into_inner().node.as_ref(), &target)
            })
            .await
        }
        C::RotateCa { finish, force, target } => {
            rotate(RotateAuthorityRequest { finish, force }, &target, config).await
        }
        C::Token(TokenCommand::Create { roles, ttl, uses, node, host, target }) => {
            let roles = roles.iter().map(|role| role.name().to_owned()).collect();
            let node = node.unwrap_or_default();
            let request = CreateJoinTokenRequest { roles, ttl_seconds: ttl.as_secs(), uses, node };
            create_token(request, host.as_deref(), &target, config).await
        }
        C::Token(TokenCommand::List { target }) => {
            with_admin(&target, config, async |mut admin| {
                let tokens = admin.list_join_tokens(ListJoinTokensRequest {}).await?.into_inner().tokens;
                display::tokens(&tokens, &target)
            })
            .await
        }
        C::Token(TokenCommand::Revoke { id, target }) => {
            with_admin(&target, config, async |mut admin| {
                admin.revoke_join_token(RevokeJoinTokenRequest { id: id.clone() }).await?;
                match target.json {
                    true => say!("{}", json!({ "revoked": id })),
                    false => say!("revoked {id}: nobody joins by it any more"),
                }
                Ok(())
            })
            .await
        }
    }
}

async fn all(admin: &mut Admin, removed: bool) -> Result<Vec<NodeStatus>> {
    Ok(admin.list_nodes(ListNodesRequest { removed }).await?.into_inner().nodes)
}

async fn list(removed: bool, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let nodes = all(&mut admin, removed).await?;
        display::nodes(&nodes, target)
    })
    .await
}

async fn show(node: &str, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let nodes = all(&mut admin, true).await?;
        let found = nodes.iter().find(|status| status.node.as_ref().is_some_and(|known| known.id == node));
        let found =
            found.ok_or_else(|| Failure::failed(format!("there is no node {node:?}; `seine nodes list` shows all")))?;
        display::node(Some(found), target)
    })
    .await
}

async fn drain(node: String, undo: bool, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let leases = admin.drain_node(DrainNodeRequest { node: node.clone(), undo }).await?.into_inner().leases;
        match (target.json, undo) {
            (true, _) => say!("{}", json!({ "node": node, "draining": !undo, "leases": leases })),
            (false, true) => say!("{node} works again"),
            (false, false) if leases == 0 => say!("{node} gets nothing more and has nothing left to finish"),
            (false, false) => say!("{node} gets nothing more and finishes {leases} hosts"),
        }
        Ok(())
    })
    .await
}

fn set_request(node: String, changes: NodeChanges) -> SetNodeRequest {
    let mut reset = Vec::new();
    let mut bounds = |name: &str, change: Option<Change>| match change {
        Some(Change::Between(lowest, highest)) => Some(Bounds { lowest, highest }),
        Some(Change::Default) => {
            reset.push(name.to_owned());
            None
        }
        None => None,
    };
    let NodeChanges { log, hosts, analysis, converters, bandwidth } = changes;
    let (hosts, analysis, converters) =
        (bounds("hosts", hosts), bounds("analysis", analysis), bounds("converters", converters));
    if log.as_deref() == Some(DEFAULT) {
        reset.push("log".to_owned());
    }
    let log = log.filter(|log| log != DEFAULT);
    let bandwidth = match bandwidth {
        Some(Rate::BytesPerSecond(rate)) => Some(rate),
        Some(Rate::Default) => {
            reset.push("bandwidth".to_owned());
            None
        }
        None => None,
    };
    SetNodeRequest { node, settings: Some(NodeSettings { log, hosts, analysis, converters, bandwidth }), reset }
}

async fn rotate(request: RotateAuthorityRequest, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let finish = request.finish;
        admin.rotate_authority(request).await?;
        match (target.json, finish) {
            (true, _) => say!("{}", json!({ "rotated": !finish, "finished": finish })),
            (false, true) => say!("the root certificate before is worth nothing any more, and neither are its tokens"),
            (false, false) => say!(
                "a new root certificate signs from now on; nodes renew within seconds, and the one before is trusted \
                 until all have (end that with `seine nodes rotate-ca --finish`)"
            ),
        }
        Ok(())
    })
    .await
}

/// The one line to run on another machine, on standard output; all else beside it.
async fn create_token(
    request: CreateJoinTokenRequest,
    host: Option<&str>,
    target: &Target,
    config: &Config,
) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let nodes = all(&mut admin, false).await?;
        let listens_at = nodes.iter().find(|node| node.is_monitor).and_then(|node| node.node.as_ref());
        let address = reached_at(listens_at.map_or("", |node| &node.address), host)?;
        let again = nodes.iter().filter_map(|node| node.node.as_ref()).find(|node| node.id == request.node);
        let roles = match (again, request.roles.is_empty()) {
            (Some(node), _) => node.roles.join(","),
            (None, true) => format!("{},{}", Role::Collector.name(), Role::Analyser.name()),
            (None, false) => request.roles.join(","),
        };
        let may_lead = request.roles.iter().any(|role| role == Role::Monitor.name());
        let created = admin.create_join_token(request).await?.into_inner();
        if may_lead {
            eprintln!("whoever joins by this token gets the cluster's key, with which it can be the Monitor");
        }
        let line = join_line(&created.token, &address, &roles);
        let expires = time_text(created.expires_at_ms);
        if target.json {
            let CreateJoinTokenResponse { id, token, .. } = created;
            say!("{}", json!({ "id": id, "token": token, "join": address, "command": line, "expires_at": expires }));
            return Ok(());
        }
        if address.starts_with("127.") || address.starts_with("[::1]") {
            eprintln!(
                "the node port listens on this machine only; `seine serve --listen 0.0.0.0:7071` lets others in, and \
                 --host says under which name they reach it"
            );
        }
        eprintln!("run this on the other machine, until {}:", expires.unwrap_or_default());
        say!("{line}");
        Ok(())
    })
    .await
}

fn join_line(token: &str, address: &str, roles: &str) -> String {
    format!("SEINE_JOIN_TOKEN={token} seine node --join {address} --roles {roles}")
}

/// The address for other machines: as it is known, or as somebody says who can be asked.
fn reached_at(address: &str, host: Option<&str>) -> Result<String> {
    let (known, port) = address.rsplit_once(':').unwrap_or(("", "7071"));
    let unknown = matches!(known, "" | "0.0.0.0" | "[::]");
    let with_port = |host: &str| match host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        true => host.to_owned(),
        false => format!("{host}:{port}"),
    };
    match host {
        Some(host) => Ok(with_port(host)),
        None if !unknown => Ok(address.to_owned()),
        None if std::io::stdin().is_terminal() => {
            eprint!("Under which name or address do other machines reach this one? ");
            let _ = std::io::stderr().flush();
            let mut answer = String::new();
            let _ = std::io::stdin().lock().read_line(&mut answer);
            match answer.trim() {
                "" => Err(Failure::usage("without a name or an address no other machine can join")),
                answer => Ok(with_port(answer)),
            }
        }
        None => Err(Failure::usage(
            "it is not known under which address other machines reach this one; name it with --host, or set \
             [node] advertise",
        )),
    }
}

/// For whoever starts a server for others to join, at a terminal: the line with which they do. A log never gets it.
pub async fn invite(mut admin: Admin) {
    let created = match admin.create_join_token(CreateJoinTokenRequest::default()).await {
        Ok(created) => created.into_inner(),
        Err(status) => return eprintln!("no join token could be made: {}", status.message()),
    };
    let (host, port) = created.address.rsplit_once(':').unwrap_or(("HOST", "7071"));
    let host = if matches!(host, "0.0.0.0" | "[::]") { "HOST" } else { host };
    eprintln!("one more machine can join within 24 hours (`seine nodes token create` makes more such lines):");
    eprintln!("  {}", join_line(&created.token, &format!("{host}:{port}"), "collector,analyser"));
}

/// Labels as they are written.
fn labels_text(labels: &HashMap<String, String>) -> String {
    let sorted: BTreeMap<_, _> = labels.iter().collect();
    sorted.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}
