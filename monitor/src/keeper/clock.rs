//! Mends times that were stored while the clock was ahead: without that, hosts and pages would wait until the right clock
//! has come as far.
//!
//! Nothing that is planned lies further ahead than a host may wait, or than a crawl's longest interval. What does was planned
//! by a wrong clock, and is brought in to where it can lie. Both indexes are ordered by time, so looking costs nothing.

use super::Keeper;
use crate::Result;
use crate::politeness::{CLOCKS_DIFFER_MS, MAX_WAIT_MS};
use crate::record::CrawlId;
use crate::refresh::LONGEST_INTERVAL;

/// How often times are looked at.
const LOOK_EVERY_MS: i64 = 60_000;
/// Hosts, and visits, that are brought in at once; others are served in between.
const BROUGHT_IN_AT_ONCE: usize = 5_000;

impl Keeper {
    pub(super) fn mend_times(&mut self) -> Result<()> {
        let now = self.clock.monotonic_ms();
        if self.upkeep.times_ms.is_some_and(|last| now - last < LOOK_EVERY_MS) {
            return Ok(());
        }
        let mut is_done = true;
        let ids: Vec<CrawlId> = self.crawls.keys().copied().collect();
        for id in ids {
            is_done &= self.mend_times_of(id)?;
        }
        // When to look for a host again was planned by the clock too.
        self.grant_soon();
        self.upkeep.times_ms = is_done.then_some(now);
        Ok(())
    }

    /// False when there is more to mend.
    pub(super) fn mend_times_of(&mut self, id: CrawlId) -> Result<bool> {
        let now = self.clock.now_ms();
        let crawl = self.crawls.get_mut(&id).expect("the caller looked the crawl up");
        if crawl.record.visit_due_before_ms > now + CLOCKS_DIFFER_MS {
            crawl.record.visit_due_before_ms = now + 1;
            self.frontier.put_crawl(&crawl.record)?;
        }
        // Within the round that is under way, if one is.
        let round = crawl.record.visit_due_before_ms;
        let due = if round > 0 { now.min(round - 1) } else { now }.max(1);
        let hosts = self.frontier.pull_in_hosts(id, now + MAX_WAIT_MS, BROUGHT_IN_AT_ONCE)?;
        for host in &hosts {
            let mut record = self.frontier.host(host)?;
            if record.next_allowed_ms > now + MAX_WAIT_MS {
                record.next_allowed_ms = now + MAX_WAIT_MS;
                self.frontier.put_host(&record)?;
            }
        }
        let hosts = hosts.len();
        let visits = self.frontier.pull_in_visits(id, self.latest_visit(id), due, BROUGHT_IN_AT_ONCE)?;
        if hosts + visits > 0 {
            let crawl = &self.crawls[&id].record.settings.name;
            tracing::warn!(crawl, hosts, visits, "the clock was ahead; what was planned by it is planned anew");
        }
        Ok(hosts.max(visits) < BROUGHT_IN_AT_ONCE)
    }

    /// No visit of the crawl is planned for later.
    fn latest_visit(&self, id: CrawlId) -> i64 {
        let refresh = self.crawls[&id].checked.refresh;
        let longest = match refresh.interval_ms() {
            0 => 0,
            interval => interval.saturating_mul(LONGEST_INTERVAL).max(refresh.gone_after_ms()),
        };
        self.clock.now_ms().saturating_add(i64::try_from(longest).unwrap_or(i64::MAX)).saturating_add(CLOCKS_DIFFER_MS)
    }
}
