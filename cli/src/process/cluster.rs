//! This process among others: who it is, how it reaches them, and how they reach it.
//!
//! Three kinds: *alone*, such as `seine crawl`; the *Monitor's*, which has the books of the nodes and which others join; a *node*,
//! which has joined, and may be one that stands by to be the Monitor's. A process with the Monitor has the books whether others may join or not, so that they can be worked on.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seine_common::clock::Clock;
use seine_common::config::{FrontierConfig, RedisSettings};
use seine_common::data_dir::DataDir;
use seine_node::identity::registrar::RegistrarError;
use seine_node::identity::{OwnIdentity, Shelf};
use seine_node::membership::{Channels, Members};
use seine_node::registry::Registry;
use seine_node::renewal::Renewal;
use seine_node::transport;
use seine_node::transport::Channel;
use seine_node::transport::credentials::Credentials;
use seine_node::transport::cut_off::CutOff;
use seine_node::transport::dial::Dialer;
use seine_node::transport::forward::{Forwarding, Way};
use seine_node::transport::monitors::Monitors;
use seine_node::transport::node_port::NodePort;
use tokio::net::TcpListener;
use tonic::Status;

use super::frontier::{self, Owned};
use crate::args::Role;
use crate::candidate::Door;
use crate::failure::{Failure, Result};
use crate::node;

/// Where the Monitor's books are, and what processes keep of their identities.
pub const AUTHORITY_DIR: &str = "authority";
pub const IDENTITY_DIR: &str = "identity";
/// The roots that the nodes trust, for programs at a user port that shows the cluster's certificate.
const ROOTS_FILE: &str = "ca.pem";
const DEFAULT_LISTEN: &str = "127.0.0.1:7071";
/// The id of a process that talks to nobody.
const ALONE: &str = "local";

/// What a process is to others.
pub enum Place {
    Alone,
    /// Others may join at this address; `None` for the usual one, or another where that is taken.
    Monitor {
        listen: Option<SocketAddr>,
    },
    /// The Monitor's, of a frontier that others may take over; bound to where nodes reach it, with the address that they know.
    Leading {
        listener: TcpListener,
        address: String,
    },
    Node(Box<Joined>),
}

impl Place {
    /// Whether this process is the Monitor's from time to time.
    pub fn may_lead(&self) -> bool {
        match self {
            Self::Alone | Self::Monitor { .. } => false,
            Self::Leading { .. } => true,
            Self::Node(joined) => joined.may_lead,
        }
    }
}

/// A node that has joined, and is bound to where others will reach it.
pub struct Joined {
    pub own: OwnIdentity,
    pub identity: PathBuf,
    pub monitors: Monitors,
    pub listener: TcpListener,
    /// As others reach it.
    pub address: String,
    /// It stands by to be the Monitor's.
    pub may_lead: bool,
}

pub struct Cluster {
    pub node_id: String,
    pub channels: Channels,
    pub cut_off: CutOff,
    pub registry: Option<Registry>,
    pub credentials: Option<Credentials>,
    pub renewal: Option<Renewal>,
    /// The Monitor, where it is elsewhere.
    pub monitor: Option<(Monitors, Channel)>,
    /// It does for people here what the Monitor does elsewhere.
    stands_by: bool,
    pub node_port: Option<(NodePort, TcpListener)>,
    /// Of the node port, as it is told to others; empty where there is none.
    pub address: String,
    pub listens_at: Option<SocketAddr>,
    /// Where the roots that the nodes trust are written to.
    pub roots_file: PathBuf,
}

/// The directory in which a process with these roles keeps its identity: processes of other roles may use the same data
/// directory at the same time.
pub fn identity_dir(data: &DataDir, roles: &BTreeSet<&'static str>) -> PathBuf {
    let name = match roles.contains(Role::Monitor.name()) {
        true => Role::Monitor.name().to_owned(),
        false => roles.iter().copied().collect::<Vec<_>>().join("+"),
    };
    data.root().join(IDENTITY_DIR).join(name)
}

