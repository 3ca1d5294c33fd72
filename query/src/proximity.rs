//! Lets documents in which neighbouring words of the query stand near each other come before those in which they don't.
//!
//! For every two neighbouring units that a document has, their smallest distance in the text or in the title counts:
//! most when they stand side by side in the order asked for. Only a few documents are looked at, because their
//! positions have to be read.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Searcher, SegmentReader};

use crate::rank::Match;
use crate::score::{ScoredUnit, Scoring};
use crate::weights::{TEXT, TITLE};

/// Words farther apart than this have nothing to do with each other.
const FARTHEST: u32 = 12;

/// Adds to the scores; the matches are then to be put in order again.
pub fn add(scoring: &Scoring, searcher: &Searcher, weight: f32, matches: &mut [(Match, u64)]) -> tantivy::Result<()> {
    let mut order: Vec<usize> = (0..matches.len()).collect();
    order.sort_unstable_by_key(|&at| matches[at].0.address);
    for (ordinal, reader) in searcher.segment_readers().iter().enumerate() {
        let documents = order.iter().copied().filter(|&at| matches[at].0.address.segment_ord as usize == ordinal);
        let documents: Vec<usize> = documents.collect();
        if documents.is_empty() {
            continue;
        }
        for field in [TEXT, TITLE] {
            let mut units = Vec::with_capacity(scoring.units.len());
            for unit in &scoring.units {
                units.push(Places::open(unit, scoring, ordinal, reader, field)?);
            }
            for &at in &documents {
                let found = &mut matches[at].0;
                let bonus = weight * nearness(&mut units, found.address.doc_id);
                found.score += bonus;
                found.order += f64::from(bonus);
            }
        }
    }
    Ok(())
}

fn nearness(units: &mut [Places], document: DocId) -> f32 {
    let mut sum = 0.0;
    let mut previous: Option<usize> = None;
    for at in 0..units.len() {
        if !units[at].read(document) {
            continue;
        }
        if let Some(before) = previous
            && let Some(distance) = smallest_distance(&units[before].places, &units[at].places)
        {
            sum += units[before].idf.min(units[at].idf) / distance as f32;
        }
        previous = Some(at);
    }
    sum
}

/// Where a unit stands in one document after the other.
struct Places {
    idf: f32,
    lists: Vec<SegmentPostings>,
    places: Vec<u32>,
}

impl Places {
    fn open(
        unit: &ScoredUnit,
        scoring: &Scoring,
        ordinal: usize,
        reader: &SegmentReader,
        field: usize,
    ) -> tantivy::Result<Self> {
        let mut lists = Vec::new();
        for list in unit.lists[ordinal].iter().filter(|list| list.field == field) {
            let inverted = reader.inverted_index(scoring.field(field))?;
            lists.push(inverted.read_postings_from_terminfo(&list.info, IndexRecordOption::WithFreqsAndPositions)?);
        }
        Ok(Self { idf: unit.idf, lists, places: Vec::new() })
    }

    /// Whether the document has it. Documents must come in order.
    fn read(&mut self, document: DocId) -> bool {
        self.places.clear();
        for list in &mut self.lists {
            if list.doc() < document {
                list.seek(document);
            }
            if list.doc() == document {
                list.append_positions_with_offset(0, &mut self.places);
            }
        }
        if self.lists.len() > 1 {
            self.places.sort_unstable();
        }
        !self.places.is_empty()
    }
}

/// 1 when some place of the second follows one of the first directly; the other way round counts one more. `None` when
/// they are far apart.
fn smallest_distance(first: &[u32], second: &[u32]) -> Option<u32> {
    let mut nearest = u32::MAX;
    let mut before = 0;
    for &place in second {
        while before < first.len() && first[before] < place {
            before += 1;
        }
        if before > 0 {
            nearest = nearest.min(place - first[before - 1]);
        }
        // The same place is that of one word with two forms, which says nothing.
        let same = usize::from(first.get(before) == Some(&place));
        if let Some(&after) = first.get(before + same) {
            nearest = nearest.min(after - place + 1);
        }
        if nearest == 1 {
            break;
        }
    }
    (nearest <= FARTHEST).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_in_order_are_nearer_than_the_other_way_round() {
        assert_eq!(smallest_distance(&[3], &[4]), Some(1));
        assert_eq!(smallest_distance(&[4], &[3]), Some(2));
        assert_eq!(smallest_distance(&[1, 50], &[20, 47, 53]), Some(3));
        assert_eq!(smallest_distance(&[1], &[100]), None);
        assert_eq!(smallest_distance(&[], &[1]), None);
        assert_eq!(smallest_distance(&[7], &[7]), None);
    }

    proptest! {
        #[test]
        fn the_smallest_of_all_pairs_is_found(
            first in prop::collection::btree_set(0u32..200, 0..20),
            second in prop::collection::btree_set(0u32..200, 0..20),
        ) {
            let (first, second): (Vec<u32>, Vec<u32>) = (first.into_iter().collect(), second.into_iter().collect());
            let pairs = first.iter().flat_map(|&a| second.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
            let smallest = pairs.map(|(a, b)| if b > a { b - a } else { a - b + 1 }).min();
            prop_assert_eq!(smallest_distance(&first, &second), smallest.filter(|&distance| distance <= FARTHEST));
        }
    }
}
