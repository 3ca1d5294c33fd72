//! Which collector a host tends to go to, so that its connections and robots.txt are warm there. Pure.
//!
//! Two levels: a host has one of 16,384 slots for ever, and every slot has an owner. A new collector takes an even share
//! from each of the others, a leaving one's slots are spread evenly, and nothing else moves. This is a preference, not a
//! right: an idle collector may take any host that is ready.
//!
//! Invariant: the collectors' numbers of slots differ by at most one.

use std::collections::BTreeSet;

use prost::Message;
use seine_common::host::SLOTS;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotMap {
    /// In the order in which they joined.
    collectors: Vec<String>,
    /// For each slot the index of its owner; empty while there are no collectors.
    owners: Vec<u16>,
    /// They finish what they have, get nothing more, and have no slots until that is taken back.
    draining: BTreeSet<String>,
}

/// As it is stored.
#[derive(Clone, PartialEq, Message)]
struct Stored {
    #[prost(string, repeated, tag = "1")]
    collectors: Vec<String>,
    #[prost(uint32, repeated, tag = "2")]
    owners: Vec<u32>,
    #[prost(string, repeated, tag = "3")]
    draining: Vec<String>,
}

impl SlotMap {
    pub fn owner(&self, slot: u16) -> Option<&str> {
        let owner = *self.owners.get(usize::from(slot))?;
        self.collectors.get(usize::from(owner)).map(String::as_str)
    }

    pub fn collectors(&self) -> impl Iterator<Item = &str> {
        self.collectors.iter().map(String::as_str)
    }

    pub fn is_draining(&self, collector: &str) -> bool {
        self.draining.contains(collector)
    }

    pub fn draining(&self) -> &BTreeSet<String> {
        &self.draining
    }

    /// Its slots go to the others, and it gets none. False when that is so already.
    pub fn drain(&mut self, collector: &str) -> bool {
        self.leave(collector);
        self.draining.insert(collector.to_owned())
    }

    /// It may join again. False when it was not draining.
    pub fn end_drain(&mut self, collector: &str) -> bool {
        self.draining.remove(collector)
    }

    /// False when it was there already, or drains.
    pub fn join(&mut self, collector: &str) -> bool {
        if self.is_draining(collector) {
            return false;
        }
        if self.collectors.iter().any(|known| known == collector) || self.collectors.len() >= usize::from(u16::MAX) {
            return false;
        }
        let newcomer = self.collectors.len() as u16;
        self.collectors.push(collector.to_owned());
        if newcomer == 0 {
            self.owners = vec![0; usize::from(SLOTS)];
            return true;
        }
        let mut counts = self.counts();
        let share = self.owners.len() / self.collectors.len();
        // From whoever has most, one at a time: that takes evenly and leaves all within one of each other.
        let mut taken = 0;
        while taken < share {
            let richest = (0..newcomer).max_by_key(|owner| (counts[usize::from(*owner)], std::cmp::Reverse(*owner)));
            let Some(richest) = richest else { break };
            let at = self.last_of(richest, taken);
            self.owners[at] = newcomer;
            counts[usize::from(richest)] -= 1;
            taken += 1;
        }
        true
    }

    /// False when it was not there.
    pub fn leave(&mut self, collector: &str) -> bool {
        let Some(leaving) = self.collectors.iter().position(|known| known == collector) else { return false };
        self.collectors.remove(leaving);
        if self.collectors.is_empty() {
            self.owners.clear();
            return true;
        }
        let leaving = leaving as u16;
        let mut counts = self.counts();
        counts.remove(usize::from(leaving));
        for owner in &mut self.owners {
            if *owner == leaving {
                let poorest = (0..counts.len()).min_by_key(|index| (counts[*index], *index)).unwrap_or(0);
                counts[poorest] += 1;
                *owner = poorest as u16;
            } else if *owner > leaving {
                *owner -= 1;
            }
        }
        true
    }

    pub fn encode(&self) -> Vec<u8> {
        let owners = self.owners.iter().map(|owner| u32::from(*owner)).collect();
        let draining = self.draining.iter().cloned().collect();
        Stored { collectors: self.collectors.clone(), owners, draining }.encode_to_vec()
    }

