//! Taking a host back: returned by its collector, expired, or lost with the collector. Also what happens to a lease while
//! it lives: renewal, robots.txt.

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Heartbeat, Renewed, ReturnLease, RobotsFound, monitor_message::Message};

use super::table::{ActiveLease, SessionId};
use crate::crawl::MAX_DELAY_MS;
use crate::frontier::record::{HostRecord, LeaseRecord};
use crate::frontier::{CrawlId, PARKED, Result};
use crate::keeper::Keeper;
use crate::politeness::{self, Trouble};

/// How long a host waits that found its address busy.
const ADDRESS_BUSY_MS: i64 = 1_000;

impl Keeper {
    /// At start: a lease of a process that is gone is over, but its last request may be a moment old. A collector in
    /// another process may still be at work until its lease has surely expired.
    pub(crate) fn take_back_leases_of_the_past(&mut self) -> Result<()> {
        let lasts = (self.config.lease + self.config.request_timeout).as_millis() as i64;
        for record in self.frontier.leases()? {
            let lease = self.lease_of_the_past(&record, self.clock.monotonic_ms() + lasts)?;
            if record.embedded {
                self.give_up(&lease)?;
            } else {
                self.leases.insert(lease);
            }
        }
        Ok(())
    }

    fn lease_of_the_past(&self, record: &LeaseRecord, expires_ms: i64) -> Result<ActiveLease> {
        let host = HostKey::from_stored(record.host.clone());
        let crawl = CrawlId(record.crawl);
        let asks_ms = self.frontier.host(&host)?.crawl_delay_ms;
        Ok(ActiveLease {
            token: record.token,
            crawl,
            session: None,
            expires_ms,
            rests_until_ms: 0,
            delay_ms: self.pace(crawl, &host, asks_ms)?.map_or(0, |pace| pace.delay_ms),
            request_allowance: Some(record.request_allowance).filter(|allowance| *allowance > 0),
            allowance: None,
            saved: 0,
            settled: 0,
            address: record.address.parse().ok(),
            allowed_by_name: record.allowed_by_name,
            address_busy: false,
            revoked: true,
            prepares: false,
            host,
        })
    }

    pub(crate) fn take_back(&mut self, session: SessionId, returned: &ReturnLease) -> Result<()> {
        if self.leases.held_by(returned.token, session).is_none() {
            return Ok(());
        }
        let Some(lease) = self.leases.remove(returned.token) else { return Ok(()) };
        let now = self.clock.now_ms();
        let mut record = self.frontier.host(&lease.host)?;
        self.free(&mut record, now);
        // Without a request robots.txt was not read either, and what is known of it still holds.
        let obeys_robots = self.crawls.get(&lease.crawl).is_some_and(|crawl| !crawl.record.settings.ignore_robots());
        if returned.since_last_request_ms.is_some() && obeys_robots {
            record.crawl_delay_ms = returned.crawl_delay_ms;
        }
        if lease.prepares && !lease.address_busy {
            record.prepared_at_ms = now;
        }
        if let Some(pace) = self.pace(lease.crawl, &lease.host, record.crawl_delay_ms)? {
            let next = politeness::after_return(now, returned.since_last_request_ms, pace.delay_ms);
            let slowness = i64::from(returned.rest_ms.min(MAX_DELAY_MS));
            record.rest_until(next.max(now + slowness), Trouble::None);
            pace.count_requests(&mut record, returned.requests, now);
            self.count_at_address(&lease, pace, returned.requests, now)?;
        }
        self.frontier.release(lease.token, &record)?;
        let wait = if lease.address_busy { now + ADDRESS_BUSY_MS } else { now };
        self.put_back(&lease, record.next_allowed_ms.max(wait))
    }

    /// The host has no lease any more. A rest that is over, or that no clock can have meant, is forgotten.
    fn free(&self, record: &mut HostRecord, now: i64) {
        record.lease_token = 0;
        record.next_allowed_ms = politeness::clamp(now, record.next_allowed_ms);
        if record.next_allowed_ms <= now {
            record.set_trouble(Trouble::None);
        }
    }

    fn put_back(&mut self, lease: &ActiveLease, ready_ms: i64) -> Result<()> {
        let ready_ms = if self.block_of(&lease.host)?.is_some() { PARKED } else { ready_ms };
        self.frontier.requeue_host(lease.crawl, &lease.host, ready_ms)?;
        self.empty_if_full(lease.crawl, &lease.host)?;
        self.grant_soon();
        self.finish_if_done(lease.crawl)
    }

    /// The collector is gone or silent: whatever it did last, one full delay from now is late enough.
    fn give_up(&mut self, lease: &ActiveLease) -> Result<()> {
        let now = self.clock.now_ms();
        let mut record = self.frontier.host(&lease.host)?;
        self.free(&mut record, now);
        record.rest_until(politeness::after_loss(now, lease.delay_ms), Trouble::None);
        // It may have made all the requests that it was allowed.
        if let (Some(pace), Some(allowed)) =
            (self.pace(lease.crawl, &lease.host, record.crawl_delay_ms)?, lease.request_allowance)
        {
            pace.count_requests(&mut record, allowed, now);
            self.count_at_address(lease, pace, allowed, now)?;
        }
        self.frontier.release(lease.token, &record)?;
        self.put_back(lease, record.next_allowed_ms)
    }

    pub(crate) fn expire_leases(&mut self) -> Result<()> {
        for token in self.leases.expired(self.clock.monotonic_ms()) {
            let Some(lease) = self.leases.remove(token) else { continue };
            tracing::warn!(host = lease.host.as_str(), lease = token, "lease expired");
            metrics::counter!("seine_monitor_leases_expired_total").increment(1);
            self.give_up(&lease)?;
        }
        Ok(())
    }

    /// A collector in this process cannot be at work any more; one in another may be, until its leases expire.
    pub(crate) fn lose_collector(&mut self, session: SessionId) -> Result<()> {
        let embedded = self.collectors.remove(&session).is_some_and(|collector| {
            tracing::info!(collector = collector.id, "collector detached");
            collector.embedded
        });
        let held: Vec<u64> = self.leases.iter().filter(|l| l.session == Some(session)).map(|l| l.token).collect();
        for token in held {
            if embedded {
                if let Some(lease) = self.leases.remove(token) {
                    self.give_up(&lease)?;
                }
            } else if let Some(lease) = self.leases.held_by(token, session) {
                lease.session = None;
                lease.revoked = true;
            }
        }
        Ok(())
    }

    pub(crate) fn renew(&mut self, session: SessionId, heartbeat: &Heartbeat) {
        if let Some(collector) = self.collectors.get_mut(&session) {
            (collector.memory_bytes, collector.load) = (heartbeat.memory_bytes, heartbeat.load);
        }
        let until = self.clock.monotonic_ms()
            + self.config.lease.as_millis() as i64
            + self.config.request_timeout.as_millis() as i64;
        let mut tokens = Vec::new();
        for &token in &heartbeat.tokens {
            if let Some(lease) = self.leases.held_by(token, session) {
                lease.expires_ms = until;
                tokens.push(token);
            }
        }
        self.send(session, Message::Renewed(Renewed { tokens }));
    }

    pub(crate) fn keep_robots(&mut self, session: SessionId, found: RobotsFound) -> Result<()> {
        match (self.leases.held_by(found.token, session), found.robots) {
            (Some(lease), Some(robots)) => {
                let (crawl, host) = (lease.crawl, lease.host.clone());
                self.frontier.put_robots(&host, &robots)?;
                self.queue_sitemaps(crawl, &host, &[robots])
            }
            _ => Ok(()),
        }
    }
}
