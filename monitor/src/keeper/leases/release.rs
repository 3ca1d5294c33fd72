//! Taking a host back: returned by its collector, or expired because that is gone or cut off. Also what happens to a lease
//! while it lives: renewal, robots.txt.

use seine_proto::monitor::v1::{Heartbeat, Renewed, ReturnLease, RobotsFound, monitor_message::Message};

use crate::Result;
use crate::crawl::MAX_DELAY_MS;
use crate::frontier::PARKED;
use crate::keeper::Keeper;
use crate::lease::table::{ActiveLease, SessionId};
use crate::politeness;
use crate::record::{HostRecord, Trouble};

/// A tick that comes so late says that the whole process was stopped, or its disk.
const STANDSTILL_MS: i64 = 1_000;
/// How long a host waits that found its address busy.
const ADDRESS_BUSY_MS: i64 = 1_000;

impl Keeper {
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
    pub(super) fn give_up(&mut self, lease: &ActiveLease) -> Result<()> {
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

    /// Time in which the keeper did not run counts against nobody: renewals may wait to be read. Leases that end later than
    /// they might endanger nothing, since collectors end them by their own clocks.
    pub(crate) fn forgive_standstill(&mut self, late_ms: i64) {
        if late_ms < STANDSTILL_MS {
            return;
        }
        tracing::warn!(seconds = late_ms / 1000, "the monitor stood still; leases are left to collectors for longer");
        for lease in self.leases.iter_mut() {
            lease.expires_ms += late_ms;
        }
        for collector in self.collectors.values_mut() {
            collector.heard_ms += late_ms;
        }
    }

    pub(crate) fn expire_leases(&mut self) -> Result<()> {
        for token in self.leases.expired(self.clock.monotonic_ms()) {
            let Some(lease) = self.leases.remove(token) else { continue };
            tracing::warn!(host = lease.host.as_str(), lease = token, "lease expired");
            metrics::counter!("seine_monitor_leases_expired_total").increment(1);
            self.give_up(&lease)?;
            // Who says nothing is not there, whatever its connection says.
            let silent = lease.session.filter(|session| self.collectors.get(session).is_some_and(|c| c.is_silent));
            if let Some(session) = silent {
                self.lose_collector(session);
            }
        }
        Ok(())
    }

    pub(crate) fn renew(&mut self, session: SessionId, heartbeat: &Heartbeat) -> Result<()> {
        if let Some(collector) = self.collectors.get_mut(&session) {
            (collector.memory_bytes, collector.load) = (heartbeat.memory_bytes, heartbeat.load);
        }
        let until = self.lease_lasts_until()?;
        let mut tokens = Vec::new();
        for &token in &heartbeat.tokens {
            if let Some(lease) = self.leases.held_by(token, session) {
                lease.expires_ms = until;
                tokens.push(token);
            }
        }
        self.send(session, Message::Renewed(Renewed { tokens }));
        Ok(())
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
