//! Which refresh policy keeps a crawl freshest: pages with known change rates, visited on a simulated clock.
//!
//! Every policy gets the same pages and the same budget, and sees what a crawler sees: whether a page changed since the
//! last visit, not how often, nor its rate. Freshness is the share of pages whose copy is up to date, averaged over
//! time after a warm-up; age is how long a copy has been out of date, 0 while it is not. Deterministic; no network.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use seine_monitor::refresh::{Cell, DAY_MS, History, Intervals, Ledger, Plan, Policy, Population, Seen};
use serde::Serialize;

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub pages: usize,
    pub days: u64,
    /// The beginning, in which policies learn, does not count.
    pub warm_up_days: u64,
    pub base_interval_days: u64,
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pages: 10_000, days: 200, warm_up_days: 80, base_interval_days: 7, seed: 1 }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct PolicyResult {
    pub name: &'static str,
    /// After the warm-up, as the figures below.
    pub visits: u64,
    pub freshness: f64,
    pub age_days: f64,
}

/// The policies under comparison, with the names they are shown by.
pub fn policies(settings: Settings) -> [(&'static str, Policy); 4] {
    [
        ("uniform", Policy::Uniform),
        ("fixed interval", Policy::FixedInterval { days: settings.base_interval_days as f64 }),
        ("groups and classes", Policy::GroupsAndClasses),
        ("freshest (default)", Policy::Freshest),
    ]
}

/// All policies under the same conditions.
pub fn compare(settings: Settings) -> Vec<PolicyResult> {
    policies(settings).into_iter().map(|(name, policy)| simulate(name, policy, settings)).collect()
}

struct Page {
    changes_per_day: f64,
    random: Random,
    history: History,
    cell: Option<Cell>,
    visited_ms: u64,
}

pub fn simulate(name: &'static str, policy: Policy, settings: Settings) -> PolicyResult {
    let base_ms = settings.base_interval_days * DAY_MS;
    let (warm_ms, end_ms) = (settings.warm_up_days * DAY_MS, settings.days * DAY_MS);
    let intervals = Intervals::around(base_ms);
    let mut pages: Vec<Page> = (0..settings.pages).map(|number| page(settings.seed, number)).collect();
    let mut population = Population::default();
    let mut ledger = Ledger::default();
    let mut plan = Plan::new(policy, &population, ledger, intervals);
    let mut planned_ms = 0;
    // First visits are spread over one base interval, as a crawl takes its time.
    let first = |number: usize| number as u64 * base_ms / settings.pages as u64;
    let mut due: BinaryHeap<_> = (0..pages.len()).map(|number| Reverse((first(number), number))).collect();
    let mut total = Total { from_ms: warm_ms as f64, to_ms: end_ms as f64, fresh_ms: 0.0, age_ms2: 0.0 };
    let mut visits = 0;
    while let Some(Reverse((now_ms, number))) = due.pop().filter(|Reverse((now_ms, _))| *now_ms < end_ms) {
        if now_ms >= planned_ms {
            ledger.settle(now_ms, population.pages(), base_ms);
            plan = Plan::new(policy, &population, ledger, intervals);
            planned_ms = now_ms + DAY_MS;
        }
        let page = &mut pages[number];
        let seen = page.watch_until(now_ms, &mut total);
        page.history.visited(now_ms, seen);
        page.visited_ms = now_ms;
        let cell = plan.cell(&page.history, 1.0);
        population.replace(page.cell.replace(cell), cell);
        ledger.visited();
        visits += u64::from(now_ms >= warm_ms);
        due.push(Reverse((plan.next_visit(&page.history, cell, now_ms, number as u64), number)));
    }
    for page in &mut pages {
        page.watch_until(end_ms, &mut total);
    }
    let span_ms = (end_ms - warm_ms) as f64 * settings.pages as f64;
    PolicyResult {
        name,
        visits,
        freshness: total.fresh_ms / span_ms,
        age_days: total.age_ms2 / span_ms / DAY_MS as f64,
    }
}

impl Page {
    /// Lets the page live from its last visit to now, and tells whether it changed.
    fn watch_until(&mut self, now_ms: u64, total: &mut Total) -> Seen {
        let (from, to) = (self.visited_ms as f64, now_ms as f64);
        let change = from + self.random.exponential() / self.changes_per_day * DAY_MS as f64;
        total.count(from, to, change);
        if change < to { Seen::Changed } else { Seen::Unchanged }
    }
}

/// Time that counts, and what was seen in it.
struct Total {
    from_ms: f64,
    to_ms: f64,
    fresh_ms: f64,
    age_ms2: f64,
}

impl Total {
    /// A copy was taken at `from` and replaced at `to`; the page changed first at `change`.
    fn count(&mut self, from: f64, to: f64, change: f64) {
        let (from, to) = (from.max(self.from_ms), to.min(self.to_ms));
        self.fresh_ms += (to.min(change) - from).max(0.0);
        let stale_from = from.max(change);
        if stale_from < to {
            self.age_ms2 += ((to - change).powi(2) - (stale_from - change).powi(2)) / 2.0;
        }
    }
}

/// A heavy-tailed mix: a seventh of the pages changes many times a week and some of them hourly (front pages, lists,
/// forums), two fifths about every third week, and the rest hardly ever, each around its middle by a factor of about 3.
fn page(seed: u64, number: usize) -> Page {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number as u64));
    // The first numbers of neighbouring seeds are alike.
    random.unit();
    let kind = random.unit();
    let middle = match kind {
        kind if kind < 0.15 => 1.0,
        kind if kind < 0.55 => 1.0 / 20.0,
        _ => 1.0 / 400.0,
    };
    let changes_per_day = middle * (1.2 * random.normal()).exp();
    Page { changes_per_day, random, history: History::default(), cell: None, visited_ms: 0 }
}

/// SplitMix64: enough for a simulation, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}
