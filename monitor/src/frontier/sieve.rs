//! The sieve: lets a URL into a crawl once.
//!
//! A page's links are checked together, sorted, because a sorted batch costs RocksDB a fraction of single look-ups.
//! Fingerprints only: host fingerprint first, so that one host's URLs lie together on disk.

use std::collections::HashMap;

use prost::Message;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use super::key::{HostAt, UrlAt};
use super::{Candidate, Frontier, Known, Queued, key};
use crate::place::{PLACE_BYTES, Place};
use crate::record::{CrawlId, QueueEntry};
use crate::store::{Batch, Slot, Table, Ticket};
use crate::{MonitorError, Result};

/// URLs of a page that are written together where a batch holds others up.
const WRITTEN_TOGETHER: usize = 200;

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
    url: UrlAt,
    position: usize,
    candidate: &'a Candidate,
}

impl Frontier {
    /// Admits those that the crawl has never seen, and says which, in the order given. One already queued at a greater
    /// depth takes the smaller one, its place stays.
    pub fn admit(&mut self, crawl: CrawlId, candidates: &[Candidate], now_ms: i64) -> Result<Vec<bool>> {
        if !self.store.loads() {
            return self.admit_together(crawl, candidates, now_ms, Ticket::default());
        }
        // Who waits for the last of them waits for all.
        let (mut admitted, mut before) = (Vec::with_capacity(candidates.len()), Ticket::default());
        for some in candidates.chunks(WRITTEN_TOGETHER) {
            admitted.extend(self.admit_together(crawl, some, now_ms, before)?);
            before = self.last_links;
        }
        Ok(admitted)
    }

    fn admit_together(
        &mut self,
        crawl: CrawlId,
        candidates: &[Candidate],
        now_ms: i64,
        after: Ticket,
    ) -> Result<Vec<bool>> {
        let mut keyed: Vec<_> =
            candidates.iter().enumerate().map(|(position, c)| self.keyed(crawl, position, c)).collect();
        // Sorted by key; of equal ones the first given stays first.
        keyed.sort_by_key(|item| item.url.key);
        let keys: Vec<(Slot, &[u8])> = keyed.iter().map(|item| (item.url.slot, &item.url.key[..])).collect();
        let found = self.store.get_sorted(Table::Seen, &keys)?;
        let mut admitted = vec![false; candidates.len()];
        let mut batch = Batch::at_home();
        batch.after(after);
        let mut hosts: HashMap<HostAt, &HostKey> = HashMap::new();
        let mut last: Option<&UrlAt> = None;
        let mut counted_at: Option<Slot> = None;
        for (item, found) in keyed.iter().zip(found) {
            let UrlAt { slot, key } = item.url;
            let is_repeated = last.replace(&item.url) == Some(&item.url);
            batch.turn_to(slot);
            match found {
                Some(bytes) => self.lower_depth(&mut batch, item, Seen::decode(&bytes)?)?,
                None if !is_repeated => {
                    let Candidate { place, entry, host, .. } = item.candidate;
                    let at = HostAt { slot, key: item.url.host() };
                    let seen = Seen::Queued { depth: entry.depth, place: *place };
                    batch.insert(Table::Seen, key, seen.encode());
                    batch.insert(Table::Queue, key::queue(&at.key, *place), entry.encode_to_vec());
                    self.floors.borrow_mut().lower_queue(&at.key, *place);
                    if hosts.insert(at, host).is_none() {
                        // Those of the host before are counted in its slot.
                        self.put_progress_at(&mut batch, crawl, counted_at.replace(slot));
                        batch.turn_to(slot);
                    }
                    let progress = self.progress.entry(crawl).or_default();
                    progress.queued += 1;
                    progress.count_class(place.class(), 1);
                    admitted[item.position] = true;
                }
                None => {}
            }
        }
        self.put_progress_at(&mut batch, crawl, counted_at);
        for (at, host) in hosts {
            if !self.store.has(at.slot, Table::Heads, &at.key)? {
                batch.turn_to(at.slot);
                self.enter_ready(&mut batch, crawl, host, now_ms);
            }
        }
        if !batch.is_empty() {
            self.last_links = self.store.write(batch)?;
        }
        Ok(admitted)
    }

    /// The pages of a host that settle from now on do so after the links that were admitted last: those of one of them.
    pub fn settle_after_links(&mut self, crawl: CrawlId, host: &HostKey) {
        if self.last_links > Ticket::default() {
            self.links_of.insert(self.host_at(crawl, host), self.last_links);
        }
    }

    pub(super) fn links_written(&self, host: &HostAt) -> Ticket {
        self.links_of.get(host).copied().unwrap_or_default()
    }

    fn put_progress_at(&mut self, batch: &mut Batch, crawl: CrawlId, slot: Option<Slot>) {
        if let Some(slot) = slot {
            batch.turn_to(slot);
            self.put_progress(batch, crawl);
        }
    }

    fn keyed<'a>(&self, crawl: CrawlId, position: usize, candidate: &'a Candidate) -> Keyed<'a> {
        let host = self.host_at(crawl, &candidate.host);
        let url = host.url(self.fingerprinter.of(candidate.url.as_str().as_bytes()));
        Keyed { url, position, candidate }
    }

    /// A shallower rediscovery of a URL that still waits lowers its depth; its place stays.
    fn lower_depth(&self, batch: &mut Batch, item: &Keyed<'_>, seen: Seen) -> Result<()> {
        let Seen::Queued { depth, place } = seen else { return Ok(()) };
        let smaller = item.candidate.entry.depth;
        if smaller >= depth {
            return Ok(());
        }
        let key = key::queue(&item.url.host(), place);
        let mut entry: QueueEntry =
            self.read(item.url.slot, Table::Queue, &key, "queue entry")?.ok_or(MonitorError::Corrupt("queue"))?;
        entry.depth = smaller;
        entry.expected_usability = entry.expected_usability.max(item.candidate.entry.expected_usability);
        batch.put(Table::Queue, key, entry.encode_to_vec());
        batch.put(Table::Seen, item.url.key, Seen::Queued { depth: smaller, place }.encode());
        Ok(())
    }

    /// Where a URL is queued, if it is.
    pub fn place_of(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<Place>> {
        let at = self.url_at(crawl, url);
        let seen = self.store.get(at.slot, Table::Seen, &at.key)?;
        Ok(match seen.map(|seen| Seen::decode(&seen)).transpose()? {
            Some(Seen::Queued { place, .. }) => Some(place),
            _ => None,
        })
    }

    pub fn known(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<Known>> {
        let at = self.url_at(crawl, url);
        let (slot, host) = (at.slot, at.host());
        let Some(seen) = self.store.get(slot, Table::Seen, &at.key)? else { return Ok(None) };
        let missing = MonitorError::Corrupt("seen URL");
        Ok(Some(match Seen::decode(&seen)? {
            Seen::Queued { place, .. } => {
                let entry = self.read(slot, Table::Queue, &key::queue(&host, place), "queue entry")?.ok_or(missing)?;
                Known::Queued(Queued { place, entry })
            }
            Seen::Retrying { due_ms, place, .. } => {
                let key = key::retry(&host, due_ms, place);
                Known::Retrying(self.read(slot, Table::Retries, &key, "retry")?.ok_or(missing)?)
            }
            Seen::Settled { .. } => Known::Settled(Box::new(self.record_at(&at)?.ok_or(missing)?)),
        }))
    }
}
