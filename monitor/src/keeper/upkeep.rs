//! What the keeper does from time to time: looking at what is wrong with other tiers, bringing in visits that are due,
//! settling what waits on hosts that are given up, and giving the slots of collectors that went away to others.

use std::collections::HashMap;

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::{Collector, Keeper};
use crate::Result;
use crate::record::CrawlId;

/// How often it is looked whether a crawl has come to want a host that is leased for another.
const LOOK_AT_DELAYS_MS: i64 = 1_000;
/// The tier whose troubles keep a node from getting leases.
const COLLECTOR: &str = "collector";
/// URLs settled at once on a host that is given up; others are served in between.
const EMPTIED_AT_ONCE: usize = 1_000;
/// A collector that is away for so long loses its slots; a short break moves nothing.
const AWAY_MS: i64 = 60_000;

/// When things were last looked at, on the monotonic clock.
#[derive(Default)]
pub(super) struct Clocks {
    delays_ms: Option<i64>,
    /// Absent when there is something to mend, and at the start.
    pub(super) times_ms: Option<i64>,
    pub(super) sampled_ms: Option<i64>,
    /// Since when collectors with slots are away.
    away: HashMap<String, i64>,
}

/// A collector that said nothing for this long gets nothing more: what it gets now, another could have only when the lease has
/// ended. Somewhat more than the time between two heartbeats, and so little that a dead collector's hosts all go on in time.
const SILENT_MS: i64 = 4_500;

impl Keeper {
    pub(super) fn look_after_things(&mut self) -> Result<()> {
        let now = self.clock.monotonic_ms();
        self.look_at_troubles();
        if self.upkeep.delays_ms.is_none_or(|last| now - last >= LOOK_AT_DELAYS_MS) {
            self.upkeep.delays_ms = Some(now);
            self.watch_delays()?;
        }
        self.frontier.save_exclusions()?;
        self.planning.save(&mut self.frontier, self.clock.now_ms(), false)?;
        self.mend_times()?;
        self.bring_in_due_visits()?;
        self.take_slots_of_the_absent(now)?;
        self.sample_metrics(now)
    }

    /// Stops fetching while what is fetched could not be kept, and goes on by itself.
    fn look_at_troubles(&mut self) {
        let troubles = self.nodes.troubles();
        if troubles == self.troubles {
            return;
        }
        self.troubles = troubles;
        let pause = self.troubles.iter().find(|trouble| trouble.pauses).map(|trouble| trouble.reason.clone());
        match (&self.pause, &pause) {
            (None, Some(reason)) => {
                tracing::warn!(reason, "fetching rests");
                self.revoke_all(reason);
            }
            (Some(_), None) => tracing::info!("fetching goes on"),
            _ => {}
        }
        self.pause = pause;
        // A collector may be well again.
        self.grant_soon();
    }

    /// Collectors that said nothing for a while get no leases until they do.
    pub(crate) fn notice_silent_collectors(&mut self) {
        let now = self.clock.monotonic_ms();
        for collector in self.collectors.values_mut() {
            collector.is_silent = now - collector.heard_ms > SILENT_MS;
        }
    }

    /// Why a collector cannot fetch, though it is attached.
    pub(crate) fn trouble_of(&self, collector: &Collector) -> Option<&str> {
        let id = &collector.holder.collector;
        if self.slots.is_draining(id) {
            return Some("the collector is draining");
        }
        if collector.is_silent {
            return Some("the collector has not been heard of for some seconds");
        }
        let own = self.troubles.iter().find(|trouble| trouble.tier == COLLECTOR && trouble.node == *id);
        own.map(|trouble| trouble.reason.as_str())
    }

    /// All that waits on a host is to get this outcome. Done in pieces; a crash in between leaves the rest queued.
    pub(crate) fn empty(&mut self, crawl: CrawlId, host: &HostKey, outcome: Outcome) {
        if !self.is_emptied(crawl, host) {
            self.emptying.push((crawl, host.clone(), outcome));
        }
    }

    pub(crate) fn is_emptied(&self, crawl: CrawlId, host: &HostKey) -> bool {
        self.emptying.iter().any(|(known, name, _)| *known == crawl && name == host)
    }

    /// The first host that can be emptied now. While one is leased, pages of it are under way; they are settled as what
    /// they turn out to be.
    pub(super) fn next_to_empty(&self) -> Option<usize> {
        let is_leased = |crawl: CrawlId, host: &HostKey| self.leases.of_crawl(crawl).any(|lease| lease.host == *host);
        self.emptying.iter().position(|(crawl, host, _)| !is_leased(*crawl, host))
    }

    pub(super) fn empty_some(&mut self) -> Result<()> {
        let Some(next) = self.next_to_empty() else { return Ok(()) };
        let (crawl, host, outcome) = self.emptying[next].clone();
        let due = self.due_without_visit(crawl);
        let emptied = self.frontier.settle_rest(crawl, &host, &outcome, due, EMPTIED_AT_ONCE)?;
        if outcome.kind() == OutcomeKind::Excluded {
            for _ in 0..emptied {
                self.frontier.count_excluded(crawl, &outcome.detail, host.as_str());
            }
        }
        if emptied < EMPTIED_AT_ONCE {
            self.emptying.remove(next);
            self.frontier.requeue_host(crawl, &host, self.clock.now_ms())?;
            self.finish_if_done(crawl)?;
        }
        Ok(())
    }

    pub(crate) fn give_slots(&mut self, collector: &str) -> Result<()> {
        self.upkeep.away.remove(collector);
        if self.slots.join(collector) {
            self.frontier.put_slots(&self.slots.encode())?;
        }
        Ok(())
    }

    fn take_slots_of_the_absent(&mut self, now: i64) -> Result<()> {
        let here = |name: &str| self.collectors.values().any(|collector| collector.holder.collector == name);
        let absent: Vec<String> = self.slots.collectors().filter(|name| !here(name)).map(str::to_owned).collect();
        let away = &mut self.upkeep.away;
        away.retain(|name, _| absent.contains(name));
        let gone: Vec<String> =
            absent.into_iter().filter(|name| now - *away.entry(name.clone()).or_insert(now) >= AWAY_MS).collect();
        for name in &gone {
            tracing::info!(collector = name, "collector is away; its slots go to others");
            self.slots.leave(name);
        }
        if !gone.is_empty() {
            self.frontier.put_slots(&self.slots.encode())?;
        }
        Ok(())
    }
}
