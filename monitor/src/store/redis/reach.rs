//! What of the store is within reach: reading it waits for nothing.
//!
//! Three layers, the first that knows a key counts. What was written and is not confirmed yet is kept until it is; of what was
//! read or written, the most recent is kept as far as there is memory; of lists, stretches are kept whose beginning, end and
//! contents are known. Nobody else writes, so what is here is what the store has, or will have.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use crate::store::{Batch, Change, Entry, Kind, Slot, Table, Ticket};

/// Entries of a table that lie together in one slot.
pub type Group = (Slot, Table, Box<[u8]>);
/// A key without its group.
pub type Rest = Box<[u8]>;
type Value = Option<Box<[u8]>>;

/// What a value that is kept takes besides its own bytes.
const ENTRY_BYTES: usize = 96;
/// The same of a stretch.
const STRETCH_BYTES: usize = 256;

pub struct Reach {
    unconfirmed: HashMap<Group, BTreeMap<Rest, (Value, Ticket)>>,
    under_way: VecDeque<(Ticket, Arc<Batch>)>,
    points: Recent<(Slot, Table, Box<[u8]>), Value>,
    stretches: Recent<Group, Stretch<Rest, Box<[u8]>>>,
    /// Over all slots, by table and group.
    merged: HashMap<(Table, Box<[u8]>), Merged>,
}

type MergedStretch = Stretch<(Rest, Slot), Box<[u8]>>;

/// A list over all slots is read at its beginning again and again, and now and then further on.
#[derive(Default)]
struct Merged {
    near: Option<MergedStretch>,
    far: Option<MergedStretch>,
}

impl Merged {
    fn of(&self, rest: &[u8]) -> Option<&MergedStretch> {
        self.near.iter().chain(&self.far).find(|stretch| stretch.covers(rest))
    }

    fn keep(&mut self, from: &[u8], mut read: MergedStretch) {
        for stretch in self.near.iter_mut().chain(&mut self.far) {
            if stretch.end.as_deref() == Some(from) {
                stretch.entries.append(&mut read.entries);
                stretch.end = read.end;
                return;
            }
        }
        let is_behind = self.near.as_ref().is_some_and(|near| *near.first < *from);
        *(if is_behind { &mut self.far } else { &mut self.near }) = Some(read);
    }
}

/// All that there is from one key to another.
#[derive(Clone, Debug)]
pub struct Stretch<K, V> {
    first: Box<[u8]>,
    /// Nothing is known from here on; `None` at the end of the list.
    end: Option<Box<[u8]>>,
    entries: BTreeMap<K, V>,
}

impl<K, V> Stretch<K, V> {
    fn covers(&self, rest: &[u8]) -> bool {
        *rest >= *self.first && self.end.as_ref().is_none_or(|end| *rest < **end)
    }
}

/// What a list gives from a key on, or from where it has to be read.
pub enum Found<T> {
    All(Vec<T>),
    /// Read on from here, and try again.
    ReadFrom(Box<[u8]>),
}

impl Reach {
    pub fn new(memory_bytes: usize) -> Self {
        Self {
            unconfirmed: HashMap::new(),
            under_way: VecDeque::new(),
            points: Recent::new(memory_bytes / 2),
            stretches: Recent::new(memory_bytes / 4),
            merged: HashMap::new(),
        }
    }

    /// The value of a key, where it is known whether there is one.
    pub fn get(&mut self, slot: Slot, table: Table, key: &[u8]) -> Option<Value> {
        let group: Group = (slot, table, table.group(key).into());
        let rest = &key[group.2.len()..];
        if let Some((value, _)) = self.unconfirmed.get(&group).and_then(|entries| entries.get(rest)) {
            return Some(value.clone());
        }
        if let Some(stretch) = self.stretches.get(&group)
            && stretch.covers(rest)
        {
            return Some(stretch.entries.get(rest).cloned());
        }
        self.points.get(&(slot, table, key.into())).cloned()
    }

    /// Remembers what the store says of a key, which was not within reach.
    pub fn keep(&mut self, slot: Slot, table: Table, key: &[u8], value: Value) {
        let bytes = key.len() + value.as_ref().map_or(0, |value| value.len()) + ENTRY_BYTES;
        self.points.put((slot, table, key.into()), value, bytes);
    }

