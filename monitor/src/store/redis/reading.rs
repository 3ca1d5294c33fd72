//! How the store is read: over connections of the reader's own, many keys at once, and from what is within reach.

use redis::Value;

use super::cluster::{Call, Cluster};
use super::patience::Patience;
use super::reach::{Found, Group, Reach, Rest};
use super::{layout, owner};
use crate::store::{COUNTERS, Entry, Kind, Slot, Table, Ticket, Walked, Wanted};
use crate::{MonitorError, Result};

/// Entries of a list that are read at least, where some are wanted.
const LEAST_READ: usize = 64;
/// The same of a list over all slots, of each; and where more than that are wanted.
const READ_OF_SLOT: usize = 16;
const MANY: usize = 1_000;
/// Entries of a list over all slots that are kept.
const MERGED_KEPT: usize = 200_000;
/// Slots whose keys are looked at together in a walk.
const WALKED_SLOTS: u16 = 256;
/// Keys of one slot.
const ALL_KEYS: &[u8] = b"100000000";

pub struct Reading {
    cluster: Cluster,
    patience: Patience,
    pub reach: Reach,
    /// Slots of which it is known that they have lost something.
    losses: u64,
}

impl Reading {
    pub fn new(cluster: Cluster, patience: Patience, memory_bytes: usize) -> Self {
        Self { cluster, patience, reach: Reach::new(memory_bytes), losses: 0 }
    }

    /// All up to a ticket is in the store for good, and so many slots have lost something so far.
    pub fn note(&mut self, confirmed: Ticket, losses: u64) {
        self.reach.confirmed(confirmed);
        if losses > self.losses {
            self.losses = losses;
            self.reach.forget();
        }
    }

    fn ask_all(&mut self, calls: &[Call]) -> Result<Vec<Value>> {
        Ok(self.cluster.ask_all(calls, &mut self.patience)?)
    }

    /// Reads all these keys that are not within reach; those that are no more than a group are the beginning of a list.
    pub fn load(&mut self, wanted: &[Wanted]) -> Result<()> {
        let mut missing: Vec<&Wanted> = Vec::new();
        let mut lists: Vec<Group> = Vec::new();
        for want in wanted {
            let group = want.table.group(&want.key);
            if is_scanned(want.table) && group.len() == want.key.len() {
                let group: Group = (want.slot, want.table, group.into());
                if let Found::ReadFrom(_) = self.reach.scan(&group, &[], &[], 1) {
                    lists.push(group);
                }
            } else if self.reach.get(want.slot, want.table, &want.key).is_none() {
                missing.push(want);
            }
        }
        if missing.is_empty() && lists.is_empty() {
            return Ok(());
        }
        missing.sort_by(|a, b| (a.slot, a.table, &a.key).cmp(&(b.slot, b.table, &b.key)));
        missing.dedup();
        lists.sort();
        lists.dedup();
        let together: Vec<&[&Wanted]> = missing.chunk_by(|a, b| are_together(a, b)).collect();
        let mut calls: Vec<Call> = together.iter().map(|some| values_of(some)).collect();
        calls.extend(lists.iter().map(|group| stretch_of(group, &[], LEAST_READ)));
        let mut answers = self.ask_all(&calls)?.into_iter();
        for some in together {
            let answer = answers.next().unwrap_or(Value::Nil);
            for (want, value) in some.iter().zip(read_values(some[0].table, some.len(), answer)) {
                self.reach.keep(want.slot, want.table, &want.key, value);
            }
        }
        for (group, answer) in lists.iter().zip(answers) {
            self.keep_stretch(group, &[], answer, LEAST_READ)?;
        }
        Ok(())
    }

    pub fn get(&mut self, slot: Slot, table: Table, key: &[u8]) -> Result<Option<Box<[u8]>>> {
        if let Some(value) = self.reach.get(slot, table, key) {
            return Ok(value);
        }
        let want = Wanted { slot, table, key: key.to_vec() };
        let answer = self.ask_all(&[values_of(&[&want])])?.pop().unwrap_or(Value::Nil);
        let value = read_values(table, 1, answer).pop().flatten();
        self.reach.keep(slot, table, key, value.clone());
        Ok(value)
    }

    fn keep_stretch(&mut self, group: &Group, from: &[u8], answer: Value, limit: usize) -> Result<()> {
        let entries = read_stretch(group.1, answer)?;
        let end = end_of(group.1, &entries, limit);
        self.reach.keep_stretch(group, from, entries, end);
        Ok(())
    }

