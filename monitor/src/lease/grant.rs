//! Choosing the next host and handing it out.

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{
    CrawlState, Lease, QueuedUrl, Revoke, Robots, RobotsVerdict, Urls, WantUrls, monitor_message::Message,
};

use super::table::{ActiveLease, SessionId};
use crate::frontier::place::Place;
use crate::frontier::{CrawlId, Queued, Result, Stretch};
use crate::keeper::Keeper;
use crate::politeness;

/// URLs sent with a lease, and at most per request for more.
const URLS_PER_MESSAGE: usize = 512;
/// Ready hosts looked at per crawl before giving up until something changes.
const HOSTS_LOOKED_AT: usize = 64;
/// A host is handed out this early, with the rest as its lease's own waiting time, so that preparing it overlaps.
const EARLY_MS: i64 = 100;
/// A host that cannot go for a reason that has no known end is looked at again after this time.
const LOOK_AGAIN_MS: i64 = 500;
/// Pages allowed per lease in a crawl that is limited to so many pages.
const PAGES_PER_LEASE: u64 = 256;

impl Keeper {
    /// Hands out hosts as long as one is ready and a collector has credit.
    pub(crate) fn grant_ready(&mut self) -> Result<()> {
        let now = self.clock.now_ms();
        if now < self.grant_at_ms {
            return Ok(());
        }
        // Until something changes, there is nothing to do before the earliest ready time.
        self.grant_at_ms = i64::MAX;
        loop {
            let most_credit = self.collectors.iter().filter(|(_, collector)| collector.credit > 0);
            let Some((&session, _)) = most_credit.max_by_key(|(_, collector)| collector.credit) else { return Ok(()) };
            let Some((crawl, host)) = self.next_host(now)? else { return Ok(()) };
            self.grant(session, crawl, &host, now)?;
        }
    }

    fn next_host(&mut self, now: i64) -> Result<Option<(CrawlId, HostKey)>> {
        let (before, after): (Vec<_>, Vec<_>) = self.crawls.keys().copied().partition(|id| *id <= self.served_last);
        for crawl in after.into_iter().chain(before) {
            if !self.is_running(crawl) || self.pages_left(crawl) == Some(0) {
                continue;
            }
            if let Some(host) = self.next_host_of(crawl, now)? {
                return Ok(Some((crawl, host)));
            }
        }
        Ok(None)
    }

    fn next_host_of(&mut self, crawl: CrawlId, now: i64) -> Result<Option<HostKey>> {
        for (ready_ms, host) in self.frontier.ready(crawl, HOSTS_LOOKED_AT)? {
            let ready_ms = politeness::clamp(now, ready_ms);
            if ready_ms > now + EARLY_MS {
                self.grant_at_ms = self.grant_at_ms.min(ready_ms - EARLY_MS);
                return Ok(None);
            }
            let record = self.frontier.host(&host)?;
            let allowed_ms = politeness::clamp(now, record.next_allowed_ms);
            if record.lease_token != 0 {
                self.frontier.requeue_host(crawl, &host, now + LOOK_AGAIN_MS)?;
                self.grant_at_ms = self.grant_at_ms.min(now + LOOK_AGAIN_MS);
            } else if allowed_ms > now + EARLY_MS {
                self.frontier.requeue_host(crawl, &host, allowed_ms)?;
                self.grant_at_ms = self.grant_at_ms.min(allowed_ms - EARLY_MS);
            } else {
                return Ok(Some(host));
            }
        }
        Ok(None)
    }

    fn grant(&mut self, session: SessionId, crawl: CrawlId, host: &HostKey, now: i64) -> Result<()> {
        // As early as the host itself, or a retry that is almost due would be looked at for ever.
        self.frontier.promote_retries(crawl, host, now + EARLY_MS)?;
        let stretch = self.frontier.stretch(crawl, host, None, URLS_PER_MESSAGE)?;
        if stretch.urls.is_empty() {
            return self.frontier.requeue_host(crawl, host, now);
        }
        let token = self.frontier.next_token()?;
        let mut record = self.frontier.host(host)?;
        record.lease_token = token;
        let settings = self.crawls[&crawl].record.settings.clone();
        let lease_ms = self.config.lease.as_millis() as i64;
        let rests_until_ms = politeness::clamp(now, record.next_allowed_ms).max(now);
        let lease = ActiveLease {
            token,
            crawl,
            host: host.clone(),
            session: Some(session),
            expires_ms: self.clock.monotonic_ms() + lease_ms + self.config.request_timeout.as_millis() as i64,
            rests_until_ms,
            delay_ms: politeness::effective_delay_ms(settings.delay_ms, record.crawl_delay_ms),
            allowance: self.pages_left(crawl).map(|left| left.min(PAGES_PER_LEASE)),
            saved: 0,
            settled: 0,
            address: None,
            address_busy: false,
            revoked: false,
        };
        let robots = self.fresh_robots(host, now)?;
        let Some(collector) = self.collectors.get_mut(&session) else { return Ok(()) };
        collector.credit -= 1;
        self.frontier.grant(&lease.record(&collector.id, collector.embedded), &record)?;
        let message = Lease {
            token,
            host: host.as_str().to_owned(),
            crawl: Some(settings),
            duration_ms: lease_ms as u32,
            rest_ms: (rests_until_ms - now) as u32,
            page_allowance: lease.allowance.unwrap_or(0),
            urls: Some(urls(token, stretch)),
            robots,
        };
        self.leases.insert(lease);
        self.served_last = crawl;
        metrics::counter!("seine_monitor_leases_total").increment(1);
        self.send_durably(session, Message::Lease(message));
        Ok(())
    }