    /// Something is on its way into the store.
    pub fn write(&mut self, ticket: Ticket, batch: &Arc<Batch>) {
        for (slot, change) in batch.changes() {
            let (table, key, value): (_, _, Value) = match change {
                Change::Insert { table, key, value } | Change::Put { table, key, value } => {
                    (table, key, Some(value.into()))
                }
                Change::Delete { table, key } => (table, key, None),
            };
            let group: Group = (slot, table, table.group(key).into());
            let rest: Rest = key[group.2.len()..].into();
            if matches!(table.kind(), Kind::List { .. }) || table.kind() == Kind::Few {
                self.change_stretches(&group, &rest, &value);
            }
            self.unconfirmed.entry(group).or_default().insert(rest, (value, ticket));
        }
        self.under_way.push_back((ticket, Arc::clone(batch)));
    }

    fn change_stretches(&mut self, group: &Group, rest: &Rest, value: &Value) {
        if let Some(stretch) = self.stretches.get_mut(group)
            && stretch.covers(rest)
        {
            match value {
                Some(value) => drop(stretch.entries.insert(rest.clone(), value.clone())),
                None => drop(stretch.entries.remove(rest)),
            }
            let bytes = value.as_ref().map_or(0, |value| value.len() + rest.len() + ENTRY_BYTES);
            self.stretches.grow(bytes);
        }
        let (slot, table, name) = group;
        let merged = self.merged.get_mut(&(*table, name.clone()));
        let stretches = merged.into_iter().flat_map(|merged| merged.near.iter_mut().chain(&mut merged.far));
        for stretch in stretches.filter(|stretch| stretch.covers(rest)) {
            match value {
                Some(value) => drop(stretch.entries.insert((rest.clone(), *slot), value.clone())),
                None => drop(stretch.entries.remove(&(rest.clone(), *slot))),
            }
        }
    }

    /// All up to this ticket is in the store for good.
    pub fn confirmed(&mut self, ticket: Ticket) {
        while self.under_way.front().is_some_and(|(first, _)| *first <= ticket) {
            let Some((number, batch)) = self.under_way.pop_front() else { return };
            for (slot, change) in batch.changes() {
                let (table, key) = match change {
                    Change::Insert { table, key, .. }
                    | Change::Put { table, key, .. }
                    | Change::Delete { table, key } => (table, key),
                };
                let group: Group = (slot, table, table.group(key).into());
                let Some(entries) = self.unconfirmed.get_mut(&group) else { continue };
                let rest = &key[group.2.len()..];
                if entries.get(rest).is_some_and(|(_, last)| *last == number)
                    && let Some((value, _)) = entries.remove(rest)
                {
                    if entries.is_empty() {
                        self.unconfirmed.remove(&group);
                    }
                    self.keep(slot, table, key, value);
                }
            }
        }
    }

    /// The store has lost something of a slot: what is known of it may not be so.
    pub fn forget(&mut self) {
        self.points.clear();
        self.stretches.clear();
        self.merged.clear();
    }

    /// The first entries of a group from a key on.
    pub fn scan(&mut self, group: &Group, prefix: &[u8], from: &[u8], limit: usize) -> Found<Entry> {
        let Some(stretch) = self.stretches.get(group).filter(|stretch| stretch.covers(from)) else {
            return Found::ReadFrom(from.into());
        };
        let behind = stretch.entries.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        let mut found = Vec::new();
        for (rest, value) in behind {
            if found.len() == limit || !rest.starts_with(prefix) {
                return Found::All(found);
            }
            found.push(([&group.2, &**rest].concat().into(), value.clone()));
        }
        match &stretch.end {
            Some(end) if found.len() < limit => Found::ReadFrom(end.clone()),
            _ => Found::All(found),
        }
    }

    /// What the store has from a key on, up to `end`.
    pub fn keep_stretch(
        &mut self,
        group: &Group,
        from: &[u8],
        entries: Vec<(Rest, Box<[u8]>)>,
        end: Option<Box<[u8]>>,
    ) {
        let mut read: BTreeMap<Rest, Box<[u8]>> = entries.into_iter().collect();
        if let Some(unconfirmed) = self.unconfirmed.get(group) {
            for (rest, (value, _)) in unconfirmed.range::<[u8], _>((Bound::Included(from), Bound::Unbounded)) {
                if end.as_ref().is_some_and(|end| **rest >= **end) {
                    break;
                }
                match value {
                    Some(value) => drop(read.insert(rest.clone(), value.clone())),
                    None => drop(read.remove(rest)),
                }
            }
        }
        let bytes = read.iter().map(|(rest, value)| rest.len() + value.len() + ENTRY_BYTES).sum::<usize>();
        match self.stretches.get_mut(group) {
            Some(stretch) if stretch.end.as_deref() == Some(from) => {
                stretch.entries.append(&mut read);
                stretch.end = end;
                self.stretches.grow(bytes);
            }
            _ => {
                let stretch = Stretch { first: from.into(), end, entries: read };
                self.stretches.put(group.clone(), stretch, bytes + group.2.len() + STRETCH_BYTES);
            }
        }
    }

