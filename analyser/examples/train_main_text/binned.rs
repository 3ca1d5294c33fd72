//! Gradient boosting of oblivious trees on features that are cut in bins.

use seine_analyser::main_text::training::{DEPTH, Forest, Tree, feature_names};

use crate::pages::Page;

const BINS: usize = 64;

pub struct Settings {
    pub trees: usize,
    pub rate: f32,
    /// Pulls leaves towards nothing; grows with doubt.
    pub calm: f32,
    /// Share of features and of pages that one tree sees.
    pub features: f64,
    pub pages: f64,
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
            let seen: Vec<usize> = known
                .iter()
                .filter(|_| random.below_one() < settings.pages)
                .flat_map(|page| self.rows_of[*page].clone())
                .collect();
            let features: Vec<usize> =
                (0..self.bins.len()).filter(|_| random.below_one() < settings.features).collect();
            let tree = self.tree(&seen, &features, &sums, settings);
            for row in &rows {
                let leaf = self.leaf_of(&tree, *row);
                sums[*row] += tree.leaves[leaf];
            }
            forest.trees.push(self.with_limits(tree));
        }
        forest
    }

    /// A tree whose questions name bins instead of values.
    fn tree(&self, rows: &[usize], features: &[usize], sums: &[f32], settings: &Settings) -> Tree {
        let slopes: Vec<(f32, f32)> = rows
            .iter()
            .map(|row| {
                let probability = 1.0 / (1.0 + (-sums[*row]).exp());
                let weight = self.weights[*row];
                (weight * (self.labels[*row] - probability), weight * probability * (1.0 - probability))
            })
            .collect();
        let mut leaf_of = vec![0u8; rows.len()];
        let mut questions = Vec::new();
        for depth in 0..DEPTH {
            let leaves = 1 << depth;
            let best =
                features.iter().map(|feature| self.best_cut(*feature, rows, &slopes, &leaf_of, leaves, settings));
            let best = best.zip(features).max_by(|a, b| a.0.0.total_cmp(&b.0.0));
            let Some(((_, cut), feature)) = best else { break };
            questions.push((*feature as u16, cut as f32));
            for (leaf, row) in leaf_of.iter_mut().zip(rows) {
                *leaf |= u8::from(usize::from(self.bins[*feature][*row]) > cut) << depth;
            }
        }
        let mut totals = vec![(0.0f32, 0.0f32); 1 << questions.len()];
        for (leaf, slope) in leaf_of.iter().zip(&slopes) {
            let total = &mut totals[usize::from(*leaf)];
            *total = (total.0 + slope.0, total.1 + slope.1);
        }
        let leaves = totals.iter().map(|(slope, bend)| settings.rate * slope / (bend + settings.calm)).collect();
        Tree { questions, leaves }
    }

    /// The gain of the best cut of one feature, and the bin behind which it lies.
    fn best_cut(
        &self,
        feature: usize,
        rows: &[usize],
        slopes: &[(f32, f32)],
        leaf_of: &[u8],
        leaves: usize,
        settings: &Settings,
    ) -> (f32, usize) {
        let bins = &self.bins[feature];
        let mut sums = vec![(0.0f32, 0.0f32); leaves * BINS];
        for ((row, slope), leaf) in rows.iter().zip(slopes).zip(leaf_of) {
            let sum = &mut sums[usize::from(*leaf) * BINS + usize::from(bins[*row])];
            sum.0 += slope.0;
            sum.1 += slope.1;
        }
        let mut gains = [0.0f32; BINS];
        for leaf in sums.chunks(BINS) {
            let total = leaf.iter().fold((0.0, 0.0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
            let mut low = (0.0, 0.0);
            let value = |slope: f32, bend: f32| slope * slope / (bend + settings.calm);
            for (bin, gain) in leaf.iter().zip(&mut gains) {
                low = (low.0 + bin.0, low.1 + bin.1);
                *gain += value(low.0, low.1) + value(total.0 - low.0, total.1 - low.1);
            }
        }
        let cuts = self.limits[feature].len();
        let best = (0..cuts).max_by(|a, b| gains[*a].total_cmp(&gains[*b])).unwrap_or(0);
        (gains[best], best)
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
