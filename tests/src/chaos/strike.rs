//! What a collector had in hand when it was struck: the only pages that may be fetched twice.
//!
//! A page is in flight from the request for it until the Monitor has settled it, which it has durably before anybody is told.
//! So right after a collector is killed, stopped or cut off, the Monitor is asked for each host: who has it, and how many
//! of its pages are settled. From a collector that is struck nothing more comes, and nobody else is given its hosts until its
//! leases are over, many seconds later; so the answer is exact for these hosts. Pages asked for there and not settled are in
//! flight, and nothing else is, at no other host. Read a moment too early, an answer counts fewer pages as settled and excuses
//! more, never less. It is asked a second time a little later, when those have come back to a restarted Monitor that were not
//! struck at all.
//!
//! A collector that is cut off goes on until its leases end, which is a little before anybody else gets its hosts. What it asks
//! for then is known by the connection that it has to a host; see [`record`](super::record).

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use seine_proto::monitor::v1::admin_client::AdminClient;
use seine_proto::monitor::v1::{GetHostRequest, HostLease};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tonic::Request;

use super::cluster::Cluster;
use crate::FakeWeb;

/// How long a lease is good for that was renewed a moment ago.
pub const LEASE: Duration = Duration::from_secs(15);
/// For how long after a kill the web may read what had left before; far less than a lease, so nobody else is there yet.
const ON_THE_WAY: Duration = Duration::from_secs(5);

/// What is left of it at least when its collector is struck, which renews it every three seconds.
const LEASE_LEFT: Duration = Duration::from_secs(10);
/// How long collectors take to find a Monitor that was restarted.
const COMES_BACK: Duration = Duration::from_secs(2);

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
    /// Names the lease under which it was held.
    pub token: u64,
    pub settled: u64,
    pub robots: bool,
}

/// The hosts that it held, read when others had come back; `None` when the Monitor did not answer.
pub type SecondAnswer = JoinHandle<Option<BTreeMap<String, Known>>>;

#[derive(Debug)]
pub struct Strike {
    pub at: Instant,
    /// Until then requests may have come from the struck collector.
    pub until: Instant,
    /// The hosts that it held.
    pub hosts: BTreeMap<String, Known>,
    /// Whether all of them are surely its own, or of one that was struck before.
    pub is_sure: bool,
}

/// Asks the Monitor which of these hosts the struck collector has.
#[derive(Debug, Clone)]
struct Question {
    address: String,
    token: String,
    collector: String,
    hosts: Vec<String>,
}

impl Question {
    async fn ask(&self) -> Result<BTreeMap<String, Known>, Box<dyn Error + Send + Sync>> {
        let mut admin = AdminClient::connect(self.address.clone()).await?;
        let mut held = BTreeMap::new();
        for host in &self.hosts {
            let mut request = Request::new(GetHostRequest { host: host.clone() });
            request.metadata_mut().insert("authorization", format!("Bearer {}", self.token).parse()?);
            let answer = admin.get_host(request).await?.into_inner();
            // Nobody is named while the holder is away: this one, or one that was struck before, or one that has not come back
            // to a restarted Monitor yet.
            let lease = answer.lease.filter(|lease| lease.collector.is_empty() || lease.collector == self.collector);
            if let Some(HostLease { token, .. }) = lease {
                let settled = answer.crawls.iter().map(|crawl| crawl.pages).sum();
                held.insert(host.clone(), Known { token, settled, robots: !answer.robots.is_empty() });
            }
        }
        Ok(held)
    }
}

impl Strike {
    /// To be called when the collector has been struck. The second answer, which is better and comes later, is for
    /// [`Strike::correct`].
    pub async fn note(
        cluster: &Cluster,
        collector: &str,
        web: &FakeWeb,
        at: Instant,
        after: After,
    ) -> (Self, SecondAnswer) {
        let (address, token) = cluster.admin();
        let hosts = (0..web.config().hosts.len()).map(|number| web.host_addr(number).to_string()).collect();
        let mut question = Question { address, token, collector: collector.to_owned(), hosts };
        let hosts = question.ask().await.expect("the Monitor answers");
        assert!(at.elapsed() < LEASE, "asking took {:?}; hosts may have gone elsewhere meanwhile", at.elapsed());
        let until = match after {
            After::Silent => at + ON_THE_WAY,
            After::Works => at + LEASE,
        };
        question.hosts = hosts.keys().cloned().collect();
        let again = tokio::spawn(async move {
            sleep(COMES_BACK).await;
            let answer = question.ask().await.ok();
            answer.filter(|_| at.elapsed() < LEASE_LEFT)
        });
        (Self { at, until, hosts, is_sure: false }, again)
    }

    /// Leaves out hosts of those who have come back. Without an answer, because the Monitor was killed meanwhile, nothing
    /// changes.
    pub async fn correct(&mut self, again: SecondAnswer) {
        if let Some(hosts) = again.await.expect("asking does not panic") {
            (self.hosts, self.is_sure) = (hosts, true);
        }
    }

    /// Leaves out what one that was struck before still held.
    pub fn leave_out(&mut self, before: &Strike) {
        let is_of = |host: &String, known: &Known| before.hosts.get(host).is_some_and(|held| held.token == known.token);
        if before.is_sure {
            self.hosts.retain(|host, known| !is_of(host, known));
        }
    }
}
