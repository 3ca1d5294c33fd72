//! Choosing the next host and handing it out.

use std::collections::BTreeSet;

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{
    CrawlState, Lease, Outcome, OutcomeKind, QueuedUrl, Revoke, Robots, RobotsVerdict, Urls, WantUrls,
    monitor_message::Message,
};

use crate::Result;
use crate::frontier::{PARKED, Queued, Stretch};
use crate::keeper::Keeper;
use crate::lease::table::{ActiveLease, SessionId};
use crate::lease::watch::LeaseWatch;
use crate::place::{Class, Place};
use crate::politeness;
use crate::record::{CrawlId, HostRecord};

/// URLs sent with a lease, and at most per request for more.
const URLS_PER_MESSAGE: usize = 512;
/// Ready hosts looked at per crawl before giving up until something changes.
const HOSTS_LOOKED_AT: usize = 64;
/// A host is handed out this early, with the rest as its lease's own waiting time, so that preparing it overlaps.
const EARLY_MS: i64 = 100;
/// A host that cannot go for a reason that has no known end is looked at again after this time.
const LOOK_AGAIN_MS: i64 = 500;
/// A host with nothing but new URLs waits this long in a crawl that has all the pages it wants.
const NOTHING_WANTED_MS: i64 = 60_000;
/// Pages allowed per lease in a crawl that is limited to so many pages.
const PAGES_PER_LEASE: u64 = 256;

/// What a lease is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Fetch,
    /// Finding the address and reading robots.txt of a host that is new.
    Prepare,
}

impl Keeper {
    /// Hands out hosts as long as one is ready and a collector has credit.
    pub(crate) fn grant_ready(&mut self) -> Result<()> {
        let now = self.clock.now_ms();
        if now < self.grant_at_ms {
            return Ok(());
        }
        // Until something changes, there is nothing to do before the earliest ready time.
        self.grant_at_ms = i64::MAX;
        if self.pause.is_some() {
            return Ok(());
        }
        while self.collectors.values().any(|collector| collector.credit > 0 && self.trouble_of(collector).is_none()) {
            self.bring_ready_hosts_within_reach(now)?;
            let Some((crawl, host)) = self.next_host(now)? else { return Ok(()) };
            let record = self.frontier.host(&host)?;
            let Some((session, work)) = self.collector_for(crawl, &host, &record, now) else { return Ok(()) };
            self.grant(session, work, crawl, &host, record, now)?;
        }
        Ok(())
    }

    fn next_host(&mut self, now: i64) -> Result<Option<(CrawlId, HostKey)>> {
        let (before, after): (Vec<_>, Vec<_>) = self.crawls.keys().copied().partition(|id| *id <= self.served_last);
        for crawl in after.into_iter().chain(before) {
            if !self.is_running(crawl) || !self.wants_anything(crawl) {
                continue;
            }
            if let Some(host) = self.next_host_of(crawl, now)? {
                return Ok(Some((crawl, host)));
            }
        }
        Ok(None)
    }