/// A shared frontier for a command that is the Monitor for a while, under the name of this directory: whoever comes back under
/// the same name after a `kill -9` need not wait until the one that is gone is taken for dead.
pub async fn own_frontier(
    config: &FrontierConfig,
    data: &DataDir,
    roles: &BTreeSet<&'static str>,
) -> Result<Option<Owned>> {
    let known = || OwnIdentity::load(&identity_dir(data, roles)).map_err(Failure::failed);
    if known()?.is_none()
        && let Some(owned) = frontier::own(config, &frontier::no_node()).await?
    {
        let opened = open_books(data, roles, Some(owned.ownership.shelf())).await;
        owned.release().await;
        opened?;
    }
    match known()? {
        Some(own) => frontier::own(config, own.node.as_str()).await,
        // The frontier is on the disk.
        None => Ok(None),
    }
}

impl Cluster {
    pub async fn open(
        roles: &BTreeSet<&'static str>,
        data: &DataDir,
        place: Place,
        advertise: Option<&str>,
        shelf: Option<Arc<dyn Shelf>>,
    ) -> Result<Self> {
        let mut registry = None;
        let mut renewal = None;
        if roles.contains(Role::Monitor.name()) {
            let (books, own) = open_books(data, roles, shelf).await?;
            registry = Some(books);
            renewal = Some(own);
        }
        let stands_by = place.may_lead() && registry.is_none();
        let (mut monitor, mut listener, mut address) = (None, None, String::new());
        match place {
            Place::Alone => {}
            Place::Monitor { listen } => {
                let bound = listen_for_nodes(listen).await?;
                let local = bound.local_addr().map_err(Failure::failed)?;
                address = advertised(advertise, local);
                listener = Some(bound);
            }
            Place::Leading { listener: bound, address: known } => (listener, address) = (Some(bound), known),
            Place::Node(joined) => {
                let credentials = Credentials::new(&joined.own).map_err(Failure::failed)?;
                renewal = Some(Renewal { own: joined.own, directory: joined.identity, credentials });
                (listener, address) = (Some(joined.listener), joined.address);
                monitor = Some(joined.monitors);
            }
        }
        let credentials = renewal.as_ref().map(|renewal: &Renewal| renewal.credentials.clone());
        let node_id = renewal.as_ref().map_or_else(|| ALONE.to_owned(), |renewal| renewal.own.node.to_string());
        let mut cluster = Self {
            node_id,
            channels: Channels::default(),
            cut_off: CutOff::default(),
            registry,
            credentials,
            renewal,
            monitor: None,
            stands_by,
            node_port: None,
            address,
            listens_at: None,
            roots_file: data.root().join(ROOTS_FILE),
        };
        if let Some((credentials, listener)) = cluster.credentials.clone().zip(listener) {
            cluster.open_to_others(credentials, listener, monitor);
        }
        Ok(cluster)
    }

    fn open_to_others(&mut self, credentials: Credentials, listener: TcpListener, monitor: Option<Monitors>) {
        let members = Arc::<Members>::default();
        let dialer = Dialer::new(credentials.clone(), self.cut_off.clone());
        self.monitor = monitor.map(|monitors| {
            let channel = dialer.channel_to_monitor(&monitors);
            (monitors, channel)
        });
        self.channels = Channels::new(members.clone(), dialer);
        self.listens_at = listener.local_addr().ok();
        let port = NodePort { credentials, cut_off: self.cut_off.clone(), members };
        self.node_port = Some((port, listener));
    }

    /// What somebody at the user port asks of tiers that are not here.
    pub fn forwarding(&self, roles: &BTreeSet<&'static str>, own_log: Option<String>) -> Forwarding {
        let (channels, filesavers) = (self.channels.clone(), self.channels.filesavers().clone());
        let elsewhere = |role: Role| {
            let channel = (!roles.contains(role.name())).then(|| self.channels.channel(role.name())).flatten();
            channel.map(|channel| (role, channel))
        };
        let (indexer, query) = (elsewhere(Role::Indexer), elsewhere(Role::Query));
        let to = move |tier: &Option<(Role, Channel)>| match tier {
            None => Way::Here,
            Some((role, channel)) if channels.has(role.name()) => Way::To(channel.clone()),
            Some((role, _)) => Way::Nowhere(nobody_runs(*role)),
        };
        let monitor = self.monitor.as_ref().filter(|_| self.stands_by).map(|(_, channel)| channel.clone());
        Forwarding::new(move |path, log| {
            if let Some(monitor) = monitor.as_ref().filter(|_| path.starts_with("/seine.monitor.v1.Admin/")) {
                return Way::To(monitor.clone());
            }
            if path.starts_with("/seine.indexer.") {
                return to(&indexer);
            }
            if path.starts_with("/seine.query.") {
                return to(&query);
            }
            if !path.starts_with("/seine.filesaver.")
                || (log.is_none() && own_log.is_some())
                || log == own_log.as_deref()
            {
                return Way::Here;
            }
            let known = filesavers.all();
            match log {
                Some(log) => match known.get(log) {
                    Some(route) => Way::To(route.channel.clone()),
                    None => Way::Nowhere(Status::unavailable(format!("the filesaver with log {log} does not run"))),
                },
                None => match known.into_values().next() {
                    Some(route) => Way::To(route.channel),
                    None => Way::Nowhere(nobody_runs(Role::Filesaver)),
                },
            }
        })
    }
}

