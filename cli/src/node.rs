//! `seine node`: some tiers for the Monitor of another process, until Ctrl-C.
//!
//! At its first start a machine joins with a token and gets a lasting name; afterwards it comes back under that name without one.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use seine_common::config::{Config, FrontierStore};
use seine_common::data_dir::DataDir;
use seine_node::identity::{JoinToken, OwnIdentity, PendingRequest};
use seine_node::joining::{self, JoinError};
use seine_node::transport::monitors::Monitors;
use seine_node::{telemetry, transport};

use crate::End;
use crate::args::{NodeArguments, Role};
use crate::candidate::{self, Candidate, Door, Joining};
use crate::failure::{Failure, Result};
use crate::process::Plan;
use crate::process::cluster::{self, Joined, Place};
use crate::serve;

const DEFAULT_PORT: u16 = 7071;
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

pub async fn run(arguments: NodeArguments, config: Config) -> Result<End> {
    if arguments.roles.contains(&Role::Monitor) {
        return Box::pin(stand_by(arguments, config)).await;
    }
    let roles: BTreeSet<&'static str> = arguments.roles.iter().map(|role| role.name()).collect();
    let token = token(&arguments)?;
    let data = DataDir::open(&arguments.data)?;
    let identity = cluster::identity_dir(&data, &roles);
    let _one_process = data.lock(&format!("identity-{}", roles.iter().copied().collect::<Vec<_>>().join("+")))?;
    let known = OwnIdentity::load(&identity).map_err(Failure::failed)?;
    let monitor = monitor(arguments.join.as_deref(), known.as_ref())?;
    let shutdown = serve::stop_on_signals()?;
    let own = tokio::select! {
        own = identity_of(known, &monitor, token, &roles, &identity) => own?,
        () = shutdown.token.cancelled() => return Ok(End::Interrupted),
    };
    let listen = arguments.listen.or(config.node.listen);
    let monitors = Monitors::open(&identity, [monitor]).map_err(Failure::failed)?;
    let (listener, address) = bind(listen, config.node.advertise.as_deref(), &monitors.addresses()).await?;
    let place = Place::Node(Box::new(Joined { own, identity, monitors, listener, address, may_lead: false }));
    let metrics = telemetry::start_metrics();
    let plan = Plan { roles, data, config, grpc: arguments.grpc, place, owned: None, serves: true, metrics };
    serve::until_stopped(plan, arguments.http, shutdown, false).await
}

/// One that may be the Monitor when the one that is ends.
async fn stand_by(arguments: NodeArguments, config: Config) -> Result<End> {
    let FrontierStore::Redis(store) = config.frontier.store.clone() else {
        return Err(Failure::usage(
            "with the role monitor this machine stands by for the Monitor of another, which needs a frontier in a store that both \
             reach: set frontier.store = \"redis\" and frontier.nodes here as they are set there; while the frontier lies on that \
             machine's disk (frontier.store = \"rocksdb\") there is one Monitor, which runs with `seine serve`",
        ));
    };
    let roles: BTreeSet<&'static str> = arguments.roles.iter().map(|role| role.name()).collect();
    let (token, data) = (token(&arguments)?, DataDir::open(&arguments.data)?);
    let identity = cluster::identity_dir(&data, &roles);
    let known = OwnIdentity::load(&identity).map_err(Failure::failed)?;
    let monitor = monitor(arguments.join.as_deref(), known.as_ref())?;
    let listen = arguments.listen.or(config.node.listen);
    // One that was the Monitor from the start has joined nowhere.
    let towards = [monitor.clone(), store.nodes[0].clone()];
    let (listener, address) = bind(listen, config.node.advertise.as_deref(), &towards).await?;
    let door = Door::new(listener, address)?;
    let joining = Some(Joining { monitor, token });
    let (shutdown, metrics, http, grpc) =
        (serve::stop_on_signals()?, telemetry::start_metrics(), arguments.http, arguments.grpc);
    let candidate = Candidate { roles, data, config, store, grpc, http, metrics, door, joining, invites: false };
    Box::pin(candidate::run(candidate, shutdown)).await
}

/// From the flag, a file that it names, or the environment.
fn token(arguments: &NodeArguments) -> Result<Option<JoinToken>> {
    let text = match arguments.token.as_deref() {
        Some(flag) => match flag.strip_prefix('@') {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("cannot read the join token from {path}: {error}")))?,
            None => {
                eprintln!(
                    "the process list shows --token to every user of this machine; SEINE_JOIN_TOKEN or --token @FILE \
                     keeps it secret"
                );
                flag.to_owned()
            }
        },
        None => match std::env::var("SEINE_JOIN_TOKEN") {
            Ok(text) if !text.trim().is_empty() => text,
            _ => return Ok(None),
        },
    };
    text.parse().map(Some).map_err(Failure::usage)
}