    fn next_host_of(&mut self, crawl: CrawlId, now: i64) -> Result<Option<HostKey>> {
        let mut parked = false;
        let mut looked_at = 0;
        for (ready_ms, host) in self.frontier.ready(crawl, HOSTS_LOOKED_AT)? {
            if ready_ms == PARKED {
                break;
            }
            // Also when it is not its turn yet, so that a crawl of which nothing else is left finishes now.
            if self.block_of(&host)?.is_some() {
                self.frontier.requeue_host(crawl, &host, PARKED)?;
                parked = true;
                continue;
            }
            let ready_ms = politeness::clamp(now, ready_ms);
            if ready_ms > now + EARLY_MS {
                self.grant_at_ms = self.grant_at_ms.min(ready_ms - EARLY_MS);
                return Ok(None);
            }
            let mut record = self.frontier.host(&host)?;
            let rests_ms = politeness::clamp(now, record.next_allowed_ms);
            if rests_ms < record.next_allowed_ms {
                // Written down, or it would lie as far ahead at each look.
                record.next_allowed_ms = rests_ms;
                self.frontier.put_host(&record)?;
            }
            self.bring_address_rest_within_bounds(&record.address, now)?;
            let allowed_ms = self.allowed_from(&record, now)?;
            let look_at_ms = if record.lease_token != 0 || self.is_emptied(crawl, &host) {
                now + LOOK_AGAIN_MS
            } else if allowed_ms > now + EARLY_MS {
                allowed_ms
            } else if self.is_all_promised(crawl, &host, &record)? {
                now + LOOK_AGAIN_MS
            } else if self.pages_left_for(crawl, &host)? == Some(0) && !self.has_revisits(crawl, &host)? {
                self.empty_if_full(crawl, &host)?;
                now + NOTHING_WANTED_MS
            } else {
                return Ok(Some(host));
            };
            self.frontier.requeue_host(crawl, &host, look_at_ms)?;
            self.grant_at_ms = self.grant_at_ms.min(look_at_ms - EARLY_MS);
            looked_at += 1;
        }
        // Those behind them may go now: an address that rests can have any number of hosts.
        if looked_at == HOSTS_LOOKED_AT {
            self.grant_at_ms = now;
        }
        if parked {
            // More may stand behind those that were looked at, or nothing.
            self.grant_soon();
            self.finish_if_done(crawl)?;
        }
        Ok(None)
    }

    pub(crate) fn has_revisits(&self, crawl: CrawlId, host: &HostKey) -> Result<bool> {
        let first = self.frontier.stretch(crawl, host, None, 1)?.urls;
        Ok(first.first().is_some_and(|queued| queued.place.class() == Class::Revisit))
    }

    /// The collector that the host's slot prefers, if it has room, or the one with the most room. A host that is new is
    /// prepared first, where a collector has room for that; elsewhere the lease does both.
    fn collector_for(
        &self,
        crawl: CrawlId,
        host: &HostKey,
        record: &HostRecord,
        now: i64,
    ) -> Option<(SessionId, Work)> {
        let preferred = self.slots.owner(host.slot());
        let fresh_ms = self.config.robots_fresh.as_millis() as i64;
        let obeys_robots = !self.crawls[&crawl].record.settings.ignore_robots();
        let is_prepared = record.prepared_at_ms > 0 && politeness::is_fresh(now, record.prepared_at_ms, fresh_ms);
        let is_new = obeys_robots && !is_prepared;
        let choose = |work: Work| {
            let room = |collector: &crate::keeper::Collector| match work {
                Work::Fetch => collector.credit,
                Work::Prepare => i64::from(collector.preparations),
            };
            let able = self.collectors.iter().filter(|(_, collector)| self.trouble_of(collector).is_none());
            let with_room = able.filter(|(_, collector)| room(collector) > 0);
            let chosen = with_room.max_by_key(|(_, c)| (preferred == Some(c.holder.collector.as_str()), room(c)));
            chosen.map(|(session, _)| (*session, work))
        };
        is_new.then(|| choose(Work::Prepare)).flatten().or_else(|| choose(Work::Fetch))
    }

