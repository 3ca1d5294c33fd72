//! The planned visits of one crawl with a schedule: the population of its pages, the plan that follows from it, and the
//! budget. In memory, written out now and then: what a crash loses of it is learnt again.

use std::collections::HashMap;

use prost::Message;
use seine_proto::monitor::v1::{OutcomeKind, Refresh, RefreshPolicy};

use crate::Result;
use crate::frontier::Frontier;
use crate::record::{CrawlId, UrlRecord};
use crate::refresh::{Cell, DAY_MS, Intervals, Ledger, Plan, Policy, Population};

/// A plan is made anew after this part of the base interval.
const PLAN_PARTS: u64 = 50;
/// And written out at most so often.
const SAVE_EVERY_MS: i64 = 10_000;

#[derive(Default)]
pub(super) struct Planning {
    by_crawl: HashMap<CrawlId, CrawlPlan>,
}

struct CrawlPlan {
    population: Population,
    ledger: Ledger,
    plan: Plan,
    refresh: Refresh,
    made_at_ms: u64,
    saved_at_ms: i64,
    changed: bool,
}

/// As it is stored.
#[derive(Clone, PartialEq, Message)]
struct Stored {
    #[prost(uint64, repeated, tag = "1")]
    population: Vec<u64>,
    #[prost(double, tag = "2")]
    owed_visits: f64,
    #[prost(uint64, tag = "3")]
    settled_ms: u64,
}

impl Planning {
    /// When a page that was just visited is due again; its place in the population is noted in its record.
    pub fn next_visit(
        &mut self,
        frontier: &Frontier,
        crawl: CrawlId,
        refresh: Refresh,
        record: &mut UrlRecord,
        now_ms: i64,
    ) -> Result<i64> {
        let now = now_ms.max(0) as u64;
        let planned = match self.by_crawl.entry(crawl) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let stored = frontier.planning(crawl)?;
                entry.insert(CrawlPlan::read(&stored.unwrap_or_default(), refresh, now))
            }
        };
        Ok(planned.next_visit(refresh, record, now) as i64)
    }

    pub fn save(&mut self, frontier: &mut Frontier, now_ms: i64, at_once: bool) -> Result<()> {
        for (crawl, planned) in &mut self.by_crawl {
            if planned.changed && (at_once || (now_ms - planned.saved_at_ms).abs() >= SAVE_EVERY_MS) {
                (planned.changed, planned.saved_at_ms) = (false, now_ms);
                frontier.put_planning(*crawl, &planned.write())?;
            }
        }
        Ok(())
    }
}

impl CrawlPlan {
    fn read(bytes: &[u8], refresh: Refresh, now: u64) -> Self {
        let stored = Stored::decode(bytes).unwrap_or_default();
        let population = Population::from_words(&stored.population).unwrap_or_default();
        let ledger = Ledger { owed_visits: stored.owed_visits, settled_ms: stored.settled_ms };
        let plan = Plan::new(policy(&refresh), &population, ledger, intervals(&refresh));
        Self { population, ledger, plan, refresh, made_at_ms: now, saved_at_ms: 0, changed: false }
    }

    fn write(&self) -> Vec<u8> {
        let Ledger { owed_visits, settled_ms } = self.ledger;
        Stored { population: self.population.to_words(), owed_visits, settled_ms }.encode_to_vec()
    }

    fn next_visit(&mut self, refresh: Refresh, record: &mut UrlRecord, now: u64) -> u64 {
        if self.refresh != refresh || now.saturating_sub(self.made_at_ms) >= refresh.interval_ms() / PLAN_PARTS {
            self.ledger.settle(now, self.population.pages(), refresh.interval_ms());
            self.plan = Plan::new(policy(&refresh), &self.population, self.ledger, intervals(&refresh));
            (self.refresh, self.made_at_ms) = (refresh, now);
        }
        self.changed = true;
        self.ledger.visited();
        let mut stored = record.history.unwrap_or_default();
        let history = stored.history();
        let before = stored.cell.and_then(|cell| Cell::from_number(u16::try_from(cell).ok()?));
        let cell = self.plan.cell(&history, weight(record));
        if record.outcome.kind() == OutcomeKind::Saved {
            self.population.replace(before, cell);
            stored.cell = Some(cell.number().into());
        } else {
            before.map(|before| self.population.remove(before));
            stored.cell = None;
        }
        record.history = Some(stored);
        let seed = record.outcome.fingerprint ^ record.entry.url.len() as u64;
        let due = self.plan.next_visit(&history, cell, now, seed);
        // A page that is not there, never was, or could not be reached is looked for at the pace of the crawl as a whole:
        // its own plan counts from when it was last seen, and would ask for it again at once.
        if history.visits == 0 || due <= now { now.saturating_add(refresh.interval_ms()) } else { due }
    }
}

/// Pages near the start matter more.
fn weight(record: &UrlRecord) -> f64 {
    1.0 / (1.0 + f64::from(record.entry.depth))
}

fn policy(refresh: &Refresh) -> Policy {
    match refresh.policy() {
        RefreshPolicy::Uniform => Policy::Uniform,
        RefreshPolicy::Fixed => Policy::FixedInterval { days: refresh.interval_ms() as f64 / DAY_MS as f64 },
        RefreshPolicy::Classes => Policy::GroupsAndClasses,
        RefreshPolicy::Freshest | RefreshPolicy::Unspecified => Policy::Freshest,
    }
}

fn intervals(refresh: &Refresh) -> Intervals {
    Intervals { gone_after_ms: refresh.gone_after_ms(), ..Intervals::around(refresh.interval_ms()) }
}
