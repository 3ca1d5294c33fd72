//! Batches on their way into the store: divided by slot, merged where they meet, in an order that keeps what each waits for.
//!
//! Pure. Batches are merged within a slot, so that a key that changes in many of them is written once. A batch that waits for
//! another goes in a later wave, which is sent when the one before is confirmed; unless both are of one slot, whose writes
//! follow each other anyway.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::cluster::Call;
use super::layout;
use super::scripts::WRITING;
use crate::store::{Batch, COUNTERS, Change, Kind, Slot, Table, Ticket};

/// Changes in one call: it holds up its node for as long as it takes.
const CHANGES_PER_CALL: usize = 400;

/// A batch and its number.
#[derive(Clone, Debug)]
pub struct Parcel {
    pub ticket: Ticket,
    pub batch: Arc<Batch>,
}

/// One call of the script that writes, for a slot.
#[derive(Clone, Debug)]
pub struct Write {
    pub slot: Slot,
    body: Body,
}

#[derive(Clone, Debug, Default)]
struct Body {
    entries: BTreeMap<(Table, Vec<u8>), Net>,
    counts: BTreeMap<Vec<u8>, [i64; COUNTERS]>,
    changes: usize,
}

/// What several changes of a key come to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Net {
    Insert(Vec<u8>),
    Put(Vec<u8>),
    Delete,
}

/// The writes of a group, wave by wave.
pub fn waves(parcels: &[Parcel]) -> Vec<Vec<Write>> {
    let mut waves: Vec<Vec<Write>> = Vec::new();
    let mut open: HashMap<Slot, (usize, usize)> = HashMap::new();
    let mut placed: HashMap<Ticket, (usize, HashSet<Slot>)> = HashMap::new();
    for parcel in parcels {
        let batch = &parcel.batch;
        let slots: HashSet<Slot> =
            batch.changes().map(|(slot, _)| slot).chain(batch.counts().iter().map(|count| count.slot)).collect();
        let behind = slots.iter().filter_map(|slot| open.get(slot)).map(|(wave, _)| *wave).max().unwrap_or(0);
        let after = placed.get(&batch.waits_for()).map_or(0, |(wave, others)| {
            let follows = others.iter().all(|other| slots.contains(other)) && others.len() == 1;
            if follows { *wave } else { wave + 1 }
        });
        let wave = behind.max(after);
        if waves.len() <= wave {
            waves.resize_with(wave + 1, Vec::new);
        }
        for slot in &slots {
            let is_open = open
                .get(slot)
                .is_some_and(|(other, number)| *other == wave && waves[wave][*number].body.changes < CHANGES_PER_CALL);
            if !is_open {
                open.insert(*slot, (wave, waves[wave].len()));
                waves[wave].push(Write { slot: *slot, body: Body::default() });
            }
        }
        for (slot, change) in batch.changes() {
            waves[wave][open[&slot].1].body.add(change);
        }
        for count in batch.counts() {
            let counts = waves[wave][open[&count.slot].1].body.counts.entry(count.key.clone()).or_insert([0; COUNTERS]);
            counts.iter_mut().zip(count.added).for_each(|(counter, added)| *counter += added);
        }
        placed.insert(parcel.ticket, (wave, slots));
    }
    waves
}

impl Body {
    fn add(&mut self, change: Change<'_>) {
        self.changes += 1;
        let (table, key) = match change {
            Change::Insert { table, key, .. } | Change::Put { table, key, .. } | Change::Delete { table, key } => {
                (table, key)
            }
        };
        let before = self.entries.remove(&(table, key.to_vec()));
        let net = match (change, before) {
            // As far as the store knows it is still not there.
            (Change::Insert { value, .. }, None) | (Change::Put { value, .. }, Some(Net::Insert(_))) => {
                Net::Insert(value.to_vec())
            }
            (Change::Insert { value, .. } | Change::Put { value, .. }, _) => Net::Put(value.to_vec()),
            (Change::Delete { .. }, _) => Net::Delete,
        };
        self.entries.insert((table, key.to_vec()), net);
    }
}

impl Write {
    /// The call that does it, under an epoch, as the write of this number behind another one.
    pub fn call(&self, epoch: u64, before: u64, number: u64) -> Call {
        let mut words = Words::new(self.slot);
        for (key, counts) in &self.body.counts {
            let key = words.key(layout::group(self.slot, Table::Counters, key));
            let fields = counts.iter().enumerate().filter(|(_, added)| **added != 0);
            let fields =
                fields.flat_map(|(field, added)| [field.to_string().into_bytes(), added.to_string().into_bytes()]);
            words.add(b"i", key, &fields.collect::<Vec<_>>());
        }
        // Entries of one table and group follow each other.
        let mut rest = self.body.entries.iter().peekable();
        while let Some(((table, key), _)) = rest.peek() {
            let (table, group) = (*table, table.group(key).to_vec());
            let (mut set, mut gone, mut cleared) = (Vec::new(), Vec::new(), Vec::new());
            let is_list = matches!(table.kind(), Kind::List { .. });
            let same = |table_and_key: &(Table, Vec<u8>)| {
                table_and_key.0 == table && table.group(&table_and_key.1) == group.as_slice()
            };
            while let Some(((_, key), net)) = rest.next_if(|(table_and_key, _)| same(table_and_key)) {
                let behind = &key[group.len()..];
                if is_list {
                    if !matches!(net, Net::Insert(_)) {
                        cleared.extend(layout::only(table, behind));
                    }
                    if let Net::Insert(value) | Net::Put(value) = net {
                        set.extend([b"0".to_vec(), layout::member(behind, value)]);
                    }
                } else {
                    match net {
                        Net::Insert(value) | Net::Put(value) => set.extend([behind.to_vec(), value.clone()]),
                        Net::Delete => gone.push(behind.to_vec()),
                    }
                }
            }
            let key = words.key(layout::group(self.slot, table, &group));
            words.add(b"d", key, &gone);
            words.add(b"r", key, &cleared);
            words.add(if is_list { b"z" } else { b"s" }, key, &set);
        }
        let numbers = [epoch, before, number].map(|number| number.to_string().into_bytes());
        let arguments: Vec<&[u8]> = numbers.iter().chain(&words.arguments).map(Vec::as_slice).collect();
        WRITING.call(self.slot, &words.keys.iter().map(Vec::as_slice).collect::<Vec<_>>(), &arguments)
    }
}