    pub fn scan(&mut self, slot: Slot, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Entry>> {
        let group: Group = (slot, table, table.group(prefix).into());
        let behind = group.2.len();
        debug_assert!(is_scanned(table), "{table:?} is not kept in order");
        loop {
            match self.reach.scan(&group, &prefix[behind..], &from[behind..], limit) {
                Found::All(entries) => return Ok(entries),
                Found::ReadFrom(rest) => {
                    let count = limit.saturating_add(1).clamp(LEAST_READ, 10_000);
                    let answer = self.ask_all(&[stretch_of(&group, &rest, count)])?.pop().unwrap_or(Value::Nil);
                    self.keep_stretch(&group, &rest, answer, count)?;
                }
            }
        }
    }

    pub fn scan_all(&mut self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<(Slot, Entry)>> {
        let group = table.group(prefix).to_vec();
        let behind = group.len();
        loop {
            match self.reach.scan_merged(table, &group, &prefix[behind..], &from[behind..], limit) {
                Found::All(entries) => return Ok(entries),
                Found::ReadFrom(rest) => self.read_merged(table, &group, &rest, limit)?,
            }
        }
    }

    fn read_merged(&mut self, table: Table, group: &[u8], from: &[u8], limit: usize) -> Result<()> {
        // A few of each slot are many together; whoever wants all has not many.
        let count = if limit > MANY { MANY } else { READ_OF_SLOT };
        let groups: Vec<Group> = (0..Slot::COUNT).map(|slot| (Slot(slot), table, group.into())).collect();
        let calls: Vec<Call> = groups.iter().map(|group| stretch_of(group, from, count)).collect();
        let (mut all, mut end): (_, Option<Rest>) = (Vec::new(), None);
        for (group, answer) in groups.iter().zip(self.ask_all(&calls)?) {
            let entries = read_stretch(table, answer)?;
            if let Some(end_of_slot) = end_of(table, &entries, count) {
                end = Some(end.map_or(end_of_slot.clone(), |end| end.min(end_of_slot)));
            }
            all.extend(entries.into_iter().map(|(rest, value)| (rest, group.0, value)));
        }
        self.reach.keep_merged(table, group, from, all, end);
        self.reach.shorten_merged(table, group, MERGED_KEPT.max(limit.saturating_mul(4)));
        Ok(())
    }

    /// The names of the groups of a table in some slots.
    fn groups(&mut self, table: Table, slots: std::ops::Range<u16>) -> Result<Vec<Group>> {
        let calls: Vec<Call> = slots
            .clone()
            .map(|slot| Call::new(Slot(slot), &[b"CLUSTER", b"GETKEYSINSLOT", slot.to_string().as_bytes(), ALL_KEYS]))
            .collect();
        let mut groups = Vec::new();
        for (slot, answer) in slots.zip(self.ask_all(&calls)?) {
            let Value::Array(names) = answer else { continue };
            let names = names.iter().filter_map(|name| layout::read_group(bytes(name)?));
            let mut of_slot: Vec<Group> = names
                .filter(|(other, _)| *other == table)
                .map(|(table, group)| (Slot(slot), table, group.into()))
                .collect();
            of_slot.sort();
            groups.extend(of_slot);
        }
        Ok(groups)
    }

    /// The cursor is a slot and, within it, the last key that was told.
    pub fn walk(&mut self, table: Table, cursor: &[u8], limit: usize) -> Result<Walked> {
        let (mut slot, behind) =
            cursor.split_first_chunk().map_or((0, &[][..]), |(slot, key)| (u16::from_be_bytes(*slot), key));
        let first_slot = slot;
        let mut walked = Walked::default();
        while slot < Slot::COUNT {
            let next = slot.saturating_add(WALKED_SLOTS).min(Slot::COUNT);
            for group in self.groups(table, slot..next)? {
                let mut from: Rest = match group.0.0 == first_slot && !behind.is_empty() {
                    true if behind.starts_with(&group.2) => [&behind[group.2.len()..], &[0]].concat().into(),
                    true if *group.2 < *behind => continue,
                    _ => Rest::default(),
                };
                loop {
                    let answer = self.ask_all(&[stretch_of(&group, &from, 1_000)])?.pop().unwrap_or(Value::Nil);
                    let mut entries = read_stretch(table, answer)?;
                    let end = end_of(table, &entries, 1_000);
                    // A hash comes whole.
                    entries.retain(|(rest, _)| **rest >= *from);
                    for (rest, value) in entries {
                        if walked.entries.len() == limit {
                            let last = walked.entries.last().map(|(_, (key, _))| key.clone()).unwrap_or_default();
                            let at = walked.entries.last().and_then(|(slot, _)| *slot).unwrap_or(Slot::HOME);
                            walked.next = [&at.0.to_be_bytes()[..], &last].concat();
                            return Ok(walked);
                        }
                        walked.entries.push((Some(group.0), ([&group.2, &*rest].concat().into(), value)));
                    }
                    match end {
                        Some(end) => from = end,
                        None => break,
                    }
                }
            }
            slot = next;
        }
        Ok(walked)
    }

    pub fn counted(&mut self, key: &[u8]) -> Result<[i64; COUNTERS]> {
        let calls = (0..Slot::COUNT).map(|slot| {
            let name = layout::group(Slot(slot), Table::Counters, key);
            Call::new(Slot(slot), &[b"HGETALL", &name])
        });
        let mut sum = [0; COUNTERS];
        for answer in self.ask_all(&calls.collect::<Vec<_>>())? {
            for (field, added) in owner::pairs(&answer) {
                let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<i64>().ok();
                let counter = number(&field).and_then(|field| sum.get_mut(usize::try_from(field).ok()?));
                let (Some(counter), Some(added)) = (counter, number(&added)) else {
                    return Err(MonitorError::Corrupt("counter"));
                };
                *counter += added;
            }
        }
        Ok(sum)
    }
}

/// Whether a table's groups are read as stretches.
fn is_scanned(table: Table) -> bool {
    matches!(table.kind(), Kind::List { .. } | Kind::Few)
}

fn is_list(table: Table) -> bool {
    matches!(table.kind(), Kind::List { .. })
}

/// Whether one command gives both values.
fn are_together(a: &Wanted, b: &Wanted) -> bool {
    (a.slot, a.table) == (b.slot, b.table) && !is_list(a.table) && a.table.group(&a.key) == b.table.group(&b.key)
}

/// Asks for the values of keys that lie together.
fn values_of(wanted: &[&Wanted]) -> Call {
    let Wanted { slot, table, key } = wanted[0];
    let group = table.group(key);
    let name = layout::group(*slot, *table, group);
    if is_list(*table) {
        let [from, to] = layout::only(*table, &key[group.len()..]);
        return Call::new(*slot, &[b"ZRANGEBYLEX", &name, &from, &to, b"LIMIT", b"0", b"1"]);
    }
    let fields = wanted.iter().map(|want| &want.key[group.len()..]);
    Call::new(*slot, &[&b"HMGET"[..], &name].into_iter().chain(fields).collect::<Vec<_>>())
}

fn read_values(table: Table, count: usize, answer: Value) -> Vec<Option<Box<[u8]>>> {
    let Value::Array(items) = answer else { return vec![None; count] };
    if is_list(table) {
        let member = items.first().and_then(bytes);
        return vec![member.and_then(|member| layout::read_member(table, member)).map(|(_, value)| value.into())];
    }
    let mut values: Vec<_> = items
        .into_iter()
        .map(|item| match item {
            Value::BulkString(bytes) => Some(bytes.into_boxed_slice()),
            _ => None,
        })
        .collect();
    values.resize(count, None);
    values
}

/// Asks for entries of a group, from a key on.
fn stretch_of(group: &Group, from: &[u8], limit: usize) -> Call {
    let (slot, table, name) = group;
    let name = layout::group(*slot, *table, name);
    if !is_list(*table) {
        return Call::new(*slot, &[b"HGETALL", &name]);
    }
    // Behind the last key that there can be nothing stands.
    let from = layout::from(*table, from).unwrap_or_else(|| b"+".to_vec());
    Call::new(*slot, &[b"ZRANGEBYLEX", &name, &from, b"+", b"LIMIT", b"0", limit.to_string().as_bytes()])
}

fn read_stretch(table: Table, answer: Value) -> Result<Vec<(Rest, Box<[u8]>)>> {
    if !is_list(table) {
        let mut entries: Vec<_> =
            owner::pairs(&answer).into_iter().map(|(key, value)| (Rest::from(key), value.into_boxed_slice())).collect();
        entries.sort();
        return Ok(entries);
    }
    let Value::Array(items) = answer else { return Ok(Vec::new()) };
    let entry = |item: &Value| {
        let (rest, value) = layout::read_member(table, bytes(item)?)?;
        Some((rest.into(), value.into()))
    };
    items.iter().map(|item| entry(item).ok_or(MonitorError::Corrupt("entry of a list"))).collect()
}

/// Nothing is known of a list from here on; `None` where it was read to its end.
fn end_of(table: Table, entries: &[(Rest, Box<[u8]>)], limit: usize) -> Option<Rest> {
    if !is_list(table) || entries.len() < limit {
        return None;
    }
    entries.last().map(|(rest, _)| [rest, &[0][..]].concat().into())
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}
