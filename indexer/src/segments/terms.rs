//! The terms of a segment that is being built: a number for each, and in the end their order.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::keys::Keys;

#[derive(Default)]
pub struct Terms {
    hasher: RandomState,
    keys: Keys<()>,
}

impl Terms {
    pub fn number(&mut self, term: &[u8]) -> u32 {
        self.keys.number(self.hasher.hash_one(term), term, |()| true, || ())
    }

    pub fn memory(&self) -> usize {
        self.keys.memory()
    }

    /// Numbers stay as they are.
    pub fn sorted(&self) -> SortedTerms<'_> {
        // Most are told apart by their beginnings, which lie side by side here.
        let beginnings = (0..self.keys.len() as u32).map(|number| (beginning(self.keys.key(number)), number));
        let mut order: Vec<(u64, u32)> = beginnings.collect();
        order.sort_unstable_by(|(a_beginning, a), (b_beginning, b)| {
            a_beginning.cmp(b_beginning).then_with(|| self.keys.key(*a).cmp(self.keys.key(*b)))
        });
        let mut ranks = vec![0; order.len()];
        for (rank, (_, number)) in order.iter().enumerate() {
            ranks[*number as usize] = rank as u32;
        }
        SortedTerms { keys: &self.keys, order: order.into_iter().map(|(_, number)| number).collect(), ranks }
    }
}

/// Shorter terms are filled up with zeros, which sort first as their ends do.
fn beginning(term: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = term.len().min(bytes.len());
    bytes[..length].copy_from_slice(&term[..length]);
    u64::from_be_bytes(bytes)
}

pub struct SortedTerms<'t> {
    keys: &'t Keys<()>,
    /// Numbers by rank.
    order: Vec<u32>,
    /// Ranks by number.
    ranks: Vec<u32>,
}

impl SortedTerms<'_> {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn rank(&self, number: u32) -> usize {
        self.ranks[number as usize] as usize
    }

    pub fn term(&self, rank: usize) -> &[u8] {
        self.keys.key(self.order[rank])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn terms_are_in_the_order_of_their_bytes(texts in proptest::collection::vec("[\0-\u{2}ab]{0,12}", 0..60)) {
            let mut terms = Terms::default();
            let numbers: Vec<u32> = texts.iter().map(|text| terms.number(text.as_bytes())).collect();
            let sorted = terms.sorted();
            let mut expected: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            expected.sort_unstable();
            expected.dedup();
            let found: Vec<&[u8]> = (0..sorted.len()).map(|rank| sorted.term(rank)).collect();
            prop_assert_eq!(found, expected);
            for (text, number) in texts.iter().zip(numbers) {
                prop_assert_eq!(sorted.term(sorted.rank(number)), text.as_bytes());
            }
        }
    }
}
