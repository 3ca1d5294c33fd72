//! The tier that fetches.
//!
//! A lease arrives over the [`link`] to the Monitor and gets a [`host_worker`], which picks URLs in the order of the
//! crawl's [`strategy`], obeys the host's [`robots`] and pace, [`resolve`]s and checks its address, and [`fetch`]es.
//! Pages go on to the analysers ([`deliver`]); their links and outcomes go back up the link. The [`gate`] bounds all
//! hosts together; the [`link_memory`] keeps known links from travelling again.
//!
//! Not responsible for: what is new, and who may fetch from which host when. That is the Monitor's.

pub mod link;
pub mod host_worker;
pub mod strategy;
pub mod robots;
pub mod resolve;
pub mod fetch;
pub mod gate;
pub mod deliver;
pub mod link_memory;
pub mod backoff;
pub mod metrics;

use std::sync::Arc;
use std::time::Duration;

use seine_node::health::Reporter;
use seine_node::limits::{Bandwidth, Limit, Limits};
use seine_node::membership::Analysers;
use seine_node::transport::Channel;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::backoff::Backoff;
use crate::fetch::http::Http;
use crate::gate::Gate;
use crate::host_worker::driver::Tools;
use crate::link::{Link, LinkEnd};
use crate::link_memory::LinkMemory;
use crate::resolve::{ResolveError, Resolver};

#[derive(Clone, Debug)]
pub struct CollectorConfig {
    /// Names this collector to the Monitor.
    pub id: String,
    /// In the Monitor's own process.
    pub embedded: bool,
    /// How many hosts are worked on at once.
    pub hosts: Arc<Limit>,
    /// Bytes that may be received.
    pub bandwidth: Arc<Bandwidth>,
    /// New hosts prepared at once, besides.
    pub max_preparations: u32,
    /// Requests under way at once, over all hosts.
    pub max_in_flight: usize,
    /// Bodies that are alive at once, from their first byte until they are saved.
    pub body_bytes: usize,
    pub connect_timeout: Duration,
    /// From the start of a request to the last byte of its answer.
    pub request_timeout: Duration,
    /// Redirects, errors and answers for robots.txt go to the archive too.
    pub keeps_answers: bool,
}

impl Default for CollectorConfig {
    fn default() -> Self {
        Self {
            id: "collector".to_owned(),
            embedded: false,
            hosts: Limits::new(1).hosts,
            bandwidth: Arc::default(),
            max_preparations: 64,
            max_in_flight: 128,
            body_bytes: 32 << 20,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            keeps_answers: false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error("cannot set up HTTPS: {0}")]
    Tls(String),
    #[error("the delivery of pages to the analysers ended{}", .0.as_ref().map(|error| format!(": {error}")).unwrap_or_default())]
    Delivery(Option<JoinError>),
}

/// Fetches for a Monitor.
pub struct Collector {
    config: CollectorConfig,
    monitor: Channel,
    analysers: Analysers,
    health: Reporter,
}

impl Collector {
    /// All analysers are used at once, and whoever joins them.
    pub fn new(config: CollectorConfig, monitor: Channel, analysers: Analysers) -> Self {
        Self { config, monitor, analysers, health: Reporter::default() }
    }

    /// Says to the reporter whether pages can be delivered.
    pub fn reporting_to(self, health: Reporter) -> Self {
        Self { health, ..self }
    }

    /// Works until told to stop: then starts nothing more, lets requests end, settles, returns leases, and ends.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), CollectorError> {
        metrics::describe();
        let gate = Gate::new(self.config.max_in_flight, self.config.body_bytes).within(self.config.bandwidth.clone());
        let (delivery, courier) = deliver::delivery(self.analysers, gate.clone(), self.health);
        let tools = Arc::new(Tools {
            http: Http::new(self.config.connect_timeout)?.counting(self.config.bandwidth.clone()),
            resolver: Resolver::new(Vec::new())?,
            gate,
            delivery,
            memory: LinkMemory::default(),
            request_timeout: self.config.request_timeout,
            keeps_answers: self.config.keeps_answers,
        });
        // Pages still on their way are settled before the courier may stop.
        let all_settled = CancellationToken::new();
        let mut courier = AbortOnDropHandle::new(tokio::spawn(courier.run(all_settled.clone())));
        tokio::select! {
            () = attend_forever(&self.config, &self.monitor, &tools, &shutdown) => {}
            ended = &mut courier => return Err(CollectorError::Delivery(ended.err())),
        }
        all_settled.cancel();
        courier.await.map_err(|error| CollectorError::Delivery(Some(error)))
    }
}

/// Between two attempts to reach the Monitor: one that has restarted is to be back soon.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

async fn attend_forever(config: &CollectorConfig, monitor: &Channel, tools: &Arc<Tools>, shutdown: &CancellationToken) {
    let mut backoff = Backoff::between(SHORTEST_PAUSE, LONGEST_PAUSE);
    let mut link = Link::new(config, tools.clone());
    while !shutdown.is_cancelled() {
        let end = link.attend(monitor.clone(), shutdown, || backoff.succeeded()).await;
        match end {
            LinkEnd::Shutdown => return,
            LinkEnd::Goodbye | LinkEnd::Broken(_) => tracing::info!(reason = %end, "attaching to the monitor again"),
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.pause()) => {}
            () = shutdown.cancelled() => return,
        }
    }
}
