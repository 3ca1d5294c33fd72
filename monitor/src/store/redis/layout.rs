//! Where entries lie in a cluster of stores: the name of a slot's keys, and how a key and its value become a field or a member.
//!
//! All keys of a slot have one tag, so a script may change them together. A map is a hash for each group; a list is a sorted set
//! for each group, whose members all have score 0 and so stand in the order of their bytes: the key, and the value behind it.

use std::sync::LazyLock;

use seine_common::host::slot_of;

use crate::store::{Kind, Slot, Table};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The shortest text for each slot that lies in it, first come first served: stored, so it stays as it is.
static TAGS: LazyLock<Vec<Box<[u8]>>> = LazyLock::new(|| {
    let mut tags = vec![Box::default(); usize::from(Slot::COUNT)];
    let mut missing = tags.len();
    let mut number = 0;
    while missing > 0 {
        let text = digits(number);
        let tag: &mut Box<[u8]> = &mut tags[usize::from(slot_of(&text))];
        if tag.is_empty() {
            *tag = text.into();
            missing -= 1;
        }
        number += 1;
    }
    tags
});

fn digits(mut number: usize) -> Vec<u8> {
    let mut text = Vec::new();
    loop {
        text.push(DIGITS[number % DIGITS.len()]);
        number /= DIGITS.len();
        if number == 0 {
            return text;
        }
    }
}

/// The name of a key in a slot: its tag, and a letter that no other kind of key has.
fn named(slot: Slot, letter: u8, rest: &[u8]) -> Vec<u8> {
    let tag = &TAGS[usize::from(slot.0)];
    let mut name = Vec::with_capacity(tag.len() + rest.len() + 3);
    name.push(b'{');
    name.extend_from_slice(tag);
    name.extend_from_slice(&[b'}', letter]);
    name.extend_from_slice(rest);
    name
}

/// Has the epoch of the slot's writer and the number of its last write.
pub fn head(slot: Slot) -> Vec<u8> {
    named(slot, b'.', b"")
}

/// Is never there. A script that names it is refused while its slot moves key by key, when others may lie elsewhere.
pub fn nowhere(slot: Slot) -> Vec<u8> {
    named(slot, b'!', b"")
}

/// Who owns all slots.
pub fn owner() -> Vec<u8> {
    named(Slot::HOME, b'@', b"")
}

/// What belongs to the cluster of nodes and not to a crawl.
pub fn books() -> Vec<u8> {
    named(Slot::HOME, b'B', b"")
}

/// All entries of a group.
pub fn group(slot: Slot, table: Table, group: &[u8]) -> Vec<u8> {
    named(slot, letter(table), group)
}

/// The table and the group of a key that [`group`] gave.
pub fn read_group(name: &[u8]) -> Option<(Table, &[u8])> {
    let behind_tag = name.iter().position(|byte| *byte == b'}')? + 1;
    let (first, rest) = name.get(behind_tag..)?.split_first()?;
    Some((Table::ALL.into_iter().find(|table| letter(*table) == *first)?, rest))
}

fn letter(table: Table) -> u8 {
    match table {
        Table::Seen => b's',
        Table::Queue => b'q',
        Table::Retries => b'y',
        Table::Records => b'u',
        Table::Heads => b'h',
        Table::Ready => b'r',
        Table::Visits => b'v',
        Table::Uses => b'n',
        Table::Contents => b't',
        Table::Hosts => b'H',
        Table::Addresses => b'a',
        Table::AddressRecords => b'A',
        Table::Robots => b'x',
        Table::Leases => b'l',
        Table::Crawls => b'c',
        Table::Blocks => b'b',
        Table::Forgettings => b'f',
        Table::Counters => b'g',
        Table::Meta => b'm',
    }
}

/// An entry of a list, from its key without the group.
pub fn member(rest: &[u8], value: &[u8]) -> Vec<u8> {
    [rest, value].concat()
}

/// The key without the group, and the value, of a list's entry.
pub fn read_member(table: Table, member: &[u8]) -> Option<(&[u8], &[u8])> {
    match table.kind() {
        Kind::List { key_bytes: Some(bytes) } => member.split_at_checked(bytes),
        _ => Some((member, &[])),
    }
}

/// Where entries of a list begin whose keys, without their group, are not before this one; `None` when there can be none.
pub fn from(table: Table, rest: &[u8]) -> Option<Vec<u8>> {
    let first = match table.kind() {
        // All keys are as long, so what is longer than a key stands behind that key and before the next.
        Kind::List { key_bytes: Some(bytes) } if rest.len() > bytes => after(&rest[..bytes])?,
        _ => rest.to_vec(),
    };
    Some(if first.is_empty() { b"-".to_vec() } else { [b"[", first.as_slice()].concat() })
}

/// The one entry with this key, as the bounds of a range.
pub fn only(table: Table, rest: &[u8]) -> [Vec<u8>; 2] {
    if let Kind::List { key_bytes: None } = table.kind() {
        // Nothing stands behind a key, and one may be the beginning of another.
        return [[b"[", rest].concat(), [b"[", rest].concat()];
    }
    let end = after(rest).map_or_else(|| b"+".to_vec(), |next| [b"(", next.as_slice()].concat());
    [[b"[", rest].concat(), end]
}

/// The next bytes of the same length.
fn after(bytes: &[u8]) -> Option<Vec<u8>> {
    let last = bytes.iter().rposition(|byte| *byte < 0xff)?;
    let mut next = bytes.to_vec();
    next[last] += 1;
    next[last + 1..].fill(0);
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_short_tag_that_lies_in_it_and_stays_as_it_is() {
        for (slot, tag) in TAGS.iter().enumerate() {
            assert_eq!(usize::from(slot_of(tag)), slot);
            assert!((1..=4).contains(&tag.len()) && tag.iter().all(u8::is_ascii_alphanumeric));
        }
        let text = |slot| String::from_utf8(head(Slot(slot))).unwrap();
        assert_eq!([text(0), text(1), text(16_383)], ["{la2}.", "{Qi}.", "{JmA}."]);
    }

    #[test]
    fn a_name_tells_its_table_and_group() {
        let group = [0, b'}', 7, 1];
        for table in Table::ALL {
            assert_eq!(read_group(&super::group(Slot(77), table, &group)), Some((table, &group[..])));
        }
        assert_eq!(read_group(&head(Slot(77))), None);
    }

    #[test]
    fn what_is_longer_than_a_key_begins_behind_it() {
        let mut longer = [7; 16].to_vec();
        longer.push(0);
        let mut next = [7; 16];
        next[15] = 8;
        assert_eq!(from(Table::Queue, &longer), Some([&b"["[..], &next].concat()));
        assert_eq!(from(Table::Queue, &[0xff; 17]), None);
        assert_eq!(from(Table::Queue, &[7; 3]), Some(vec![b'[', 7, 7, 7]));
        assert_eq!(from(Table::Queue, &[]), Some(b"-".to_vec()));
        assert_eq!(from(Table::Visits, &[0xff; 40]).unwrap().len(), 41);
    }

    #[test]
    fn the_only_entry_of_a_key_ends_before_the_next_key() {
        let only = |rest: &[u8]| super::only(Table::Queue, rest);
        assert_eq!(only(&[1, 0xff]), [vec![b'[', 1, 0xff], vec![b'(', 2, 0]]);
        assert_eq!(only(&[0xff, 0xff]), [vec![b'[', 0xff, 0xff], b"+".to_vec()]);
        assert_eq!(super::only(Table::Addresses, b"a"), [b"[a", b"[a"]);
    }
}
