//! The place of a URL in its host's queue. Comparing places as bytes is the whole strategy.
//!
//! Depth-first is the preorder of first discoveries: depth descending, then the parent's sequence number descending,
//! then the link's number ascending. Breadth-first has depth and sequence ascending. Bounded breadth is depth-first,
//! but for the links of valuable pages: those stand before all others, first come first served, and when too many of
//! them wait, behind all others. Visits to known pages come before everything else.

/// Bytes of a place: class, depth, parent sequence, link number.
pub const PLACE_BYTES: usize = 16;
/// Deeper pages count as this deep.
const MAX_PLACED_DEPTH: u32 = (1 << 24) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub [u8; PLACE_BYTES]);

/// The first byte of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A known page that is visited again.
    Revisit = 0,
    /// A link of a valuable page.
    Breadth = 1,
    Ordinary = 2,
    /// A link of a valuable page that waits for resources.
    Deferred = 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    DepthFirst,
    BreadthFirst,
    BoundedBreadth,
}

impl Order {
    pub fn place(self, depth: u32, parent_sequence: u64, link_number: u32) -> Place {
        let depth = depth.min(MAX_PLACED_DEPTH);
        match self {
            Self::DepthFirst | Self::BoundedBreadth => {
                Place::new(Class::Ordinary, MAX_PLACED_DEPTH - depth, !parent_sequence, link_number)
            }
            Self::BreadthFirst => Place::new(Class::Ordinary, depth, parent_sequence, link_number),
        }
    }

    /// A place behind all others of its depth.
    pub fn last_place(self, depth: u32, number: u32) -> Place {
        match self {
            Self::DepthFirst | Self::BoundedBreadth => self.place(depth, 0, number),
            Self::BreadthFirst => self.place(depth, u64::MAX, number),
        }
    }
}

impl Place {
    fn new(class: Class, depth: u32, sequence: u64, link_number: u32) -> Self {
        let mut bytes = [0; PLACE_BYTES];
        bytes[..4].copy_from_slice(&depth.to_be_bytes());
        bytes[0] = class as u8;
        bytes[4..12].copy_from_slice(&sequence.to_be_bytes());
        bytes[12..].copy_from_slice(&link_number.to_be_bytes());
        Self(bytes)
    }

    /// First come, first served within a class of its own.
    pub fn in_turn(class: Class, sequence: u64, number: u32) -> Self {
        debug_assert!(class != Class::Ordinary);
        Self::new(class, 0, sequence, number)
    }

    pub fn class(&self) -> Class {
        match self.0[0] {
            0 => Class::Revisit,
            1 => Class::Breadth,
            2 => Class::Ordinary,
            _ => Class::Deferred,
        }
    }

    /// The same turn in another class.
    pub fn moved_to(mut self, class: Class) -> Self {
        self.0[0] = class as u8;
        self
    }

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
            if a.0.min(MAX_PLACED_DEPTH) < b.0.min(MAX_PLACED_DEPTH) {
                prop_assert!(Order::BreadthFirst.place(a.0, a.1, a.2) < Order::BreadthFirst.place(b.0, b.1, b.2));
            }
        }

        #[test]
        fn classes_stand_in_order_whatever_else_and_can_be_read_back(a: (u32, u64, u32), sequence: u64, number: u32) {
            let ordinary = Order::BoundedBreadth.place(a.0, a.1, a.2);
            let [revisit, breadth, deferred] =
                [Class::Revisit, Class::Breadth, Class::Deferred].map(|class| Place::in_turn(class, sequence, number));
            prop_assert!(revisit < breadth && breadth < ordinary && ordinary < deferred);
            prop_assert_eq!(deferred.moved_to(Class::Breadth), breadth);
            prop_assert_eq!([revisit, breadth, ordinary, deferred].map(|place| place.class()),
                [Class::Revisit, Class::Breadth, Class::Ordinary, Class::Deferred]);
        }

        #[test]
        fn links_of_valuable_pages_are_taken_in_the_order_they_were_found(a: (u64, u32), b: (u64, u32)) {
            prop_assert_eq!(a.cmp(&b), Place::in_turn(Class::Breadth, a.0, a.1).cmp(&Place::in_turn(Class::Breadth, b.0, b.1)));
        }
    }
}