fn nobody_runs(role: Role) -> Status {
    let name = role.name();
    Status::unavailable(format!("no node runs the {name}; start one with `seine node --roles {name} --join ADDR`"))
}

/// The Monitor's, from the disk or from the shelf beside a frontier that belongs to this process.
pub async fn open_books(
    data: &DataDir,
    roles: &BTreeSet<&'static str>,
    shelf: Option<Arc<dyn Shelf>>,
) -> Result<(Registry, Renewal)> {
    let (authority, directory) = (data.root().join(AUTHORITY_DIR), identity_dir(data, roles));
    let names = roles.iter().map(|role| (*role).to_owned()).collect();
    let of_monitor = directory.clone();
    let opened = frontier::blocking(move || {
        let registry = match shelf {
            Some(shelf) => Registry::open_shared(&authority, shelf, Clock::System)?,
            None => Registry::open(&authority, Clock::System)?,
        };
        let own = registry.with(|registrar, now| registrar.own_identity(&of_monitor, &names, now))?;
        Ok::<_, RegistrarError>((registry, own))
    });
    let (registry, own) = opened.await.map_err(Failure::failed)?;
    let credentials = Credentials::new(&own).map_err(Failure::failed)?;
    write_roots(&registry, &data.root().join(ROOTS_FILE))?;
    Ok((registry, Renewal { own, directory, credentials }))
}

/// For those who ask from other machines.
pub fn write_roots(registry: &Registry, path: &Path) -> Result<()> {
    let roots = registry.look(|registrar, now| registrar.trusted_roots_pem(now));
    seine_common::data_dir::write_atomically(path, roots.as_bytes(), 0o644)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
}

/// A second server on the same machine gets a port of its own, unless it was told which.
async fn listen_for_nodes(listen: Option<SocketAddr>) -> Result<TcpListener> {
    if let Some(address) = listen {
        return Ok(transport::listen(address).await?);
    }
    let usual: SocketAddr = DEFAULT_LISTEN.parse().expect("it is an address");
    match transport::listen(usual).await {
        Ok(listener) => Ok(listener),
        Err(error) => {
            let listener = transport::listen(SocketAddr::new(usual.ip(), 0)).await?;
            let address = listener.local_addr().map_err(Failure::failed)?;
            tracing::warn!("{error} Nodes join at {address} instead; --listen chooses another address.");
            Ok(listener)
        }
    }
}

/// Where others reach a server that may be the Monitor, which a standby on another machine must be able to.
pub async fn door_of_server(
    listen: Option<SocketAddr>,
    advertise: Option<&str>,
    store: &RedisSettings,
) -> Result<Door> {
    let listener = listen_for_nodes(listen).await?;
    let mut reached = listener.local_addr().map_err(Failure::failed)?;
    // It listens everywhere: others reach it as the store does, unless that is on this machine.
    if reached.ip().is_unspecified()
        && let Some(ip) = node::own_address(&store.nodes[0]).await.filter(|ip| !ip.is_loopback())
    {
        reached.set_ip(ip);
    }
    Door::new(listener, advertised(advertise, reached))
}

/// The address as others are told: a name without a port gets that of the listener.
pub fn advertised(advertise: Option<&str>, local: SocketAddr) -> String {
    match advertise {
        Some(name) if name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) => name.to_owned(),
        Some(name) => format!("{name}:{}", local.port()),
        None => local.to_string(),
    }
}
