//! A process that may be the Monitor, where the frontier lies in a store that several machines reach.
//!
//! It runs in phases, each a [`Process`](crate::process::Process) of its own at the same addresses. *Standing by* it is a node of
//! whoever is the Monitor, with its other roles, and asks the store twice a second for the frontier. *Leading* it owns the
//! frontier and is the Monitor, with the books that lie beside it, until it is stopped or the frontier belongs to another; then it
//! stands by again. Before the first phase it has become a [member](member) of the cluster.
//!
//! Invariant: it shows a certificate with the Monitor's name only while it leads.

mod member;

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seine_common::config::{Config, RedisSettings};
use seine_common::data_dir::DataDir;
use seine_monitor::store::{Owner, Ownership, SharedStore};
use seine_node::health::Condition;
use seine_node::identity::{JoinToken, OwnIdentity};
use seine_node::joining;
use seine_node::shutdown::Shutdown;
use seine_node::telemetry::Metrics;
use seine_node::telemetry::families::forget;
use seine_node::transport::monitors::Monitors;
use tokio::time::{sleep, timeout};

use crate::End;
use crate::args::Role;
use crate::failure::{Failure, Result};
use crate::process::cluster::{Joined, Place, identity_dir};
use crate::process::frontier::{self, LOOK_EVERY, Owned};
use crate::process::{CLOSE_DEADLINE, MONITOR_DIR, Plan};
use crate::serve::Serving;

/// A phase ends for a reason: what is under way then is not worth waiting for.
const PHASE_CLOSES_WITHIN: Duration = Duration::from_secs(3);
/// When a tier ends because the frontier belongs to another, the store has said so before this.
const LOSS_IS_KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// Nobody samples them while it stands by.
const METRICS_OF_MONITOR: &str = "seine_monitor_";

/// The command line and the settings.
pub struct Candidate {
    /// The monitor among them.
    pub roles: BTreeSet<&'static str>,
    pub data: DataDir,
    pub config: Config,
    pub store: RedisSettings,
    pub grpc: SocketAddr,
    pub http: Option<SocketAddr>,
    pub metrics: Option<Metrics>,
    pub door: Door,
    pub joining: Option<Joining>,
    /// A person is told how another machine joins.
    pub invites: bool,
}

/// The node port, bound once for all phases.
pub struct Door {
    pub listener: TcpListener,
    /// As others reach it.
    pub address: String,
}

impl Door {
    pub fn new(listener: tokio::net::TcpListener, address: String) -> Result<Self> {
        Ok(Self { listener: listener.into_std().map_err(Failure::failed)?, address })
    }

    /// For one phase. Whoever connects between two of them waits for the next.
    fn open(&self) -> Result<tokio::net::TcpListener> {
        let again = self.listener.try_clone().and_then(tokio::net::TcpListener::from_std);
        again.map_err(Failure::failed)
    }
}

/// The way in, for a machine that may not be a member yet.
pub struct Joining {
    /// The Monitor's address, HOST:PORT.
    pub monitor: String,
    pub token: Option<JoinToken>,
}

struct Running {
    asked: Candidate,
    identity: PathBuf,
    store: SharedStore,
    shutdown: Shutdown,
    /// Where the last phase listened, so that the next one does.
    http: Option<SocketAddr>,
    grpc: SocketAddr,
    /// The ready line is printed once: the addresses in it stay.
    is_ready: bool,
    is_store_away: AtomicBool,
}

pub async fn run(candidate: Candidate, shutdown: Shutdown) -> Result<End> {
    let _one_process = candidate.data.lock(MONITOR_DIR)?;
    let stop = shutdown.token.clone();
    let opening = Running::open(candidate, shutdown);
    let mut running = tokio::select! {
        running = opening => running?,
        () = stop.cancelled() => return Ok(End::Interrupted),
    };
    let Some(mut own) = running.member().await? else { return Ok(End::Interrupted) };
    loop {
        let ownership = match running.try_own(&own).await {
            Some(ownership) => ownership,
            None => match running.stand_by(own).await? {
                Some(ownership) => ownership,
                None => return Ok(End::Interrupted),
            },
        };
        if !running.lead(ownership).await? {
            return Ok(End::Interrupted);
        }
        own =
            running.known()?.ok_or_else(|| Failure::failed("the identity of this node is gone from its directory"))?;
    }
}

