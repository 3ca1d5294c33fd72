//! A policy applied to a population: when each page is due. Made anew from time to time, as the population moves.
//!
//! Invariant: over the pages of the population the planned visits a day add up to pages ÷ base interval, and a part of
//! what the ledger owes, unless the limits on intervals make that impossible, or the policy names its own interval.

use super::DAY_MS;
use super::estimate::{Prior, changes_per_day};
use super::freshness::visits_for_gain;
use super::history::{DEFAULT_GONE_AFTER_MS, History};
use super::ledger::Ledger;
use super::policy::{Policy, groups_and_classes};
use super::population::{Cell, Population};

/// What the ledger owes is made up for in this many base intervals.
const SETTLE_IN_BASE_INTERVALS: f64 = 2.0;
/// Visits are spread by up to this share of the interval to either side.
const JITTER: f64 = 0.05;
/// Expires may stretch an interval to this multiple of what is planned.
const MAX_STRETCH: u64 = 2;
/// A sitemap that tells of a change may shorten it to this part.
const MAX_HURRY: u64 = 4;

/// The longest time between two visits, in base intervals.
pub const LONGEST_INTERVAL: u64 = 8;

/// Limits on the time between two visits to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// One visit per page and this time is the budget.
    pub base_ms: u64,
    pub min_ms: u64,
    pub max_ms: u64,
    /// How long after the first answer 404 or 410 a page is asked again to confirm it.
    pub gone_after_ms: u64,
}

impl Intervals {
    /// At the earliest after an hour, at the latest after eight times the base.
    pub fn around(base_ms: u64) -> Self {
        let min_ms = (DAY_MS / 24).min(base_ms);
        Self { base_ms, min_ms, max_ms: base_ms.saturating_mul(LONGEST_INTERVAL), gone_after_ms: DEFAULT_GONE_AFTER_MS }
    }

    /// In days, in order, and never so short that arithmetic fails.
    fn days(&self) -> (f64, f64, f64) {
        let days = |ms: u64| (ms as f64 / DAY_MS as f64).max(1e-5);
        let (min, max) = (days(self.min_ms), days(self.max_ms.max(self.min_ms)));
        (min, days(self.base_ms).clamp(min, max), max)
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    intervals: Intervals,
    prior: Prior,
    share: Share,
}

/// How the visits a day of a page follow from its cell.
#[derive(Clone, Debug)]
enum Share {
    Same(f64),
    /// The gain of one more visit that all pages have in common. For pages that change very fast, the least difference
    /// of gain is between very many visits and none, so the budget is met between two gains, `mix` of the way.
    Gain {
        few_visits: f64,
        many_visits: f64,
        mix: f64,
    },
    /// By cell, in order, with the factor that keeps the budget already in.
    Table(Vec<(Cell, f64)>),
}

impl Plan {
    pub fn new(policy: Policy, population: &Population, ledger: Ledger, intervals: Intervals) -> Self {
        let (min, base, max) = intervals.days();
        let owed = ledger.owed_visits / (population.pages().max(1) as f64 * SETTLE_IN_BASE_INTERVALS);
        let mean = (1.0 + if owed.is_nan() { 0.0 } else { owed.clamp(-0.5, 0.5) }) / base;
        let limited = |visits: f64| visits.clamp(1.0 / max, 1.0 / min);
        let budget = mean * population.pages() as f64;
        let share = match policy {
            _ if population.pages() == 0 => Share::Same(limited(mean)),
            Policy::Uniform => Share::Same(limited(mean)),
            Policy::FixedInterval { days } => Share::Same(limited(1.0 / days.max(1e-5))),
            Policy::GroupsAndClasses => {
                let cells = groups_and_classes(population, mean);
                // The factor, on a logarithmic scale, at which the limited rates add up to the budget.
                let (factor, _) = bisect(-30.0, 30.0, |factor| {
                    let factor = factor.exp();
                    cells.iter().map(|(_, count, rate)| limited(rate * factor) * *count as f64).sum::<f64>() < budget
                });
                Share::Table(cells.iter().map(|(cell, _, rate)| (*cell, limited(rate * factor.exp()))).collect())
            }
            Policy::Freshest => {
                let cells: Vec<(Cell, f64)> = population.cells().map(|(cell, count)| (cell, count as f64)).collect();
                let total = |gain: f64| {
                    let visits = |cell: Cell| limited(visits_for_gain(cell.changes_per_day(), cell.weight(), gain));
                    cells.iter().map(|(cell, count)| visits(*cell) * count).sum::<f64>()
                };
                // The higher the gain that is asked for, the fewer the visits.
                let (few, many) = bisect(-30.0, 30.0, |scale| total((-scale).exp()) < budget);
                let (few_visits, many_visits) = ((-few).exp(), (-many).exp());
                let (least, most) = (total(few_visits), total(many_visits));
                let mix = if most > least { ((budget - least) / (most - least)).clamp(0.0, 1.0) } else { 0.0 };
                Share::Gain { few_visits, many_visits, mix }
            }
        };
        let typical = population.typical_rate();
        let prior = Prior { changes_per_day: typical.unwrap_or(Prior::default().changes_per_day), ..Prior::default() };
        Self { intervals, prior, share }
    }