/// Keys and arguments of a call.
struct Words {
    keys: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
}

/// Words that Lua can put on its stack at once.
const WORDS_AT_ONCE: usize = 2_000;

impl Words {
    fn new(slot: Slot) -> Self {
        Self { keys: vec![layout::head(slot), layout::nowhere(slot)], arguments: Vec::new() }
    }

    /// The number of a key, as Lua counts.
    fn key(&mut self, key: Vec<u8>) -> usize {
        self.keys.push(key);
        self.keys.len()
    }

    fn add(&mut self, verb: &[u8], key: usize, words: &[Vec<u8>]) {
        for some in words.chunks(WORDS_AT_ONCE) {
            let head = [verb.to_vec(), key.to_string().into_bytes(), some.len().to_string().into_bytes()];
            self.arguments.extend(head);
            self.arguments.extend(some.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::cluster::packed;

    const HERE: Slot = Slot(7);
    const THERE: Slot = Slot(9);

    fn parcel(number: u64, after: u64, slots: &[Slot]) -> Parcel {
        let mut batch = Batch::at(HERE);
        for slot in slots {
            batch.turn_to(*slot);
            batch.put(Table::Meta, number.to_be_bytes(), b"value");
        }
        batch.after(Ticket(after));
        Parcel { ticket: Ticket(number), batch: Arc::new(batch) }
    }

    fn slots(wave: &[Write]) -> Vec<(Slot, usize)> {
        let mut slots: Vec<_> = wave.iter().map(|write| (write.slot, write.body.changes)).collect();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn batches_of_a_slot_are_written_together() {
        let waves = waves(&[parcel(1, 0, &[HERE]), parcel(2, 0, &[THERE]), parcel(3, 0, &[HERE])]);
        assert_eq!(waves.len(), 1);
        assert_eq!(slots(&waves[0]), [(HERE, 2), (THERE, 1)]);
    }

    #[test]
    fn a_batch_goes_after_the_one_that_it_waits_for_and_all_of_its_slot_behind_it() {
        let waves =
            waves(&[parcel(1, 0, &[THERE]), parcel(2, 1, &[HERE]), parcel(3, 0, &[HERE]), parcel(4, 0, &[THERE])]);
        assert_eq!(waves.len(), 2);
        assert_eq!(slots(&waves[0]), [(THERE, 2)]);
        assert_eq!(slots(&waves[1]), [(HERE, 2)]);
    }

    #[test]
    fn within_one_slot_nothing_waits_for_another_wave() {
        let waves = waves(&[parcel(1, 0, &[HERE]), parcel(2, 1, &[HERE, THERE])]);
        assert_eq!(waves.len(), 1);
        // What was confirmed in an earlier group is waited for no more.
        assert_eq!(super::waves(&[parcel(9, 3, &[HERE])]).len(), 1);
    }

    #[test]
    fn a_long_row_of_batches_is_cut_between_two_of_them() {
        let parcels: Vec<_> = (1..=CHANGES_PER_CALL as u64 + 1).map(|number| parcel(number, 0, &[HERE])).collect();
        let waves = waves(&parcels);
        assert_eq!(slots(&waves[0]), [(HERE, 1), (HERE, CHANGES_PER_CALL)]);
    }

    #[test]
    fn several_changes_of_a_key_come_to_one() {
        let net = |changes: &[Change<'_>]| {
            let mut body = Body::default();
            changes.iter().for_each(|change| body.add(*change));
            body.entries.into_values().next().unwrap()
        };
        let (table, key) = (Table::Queue, &[1; 28][..]);
        let insert = Change::Insert { table, key, value: b"a" };
        let put = Change::Put { table, key, value: b"b" };
        let delete = Change::Delete { table, key };
        assert_eq!(net(&[insert, put]), Net::Insert(b"b".to_vec()));
        assert_eq!(net(&[insert, delete]), Net::Delete);
        assert_eq!(net(&[delete, insert]), Net::Put(b"a".to_vec()));
        assert_eq!(net(&[put, delete, put]), Net::Put(b"b".to_vec()));
    }

    #[test]
    fn a_call_names_each_key_once_and_groups_its_entries() {
        let mut batch = Batch::at(HERE);
        batch.insert(Table::Queue, [1; 28], b"one");
        batch.delete(Table::Queue, [2; 28]);
        batch.put(Table::Seen, [1; 20], b"seen");
        let parcel = Parcel { ticket: Ticket(1), batch: Arc::new(batch) };
        let call = waves(&[parcel])[0][0].call(5, 0, 1);
        assert_eq!(call.slot, HERE);
        let text = String::from_utf8_lossy(&call.command);
        assert!(text.starts_with("*"), "{text}");
        let group = |table, byte| layout::group(HERE, table, &[byte; 12]);
        let finds = |bytes: &[u8]| call.command.windows(bytes.len()).filter(|window| *window == bytes).count();
        assert_eq!(finds(&group(Table::Queue, 1)), 1);
        assert_eq!(finds(&group(Table::Queue, 2)), 1);
        assert_eq!(finds(&packed(&[b"5", b"0", b"1"])[4..]), 1);
    }
}