impl Running {
    async fn open(asked: Candidate, shutdown: Shutdown) -> Result<Self> {
        let store = loop {
            match frontier::connect(asked.store.clone()).await {
                Ok(store) => break store,
                Err(failure) if failure.is_unreachable() => {
                    eprintln!("{failure}; trying again");
                    sleep(Duration::from_secs(2)).await;
                }
                Err(failure) => return Err(failure),
            }
        };
        let identity = identity_dir(&asked.data, &asked.roles);
        let (http, grpc) = (asked.http, asked.grpc);
        Ok(Self {
            asked,
            identity,
            store,
            shutdown,
            http,
            grpc,
            is_ready: false,
            is_store_away: AtomicBool::new(false),
        })
    }

    fn known(&self) -> Result<Option<OwnIdentity>> {
        OwnIdentity::load(&self.identity).map_err(Failure::failed)
    }

    /// While the store does not answer the frontier is nobody's that is known.
    async fn try_own(&self, own: &OwnIdentity) -> Option<Ownership> {
        let owned = frontier::try_own(&self.store, own.node.as_str(), &self.asked.door.address).await;
        let was_away = self.is_store_away.swap(owned.is_err(), Ordering::Relaxed);
        owned.unwrap_or_else(|failure| {
            if !was_away {
                tracing::warn!(%failure, "cannot ask the store for the frontier; trying again");
            }
            None
        })
    }

    /// Who was the Monitor last, where that is known.
    async fn owner(&self) -> Option<Owner> {
        frontier::owner(&self.store).await.ok().flatten()
    }

    /// A node of whoever is the Monitor, until the frontier belongs to this process. `None` when it is asked to stop.
    async fn stand_by(&mut self, own: OwnIdentity) -> Result<Option<Ownership>> {
        let monitors = self.monitors().await?;
        let own = match self.as_standby(own, &monitors).await {
            Begun::Standby(own) => *own,
            Begun::Owner(ownership) => return Ok(Some(ownership)),
            Begun::Stopped => return Ok(None),
        };
        let node = own.clone();
        let joined = Joined {
            own,
            identity: self.identity.clone(),
            monitors,
            listener: self.asked.door.open()?,
            address: self.asked.door.address.clone(),
            may_lead: true,
        };
        let roles = self.asked.roles.iter().copied().filter(|role| *role != Role::Monitor.name());
        let serving = self.start(roles.collect(), Place::Node(Box::new(joined)), None).await?;
        let standing = serving.process.health().reporter(Role::Monitor.name(), "standby");
        let mut is_ready = self.is_ready;
        let ended = tokio::select! {
            () = self.shutdown.token.cancelled() => Ok(None),
            failure = serving.process.failure() => Err(failure),
            refused = ready(&serving, &mut is_ready) => Err(refused),
            ownership = self.own_soon(&node, |owner| {
                let sentence = format!("the Monitor is {}", frontier::named(owner));
                eprintln!("standing by: {sentence}");
                standing.report(Condition::StandsBy(sentence));
            }) => Ok(Some(ownership)),
        };
        self.is_ready = is_ready;
        let within = if matches!(ended, Ok(Some(_))) { PHASE_CLOSES_WITHIN } else { CLOSE_DEADLINE };
        let closed = serving.end_phase(within).await;
        match ended? {
            // What has not ended well in time is cut off; the next phase begins with what is on the disk.
            Some(ownership) => Ok(Some(ownership)),
            None => closed.map(|()| None),
        }
    }

    /// A former Monitor gives up the certificate that says so, before anybody can connect to it.
    async fn as_standby(&self, mut own: OwnIdentity, monitors: &Monitors) -> Begun {
        let named = own.clone();
        let mut owned = pin!(self.own_soon(&named, |_| {}));
        while own.names_monitor() {
            let renewing = async {
                let channel = joining::channel(monitors, &own).map_err(|error| error.to_string())?;
                joining::renew(channel, &own, &self.identity).await
            };
            tokio::select! {
                () = self.shutdown.token.cancelled() => return Begun::Stopped,
                ownership = &mut owned => return Begun::Owner(ownership),
                renewed = renewing => match renewed {
                    Ok(renewed) => own = renewed,
                    Err(reason) => {
                        tracing::debug!(reason, "no certificate of a node yet");
                        sleep(LOOK_EVERY).await;
                    }
                },
            }
        }
        Begun::Standby(Box::new(own))
    }

