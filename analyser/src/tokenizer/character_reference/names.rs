//! The names of characters, as a hash table made once of the data of the crate `entities`.

use std::sync::LazyLock;

use entities::ENTITIES;

/// The shortest and the longest name that needs no semicolon.
pub const MIN_BARE_BYTES: usize = 2;
pub const MAX_BARE_BYTES: usize = 6;
/// The longest of all names, with its semicolon.
pub const MAX_BYTES: usize = 32;

/// Twice as many slots as there are names, so that searches end soon.
const SLOT_BITS: u32 = 13;
const EMPTY: u16 = u16::MAX;

static SLOTS: LazyLock<Box<[u16]>> = LazyLock::new(|| {
    let mut slots = vec![EMPTY; 1 << SLOT_BITS].into_boxed_slice();
    for (number, entity) in (0_u16..).zip(&ENTITIES) {
        let mut slot = first_slot(&entity.entity.as_bytes()[1..]);
        while slots[slot] != EMPTY {
            slot = next_slot(slot);
        }
        slots[slot] = number;
    }
    slots
});

/// How many letters and digits there are that can belong to a name.
#[inline]
pub fn run(source: &[u8]) -> usize {
    let longest = &source[..source.len().min(MAX_BYTES)];
    longest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(longest.len())
}

/// What a name stands for. It has no ampersand, and its semicolon where it needs one.
pub fn find(name: &[u8]) -> Option<&'static str> {
    let slots = &**SLOTS;
    let mut slot = first_slot(name);
    while slots[slot] != EMPTY {
        let entity = &ENTITIES[usize::from(slots[slot])];
        if &entity.entity.as_bytes()[1..] == name {
            return Some(entity.characters);
        }
        slot = next_slot(slot);
    }
    None
}

fn first_slot(name: &[u8]) -> usize {
    let hash = name.iter().fold(0_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193).rotate_left(5));
    (hash.wrapping_mul(0x9e37_79b1) >> (u32::BITS - SLOT_BITS)) as usize
}

fn next_slot(slot: usize) -> usize {
    (slot + 1) % (1 << SLOT_BITS)
}
