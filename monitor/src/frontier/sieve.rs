//! The sieve: lets a URL into a crawl once.
//!
//! A page's links are checked together, sorted, because a sorted batch costs RocksDB a fraction of single look-ups.
//! Fingerprints only: host fingerprint first, so that one host's URLs lie together on disk.

use std::collections::{HashMap, HashSet};

use prost::Message;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use super::{Candidate, Frontier, Known, Queued, key};
use crate::place::{PLACE_BYTES, Place};
use crate::record::{CrawlId, QueueEntry};
use crate::store::{Batch, Table};
use crate::{MonitorError, Result};

/// Where a seen URL stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Queued { depth: u32, place: Place },
    Retrying { depth: u32, due_ms: i64, place: Place },
    Settled { depth: u32 },
}

impl Seen {
    pub fn encode(self) -> Vec<u8> {
        let (state, depth) = match self {
            Self::Queued { depth, .. } => (b'q', depth),
            Self::Retrying { depth, .. } => (b'r', depth),
            Self::Settled { depth } => (b's', depth),
        };
        let mut bytes = vec![state];
        bytes.extend(depth.to_be_bytes());
        match self {
            Self::Queued { place, .. } => bytes.extend(place.0),
            Self::Retrying { due_ms, place, .. } => {
                bytes.extend(key::time(due_ms));
                bytes.extend(place.0);
            }
            Self::Settled { .. } => {}
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let parse = || {
            let (state, rest) = bytes.split_first()?;
            let (depth, rest) = rest.split_first_chunk::<4>()?;
            let depth = u32::from_be_bytes(*depth);
            Some(match state {
                b'q' => Self::Queued { depth, place: Place::from_slice(rest)? },
                b'r' => Self::Retrying {
                    depth,
                    due_ms: key::read_time(rest)?,
                    place: Place::from_slice(rest.get(8..8 + PLACE_BYTES)?)?,
                },
                b's' => Self::Settled { depth },
                _ => return None,
            })
        };
        parse().ok_or(MonitorError::Corrupt("seen URL"))
    }
}

struct Keyed<'a> {
    key: [u8; key::URL_BYTES],
    host: [u8; key::HOST_BYTES],
    position: usize,
    candidate: &'a Candidate,
}

impl Frontier {
    /// Admits those that the crawl has never seen, and says which, in the order given. One already queued at a greater
    /// depth takes the smaller one, its place stays.
    pub fn admit(&mut self, crawl: CrawlId, candidates: &[Candidate], now_ms: i64) -> Result<Vec<bool>> {
        let mut keyed: Vec<_> =
            candidates.iter().enumerate().map(|(position, c)| self.keyed(crawl, position, c)).collect();
        // Sorted by key; of equal ones the first given stays first.
        keyed.sort_by_key(|item| item.key);
        let keys: Vec<&[u8]> = keyed.iter().map(|item| &item.key[..]).collect();
        let found = self.store.get_sorted(Table::Seen, &keys)?;
        let mut admitted = vec![false; candidates.len()];
        let mut batch = Batch::default();
        let mut hosts: HashMap<[u8; key::HOST_BYTES], &HostKey> = HashMap::new();
        let mut new: HashSet<[u8; key::URL_BYTES]> = HashSet::new();
        for (item, found) in keyed.iter().zip(found) {
            match found {
                Some(bytes) => self.lower_depth(&mut batch, item, Seen::decode(&bytes)?)?,
                None if new.insert(item.key) => {
                    let Candidate { place, entry, host, .. } = item.candidate;
                    let seen = Seen::Queued { depth: entry.depth, place: *place };
                    batch.put(Table::Seen, item.key, seen.encode());
                    batch.put(Table::Queue, key::queue(&item.host, *place), entry.encode_to_vec());
                    self.floors.borrow_mut().lower_queue(&item.host, *place);
                    hosts.insert(item.host, host);
                    admitted[item.position] = true;
                }
                None => {}
            }
        }
        for (host_key, host) in hosts {
            if !self.store.has(Table::Heads, &host_key)? {
                self.enter_ready(&mut batch, crawl, host, now_ms);
            }
        }
        let progress = self.progress.entry(crawl).or_default();
        progress.queued += new.len() as u64;
        for (candidate, _) in candidates.iter().zip(&admitted).filter(|(_, admitted)| **admitted) {
            progress.count_class(candidate.place.class(), 1);
        }
        self.put_progress(&mut batch, crawl);
        self.store.write(&batch)?;
        Ok(admitted)
    }

    fn keyed<'a>(&self, crawl: CrawlId, position: usize, candidate: &'a Candidate) -> Keyed<'a> {
        let host = self.host_key(crawl, &candidate.host);
        let key = key::url(&host, self.fingerprinter.of(candidate.url.as_str().as_bytes()));
        Keyed { key, host, position, candidate }
    }

    /// A shallower rediscovery of a URL that still waits lowers its depth; its place stays.
    fn lower_depth(&self, batch: &mut Batch, item: &Keyed<'_>, seen: Seen) -> Result<()> {
        let Seen::Queued { depth, place } = seen else { return Ok(()) };
        let smaller = item.candidate.entry.depth;
        if smaller >= depth {
            return Ok(());
        }
        let key = key::queue(&item.host, place);
        let mut entry: QueueEntry =
            self.read(Table::Queue, &key, "queue entry")?.ok_or(MonitorError::Corrupt("queue"))?;
        entry.depth = smaller;
        entry.expected_usability = entry.expected_usability.max(item.candidate.entry.expected_usability);
        batch.put(Table::Queue, key, entry.encode_to_vec());
        batch.put(Table::Seen, item.key, Seen::Queued { depth: smaller, place }.encode());
        Ok(())
    }

    pub fn known(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<Known>> {
        let (host, key) = (self.host_key(crawl, &url.host()), self.url_key(crawl, url));
        let Some(seen) = self.store.get(Table::Seen, &key)? else { return Ok(None) };
        let missing = MonitorError::Corrupt("seen URL");
        Ok(Some(match Seen::decode(&seen)? {
            Seen::Queued { place, .. } => {
                let entry = self.read(Table::Queue, &key::queue(&host, place), "queue entry")?.ok_or(missing)?;
                Known::Queued(Queued { place, entry })
            }
            Seen::Retrying { due_ms, place, .. } => {
                Known::Retrying(self.read(Table::Retries, &key::retry(&host, due_ms, place), "retry")?.ok_or(missing)?)
            }
            Seen::Settled { .. } => Known::Settled(Box::new(self.record_at(&key)?.ok_or(missing)?)),
        }))
    }
}
