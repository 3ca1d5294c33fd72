//! The active leases, in memory. Their number is bounded by the collectors' credit.

use std::collections::HashMap;
use std::net::IpAddr;

use seine_common::address::AddressKey;
use seine_common::host::HostKey;

use super::watch::LeaseWatch;
use crate::record::{CrawlId, LeaseRecord};

/// One attached stream of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

/// The process that a lease was given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub collector: String,
    /// Tells processes under the same id apart.
    pub instance: u64,
    /// In the Monitor's own process, and gone when that is.
    pub embedded: bool,
}

#[derive(Clone, Debug)]
pub struct ActiveLease {
    pub token: u64,
    pub crawl: CrawlId,
    pub host: HostKey,
    pub holder: Holder,
    /// `None` after the collector's stream broke, or when it has not come back since the Monitor started.
    pub session: Option<SessionId>,
    /// On the monotonic clock: from then on the collector has no connection to the host.
    pub expires_ms: i64,
    /// Wall-clock time before which the collector may not start.
    pub rests_until_ms: i64,
    /// Between two requests to the host, as far as known.
    pub delay_ms: i64,
    /// Requests that may be made before a general pause; `None` when there is none.
    pub request_allowance: Option<u32>,
    /// New pages that may be saved; `None` for no limit.
    pub allowance: Option<u64>,
    pub saved: u64,
    pub settled: u64,
    /// The address that the collector was allowed to use.
    pub address: Option<IpAddr>,
    /// That address lies in a network that the crawl allows by name.
    pub allowed_by_name: bool,
    /// The host's address had no room for it.
    pub address_busy: bool,
    pub revoked: bool,
    /// Only address and robots.txt are to be found out.
    pub prepares: bool,
    /// The settings it was granted under.
    pub settings_generation: u32,
    pub watch: LeaseWatch,
}

#[derive(Debug, Default)]
pub struct LeaseTable {
    leases: HashMap<u64, ActiveLease>,
}

impl LeaseTable {
    pub fn insert(&mut self, lease: ActiveLease) {
        self.leases.insert(lease.token, lease);
    }

    pub fn remove(&mut self, token: u64) -> Option<ActiveLease> {
        self.leases.remove(&token).inspect(|lease| lease.watch.ended())
    }

    pub fn iter(&self) -> impl Iterator<Item = &ActiveLease> {
        self.leases.values()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut ActiveLease> {
        self.leases.values_mut()
    }

    pub fn get(&self, token: u64) -> Option<&ActiveLease> {
        self.leases.get(&token)
    }

    /// The lease, if this stream holds it: the fence against messages under old tokens.
    pub fn held_by(&mut self, token: u64, session: SessionId) -> Option<&mut ActiveLease> {
        self.leases.get_mut(&token).filter(|lease| lease.session == Some(session))
    }

    pub fn of_crawl(&self, crawl: CrawlId) -> impl Iterator<Item = &ActiveLease> {
        self.iter().filter(move |lease| lease.crawl == crawl)
    }

    pub fn of_holder(&self, holder: &Holder) -> impl Iterator<Item = &ActiveLease> {
        self.iter().filter(move |lease| lease.holder == *holder)
    }

    pub fn at(&self, address: AddressKey) -> impl Iterator<Item = &ActiveLease> {
        self.iter().filter(move |lease| lease.address.map(AddressKey::of) == Some(address))
    }

    /// Pages that active leases of the crawl may still save.
    pub fn outstanding_pages(&self, crawl: CrawlId) -> u64 {
        self.of_crawl(crawl).filter_map(|lease| Some(lease.allowance?.saturating_sub(lease.saved))).sum()
    }

    pub fn expired(&self, monotonic_ms: i64) -> Vec<u64> {
        self.iter().filter(|lease| lease.expires_ms <= monotonic_ms).map(|lease| lease.token).collect()
    }
}

impl ActiveLease {
    pub fn record(&self) -> LeaseRecord {
        LeaseRecord {
            token: self.token,
            crawl: self.crawl.0,
            host: self.host.as_str().to_owned(),
            collector: self.holder.collector.clone(),
            embedded: self.holder.embedded,
            address: self.address.map(|address| address.to_string()).unwrap_or_default(),
            request_allowance: self.request_allowance.unwrap_or(0),
            allowed_by_name: self.allowed_by_name,
            page_allowance: self.allowance.unwrap_or(0),
            prepares: self.prepares,
            settings_generation: self.settings_generation,
            instance: self.holder.instance,
        }
    }
}
