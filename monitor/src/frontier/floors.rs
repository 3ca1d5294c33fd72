//! Where to begin to read: lower bounds on what is left in tables from whose front much was removed.
//!
//! What is removed leaves a grave that a scan must pass until the store has cleaned up. A queue that had a million URLs
//! would be waded through at every look for its first. So the place of the first URL that was seen last is remembered,
//! and lowered whenever an earlier one comes in. Only a help: what is not remembered is read from the beginning.

use std::collections::HashMap;

use super::key;
use crate::place::{PLACE_BYTES, Place};
use crate::record::CrawlId;

/// Hosts remembered; when there are more, all are forgotten.
const MAX_HOSTS: usize = 65_536;
/// Nothing is left.
const NOTHING: Place = Place([0xff; PLACE_BYTES]);

#[derive(Default)]
pub(super) struct Floors {
    queues: HashMap<[u8; key::HOST_BYTES], Place>,
    visits: HashMap<CrawlId, i64>,
}

impl Floors {
    /// No URL of the host's queue stands before this place.
    pub fn queue(&self, host: &[u8; key::HOST_BYTES]) -> Option<Place> {
        self.queues.get(host).copied()
    }

    /// The first URL of the queue was seen at this place, or none.
    pub fn saw_queue(&mut self, host: [u8; key::HOST_BYTES], first: Option<Place>) {
        if self.queues.len() >= MAX_HOSTS && !self.queues.contains_key(&host) {
            self.queues.clear();
        }
        self.queues.insert(host, first.unwrap_or(NOTHING));
    }

    pub fn lower_queue(&mut self, host: &[u8; key::HOST_BYTES], place: Place) {
        if let Some(floor) = self.queues.get_mut(host) {
            *floor = (*floor).min(place);
        }
    }

    /// No visit of the crawl is due before this time.
    pub fn visits(&self, crawl: CrawlId) -> i64 {
        self.visits.get(&crawl).copied().unwrap_or(0)
    }

    pub fn saw_visits(&mut self, crawl: CrawlId, first_due_ms: Option<i64>) {
        self.visits.insert(crawl, first_due_ms.unwrap_or(i64::MAX));
    }

    pub fn lower_visits(&mut self, crawl: CrawlId, due_ms: i64) {
        if let Some(floor) = self.visits.get_mut(&crawl) {
            *floor = (*floor).min(due_ms);
        }
    }
}