    /// The first entries of a group over all slots, from a key on.
    pub fn scan_merged(
        &self,
        table: Table,
        group: &[u8],
        prefix: &[u8],
        from: &[u8],
        limit: usize,
    ) -> Found<(Slot, Entry)> {
        let stretch = self.merged.get(&(table, group.into())).and_then(|merged| merged.of(from));
        let Some(stretch) = stretch else { return Found::ReadFrom(from.into()) };
        let mut found = Vec::new();
        for ((rest, slot), value) in
            stretch.entries.range((Bound::Included((Rest::from(from), Slot(0))), Bound::Unbounded))
        {
            if found.len() == limit || !rest.starts_with(prefix) {
                return Found::All(found);
            }
            found.push((*slot, ([group, &**rest].concat().into(), value.clone())));
        }
        match &stretch.end {
            Some(end) if found.len() < limit => Found::ReadFrom(end.clone()),
            _ => Found::All(found),
        }
    }

    /// What all slots have together from a key on, up to `end`.
    pub fn keep_merged(
        &mut self,
        table: Table,
        group: &[u8],
        from: &[u8],
        entries: Vec<(Rest, Slot, Box<[u8]>)>,
        end: Option<Box<[u8]>>,
    ) {
        let is_within = |rest: &[u8]| *rest >= *from && end.as_ref().is_none_or(|end| *rest < **end);
        let read = entries.into_iter().filter(|(rest, ..)| is_within(rest));
        let mut read: BTreeMap<(Rest, Slot), Box<[u8]>> =
            read.map(|(rest, slot, value)| ((rest, slot), value)).collect();
        let of_group = self.unconfirmed.iter().filter(|((_, other, name), _)| *other == table && **name == *group);
        for ((slot, ..), unconfirmed) in of_group {
            for (rest, (value, _)) in unconfirmed.iter().filter(|(rest, _)| is_within(rest)) {
                match value {
                    Some(value) => drop(read.insert((rest.clone(), *slot), value.clone())),
                    None => drop(read.remove(&(rest.clone(), *slot))),
                }
            }
        }
        let read = Stretch { first: from.into(), end, entries: read };
        self.merged.entry((table, group.into())).or_default().keep(from, read);
    }

    /// Entries that are removed at the front leave room behind: a list over all slots is kept up to so many.
    pub fn shorten_merged(&mut self, table: Table, group: &[u8], most: usize) {
        let Some(merged) = self.merged.get_mut(&(table, group.into())) else { return };
        for stretch in merged.near.iter_mut().chain(&mut merged.far) {
            if stretch.entries.len() > most
                && let Some(((rest, _), _)) = stretch.entries.iter().nth(most / 2)
            {
                let end = rest.clone();
                stretch.entries.split_off(&(end.clone(), Slot(0)));
                stretch.end = Some(end);
            }
        }
    }
}

/// What was used last, up to so many bytes: two generations, of which the older one is dropped when the younger is full.
struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    young_bytes: usize,
    most_bytes: usize,
}

impl<K: std::hash::Hash + Eq + Clone, V> Recent<K, V> {
    fn new(memory_bytes: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), young_bytes: 0, most_bytes: memory_bytes / 2 }
    }

    fn get(&mut self, key: &K) -> Option<&V> {
        self.get_mut(key).map(|value| &*value)
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        if !self.young.contains_key(key)
            && let Some((key, value)) = self.old.remove_entry(key)
        {
            self.young.insert(key, value);
        }
        self.young.get_mut(key)
    }

    fn put(&mut self, key: K, value: V, bytes: usize) {
        self.old.remove(&key);
        self.young.insert(key, value);
        self.grow(bytes);
    }

    fn grow(&mut self, bytes: usize) {
        self.young_bytes += bytes;
        if self.young_bytes > self.most_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }

    fn clear(&mut self) {
        (self.young, self.old) = (HashMap::new(), HashMap::new());
        self.young_bytes = 0;
    }
}
