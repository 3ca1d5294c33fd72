//! Gradient boosting of oblivious trees on features that are cut in bins.
//!
//! Light units are many and say little: a tree sees them by chance, in proportion to their weight, and those it sees
//! stand for the others.

use seine_analyser::main_text::training::{DEPTH, Forest, Tree, feature_names};

use crate::cuts::Cuts;
use crate::pages::Page;

pub const BINS: usize = 64;

pub struct Settings {
    pub trees: usize,
    pub rate: f32,
    /// Pulls leaves towards nothing; grows with doubt.
    pub calm: f32,
    /// Share of features and of pages that one tree sees.
    pub features: f64,
    pub pages: f64,
    /// Units of at least this weight are always seen.
    pub heavy: f32,
    pub seed: u64,
}

/// All units of all pages, their features as numbers of bins.
pub struct Binned {
    limits: Vec<Vec<f32>>,
    /// By feature, then by row.
    bins: Vec<Vec<u8>>,
    labels: Vec<f32>,
    weights: Vec<f32>,
    rows_of: Vec<std::ops::Range<usize>>,
}

/// A unit that a tree is made from: how much, and how steadily, it pulls the tree's value.
pub struct Seen {
    pub row: u32,
    pub leaf: u8,
    pub slope: f32,
    pub bend: f32,
}

impl Binned {
    pub fn of(pages: &[Page]) -> Self {
        let mut limits = Vec::new();
        let mut bins = Vec::new();
        for feature in 0..feature_names().len() {
            let values: Vec<f32> = pages.iter().flat_map(|page| page.features[feature].iter().copied()).collect();
            let mut sorted: Vec<f32> = values.iter().copied().step_by(3).collect();
            sorted.sort_by(f32::total_cmp);
            let mut cuts: Vec<f32> = (1..BINS).map(|n| sorted[n * (sorted.len() - 1) / BINS]).collect();
            cuts.dedup();
            bins.push(values.iter().map(|value| cuts.partition_point(|cut| cut < value) as u8).collect());
            limits.push(cuts);
        }
        let mut at = 0;
        let rows_of = pages.iter().map(|page| {
            at += page.units.len();
            at - page.units.len()..at
        });
        Self {
            limits,
            bins,
            rows_of: rows_of.collect(),
            labels: pages.iter().flat_map(|page| page.labels.iter().copied()).collect(),
            weights: pages.iter().flat_map(|page| page.weights.iter().copied()).collect(),
        }
    }

    pub fn train(&self, known: &[usize], settings: &Settings) -> Forest {
        let mut random = Random(settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let rows: Vec<usize> = known.iter().flat_map(|page| self.rows_of[*page].clone()).collect();
        let (mut yes, mut all) = (0.0, 0.0);
        for row in &rows {
            yes += self.weights[*row] * self.labels[*row];
            all += self.weights[*row];
        }
        let bias = (yes / (all - yes)).ln();
        let mut sums = vec![bias; self.labels.len()];
        let mut forest = Forest { bias, trees: Vec::new() };
        for _ in 0..settings.trees {
            let seen = self.seen(known, &sums, settings, &mut random);
            let features: Vec<usize> =
                (0..self.bins.len()).filter(|_| random.below_one() < settings.features).collect();
            let tree = self.tree(seen, &features, settings);
            for row in &rows {
                let leaf = self.leaf_of(&tree, *row);
                sums[*row] += tree.leaves[leaf];
            }
            forest.trees.push(self.with_limits(tree));
        }
        forest
    }

    fn seen(&self, known: &[usize], sums: &[f32], settings: &Settings, random: &mut Random) -> Vec<Seen> {
        let mut seen = Vec::new();
        for page in known {
            if random.below_one() >= settings.pages {
                continue;
            }
            for row in self.rows_of[*page].clone() {
                let chance = (self.weights[row] / settings.heavy).min(1.0);
                if random.below_one() < f64::from(chance) {
                    let probability = 1.0 / (1.0 + (-sums[row]).exp());
                    let weight = self.weights[row] / chance;
                    let slope = weight * (self.labels[row] - probability);
                    let bend = weight * probability * (1.0 - probability);
                    seen.push(Seen { row: row as u32, leaf: 0, slope, bend });
                }
            }
        }
        seen
    }

    /// A tree whose questions name bins instead of values.
    fn tree(&self, mut seen: Vec<Seen>, features: &[usize], settings: &Settings) -> Tree {
        let mut cuts = Cuts::new(features.len(), settings.calm);
        let mut questions = Vec::new();
        for depth in 0..DEPTH {
            let best =
                cuts.best(&seen, features.iter().map(|feature| (&*self.bins[*feature], self.limits[*feature].len())));
            let Some((place, cut)) = best else { break };
            let feature = features[place];
            questions.push((feature as u16, cut as f32));
            for unit in &mut seen {
                unit.leaf |= u8::from(usize::from(self.bins[feature][unit.row as usize]) > cut) << depth;
            }
        }
        let mut totals = vec![(0.0f32, 0.0f32); 1 << questions.len()];
        for unit in &seen {
            let total = &mut totals[usize::from(unit.leaf)];
            *total = (total.0 + unit.slope, total.1 + unit.bend);
        }
        let leaves = totals.iter().map(|(slope, bend)| settings.rate * slope / (bend + settings.calm)).collect();
        Tree { questions, leaves }
    }

    fn leaf_of(&self, tree: &Tree, row: usize) -> usize {
        leaf(tree, |feature| f32::from(self.bins[feature][row]))
    }

    fn with_limits(&self, tree: Tree) -> Tree {
        let questions = tree.questions.iter().map(|(feature, cut)| {
            let limits = &self.limits[usize::from(*feature)];
            (*feature, limits.get(*cut as usize).copied().unwrap_or(f32::MAX))
        });
        Tree { questions: questions.collect(), ..tree }
    }
}

struct Random(u64);

impl Random {
    fn below_one(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub fn leaf(tree: &Tree, value: impl Fn(usize) -> f32) -> usize {
    let answers = tree.questions.iter().enumerate();
    answers.fold(0, |leaf, (bit, (feature, limit))| leaf | (usize::from(value(usize::from(*feature)) > *limit) << bit))
}
