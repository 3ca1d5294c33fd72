//! Keys of the frontier's tables. Numbers are big-endian, so that byte order is number order.
//!
//! | table | key | value |
//! |---|---|---|
//! | `seen` | crawl, host fingerprint, URL fingerprint | state, depth, place |
//! | `queue` | crawl, host fingerprint, place | `QueueEntry` |
//! | `retries` | crawl, host fingerprint, due time, place | `QueueEntry` |
//! | `records` | crawl, host fingerprint, URL fingerprint | `UrlRecord` |
//! | `heads` | crawl, host fingerprint | ready time, host name |
//! | `ready` | crawl, ready time, host fingerprint | host name |
//! | `visits` | crawl, due time, host fingerprint, URL fingerprint | nothing |
//! | `uses` | crawl, host fingerprint | `HostUse` |
//! | `contents` | crawl, text fingerprint | the first URL with it |
//! | `hosts`, `robots` | host name; host name, 0, origin | `HostRecord`, `Robots` |
//! | `addresses` | address, 0, host name | nothing |
//! | `address records` | address, 0 | `AddressRecord` |
//! | `leases` | a kind byte, token | `LeaseRecord`, in the slot of the host |
//! | `counters` | a kind byte, crawl | `CrawlProgress`, summed over the slots of the hosts |
//! | `crawls`, `forgettings`, `blocks` | a kind byte; number or pattern | `CrawlRecord`, `ForgettingRecord`, `BlockRecord` |
//! | `meta` | a kind byte and a number | exclusions, planning, token, epoch, polynomial, slots of collectors |
//!
//! What is about a host lies in its slot; `contents` and addresses have slots of their own, and the last two lines of the table lie
//! in the slot for what crosses hosts.

use seine_common::address::AddressKey;
use seine_common::host::HostKey;

use crate::place::{PLACE_BYTES, Place};
use crate::record::CrawlId;
use crate::store::Slot;

pub const CRAWL_BYTES: usize = 4;
pub const HOST_BYTES: usize = CRAWL_BYTES + 8;
pub const URL_BYTES: usize = HOST_BYTES + 8;
pub const QUEUE_BYTES: usize = HOST_BYTES + PLACE_BYTES;

/// A host within a crawl, and where all about it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostAt {
    pub slot: Slot,
    pub key: [u8; HOST_BYTES],
}

/// A URL within a crawl, in the slot of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UrlAt {
    pub slot: Slot,
    pub key: [u8; URL_BYTES],
}

impl HostAt {
    pub fn url(&self, url: u64) -> UrlAt {
        UrlAt { slot: self.slot, key: joined(&self.key, &url.to_be_bytes()) }
    }
}

impl UrlAt {
    pub fn host(&self) -> [u8; HOST_BYTES] {
        *self.key.first_chunk().expect("it begins with its host's key")
    }
}

pub fn crawl(crawl: CrawlId) -> [u8; CRAWL_BYTES] {
    crawl.0.to_be_bytes()
}

/// Of a host within a crawl: `heads`, and the prefix of `seen`, `queue`, `retries`, `records`.
pub fn host(crawl: CrawlId, host: u64) -> [u8; HOST_BYTES] {
    joined(&self::crawl(crawl), &host.to_be_bytes())
}

pub fn queue(host: &[u8; HOST_BYTES], place: Place) -> [u8; QUEUE_BYTES] {
    joined(host, &place.0)
}

pub fn retry(host: &[u8; HOST_BYTES], due_ms: i64, place: Place) -> [u8; QUEUE_BYTES + 8] {
    joined(&joined::<HOST_BYTES, 8, { HOST_BYTES + 8 }>(host, &time(due_ms)), &place.0)
}

pub fn ready(crawl: CrawlId, ready_ms: i64, host: u64) -> [u8; HOST_BYTES + 8] {
    joined(&joined::<CRAWL_BYTES, 8, { CRAWL_BYTES + 8 }>(&self::crawl(crawl), &time(ready_ms)), &host.to_be_bytes())
}

