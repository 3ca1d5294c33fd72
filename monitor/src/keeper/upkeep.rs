//! What the keeper does from time to time: looking at the disk, bringing in visits that are due, settling what waits on
//! hosts that are given up, and giving the slots of collectors that went away to others.

use std::collections::HashMap;

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::Keeper;
use crate::disk;
use crate::frontier::{CrawlId, Result};

/// How often the disk is looked at, and whether a crawl has come to want a host that is leased for another.
const LOOK_AT_DISK_MS: i64 = 1_000;
/// URLs settled at once on a host that is given up; others are served in between.
const EMPTIED_AT_ONCE: usize = 1_000;
/// A collector that is away for so long loses its slots; a short break moves nothing.
const AWAY_MS: i64 = 60_000;

/// When things were last looked at, on the monotonic clock.
#[derive(Default)]
pub(super) struct Clocks {
    disk_ms: Option<i64>,
    /// Since when collectors with slots are away.
    away: HashMap<String, i64>,
}

impl Keeper {
    pub(super) fn look_after_things(&mut self) -> Result<()> {
        let now = self.clock.monotonic_ms();
        if self.upkeep.disk_ms.is_none_or(|last| now - last >= LOOK_AT_DISK_MS) {
            self.upkeep.disk_ms = Some(now);
            self.look_at_disk();
            self.watch_delays()?;
        }
        self.frontier.save_exclusions()?;
        self.planning.save(self.frontier.as_mut(), self.clock.now_ms(), false)?;
        self.bring_in_due_visits()?;
        self.take_slots_of_the_absent(now)
    }

    /// Stops fetching before anything fails to be written, and goes on by itself.
    fn look_at_disk(&mut self) {
        let Some(space) = (self.disk)() else { return };
        let was_full = self.disk_full.is_some();
        let is_full = disk::too_full(space, self.config.min_free_percent, was_full);
        self.disk_full = is_full.then(|| format!("paused: disk {:.1} % free", space.free_percent()));
        if is_full && !was_full {
            tracing::warn!(free_percent = space.free_percent(), "the disk is almost full; fetching rests");
            self.revoke_all("the disk is almost full");
        } else if was_full && !is_full {
            tracing::info!(free_percent = space.free_percent(), "there is room on the disk again; fetching goes on");
            self.grant_soon();
        }
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

    pub(super) fn give_slots(&mut self, collector: &str) -> Result<()> {
        self.upkeep.away.remove(collector);
        if self.slots.join(collector) {
            self.frontier.put_slots(&self.slots.encode())?;
        }
        Ok(())
    }

    fn take_slots_of_the_absent(&mut self, now: i64) -> Result<()> {
        let here = |name: &str| self.collectors.values().any(|collector| collector.id == name);
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
