//! The place of a URL in its host's queue. Comparing places as bytes is the whole strategy.
//!
//! Depth-first is the preorder of first discoveries: depth descending, then the parent's sequence number descending,
//! then the link's number ascending. Breadth-first has depth and sequence ascending.

/// Bytes of a place: depth, parent sequence, link number.
pub const PLACE_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub [u8; PLACE_BYTES]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    DepthFirst,
    BreadthFirst,
}

impl Order {
    pub fn place(self, depth: u32, parent_sequence: u64, link_number: u32) -> Place {
        let (depth, sequence) = match self {
            Self::DepthFirst => (!depth, !parent_sequence),
            Self::BreadthFirst => (depth, parent_sequence),
        };
        let mut bytes = [0; PLACE_BYTES];
        bytes[..4].copy_from_slice(&depth.to_be_bytes());
        bytes[4..12].copy_from_slice(&sequence.to_be_bytes());
        bytes[12..].copy_from_slice(&link_number.to_be_bytes());
        Place(bytes)
    }
}

impl Place {
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Depth-first search by recursion over a tree given as parent links: the definition.
    fn preorder(children: &[Vec<usize>], node: usize, visited: &mut Vec<usize>) {
        visited.push(node);
        for &child in &children[node] {
            preorder(children, child, visited);
        }
    }

    proptest! {
        #[test]
        fn a_queue_ordered_by_places_is_walked_in_preorder(parents in prop::collection::vec(any::<prop::sample::Index>(), 1..60)) {
            let mut children = vec![Vec::new(); parents.len() + 1];
            for (i, parent) in parents.iter().enumerate() {
                children[parent.index(i + 1)].push(i + 1);
            }
            let mut expected = Vec::new();
            preorder(&children, 0, &mut expected);

            let mut queue = BTreeMap::from([(Order::DepthFirst.place(0, 0, 0), (0usize, 0u32))]);
            let (mut visited, mut sequence) = (Vec::new(), 0);
            while let Some((_, (node, depth))) = queue.pop_first() {
                visited.push(node);
                sequence += 1;
                for (number, &child) in children[node].iter().enumerate() {
                    queue.insert(Order::DepthFirst.place(depth + 1, sequence, number as u32), (child, depth + 1));
                }
            }
            prop_assert_eq!(visited, expected);
        }

        #[test]
        fn breadth_first_never_goes_deeper_while_a_shallower_url_waits(a: (u32, u64, u32), b: (u32, u64, u32)) {
            if a.0 < b.0 {
                prop_assert!(Order::BreadthFirst.place(a.0, a.1, a.2) < Order::BreadthFirst.place(b.0, b.1, b.2));
            }
        }
    }
}