/// Of a visit to the URL with this key in `records`.
pub fn visit(url: &[u8; URL_BYTES], due_ms: i64) -> [u8; URL_BYTES + 8] {
    let mut key = [0; URL_BYTES + 8];
    key[..CRAWL_BYTES].copy_from_slice(&url[..CRAWL_BYTES]);
    key[CRAWL_BYTES..CRAWL_BYTES + 8].copy_from_slice(&time(due_ms));
    key[CRAWL_BYTES + 8..].copy_from_slice(&url[CRAWL_BYTES..]);
    key
}

/// Before all visits that are due from a time on.
pub fn visits_from(crawl: CrawlId, due_ms: i64) -> [u8; CRAWL_BYTES + 8] {
    joined(&self::crawl(crawl), &time(due_ms))
}

/// When a visit is due, and the URL.
pub fn read_visit(slot: Slot, key: &[u8]) -> Option<(i64, UrlAt)> {
    let due_ms = read_time(key.get(CRAWL_BYTES..)?)?;
    let url = [key.get(..CRAWL_BYTES)?, key.get(CRAWL_BYTES + 8..)?].concat();
    Some((due_ms, UrlAt { slot, key: url.try_into().ok()? }))
}

/// Where all about an address lies.
pub fn address_slot(address: AddressKey) -> Slot {
    Slot::of(&HostKey::from_stored(address.to_string()))
}

pub fn content(crawl: CrawlId, fingerprint: u64) -> [u8; HOST_BYTES] {
    joined(&self::crawl(crawl), &fingerprint.to_be_bytes())
}

pub fn robots(host: &str, origin: &str) -> Vec<u8> {
    [host.as_bytes(), &[0], origin.as_bytes()].concat()
}

/// Of a host at an address; without a host, of the address itself.
pub fn address(address: AddressKey, host: &str) -> Vec<u8> {
    [address.to_string().as_bytes(), &[0], host.as_bytes()].concat()
}

/// Times before 1970 come from broken clocks and count as 1970.
pub fn time(ms: i64) -> [u8; 8] {
    ms.max(0).to_be_bytes()
}

pub fn read_time(bytes: &[u8]) -> Option<i64> {
    Some(i64::from_be_bytes(bytes.get(..8)?.try_into().ok()?))
}

/// Kinds of keys in `meta`.
pub mod meta {
    pub const POLYNOMIAL: &[u8] = b"p";
    pub const TOKEN: &[u8] = b"t";
    pub const EPOCH: &[u8] = b"e";
    pub const SLOTS: &[u8] = b"s";
    pub const AT_WORK: &[u8] = b"w";

    /// Before all crawls.
    pub const CRAWLS: &[u8] = b"c";
    /// Before all leases.
    pub const LEASES: &[u8] = b"l";

    /// Before all blocked hosts.
    pub const BLOCKS: &[u8] = b"b";

    pub fn block(pattern: &str) -> Vec<u8> {
        [BLOCKS, pattern.as_bytes()].concat()
    }

    /// Before all that is to be forgotten.
    pub const FORGETTINGS: &[u8] = b"f";

    pub fn forgetting(id: u64) -> [u8; 9] {
        super::joined(b"f", &id.to_be_bytes())
    }

    pub fn crawl(id: u32) -> [u8; 5] {
        numbered(b'c', id)
    }

    pub fn progress(id: u32) -> [u8; 5] {
        numbered(b'g', id)
    }

    pub fn exclusions(id: u32) -> [u8; 5] {
        numbered(b'x', id)
    }

    pub fn planning(id: u32) -> [u8; 5] {
        numbered(b'v', id)
    }

    pub fn lease(token: u64) -> [u8; 9] {
        super::joined(b"l", &token.to_be_bytes())
    }

    fn numbered(kind: u8, id: u32) -> [u8; 5] {
        super::joined(&[kind], &id.to_be_bytes())
    }
}

fn joined<const A: usize, const B: usize, const C: usize>(a: &[u8; A], b: &[u8; B]) -> [u8; C] {
    const { assert!(A + B == C) };
    let mut out = [0; C];
    out[..A].copy_from_slice(a);
    out[A..].copy_from_slice(b);
    out
}
