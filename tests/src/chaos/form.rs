//! How large a run is: hosts, pages and how fast they may be asked for, and which faults come.

use std::time::Duration;

use super::plan::Fault;
use crate::FakeWebConfig;

#[derive(Debug, Clone)]
pub struct Form {
    pub hosts: usize,
    /// Of each host, besides its `/`.
    pub pages: u32,
    pub latency: Duration,
    pub delay: Duration,
    /// What the robots.txt of each fourth host asks for.
    pub crawl_delay: Duration,
    /// What happens, in an order and at moments that the seed chooses.
    pub faults: Vec<Fault>,
    /// For how long a Monitor that is stopped stands still, at least until another leads and a little longer.
    pub stands_still: Duration,
    /// Nothing may take longer than this: neither the way to the next fault nor the end.
    pub deadline: Duration,
}

/// Every how many hosts one asks for a longer delay.
const SLOW_EVERY: usize = 4;

const EACH_ONCE: [Fault; 6] = [
    Fault::KillCollector,
    Fault::AddCollector,
    Fault::KillAnalyser,
    Fault::RestartFilesaver,
    Fault::KillIndexer,
    Fault::RestartMonitor,
];

/// What may happen where the frontier lies in a store and two may be the Monitor.
const OVER_STORE: [Fault; 4] = [Fault::KillStoreMaster, Fault::KillMonitor, Fault::StopMonitor, Fault::MoveSlots];

impl Form {
    /// Long delays and few pages: it lasts as long as leases take to end, and costs little meanwhile.
    pub fn small(cut: Fault) -> Self {
        Self {
            hosts: 24,
            pages: 15,
            latency: Duration::from_millis(50),
            delay: Duration::from_millis(1_500),
            crawl_delay: Duration::from_millis(2_000),
            faults: EACH_ONCE.into_iter().chain([cut]).collect(),
            stands_still: Duration::ZERO,
            deadline: Duration::from_secs(120),
        }
    }

    /// Of 20,000 pages and more, with both ways of cutting a collector off.
    pub fn whole() -> Self {
        Self {
            hosts: 200,
            pages: 100,
            latency: Duration::from_millis(50),
            delay: Duration::from_millis(100),
            crawl_delay: Duration::from_millis(200),
            faults: EACH_ONCE.into_iter().chain([Fault::StopCollector, Fault::SeverCollector]).collect(),
            stands_still: Duration::ZERO,
            deadline: Duration::from_secs(1_200),
        }
    }

    pub fn small_over_store() -> Self {
        Self { hosts: 30, pages: 20, faults: OVER_STORE.to_vec(), ..Self::small(Fault::StopMonitor) }
    }

    /// With delays that let it outlast a Monitor that stands still for a minute.
    pub fn whole_over_store() -> Self {
        Self {
            delay: Duration::from_millis(1_000),
            crawl_delay: Duration::from_millis(2_000),
            faults: OVER_STORE.to_vec(),
            stands_still: Duration::from_secs(60),
            ..Self::whole()
        }
    }

    pub fn web(&self) -> FakeWebConfig {
        let small = FakeWebConfig::small(self.pages).with_port_hosts(self.hosts);
        let mut config = FakeWebConfig { cross_host_links: 3, latency: self.latency, ..small };
        for host in config.hosts.iter_mut().step_by(SLOW_EVERY) {
            host.crawl_delay = Some(self.crawl_delay.as_secs_f64());
        }
        config
    }

    /// What this host may expect between two requests, once its robots.txt is known.
    pub fn delay_of(&self, host: usize) -> Duration {
        if host.is_multiple_of(SLOW_EVERY) { self.delay.max(self.crawl_delay) } else { self.delay }
    }

    pub fn pages_in_all(&self) -> u64 {
        self.hosts as u64 * (u64::from(self.pages) + 1)
    }

    /// With robots.txt of every host.
    pub fn requests(&self) -> u64 {
        self.pages_in_all() + self.hosts as u64
    }
}