/// Where the Monitor is: as asked for, or where it was joined.
fn monitor(join: Option<&str>, known: Option<&OwnIdentity>) -> Result<String> {
    let Some(address) = join else {
        let known = known.ok_or_else(|| {
            Failure::usage(
                "--join is missing: the address of the server to join, such as --join crawl.example.org:7071",
            )
        })?;
        return Ok(known.joined_at.clone());
    };
    if address.contains('/') || address.is_empty() {
        return Err(Failure::usage(format!("--join {address}: write HOST:PORT, such as crawl.example.org:7071")));
    }
    let has_port = address
        .rsplit_once(':')
        .is_some_and(|(host, port)| port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']')));
    Ok(if has_port { address.to_owned() } else { format!("{address}:{DEFAULT_PORT}") })
}

/// The one it has, or the one that it gets by joining.
pub async fn identity_of(
    known: Option<OwnIdentity>,
    monitor: &str,
    token: Option<JoinToken>,
    roles: &BTreeSet<&'static str>,
    directory: &Path,
) -> Result<OwnIdentity> {
    let Some(mut own) = known else {
        let token = token.ok_or_else(|| {
            Failure::usage(format!(
                "this machine has not joined {monitor} yet and has no join token; `seine nodes token create` on the \
                 server prints the line to run here"
            ))
        })?;
        return join(monitor, &token, roles, directory).await;
    };
    if let Some(token) = token.as_ref().filter(|token| !own.believes(token.pin)) {
        return Err(Failure::usage(format!(
            "{} has joined another cluster as {}, and the join token {} is not of that one; use another directory \
             with --data, or remove that one to join anew",
            directory.display(),
            own.node,
            token.id
        )));
    }
    eprintln!("joining {monitor} as {}", own.node);
    let monitors = Monitors::open(directory, [monitor.to_owned()]).map_err(Failure::failed)?;
    match (joining::is_welcome(&monitors, &own).await, token) {
        (Ok(()), _) => {
            if own.joined_at != monitor {
                monitor.clone_into(&mut own.joined_at);
                own.save(directory).map_err(Failure::failed)?;
            }
            Ok(own)
        }
        // It was removed or locked, or its certificate has ended: the token makes it a node again.
        (Err(JoinError::Refused(reason)), Some(token)) => {
            eprintln!("{} is refused: {reason}", own.node);
            join(monitor, &token, roles, directory).await
        }
        (Err(JoinError::Refused(reason)), None) => Err(Failure::failed(format!("refused by {monitor}: {reason}"))),
        // It is tried again for as long as it takes, once everything runs.
        (Err(_), _) => Ok(own),
    }
}

/// Until there is an answer.
async fn join(
    monitor: &str,
    token: &JoinToken,
    roles: &BTreeSet<&'static str>,
    directory: &Path,
) -> Result<OwnIdentity> {
    eprintln!("joining {monitor}");
    let names = roles.iter().map(|role| (*role).to_owned()).collect();
    let mut pause = FIRST_RETRY;
    loop {
        match joining::join(monitor, token, &names, directory).await {
            Ok(own) => {
                eprintln!("joined as {}", own.node);
                return Ok(own);
            }
            Err(JoinError::Away { reason, .. }) => {
                eprintln!("cannot reach {monitor}: {reason}; trying again in {} s", pause.as_secs());
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LAST_RETRY);
            }
            Err(JoinError::Refused(reason)) => {
                // Another token comes with another key.
                let _ = PendingRequest::discard(directory);
                return Err(Failure::failed(format!("refused by {monitor}: {reason}")));
            }
            Err(JoinError::Identity(error)) => return Err(Failure::failed(error)),
        }
    }
}

/// Where other nodes reach this one: at the address by which it reaches the Monitor, unless it was told where to listen.
async fn bind(
    listen: Option<SocketAddr>,
    advertise: Option<&str>,
    monitors: &[String],
) -> Result<(tokio::net::TcpListener, String)> {
    let mut towards = None;
    for monitor in monitors {
        towards = match towards {
            None => own_address(monitor).await,
            known => known,
        };
    }
    let listen = match (listen, towards) {
        (Some(listen), _) => listen,
        (None, Some(ip)) => SocketAddr::new(ip, 0),
        (None, None) => {
            return Err(Failure::failed(format!(
                "cannot tell by which address {} would reach this machine; name one with --listen",
                monitors.join(" or ")
            )));
        }
    };
    let listener = transport::listen(listen).await?;
    let local = listener.local_addr().map_err(Failure::failed)?;
    let reached = match towards.filter(|_| local.ip().is_unspecified()) {
        Some(ip) => SocketAddr::new(ip, local.port()),
        None => local,
    };
    Ok((listener, cluster::advertised(advertise, reached)))
}

/// The address of this machine on the way to another. Nothing is sent.
pub async fn own_address(monitor: &str) -> Option<IpAddr> {
    let there = tokio::net::lookup_host(monitor).await.ok()?.next()?;
    let any: SocketAddr = if there.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().ok()?;
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(there).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_gets_the_usual_one() {
        let at = |join| monitor(Some(join), None).unwrap();
        assert_eq!(at("crawl.example.org"), "crawl.example.org:7071");
        assert_eq!(at("10.0.0.1:7"), "10.0.0.1:7");
        assert_eq!(at("[2001:db8::1]"), "[2001:db8::1]:7071");
        assert_eq!(at("[2001:db8::1]:7"), "[2001:db8::1]:7");
        assert!(monitor(Some("http://crawl.example.org"), None).is_err() && monitor(None, None).is_err());
    }
}
