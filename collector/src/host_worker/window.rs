//! The URLs of a leased host that the collector holds, in strategy order, and how far its knowledge reaches.
//!
//! The queue itself is on the Monitor's disk; this is a bounded piece of its beginning. The *horizon* says which piece:
//! every URL that is queued under the lease and stands at or before the horizon is held here, in flight, or settled.
//! Answers raise the horizon; an overflow lowers it. Discoveries behind it are left to the Monitor, which has them.
//!
//! Invariant: as long as answers are applied in the order they came, every URL is handed out once, and always the
//! smallest place that is known.

use std::collections::BTreeMap;

use seine_proto::monitor::v1 as contract;

use crate::strategy::Place;

/// URLs held per lease; more than that stay with the Monitor.
pub const MAX_WINDOW: usize = 512;
/// With fewer than this, more are asked for.
pub const LOW_WATER: usize = 64;
/// How many are asked for at once.
pub const URLS_PER_ANSWER: u32 = 512;

/// A URL of the leased host that waits for its request.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedUrl {
    pub place: Place,
    pub url: Box<str>,
    pub depth: u32,
    pub redirect_hops: u32,
    /// Set for a page that was visited before.
    pub revisit: Option<Box<contract::Revisit>>,
    /// Not a page, but a list of addresses.
    pub is_sitemap: bool,
}

impl QueuedUrl {
    /// Saving it adds no page to the crawl.
    pub fn is_saved_already(&self) -> bool {
        self.revisit.as_ref().is_some_and(|revisit| revisit.saved)
    }
}

impl From<contract::QueuedUrl> for QueuedUrl {
    fn from(queued: contract::QueuedUrl) -> Self {
        Self {
            place: queued.place.into(),
            url: queued.url.into(),
            depth: queued.depth,
            redirect_hops: queued.redirect_hops,
            revisit: queued.revisit.map(Box::new),
            is_sitemap: queued.sitemap_level > 0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Horizon {
    At(Place),
    /// Nothing else was queued.
    End,
}

#[derive(Debug)]
pub struct Window {
    held: BTreeMap<Place, QueuedUrl>,
    horizon: Horizon,
    /// Handed out and not yet known to be settled: an answer that was on its way may bring them again.
    handed_out: BTreeMap<Place, Box<str>>,
    /// The place behind which the outstanding question asks.
    asked_behind: Option<Place>,
    capacity: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self::with_capacity(MAX_WINDOW)
    }
}

impl Window {
    fn with_capacity(capacity: usize) -> Self {
        let horizon = Horizon::At(Place::start());
        Self { held: BTreeMap::new(), horizon, handed_out: BTreeMap::new(), asked_behind: None, capacity }
    }

    /// Takes the first URLs of the lease, or the answer to [`Window::question`].
    pub fn answer(&mut self, urls: impl IntoIterator<Item = QueuedUrl>, exhausted: bool) {
        let asked = self.asked_behind.take();
        let Horizon::At(horizon) = &self.horizon else {
            return;
        };
        if asked.is_some_and(|asked| asked != *horizon) {
            // The horizon was lowered while the answer was on its way: there is a gap before it.
            return;
        }
        let mut reached = horizon.clone();
        for queued in urls {
            reached = reached.max(queued.place.clone());
            self.hold(queued);
        }
        let reached = Horizon::At(reached);
        self.horizon = if exhausted || self.horizon == reached { Horizon::End } else { reached };
        self.give_up_excess();
    }

    /// Takes what the Monitor found new among the links of a page.
    pub fn discovered(&mut self, urls: impl IntoIterator<Item = QueuedUrl>) {
        for queued in urls {
            if self.reaches(&queued.place) {
                self.hold(queued);
            }
        }
        self.give_up_excess();
    }

    /// What is held was judged by rules that have changed: all of it goes back, and the queue is read from its beginning.
    /// An answer that is on its way begins behind the horizon of before and is thrown away when it comes.
    pub fn give_back(&mut self) {
        self.held.clear();
        self.horizon = Horizon::At(Place::start());
    }

    /// Questions and answers of the last stream to the Monitor are lost: the queue is read from its beginning, but for what
    /// is under way.
    pub fn ask_anew(&mut self) {
        self.give_back();
        self.asked_behind = None;
    }

    /// Its request was cut off: it is to be handed out again.
    pub fn put_back(&mut self, queued: QueuedUrl) {
        self.handed_out.remove(&queued.place);
        if self.reaches(&queued.place) {
            self.hold(queued);
            self.give_up_excess();
        }
    }

    /// Handed out and not settled.
    pub fn under_way(&self) -> impl Iterator<Item = &Place> {
        self.handed_out.keys()
    }

    pub fn first(&self) -> Option<&QueuedUrl> {
        self.held.values().next()
    }

    pub fn take_first(&mut self) -> Option<QueuedUrl> {
        let (place, queued) = self.held.pop_first()?;
        self.handed_out.insert(place, queued.url.clone());
        Some(queued)
    }

    /// The Monitor has settled this one and will not send it again.
    pub fn settled(&mut self, place: &Place) {
        self.handed_out.remove(place);
    }

    /// The place behind which to ask for more, when it is time. Only one question is open at a time.
    pub fn question(&mut self) -> Option<Place> {
        let Horizon::At(horizon) = &self.horizon else {
            return None;
        };
        if self.asked_behind.is_some() || self.held.len() >= LOW_WATER.min(self.capacity) {
            return None;
        }
        self.asked_behind = Some(horizon.clone());
        self.asked_behind.clone()
    }

    /// Nothing is held and nothing more is queued.
    pub fn is_exhausted(&self) -> bool {
        self.held.is_empty() && self.horizon == Horizon::End
    }

    fn reaches(&self, place: &Place) -> bool {
        match &self.horizon {
            Horizon::At(horizon) => place <= horizon,
            Horizon::End => true,
        }
    }

    fn hold(&mut self, queued: QueuedUrl) {
        if !self.handed_out.contains_key(&queued.place) && !self.is_found_anew(&queued) {
            self.held.insert(queued.place.clone(), queued);
        }
    }

    /// Whether a URL that is under way comes at another place: the Monitor that gave it out ended before that was durable, and
    /// the next one has found it anew. It is settled there.
    fn is_found_anew(&self, queued: &QueuedUrl) -> bool {
        queued.revisit.is_none() && self.handed_out.values().any(|url| *url == queued.url)
    }

    fn give_up_excess(&mut self) {
        if self.held.len() <= self.capacity {
            return;
        }
        while self.held.len() > self.capacity {
            self.held.pop_last();
        }
        let (last, _) = self.held.last_key_value().expect("the capacity is not zero");
        self.horizon = Horizon::At(last.clone());
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