    /// Where the page stands now; to be entered into the population and stored with the page.
    pub fn cell(&self, history: &History, weight: f64) -> Cell {
        Cell::of(changes_per_day(history, self.prior), weight)
    }

    pub fn visits_per_day(&self, cell: Cell) -> f64 {
        let (min, _, max) = self.intervals.days();
        let limited = |visits: f64| visits.clamp(1.0 / max, 1.0 / min);
        match &self.share {
            Share::Same(visits) => *visits,
            Share::Gain { few_visits, many_visits, mix } => {
                let at = |gain| limited(visits_for_gain(cell.changes_per_day(), cell.weight(), gain));
                let (few, many) = (at(*few_visits), at(*many_visits));
                few + mix * (many - few)
            }
            // A page may come into a cell that was empty when the plan was made; its nearest neighbour by rate stands in.
            Share::Table(table) => match table.binary_search_by(|(known, _)| known.cmp(&cell)) {
                Ok(at) => table[at].1,
                Err(at) => table.get(at).or(table.last()).map_or(0.0, |(_, visits)| *visits),
            },
        }
    }

    /// When the page is due. Call it after each visit with the page's new cell; `seed` is any number of the page's own,
    /// such as its fingerprint.
    ///
    /// Expires postpones the visit, and a sitemap that tells of a change brings it forward, both within limits: what a
    /// site says about itself may not keep a page out of date, nor take the visits of others. The answer is never
    /// before `now_ms`.
    pub fn next_visit(&self, history: &History, cell: Cell, now_ms: u64, seed: u64) -> u64 {
        if history.gone_visits > 0 && !history.is_gone(self.intervals.gone_after_ms) {
            return history.first_gone_ms.saturating_add(self.intervals.gone_after_ms).max(now_ms);
        }
        let days = 1.0 / self.visits_per_day(cell);
        let (min, max) = (self.intervals.min_ms, self.intervals.max_ms.max(self.intervals.min_ms));
        let spread = 1.0 + JITTER * (2.0 * unit(seed, history.visits) - 1.0);
        // `as` keeps within u64 whatever the factors are.
        let interval = ((days * DAY_MS as f64 * spread) as u64).clamp(min, max);
        let from = if history.visits == 0 { now_ms } else { history.last_visit_ms.min(now_ms) };
        let mut due = from.saturating_add(interval);
        if let Some(expires) = history.expires_ms {
            let latest = from.saturating_add(interval.saturating_mul(MAX_STRETCH).min(max));
            due = due.max(expires.min(latest));
        }
        if history.has_changed_by_sitemap() {
            due = due.min(from.saturating_add((interval / MAX_HURRY).max(min)));
        }
        due.max(now_ms)
    }
}

/// When a page is due whose visit was planned before a sitemap told of a change.
pub fn hurried(history: &History, due_ms: u64, now_ms: u64) -> u64 {
    if !history.has_changed_by_sitemap() {
        return due_ms;
    }
    let interval = due_ms.saturating_sub(history.last_visit_ms);
    let least = (DAY_MS / 24).min(interval);
    due_ms.min(history.last_visit_ms.saturating_add((interval / MAX_HURRY).max(least))).max(now_ms.min(due_ms))
}

/// Two neighbours between which `below` turns from true to false, a part in 2^50 of the distance apart.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> (f64, f64) {
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if below(middle) { low = middle } else { high = middle }
    }
    (low, high)
}

/// A number from 0 to 1 that looks random and is the same for the same page and visit (the mixing step of SplitMix64).
fn unit(seed: u64, visits: u32) -> f64 {
    let mut x = seed.wrapping_add(u64::from(visits).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
