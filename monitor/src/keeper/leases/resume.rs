//! Leases over a broken stream or a restart of the Monitor: the collector shows those that it has, and goes on with them.
//!
//! A lease is durable before it is sent, so a Monitor that starts again knows all that can be held. It gives none of their
//! hosts to another before their collector has shown what it has, or its lease is over on its own clock. Nothing of what the
//! lease was for is lost by that: its URLs are still queued, and whoever has the lease settles them under the same token.
//!
//! Invariant: a lease goes on only with the process that it was given to.

use std::collections::HashSet;

use seine_common::clock::SinceBoot;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Hello, Welcome, monitor_message::Message};

use crate::Result;
use crate::keeper::{Collector, Keeper, MessagesToCollector};
use crate::lease::table::{ActiveLease, Holder, SessionId};
use crate::lease::watch::LeaseWatch;
use crate::record::{AtWorkRecord, CrawlId, LeaseRecord};

/// How often it is noted that the Monitor is at work, while it grants or renews.
const AT_WORK_NOTED_MS: i64 = 1_000;
/// How much later than noted a lease may have been renewed: clocks are read one after the other, and one is coarse.
const AT_WORK_PRECISION_MS: i64 = AT_WORK_NOTED_MS + 100;

impl Keeper {
    /// At start: a lease of a collector that was in the Monitor's process is over, but its last request may be a moment old.
    /// One in another process may be at work until its lease has surely ended.
    pub(crate) fn recover_leases_after_restart(&mut self) -> Result<()> {
        let expires_ms = self.clock.monotonic_ms() + self.longest_term_left()?;
        for record in self.frontier.leases()? {
            let lease = self.recovered(&record, expires_ms)?;
            if record.embedded {
                self.give_up(&lease)?;
            } else {
                self.leases.insert(lease);
            }
        }
        Ok(())
    }

    /// How long a lease may be held that was renewed by the last process at the very end.
    fn longest_term_left(&self) -> Result<i64> {
        let whole = self.config.lease.as_millis() as i64;
        let (Some(last), Some(now)) = (self.frontier.at_work()?, self.clock.since_boot()) else { return Ok(whole) };
        let passed = if last.boot == now.boot { now.ms - last.since_boot_ms - AT_WORK_PRECISION_MS } else { 0 };
        Ok((whole - passed).clamp(0, whole))
    }

    /// On the monotonic clock, for a lease that is granted or renewed now. Notes the time first, so that after a restart it
    /// is known since when there can have been none.
    pub(super) fn lease_lasts_until(&mut self) -> Result<i64> {
        let now = self.clock.monotonic_ms();
        if self.at_work_ms.is_none_or(|noted| now - noted >= AT_WORK_NOTED_MS)
            && let Some(SinceBoot { boot, ms }) = self.clock.since_boot()
        {
            self.frontier.put_at_work(&AtWorkRecord { boot, since_boot_ms: ms })?;
            self.at_work_ms = Some(now);
        }
        Ok(now + self.config.lease.as_millis() as i64)
    }

    fn recovered(&self, record: &LeaseRecord, expires_ms: i64) -> Result<ActiveLease> {
        let host = HostKey::from_stored(record.host.clone());
        let crawl = CrawlId(record.crawl);
        let asks_ms = self.frontier.host(&host)?.crawl_delay_ms;
        let holder =
            Holder { collector: record.collector.clone(), instance: record.instance, embedded: record.embedded };
        Ok(ActiveLease {
            token: record.token,
            crawl,
            holder,
            session: None,
            expires_ms,
            rests_until_ms: 0,
            delay_ms: self.pace(crawl, &host, asks_ms)?.map_or(0, |pace| pace.delay_ms),
            request_allowance: Some(record.request_allowance).filter(|allowance| *allowance > 0),
            // How many of them were saved is not known: as long as it is held, none.
            allowance: Some(record.page_allowance).filter(|allowance| *allowance > 0),
            saved: 0,
            settled: 0,
            address: record.address.parse().ok(),
            allowed_by_name: record.allowed_by_name,
            address_busy: false,
            revoked: false,
            prepares: record.prepares,
            settings_generation: record.settings_generation,
            watch: LeaseWatch::unknown(),
            host,
        })
    }

    /// A collector has opened a stream. It goes on with the leases that it shows and that are still its own; those that it
    /// was given and does not show never reached it, or are done with.
    pub(crate) fn attach(&mut self, session: SessionId, hello: Hello, messages: MessagesToCollector) -> Result<()> {
        let Hello { collector_id, embedded, instance, tokens } = hello;
        tracing::info!(collector = collector_id, leases = tokens.len(), "collector attached");
        self.give_slots(&collector_id)?;
        let holder = Holder { collector: collector_id, instance, embedded };
        // The end of its last stream may not have been noticed yet.
        self.collectors.retain(|_, known| known.holder != holder);
        self.collectors.insert(session, Collector::new(holder.clone(), messages, self.clock.monotonic_ms()));
        let shown: HashSet<u64> = tokens.into_iter().collect();
        let given: Vec<u64> = self.leases.of_holder(&holder).map(|lease| lease.token).collect();
        let (resumed, over): (Vec<u64>, Vec<u64>) = given.into_iter().partition(|token| shown.contains(token));
        for token in over {
            if let Some(lease) = self.leases.remove(token) {
                tracing::info!(
                    host = lease.host.as_str(),
                    lease = token,
                    "lease is over: its collector does not have it"
                );
                self.give_up(&lease)?;
            }
        }
        let until = self.lease_lasts_until()?;
        for lease in self.leases.iter_mut().filter(|lease| resumed.contains(&lease.token)) {
            (lease.session, lease.expires_ms) = (Some(session), until);
        }
        self.send(session, Message::Welcome(Welcome { tokens: resumed.clone() }));
        resumed.into_iter().try_for_each(|token| self.bring_up_to_date(token))
    }

    /// Tells the holder what has changed while it could not be told.
    fn bring_up_to_date(&mut self, token: u64) -> Result<()> {
        let Some(lease) = self.leases.get(token) else { return Ok(()) };
        let settings = self.crawls.get(&lease.crawl).map(|crawl| crawl.record.lease_settings_generation);
        let reason = match &lease.holder.collector {
            _ if lease.revoked => Some("taken back while its collector was away".to_owned()),
            _ if !self.is_running(lease.crawl) => Some("the crawl does not run".to_owned()),
            _ if settings != Some(lease.settings_generation) => Some("the crawl's settings have changed".to_owned()),
            _ if self.block_of(&lease.host)?.is_some() => Some("the host is blocked".to_owned()),
            collector if self.slots.is_draining(collector) => Some("its collector is draining".to_owned()),
            _ => self.pause.clone(),
        };
        match reason {
            Some(reason) => self.revoke(token, &reason),
            None => self.send_terms(token, false)?,
        }
        Ok(())
    }

    /// The stream of a collector is over. It may be at work until its leases expire, or come back before.
    pub(crate) fn lose_collector(&mut self, session: SessionId) {
        if let Some(collector) = self.collectors.remove(&session) {
            tracing::info!(collector = collector.holder.collector, "collector detached");
        }
        for lease in self.leases.iter_mut().filter(|lease| lease.session == Some(session)) {
            lease.session = None;
        }
    }
}