    fn fresh_robots(&self, host: &HostKey, now: i64) -> Result<Vec<Robots>> {
        let oldest = now - self.config.robots_fresh.as_millis() as i64;
        let mut robots = self.frontier.robots(host)?;
        robots.retain(|robots| robots.fetched_at_ms >= oldest && robots.verdict() != RobotsVerdict::Unavailable);
        Ok(robots)
    }

    pub(crate) fn is_running(&self, crawl: CrawlId) -> bool {
        self.crawls.get(&crawl).is_some_and(|crawl| crawl.record.state() == CrawlState::Running)
    }

    /// Pages that may still be promised to a lease; `None` when the crawl has no limit.
    pub(crate) fn pages_left(&self, crawl: CrawlId) -> Option<u64> {
        let max_pages = self.crawls.get(&crawl)?.record.settings.max_pages?;
        let taken = self.frontier.progress(crawl).pages + self.leases.outstanding_pages(crawl);
        Some(max_pages.saturating_sub(taken))
    }

    pub(crate) fn send_urls(&mut self, session: SessionId, want: &WantUrls) -> Result<()> {
        let Some(lease) = self.leases.held_by(want.token, session) else { return Ok(()) };
        let (crawl, host) = (lease.crawl, lease.host.clone());
        let limit = (want.limit as usize).clamp(1, URLS_PER_MESSAGE);
        let stretch = self.frontier.stretch(crawl, &host, Place::from_slice(&want.after_place), limit)?;
        self.send(session, Message::Urls(urls(want.token, stretch)));
        Ok(())
    }

    /// When hosts wait that no collector has room for, leases that had their share are taken back.
    pub(crate) fn relieve_pressure(&mut self) -> Result<()> {
        let (now, quantum) = (self.clock.now_ms(), self.config.quantum);
        let sated: Vec<u64> = self
            .leases
            .iter()
            .filter(|lease| lease.settled >= quantum && !lease.revoked)
            .map(|lease| lease.token)
            .collect();
        if sated.is_empty() {
            return Ok(());
        }
        let no_credit = self.collectors.values().all(|collector| collector.credit == 0);
        let mut waiting = Vec::new();
        for &crawl in self.crawls.keys().filter(|id| self.is_running(**id)) {
            let ready = self.frontier.ready(crawl, HOSTS_LOOKED_AT)?;
            waiting.extend(ready.into_iter().filter(|(at, _)| *at <= now + LOOK_AGAIN_MS).map(|(_, host)| host));
        }
        for token in sated {
            let Some(lease) = self.leases.get(token) else { continue };
            if (no_credit && !waiting.is_empty()) || waiting.contains(&lease.host) {
                self.revoke(token, "others wait");
            }
        }
        Ok(())
    }

    pub(crate) fn revoke(&mut self, token: u64, reason: &str) {
        let Some(lease) = self.leases.iter_mut().find(|lease| lease.token == token) else { return };
        lease.revoked = true;
        if let Some(session) = lease.session {
            self.send(session, Message::Revoke(Revoke { token, reason: reason.to_owned() }));
        }
    }
}

pub(super) fn urls(token: u64, stretch: Stretch) -> Urls {
    let exhausted = stretch.exhausted;
    Urls { token, urls: stretch.urls.into_iter().map(queued_url).collect(), exhausted }
}

pub(super) fn queued_url(queued: Queued) -> QueuedUrl {
    QueuedUrl {
        url: queued.entry.url,
        depth: queued.entry.depth,
        place: queued.place.0.to_vec().into(),
        attempts: queued.entry.attempts,
        redirect_hops: queued.entry.redirect_hops,
    }
}