    /// Asks for the frontier until it belongs to this process; tells whose it is meanwhile.
    async fn own_soon(&self, own: &OwnIdentity, tell: impl Fn(&Owner)) -> Ownership {
        let mut told = None;
        loop {
            if let Some(ownership) = self.try_own(own).await {
                return ownership;
            }
            let owner = self.owner().await;
            if owner != told
                && let Some(owner) = &owner
            {
                tell(owner);
            }
            told = owner.or(told);
            sleep(LOOK_EVERY).await;
        }
    }

    /// The Monitor, until the frontier belongs to another: true. False when it is asked to stop.
    async fn lead(&mut self, ownership: Ownership) -> Result<bool> {
        let owned = Owned { store: self.store.clone(), ownership: Arc::new(ownership) };
        let place = Place::Leading { listener: self.asked.door.open()?, address: self.asked.door.address.clone() };
        let started = self.start(self.asked.roles.clone(), place, Some(owned.clone())).await;
        let serving = match started {
            Ok(serving) => serving,
            Err(failure) => return self.after(failure, &owned).await,
        };
        if self.is_ready {
            eprintln!("leading: this is the Monitor now");
        }
        let mut is_ready = self.is_ready;
        let ended = tokio::select! {
            () = self.shutdown.token.cancelled() => None,
            reason = owned.ownership.lost() => Some(Failure::failed(reason)),
            failure = serving.process.failure() => Some(failure),
            refused = ready(&serving, &mut is_ready) => Some(refused),
        };
        self.is_ready = is_ready;
        let Some(failure) = ended else {
            // The frontier is free as soon as the Monitor has written what it had.
            return serving.end_phase(CLOSE_DEADLINE).await.map(|()| false);
        };
        let _ = serving.end_phase(PHASE_CLOSES_WITHIN).await;
        forget(METRICS_OF_MONITOR);
        self.after(failure, &owned).await
    }

    /// What failed because the frontier belongs to another is no failure of this process.
    async fn after(&self, failure: Failure, owned: &Owned) -> Result<bool> {
        match timeout(LOSS_IS_KNOWN_WITHIN, owned.ownership.lost()).await {
            Ok(reason) => {
                eprintln!("not the Monitor any more: {reason}");
                Ok(true)
            }
            Err(_) => {
                owned.release().await;
                Err(failure)
            }
        }
    }

    async fn start(&mut self, roles: BTreeSet<&'static str>, place: Place, owned: Option<Owned>) -> Result<Serving> {
        let plan = Plan {
            roles,
            data: self.asked.data.clone(),
            config: self.asked.config.clone(),
            grpc: self.grpc,
            place,
            owned,
            serves: true,
            metrics: self.asked.metrics.clone(),
        };
        let invites = self.asked.invites && !self.is_ready;
        let serving = Serving::start(plan, self.http, self.shutdown.token.child_token(), invites).await?;
        (self.http, self.grpc) = (Some(serving.http), serving.process.grpc);
        Ok(serving)
    }

    /// Where the Monitor may be: where the store says, where this machine joined, and where it was before.
    async fn monitors(&self) -> Result<Monitors> {
        let owner = self.owner().await.map(|owner| owner.address);
        let joined_at = self.asked.joining.as_ref().map(|joining| joining.monitor.clone());
        let kept = self.known()?.map(|own| own.joined_at);
        let first = owner.into_iter().chain(joined_at).chain(kept).filter(|address| is_reachable(address));
        Monitors::open(&self.identity, first).map_err(Failure::failed)
    }
}

/// How a phase of standing by begins.
enum Begun {
    Standby(Box<OwnIdentity>),
    Owner(Ownership),
    Stopped,
}

/// Prints the ready line, once. Returns only when the Monitor refuses this process.
async fn ready(serving: &Serving, is_ready: &mut bool) -> Failure {
    match serving.joined().await {
        Ok(()) => {
            if !std::mem::replace(is_ready, true) {
                serving.say_ready().await;
            }
            std::future::pending().await
        }
        Err(failure) => failure,
    }
}

/// An address that listens everywhere says nothing to another machine.
fn is_reachable(address: &str) -> bool {
    !address.is_empty() && !address.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_unspecified())
}
