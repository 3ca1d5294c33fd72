//! How visits are shared out among pages: the visits a day that each policy wishes for a page, before limits and budget.

use super::population::{Averages, Cell, Population};

/// A page at or above the average change frequency is visited at this multiple of its group's average.
const FAST_GROUP_FACTOR: f64 = 5.0;
const CLASSES: usize = 5;
/// The first two of the five classes are important: those whose Zipf share is above the average (2.2 and 1.1).
const IMPORTANT_SHARE: f64 = 0.4;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Policy {
    /// Every page as often as the budget allows, all alike.
    Uniform,
    /// Every page after so many days, whatever the budget.
    FixedInterval { days: f64 },
    /// Two groups by change frequency and five classes of importance.
    ///
    /// Pages at or above the average frequency are visited at five times their group's average, others at their
    /// group's average. In the order of importance (weight × frequency), five classes of equal size are visited in
    /// proportion to 1/1 … 1/5. An important page takes the higher of the two rates, another the lower. Both rates are
    /// brought to the budget before they are compared, and what they give together once more.
    GroupsAndClasses,
    /// The visits that keep most pages, by weight, up to date. Pages that change too fast to be caught get few.
    #[default]
    Freshest,
}

/// The rates of [`Policy::GroupsAndClasses`] for each cell, before the budget.
pub(super) fn groups_and_classes(population: &Population, mean_visits: f64) -> Vec<(Cell, u64, f64)> {
    let averages = population.averages();
    let by_group = |cell: Cell| group_rate(cell, averages);
    let wished: f64 = population.cells().map(|(cell, count)| by_group(cell) * count as f64).sum();
    let to_budget = if wished > 0.0 { mean_visits * population.pages() as f64 / wished } else { 0.0 };
    let ranks = population.importance_ranks();
    let rate = |cell: Cell| {
        let range = ranks[&cell];
        let group = by_group(cell) * to_budget;
        let class = class_factor(range) * mean_visits;
        let important = 0.5 * (range.0 + range.1) < IMPORTANT_SHARE;
        if important { group.max(class) } else { group.min(class) }
    };
    population.cells().map(|(cell, count)| (cell, count, rate(cell))).collect()
}

fn group_rate(cell: Cell, averages: Averages) -> f64 {
    if cell.changes_per_day() >= averages.all { FAST_GROUP_FACTOR * averages.above } else { averages.below }
}

/// What the classes of a range of ranks get, relative to the average: 2.2, 1.1, 0.7, 0.5, 0.4 for whole classes. A range
/// that lies in several gets their mean, so that the factors of all pages always average 1.
pub(super) fn class_factor((from, to): (f64, f64)) -> f64 {
    let harmonic: f64 = (1..=CLASSES).map(|class| 1.0 / class as f64).sum();
    let factor = |class: usize| CLASSES as f64 / (harmonic * class as f64);
    let width = to - from;
    let share = |class: usize| {
        let (start, end) = ((class - 1) as f64 / CLASSES as f64, class as f64 / CLASSES as f64);
        (to.min(end) - from.max(start)).max(0.0)
    };
    if width <= 0.0 {
        return factor(((from * CLASSES as f64) as usize + 1).min(CLASSES));
    }
    (1..=CLASSES).map(|class| factor(class) * share(class)).sum::<f64>() / width
}
