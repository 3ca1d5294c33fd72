//! Changes that are written together, in one piece of memory.

use super::{COUNTERS, Slot, Table, Ticket};

#[derive(Clone, Debug)]
pub struct Batch {
    changes: Vec<Written>,
    /// Keys and values behind each other.
    bytes: Vec<u8>,
    counts: Vec<Count>,
    slot: Slot,
    after: Ticket,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    slot: Slot,
    table: Table,
    verb: Verb,
    /// In the batch's bytes; the key begins where the change before ends.
    key_end: usize,
    /// The same as the key's for one that is deleted.
    value_end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Insert,
    Put,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'b> {
    /// The writer knows that the key is not there.
    Insert {
        table: Table,
        key: &'b [u8],
        value: &'b [u8],
    },
    Put {
        table: Table,
        key: &'b [u8],
        value: &'b [u8],
    },
    Delete {
        table: Table,
        key: &'b [u8],
    },
}

/// What is added to counters in a slot, and what they are then over all slots. A store keeps one of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    pub slot: Slot,
    pub key: Vec<u8>,
    pub added: [i64; COUNTERS],
    pub total: Vec<u8>,
}

impl Batch {
    /// Changes go to this slot until the batch [turns](Self::turn_to) to another.
    pub fn at(slot: Slot) -> Self {
        Self { changes: Vec::new(), bytes: Vec::new(), counts: Vec::new(), slot, after: Ticket::default() }
    }

    /// For what crosses hosts.
    pub fn at_home() -> Self {
        Self::at(Slot::HOME)
    }

    pub fn turn_to(&mut self, slot: Slot) {
        self.slot = slot;
    }

    pub fn put(&mut self, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.add(Verb::Put, table, key.as_ref(), value.as_ref());
    }

    /// In another slot than the rest.
    pub fn put_at(&mut self, slot: Slot, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let here = std::mem::replace(&mut self.slot, slot);
        self.put(table, key, value);
        self.slot = here;
    }

    pub fn insert(&mut self, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.add(Verb::Insert, table, key.as_ref(), value.as_ref());
    }

    pub fn delete(&mut self, table: Table, key: impl AsRef<[u8]>) {
        self.add(Verb::Delete, table, key.as_ref(), &[]);
    }

    pub fn count(&mut self, key: &[u8], added: [i64; COUNTERS], total: Vec<u8>) {
        self.counts.push(Count { slot: self.slot, key: key.to_vec(), added, total });
    }

    /// It becomes durable after what was written under that ticket.
    pub fn after(&mut self, ticket: Ticket) {
        self.after = self.after.max(ticket);
    }

    pub fn waits_for(&self) -> Ticket {
        self.after
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.changes.len() + self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.counts.is_empty()
    }

    pub fn changes(&self) -> impl Iterator<Item = (Slot, Change<'_>)> {
        let mut start = 0;
        self.changes.iter().map(move |&Written { slot, table, verb, key_end, value_end }| {
            let key = &self.bytes[start..key_end];
            let value = &self.bytes[key_end..value_end];
            start = value_end;
            let change = match verb {
                Verb::Insert => Change::Insert { table, key, value },
                Verb::Put => Change::Put { table, key, value },
                Verb::Delete => Change::Delete { table, key },
            };
            (slot, change)
        })
    }

    pub fn counts(&self) -> &[Count] {
        &self.counts
    }

    fn add(&mut self, verb: Verb, table: Table, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.changes.push(Written { slot: self.slot, table, verb, key_end, value_end: self.bytes.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back_as_they_were_given_each_in_its_slot() {
        let (here, there) = (Slot(7), Slot(9));
        let mut batch = Batch::at(here);
        batch.put(Table::Seen, b"a", b"1");
        batch.delete(Table::Queue, b"bc");
        batch.turn_to(there);
        batch.insert(Table::Seen, b"", b"");
        batch.put(Table::Meta, b"d", b"");
        batch.count(b"g", [1; COUNTERS], vec![4]);
        let expected = [
            (here, Change::Put { table: Table::Seen, key: b"a", value: b"1" }),
            (here, Change::Delete { table: Table::Queue, key: b"bc" }),
            (there, Change::Insert { table: Table::Seen, key: b"", value: b"" }),
            (there, Change::Put { table: Table::Meta, key: b"d", value: b"" }),
        ];
        assert_eq!(batch.changes().collect::<Vec<_>>(), expected);
        assert_eq!(batch.counts(), [Count { slot: there, key: b"g".to_vec(), added: [1; COUNTERS], total: vec![4] }]);
    }
}
