//! Which phrases occur in the containers around a unit.
//!
//! A paragraph of a consent dialog, of an answer or of a review reads like any other; what stands beside it gives it
//! away.

use crate::extract::outline::{Outline, Unit};

use super::super::page_stats::share;
use super::super::phrases::{Counts, GROUPS};
use super::columns::Sink;
use super::{Features, flag};

/// Groups of phrases that name a part of a page: consent, copyright, newsletter, comments, related pages, cart, reviews,
/// questions.
const PARTS: [usize; 8] = [0, 1, 2, 5, 6, 8, 13, 14];
/// Containers that are looked at, as steps up from a unit's own.
const LEVELS: [(usize, &str); 2] = [(2, "2 around"), (4, "4 around")];

/// For each container in how many of its units the phrases of each part occur, and how many units it holds.
pub(super) struct Surroundings(Vec<([f32; PARTS.len()], f32)>);

impl Surroundings {
    pub fn of(outline: &Outline, phrases: &[Counts]) -> Self {
        let mut held = vec![([0.0; PARTS.len()], 0.0); outline.nodes.len()];
        for (unit, found) in outline.units.iter().zip(phrases) {
            let (sums, units) = &mut held[unit.node as usize];
            for (sum, group) in sums.iter_mut().zip(PARTS) {
                *sum += flag(found[group] > 0);
            }
            *units += 1.0;
        }
        for place in (1..held.len()).rev() {
            let (child, units) = held[place];
            let parent = &mut held[outline.nodes[place].parent as usize];
            for (sum, part) in parent.0.iter_mut().zip(child) {
                *sum += part;
            }
            parent.1 += units;
        }
        Self(held)
    }
}

impl Features<'_> {
    pub(super) fn put_surroundings(&self, unit: &Unit, sink: &mut impl Sink) {
        let nodes = &self.page.outline.nodes;
        let (mut node, mut steps) = (unit.node as usize, 0);
        for (wanted, whose) in LEVELS {
            while steps < wanted {
                node = nodes[node].parent as usize;
                steps += 1;
            }
            let (sums, units) = &self.surroundings.0[node];
            for (sum, group) in sums.iter().zip(PARTS) {
                sink.put_of(whose, GROUPS[group][0], share(*sum, *units));
            }
        }
    }
}
