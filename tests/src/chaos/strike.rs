//! What a collector had in hand when it was struck: the only pages that may be fetched twice.
//!
//! A page is in flight from the request for it until the Monitor has settled it, which it has durably before anybody is told.
//! So right after a collector is killed, stopped or cut off, the Monitor is asked for each host: who has it, and how many
//! of its pages are settled. From a collector that is struck nothing more comes, and nobody else is given its hosts until its
//! leases are over, many seconds later; so the answer is exact for these hosts. Pages asked for there and not settled are in
//! flight, and nothing else is, at no other host. Read a moment too early, an answer counts fewer pages as settled and excuses
//! more, never less.
//!
//! A collector that is cut off goes on until its leases end, which is a little before anybody else gets its hosts. When exactly
//! is not seen from outside, so what others ask for in the last seconds of the longest possible lease counts as its own: there
//! the number is an upper bound.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use seine_proto::monitor::v1::GetHostRequest;
use seine_proto::monitor::v1::admin_client::AdminClient;
use tonic::Request;

use super::cluster::Cluster;
use crate::FakeWeb;

/// How long a lease is good for that was renewed a moment ago.
pub const LEASE: Duration = Duration::from_secs(15);
/// For how long after a kill the web may read what had left before; far less than a lease, so nobody else is there yet.
const ON_THE_WAY: Duration = Duration::from_secs(5);

/// What a struck collector may still ask of its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Nothing but what had left.
    Silent,
    /// Until its leases are over.
    Works,
}

/// What the Monitor had of a host that the struck collector held.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub settled: u64,
    pub robots: bool,
}

#[derive(Debug)]
pub struct Strike {
    pub at: Instant,
    /// What was asked for until then may have come from the struck collector.
    pub until: Instant,
    /// The hosts that it held.
    pub hosts: BTreeMap<String, Known>,
}

impl Strike {
    /// To be called when the collector has been struck.
    pub async fn note(cluster: &Cluster, collector: &str, web: &FakeWeb, at: Instant, after: After) -> Self {
        let (address, token) = cluster.admin();
        let mut admin = AdminClient::connect(address).await.expect("the Monitor answers");
        let mut hosts = BTreeMap::new();
        for number in 0..web.config().hosts.len() {
            let host = web.host_addr(number).to_string();
            let mut request = Request::new(GetHostRequest { host: host.clone() });
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("it is text"));
            // A host of which nothing is known yet has nothing in flight.
            let Ok(answer) = admin.get_host(request).await else { continue };
            let answer = answer.into_inner();
            // Nobody is named while the holder is away: this one, or one that was struck before.
            let is_struck =
                answer.lease.is_some_and(|lease| lease.collector.is_empty() || lease.collector == collector);
            if is_struck {
                let settled = answer.crawls.iter().map(|crawl| crawl.pages).sum();
                hosts.insert(host, Known { settled, robots: !answer.robots.is_empty() });
            }
        }
        let until = match after {
            After::Silent => at + ON_THE_WAY,
            After::Works => at + LEASE,
        };
        assert!(at.elapsed() < LEASE, "asking took {:?}; hosts may have gone elsewhere meanwhile", at.elapsed());
        Self { at, until, hosts }
    }
}
