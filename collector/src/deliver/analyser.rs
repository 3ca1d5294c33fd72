//! One analyser as the dispatch sees it: whether its stream is open, what is under way there, and whether it saves.

use super::rest::Rest;

/// Pages under way on one stream. An analyser takes in about as many (ordinary ones and documents together); those that it
/// has no room for yet are written when it has.
pub(super) const PAGES_PER_STREAM: usize = 1_152;
/// Pages under way on one stream that met a break elsewhere. If one of them breaks this stream too, it takes few others with it.
const SUSPECTS_PER_STREAM: usize = 4;

/// What the list of analysers says of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Wanted,
    /// To be given something only where there is no other.
    Draining,
    /// Not on the list any more: what is under way there is waited for.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Being opened, for the first time or after a break.
    Opening,
    Open,
    /// The last attempt failed.
    Unreachable,
}

#[derive(Debug)]
pub(super) struct Analyser {
    pub standing: Standing,
    pub stream: Stream,
    pub rest: Rest,
    /// When it was given its last page, in pages.
    pub given_at: u64,
    pages: usize,
    suspects: usize,
    cost: usize,
}

impl Analyser {
    pub fn new(standing: Standing) -> Self {
        let (rest, stream) = (Rest::default(), Stream::Opening);
        Self { standing, stream, rest, given_at: 0, pages: 0, suspects: 0, cost: 0 }
    }

    /// It answers, and was not taken from the list.
    pub fn answers(&self) -> bool {
        self.stream == Stream::Open && self.standing != Standing::Gone
    }

    /// It answers, and saves what it is given.
    pub fn saves(&self) -> bool {
        self.answers() && self.rest.is_none()
    }

    pub fn has_room(&self, is_suspect: bool) -> bool {
        self.pages < PAGES_PER_STREAM && !(is_suspect && self.suspects >= SUSPECTS_PER_STREAM)
    }

    /// The smallest is given the next page: the least under way, and of two that are as busy the one that waits longer.
    pub fn load(&self) -> (usize, u64) {
        (self.cost, self.given_at)
    }

    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    pub fn put(&mut self, cost: usize, is_suspect: bool) {
        self.pages += 1;
        self.cost += cost;
        self.suspects += usize::from(is_suspect);
    }

    pub fn take_off(&mut self, cost: usize, is_suspect: bool) {
        self.pages -= 1;
        self.cost -= cost;
        self.suspects -= usize::from(is_suspect);
    }
}