    /// What cannot be read is an empty map: only warmth is lost.
    pub fn decode(bytes: &[u8]) -> Self {
        let stored = Stored::decode(bytes).unwrap_or_default();
        let draining = stored.draining.into_iter().collect();
        let fits = |owner: &u32| (*owner as usize) < stored.collectors.len();
        if stored.owners.len() != usize::from(SLOTS) || !stored.owners.iter().all(fits) {
            return Self { draining, ..Self::default() };
        }
        let owners = stored.owners.iter().map(|owner| *owner as u16).collect();
        Self { owners, collectors: stored.collectors, draining }
    }

    fn counts(&self) -> Vec<usize> {
        let highest = self.owners.iter().max().map_or(0, |owner| usize::from(*owner) + 1);
        let mut counts = vec![0; self.collectors.len().max(highest)];
        for owner in &self.owners {
            counts[usize::from(*owner)] += 1;
        }
        counts
    }

    /// A slot of the owner, spread over the whole range by where the search starts.
    fn last_of(&self, owner: u16, turn: usize) -> usize {
        let length = self.owners.len();
        let start = turn.wrapping_mul(40_503) % length;
        (0..length).map(|step| (start + step) % length).find(|at| self.owners[*at] == owner).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn snapshot(map: &SlotMap) -> Vec<Option<String>> {
        (0..SLOTS).map(|slot| map.owner(slot).map(str::to_owned)).collect()
    }

    fn counts(map: &SlotMap) -> HashMap<String, usize> {
        let mut counts: HashMap<String, usize> = map.collectors().map(|name| (name.to_owned(), 0)).collect();
        for owner in snapshot(map).into_iter().flatten() {
            *counts.get_mut(&owner).unwrap() += 1;
        }
        counts
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn slots_stay_even_and_only_those_that_must_move_do(steps in prop::collection::vec((any::<bool>(), 0u8..12), 1..30)) {
            let mut map = SlotMap::default();
            for (joins, number) in steps {
                let name = format!("collector-{number}");
                let before = (snapshot(&map), counts(&map));
                let changed = if joins { map.join(&name) } else { map.leave(&name) };
                let after = (snapshot(&map), counts(&map));
                for (old, new) in before.0.iter().zip(&after.0).filter(|(old, new)| old != new) {
                    // A slot moves only to the newcomer, or away from the one that left.
                    let concerned = if joins { new } else { old };
                    prop_assert!(changed && concerned.as_deref() == Some(name.as_str()));
                }
                let (most, least) = (after.1.values().max(), after.1.values().min());
                prop_assert!(most.zip(least).is_none_or(|(most, least)| most - least <= 1), "{:?}", after.1);
                if joins && changed {
                    let lost: Vec<usize> = before.1.iter().map(|(name, count)| count - after.1[name]).collect();
                    // Who had one more gives one more.
                    prop_assert!(lost.iter().max().zip(lost.iter().min()).is_none_or(|(most, least)| most - least <= 2), "{lost:?}");
                }
                prop_assert_eq!(&SlotMap::decode(&map.encode()), &map);
            }
        }

        #[test]
        fn the_slots_of_a_draining_collector_go_to_the_others_until_it_may_join_again(collectors in 1u8..6) {
            let mut map = SlotMap::default();
            let names: Vec<String> = (0..collectors).map(|number| format!("collector-{number}")).collect();
            names.iter().for_each(|name| assert!(map.join(name)));
            prop_assert!(map.drain(&names[0]) && !map.drain(&names[0]));
            prop_assert!(!map.join(&names[0]), "it gets no slots when it comes back");
            let stored = SlotMap::decode(&map.encode());
            prop_assert!(stored.is_draining(&names[0]) && stored == map);
            prop_assert!(!counts(&map).contains_key(&names[0]));
            prop_assert!(map.end_drain(&names[0]) && map.join(&names[0]));
            prop_assert_eq!(counts(&map).len(), names.len());
        }

        #[test]
        fn no_stored_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let map = SlotMap::decode(&bytes);
            prop_assert!(map.owner(0).is_none() || map.collectors().next().is_some());
        }
    }
}
