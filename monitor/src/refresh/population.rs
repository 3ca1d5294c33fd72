//! All pages of a crawl, counted by change rate and weight on logarithmic scales. Fixed in size.
//!
//! A page is in one [`Cell`]; whoever stores the page stores its cell, and moves it when rate or weight change. Counts
//! are whole numbers, so adding and removing a page always restores what was there before.
//!
//! Averages, groups and classes of importance all come from these counts; a rate is exact to 4.5 %.

use std::collections::BTreeMap;

use super::estimate::MIN_RATE;

/// Steps of a factor 2^(1/8) from the least to the greatest rate of an estimate, which are 2^25 apart.
const RATES: u16 = 25 * RATE_STEPS_PER_OCTAVE;
const RATE_STEPS_PER_OCTAVE: u16 = 8;
/// Steps of a factor 2^(1/2) from [`MIN_WEIGHT`] to [`MAX_WEIGHT`].
const WEIGHTS: u16 = 17;
const WEIGHT_STEPS_PER_OCTAVE: u16 = 2;
const CELLS: usize = RATES as usize * WEIGHTS as usize;

/// Weights outside count as these. 1 is the weight of an ordinary page.
pub const MIN_WEIGHT: f64 = 1.0 / 16.0;
pub const MAX_WEIGHT: f64 = 16.0;

/// Where a page stands in the population. The number is stable and may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell(u16);

impl Cell {
    pub fn of(changes_per_day: f64, weight: f64) -> Self {
        let rate = step(changes_per_day / MIN_RATE, RATE_STEPS_PER_OCTAVE, 0.5, RATES);
        let weight = step(weight / MIN_WEIGHT, WEIGHT_STEPS_PER_OCTAVE, 0.0, WEIGHTS);
        Self(rate * WEIGHTS + weight)
    }

    pub fn number(self) -> u16 {
        self.0
    }

    pub fn from_number(number: u16) -> Option<Self> {
        (usize::from(number) < CELLS).then_some(Self(number))
    }

    pub fn changes_per_day(self) -> f64 {
        let step = f64::from(self.0 / WEIGHTS) + 0.5;
        MIN_RATE * (step / f64::from(RATE_STEPS_PER_OCTAVE)).exp2()
    }

    pub fn weight(self) -> f64 {
        MIN_WEIGHT * (f64::from(self.0 % WEIGHTS) / f64::from(WEIGHT_STEPS_PER_OCTAVE)).exp2()
    }

    /// Weight × update frequency.
    pub fn importance(self) -> f64 {
        self.weight() * self.changes_per_day()
    }
}

/// `shift` 0.5 puts the value into the middle of its step, 0 onto it.
fn step(ratio: f64, per_octave: u16, shift: f64, steps: u16) -> u16 {
    let at = (ratio.max(f64::MIN_POSITIVE).log2() * f64::from(per_octave) + 0.5 - shift).floor();
    // What is not a number becomes 0.
    (at.max(0.0) as u16).min(steps - 1)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// By cell number; only cells with pages, of which there are at most [`CELLS`].
    counts: BTreeMap<Cell, u64>,
    pages: u64,
}

impl Population {
    pub fn add(&mut self, cell: Cell) {
        *self.counts.entry(cell).or_default() += 1;
        self.pages += 1;
    }

    /// False, and nothing changes, when no page is there: the caller's record is older than these counts.
    pub fn remove(&mut self, cell: Cell) -> bool {
        let Some(count) = self.counts.get_mut(&cell) else { return false };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&cell);
        }
        self.pages -= 1;
        true
    }

    pub fn replace(&mut self, old: Option<Cell>, new: Cell) {
        if let Some(old) = old {
            self.remove(old);
        }
        self.add(new);
    }

    pub fn pages(&self) -> u64 {
        self.pages
    }

    pub fn cells(&self) -> impl Iterator<Item = (Cell, u64)> + '_ {
        self.counts.iter().map(|(cell, count)| (*cell, *count))
    }

    /// The average change frequency f_a, and the averages of those at or above it and of those below.
    pub fn averages(&self) -> Averages {
        let all = mean(self.cells());
        let above = mean(self.cells().filter(|(cell, _)| cell.changes_per_day() >= all));
        let below = mean(self.cells().filter(|(cell, _)| cell.changes_per_day() < all));
        Averages { all, above, below }
    }

    /// The middle of all rates on the logarithmic scale: what to believe of a page that nothing is known of.
    pub fn typical_rate(&self) -> Option<f64> {
        let sum: f64 = self.cells().map(|(cell, count)| cell.changes_per_day().ln() * count as f64).sum();
        (self.pages > 0).then(|| (sum / self.pages as f64).exp())
    }

    /// For each cell the range of its pages in the order of importance, from 0 (the most important) to 1. Pages of equal
    /// importance share one range.
    pub fn importance_ranks(&self) -> BTreeMap<Cell, (f64, f64)> {
        let mut cells: Vec<(Cell, u64)> = self.cells().collect();
        cells.sort_by(|a, b| b.0.importance().total_cmp(&a.0.importance()));
        let (mut ranks, mut before, mut at) = (BTreeMap::new(), 0u64, 0);
        while at < cells.len() {
            // Steps of rate and weight fit into each other, so equal importance differs by rounding alone.
            let importance = cells[at].0.importance() * (1.0 - 1e-9);
            let equal = cells[at..].iter().take_while(|(cell, _)| cell.importance() >= importance).count();
            let count: u64 = cells[at..at + equal].iter().map(|(_, count)| count).sum();
            let range = (before as f64 / self.pages as f64, (before + count) as f64 / self.pages as f64);
            ranks.extend(cells[at..at + equal].iter().map(|(cell, _)| (*cell, range)));
            before += count;
            at += equal;
        }
        ranks
    }

    /// For storing: cell number and count in turn.
    pub fn to_words(&self) -> Vec<u64> {
        self.cells().flat_map(|(cell, count)| [u64::from(cell.number()), count]).collect()
    }

    /// Takes back what `to_words` gave. `None` for anything else.
    pub fn from_words(words: &[u64]) -> Option<Self> {
        let mut population = Self::default();
        let (pairs, []) = words.as_chunks::<2>() else { return None };
        for [number, count] in pairs {
            let cell = Cell::from_number(u16::try_from(*number).ok()?)?;
            population.pages = population.pages.checked_add(*count)?;
            if *count == 0 || population.counts.insert(cell, *count).is_some() {
                return None;
            }
        }
        Some(population)
    }
}

/// Change frequencies per day; 0 for a group without pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Averages {
    pub all: f64,
    pub above: f64,
    pub below: f64,
}

fn mean(cells: impl Iterator<Item = (Cell, u64)>) -> f64 {
    let (sum, count) = cells
        .fold((0.0, 0u64), |(sum, count), (cell, pages)| (sum + cell.changes_per_day() * pages as f64, count + pages));
    if count == 0 { 0.0 } else { sum / count as f64 }
}
