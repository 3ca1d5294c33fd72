//! Finds the best next question of a tree.
//!
//! Life cycle: one for each tree; [`Cuts::best`] once for each depth, the leaves of the units being set in between.
//! Sums over one half of the units are enough at each depth: those over the other half are what is left of the sums
//! before. So the smaller half is counted.

use crate::binned::{BINS, Seen};

pub struct Cuts {
    /// For each feature the sums of slopes and bends, by leaf and by bin.
    sums: Vec<Vec<(f32, f32)>>,
    depth: usize,
    calm: f32,
}

impl Cuts {
    pub fn new(features: usize, calm: f32) -> Self {
        Self { sums: vec![Vec::new(); features], depth: 0, calm }
    }

    /// The place of the best feature, and the bin behind which it is cut. Features come with the number of their cuts.
    pub fn best<'b>(
        &mut self,
        seen: &[Seen],
        features: impl Iterator<Item = (&'b [u8], usize)>,
    ) -> Option<(usize, usize)> {
        let half = (BINS << self.depth) / 2;
        let is_yes = |unit: &Seen| self.depth > 0 && unit.leaf >> (self.depth - 1) == 1;
        let count_yes = self.depth > 0 && 2 * seen.iter().filter(|unit| is_yes(unit)).count() <= seen.len();
        let counted: Vec<&Seen> = seen.iter().filter(|unit| self.depth == 0 || is_yes(unit) == count_yes).collect();
        let mut best: Option<(f32, usize, usize)> = None;
        for (place, (bins, cuts)) in features.enumerate() {
            let mut sums = vec![(0.0f32, 0.0f32); BINS << self.depth];
            for unit in &counted {
                let sum = &mut sums[usize::from(unit.leaf) * BINS + usize::from(bins[unit.row as usize])];
                *sum = (sum.0 + unit.slope, sum.1 + unit.bend);
            }
            if self.depth > 0 {
                let (no, yes) = sums.split_at_mut(half);
                let (known, other) = if count_yes { (yes, no) } else { (no, yes) };
                for ((other, known), before) in other.iter_mut().zip(known).zip(&self.sums[place]) {
                    // Rounding must not make a bend negative.
                    *other = (before.0 - known.0, (before.1 - known.1).max(0.0));
                }
            }
            let gains = gains(&sums, cuts, self.calm);
            for (cut, gain) in gains[..cuts].iter().enumerate() {
                if best.is_none_or(|(most, _, _)| *gain > most) {
                    best = Some((*gain, place, cut));
                }
            }
            self.sums[place] = sums;
        }
        self.depth += 1;
        best.map(|(_, place, cut)| (place, cut))
    }
}

fn gains(sums: &[(f32, f32)], cuts: usize, calm: f32) -> [f32; BINS] {
    let mut gains = [0.0f32; BINS];
    let value = |slope: f32, bend: f32| slope * slope / (bend + calm);
    for leaf in sums.chunks(BINS) {
        let total = leaf.iter().fold((0.0, 0.0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
        let mut low = (0.0, 0.0);
        for (bin, gain) in leaf[..cuts].iter().zip(&mut gains) {
            low = (low.0 + bin.0, low.1 + bin.1);
            *gain += value(low.0, low.1) + value(total.0 - low.0, total.1 - low.1);
        }
    }
    gains
}