    fn grant(
        &mut self,
        session: SessionId,
        work: Work,
        crawl: CrawlId,
        host: &HostKey,
        mut record: HostRecord,
        now: i64,
    ) -> Result<()> {
        // As early as the host itself, or a retry that is almost due would be looked at for ever.
        self.frontier.promote_retries(crawl, host, now + EARLY_MS)?;
        self.take_up_deferred(crawl, host)?;
        self.queue_known_sitemaps(crawl, host)?;
        let stretch = match work {
            Work::Fetch => self.wanted_stretch(crawl, host, None, URLS_PER_MESSAGE, &BTreeSet::new())?,
            Work::Prepare => self.hand_out(crawl, host, None, 1, &BTreeSet::new())?,
        };
        if stretch.urls.is_empty() {
            // Where rules have excluded all that was looked at, the rest is looked at after others had their turn.
            let ready_ms = if stretch.exhausted { now } else { now + EARLY_MS + 1 };
            self.grant_at_ms = self.grant_at_ms.min(ready_ms - EARLY_MS);
            self.frontier.requeue_host(crawl, host, ready_ms)?;
            return self.finish_if_done(crawl);
        }
        let token = self.frontier.next_token()?;
        record.lease_token = token;
        let settings = self.crawls[&crawl].record.settings.clone();
        let Some(pace) = self.pace(crawl, host, record.crawl_delay_ms)? else { return Ok(()) };
        let rests_until_ms = self.allowed_from(&record, now)?.max(now);
        let Some(holder) = self.collectors.get(&session).map(|collector| collector.holder.clone()) else {
            return Ok(());
        };
        let lease = ActiveLease {
            token,
            crawl,
            host: host.clone(),
            holder,
            session: Some(session),
            expires_ms: self.lease_lasts_until()?,
            rests_until_ms,
            delay_ms: pace.delay_ms,
            request_allowance: pace.requests_left(record.requests_since_pause),
            // Without pages left only known ones are sent, which are not counted.
            allowance: self.pages_left_for(crawl, host)?.filter(|left| *left > 0).map(|left| left.min(PAGES_PER_LEASE)),
            saved: 0,
            settled: 0,
            address: None,
            allowed_by_name: false,
            address_busy: false,
            revoked: false,
            prepares: work == Work::Prepare,
            settings_generation: self.crawls[&crawl].record.lease_settings_generation,
            watch: LeaseWatch::begin(&settings.name, host.as_str(), token, work == Work::Prepare),
        };
        let robots = self.fresh_robots(host, now)?;
        let Some(collector) = self.collectors.get_mut(&session) else { return Ok(()) };
        match work {
            Work::Fetch => collector.credit -= 1,
            Work::Prepare => collector.preparations -= 1,
        }
        self.frontier.grant(&lease.record(), &record)?;
        let message = Lease {
            token,
            host: host.as_str().to_owned(),
            crawl: Some(settings),
            duration_ms: self.config.lease_at_collector().as_millis() as u32,
            rest_ms: (rests_until_ms - now) as u32,
            page_allowance: lease.allowance.unwrap_or(0),
            urls: Some(urls(token, stretch)),
            robots,
            pace: Some(pace.to_message(record.requests_since_pause)),
            prepare: lease.prepares,
            epoch: self.epoch,
            traceparent: lease.watch.traceparent(),
        };
        self.leases.insert(lease);
        self.served_last = crawl;
        metrics::counter!("seine_monitor_leases_total").increment(1);
        self.send_durably(session, Message::Lease(message));
        Ok(())
    }

    /// The URLs of a host that the crawl wants now: all, or when it has all its pages, those to be visited again.
    fn wanted_stretch(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        after: Option<Place>,
        limit: usize,
        under_way: &BTreeSet<Place>,
    ) -> Result<Stretch> {
        let mut stretch = self.hand_out(crawl, host, after, limit, under_way)?;
        if self.pages_left_for(crawl, host)? == Some(0) {
            let revisits = stretch.urls.iter().take_while(|queued| queued.place.class() == Class::Revisit).count();
            stretch.exhausted |= revisits < stretch.urls.len();
            stretch.urls.truncate(revisits);
        }
        Ok(stretch)
    }

    fn fresh_robots(&self, host: &HostKey, now: i64) -> Result<Vec<Robots>> {
        let fresh_ms = self.config.robots_fresh.as_millis() as i64;
        let mut robots = self.frontier.robots(host)?;
        robots.retain(|robots| {
            politeness::is_fresh(now, robots.fetched_at_ms, fresh_ms) && robots.verdict() != RobotsVerdict::Unavailable
        });
        Ok(robots)
    }

    pub(crate) fn is_running(&self, crawl: CrawlId) -> bool {
        self.crawls.get(&crawl).is_some_and(|crawl| crawl.record.state() == CrawlState::Running)
    }

    /// Whether a page of the crawl may be fetched: a new one, or one that it has.
    pub(crate) fn wants_anything(&self, crawl: CrawlId) -> bool {
        self.pages_left(crawl) != Some(0) || self.frontier.progress(crawl).revisits_queued > 0
    }

    /// New pages that may still be promised to a lease; `None` when the crawl has no limit.
    pub(crate) fn pages_left(&self, crawl: CrawlId) -> Option<u64> {
        let settings = &self.crawls.get(&crawl)?.record.settings;
        let progress = self.frontier.progress(crawl);
        if settings.max_bytes.is_some_and(|most| progress.bytes >= most) {
            return Some(0);
        }
        let taken = progress.pages + self.leases.outstanding_pages(crawl);
        Some(settings.max_pages?.saturating_sub(taken))
    }

    /// The same for one host of the crawl.
    pub(super) fn pages_left_for(&self, crawl: CrawlId, host: &HostKey) -> Result<Option<u64>> {
        let of_crawl = self.pages_left(crawl);
        let of_host = match self.host_limit(crawl, host)? {
            Some((left, _)) => left,
            None => return Ok(of_crawl),
        };
        Ok(Some(of_crawl.map_or(of_host, |of_crawl| of_crawl.min(of_host))))
    }

    /// Pages that the crawl's limits per host leave, and the rule that will be met.
    fn host_limit(&self, crawl: CrawlId, host: &HostKey) -> Result<Option<(u64, String)>> {
        let settings = &self.crawls[&crawl].record.settings;
        let (most_pages, most_bytes) = (settings.max_pages_per_host, settings.max_bytes_per_host);
        if most_pages.is_none() && most_bytes.is_none() {
            return Ok(None);
        }
        let host_use = self.frontier.host_use(crawl, host)?;
        if let Some(most) = most_bytes.filter(|most| host_use.bytes >= *most) {
            return Ok(Some((0, format!("max-bytes-per-host {most}"))));
        }
        Ok(most_pages.map(|most| (most.saturating_sub(host_use.pages), format!("max-pages-per-host {most}"))))
    }

    /// A host that has given all that it may gives up what waits.
    pub(super) fn empty_if_full(&mut self, crawl: CrawlId, host: &HostKey) -> Result<()> {
        if !self.crawls.contains_key(&crawl) {
            return Ok(());
        }
        // Known pages of a full host are still visited.
        if let Some((0, rule)) = self.host_limit(crawl, host)?
            && !self.has_revisits(crawl, host)?
        {
            let outcome = Outcome { kind: OutcomeKind::Excluded.into(), detail: rule, ..Outcome::default() };
            self.empty(crawl, host, outcome);
        }
        Ok(())
    }

    pub(crate) fn send_urls(&mut self, session: SessionId, want: &WantUrls) -> Result<()> {
        let Some(lease) = self.leases.held_by(want.token, session) else { return Ok(()) };
        let (crawl, host) = (lease.crawl, lease.host.clone());
        let limit = (want.limit as usize).clamp(1, URLS_PER_MESSAGE);
        let under_way = want.under_way.iter().filter_map(|place| Place::from_slice(place)).collect();
        let stretch = self.wanted_stretch(crawl, &host, Place::from_slice(&want.after_place), limit, &under_way)?;
        let message = Message::Urls(urls(want.token, stretch));
        // What other hosts' pages link to may be lost with this process, where the store is none of this machine, and found
        // again only after it was fetched.
        match self.frontier.loads() {
            true => self.send_durably(session, message),
            false => self.send(session, message),
        }
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
        let no_credit = self.collectors.values().all(|collector| collector.credit <= 0);
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
            // Not before the lease itself, which is sent when it is durable.
            self.send_durably(session, Message::Revoke(Revoke { token, reason: reason.to_owned() }));
        }
    }

    pub(crate) fn revoke_all(&mut self, reason: &str) {
        let held: Vec<u64> = self.leases.iter().filter(|lease| !lease.revoked).map(|lease| lease.token).collect();
        for token in held {
            self.revoke(token, reason);
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
        revisit: queued.entry.revisit,
        sitemap_level: queued.entry.sitemap_level,
    }
}
