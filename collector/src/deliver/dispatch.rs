//! Which analyser gets which page, and what an answer, a refusal or a break does to it.
//!
//! Pure: it is told what happened and when, and says what to do; the courier does it. Life of a page: waiting → on one
//! analyser → answered for good, or waiting again, after a refusal or once after a break. It is on at most one analyser, and
//! only what that one says of it counts.
//!
//! Of pages that met a break only a few are on one stream at a time, so that the page which breaks every stream ends after two
//! with few others, and not with all that were beside it.

mod choose;

use std::collections::BTreeMap;
use std::time::Instant;

use super::PAGES_WAITING;
use super::analyser::{Analyser, Standing, Stream};
use super::outage::Outage;
use super::pages::{Page, Pages};
use super::rest::Rest;

/// Broken streams that a page meets before it counts as failed.
const BREAKS: u32 = 2;
/// A page that was refused so often, while others were saved, counts as failed too.
const REFUSALS: u32 = 5;

/// Numbers a page from its coming until it is answered for good, whatever streams it meets.
pub(super) type PageNumber = u64;
/// One analyser at one place; one that comes back elsewhere has another number.
pub(super) type AnalyserId = u64;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    Send {
        to: AnalyserId,
        page: PageNumber,
    },
    /// The page is given up.
    Fail {
        page: PageNumber,
        reason: String,
    },
    /// Nothing is under way there, and nothing more will be.
    Close(AnalyserId),
}

/// What an analyser says of a page that it did not save, and somebody may save later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It can save nothing now.
    Nothing,
    /// It could not where it tried to.
    Here,
}

#[derive(Debug, Default)]
pub(super) struct Dispatch {
    analysers: BTreeMap<AnalyserId, Analyser>,
    pages: Pages,
    given: u64,
    saved: u64,
    outage: Outage,
}

impl Dispatch {
    /// Whether another page may come. Those that come during an outage were fetched before it.
    pub fn has_room(&self) -> bool {
        self.pages.count_waiting() < PAGES_WAITING || self.outage().is_some()
    }

    /// Why nothing can be saved; `None` while something can.
    pub fn outage(&self) -> Option<&str> {
        self.outage.reason()
    }

    /// Pages that are on no analyser.
    pub fn waiting(&self) -> impl Iterator<Item = PageNumber> {
        self.pages.waiting()
    }

    /// When to go on if nothing happens.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        let answering = self.analysers.values().filter(|analyser| analyser.answers());
        let tries = answering.filter_map(|analyser| analyser.rest.try_at()).filter(|at| *at > now);
        tries.chain(self.outage.begins_at()).min()
    }

    pub fn take(&mut self, bytes: usize) -> PageNumber {
        self.pages.take(bytes)
    }

    /// Nobody waits any more for this page, which is on no analyser.
    pub fn forget(&mut self, page: PageNumber) {
        self.pages.leave_queue(page);
        self.pages.remove(page);
    }

    /// What the list says of an analyser, which may be new.
    pub fn stands(&mut self, id: AnalyserId, standing: Standing) {
        self.analysers.entry(id).or_insert_with(|| Analyser::new(standing)).standing = standing;
    }

    /// Its stream is open. After an outage one page is to show first that it can save.
    pub fn opened(&mut self, id: AnalyserId, now: Instant) {
        let is_outage = self.outage().is_some();
        let Some(analyser) = self.analysers.get_mut(&id) else { return };
        analyser.stream = Stream::Open;
        if is_outage && analyser.rest.is_none() {
            analyser.rest = Rest::probation(now);
        }
    }

    /// Its stream could not be opened.
    pub fn unreachable(&mut self, id: AnalyserId, reason: &str) {
        let Some(analyser) = self.analysers.get_mut(&id) else { return };
        analyser.stream = Stream::Unreachable;
        self.outage.failed(format!("the analyser cannot be reached: {reason}"));
    }

    /// Its stream is over: nobody knows what became of the pages on it.
    pub fn broke(&mut self, id: AnalyserId, now: Instant, actions: &mut Vec<Action>) {
        let Some(analyser) = self.analysers.get_mut(&id) else { return };
        analyser.stream = Stream::Opening;
        for number in self.pages.all_on(id) {
            let Some(page) = self.take_off(id, number) else { continue };
            page.breaks += 1;
            page.avoids = Some(id);
            if page.breaks >= BREAKS {
                self.pages.remove(number);
                let reason = "the stream to the analyser broke twice while it was under way".to_owned();
                actions.push(Action::Fail { page: number, reason });
            } else {
                self.pages.wait_again(number);
            }
            self.rest_of(id, |rest| rest.not_saved(number, now));
        }
    }

    /// What an analyser says in the page. False where that is known, or where the page is not there any more.
    pub fn parsed(&mut self, from: AnalyserId, page: PageNumber) -> bool {
        self.pages.on(from, page).is_some_and(|page| !std::mem::replace(&mut page.is_parsed, true))
    }

    /// False where the page is not there any more.
    pub fn saved(&mut self, from: AnalyserId, page: PageNumber) -> bool {
        let is_there = self.take_off(from, page).is_some();
        if is_there {
            self.pages.remove(page);
            self.saved += 1;
            self.rest_of(from, |rest| *rest = Rest::None);
        }
        is_there
    }

    /// For a reason of its own. False where the page is not there any more.
    pub fn failed(&mut self, from: AnalyserId, page: PageNumber, now: Instant) -> bool {
        let is_there = self.take_off(from, page).is_some();
        if is_there {
            self.pages.remove(page);
            self.rest_of(from, |rest| rest.undecided(page, now));
        }
        is_there
    }

    /// The page is to be sent again, to another where there is one. Where others are saved all the same, and it is refused
    /// again and again, it is this page that cannot be.
    pub fn refused(
        &mut self,
        from: AnalyserId,
        number: PageNumber,
        refusal: Refusal,
        reason: String,
        now: Instant,
        actions: &mut Vec<Action>,
    ) {
        let saved = self.saved;
        let Some(page) = self.take_off(from, number) else { return };
        page.refusals += 1;
        page.avoids = Some(from);
        if page.refusals == 1 {
            page.saved_before = saved;
        }
        if page.refusals >= REFUSALS && saved > page.saved_before {
            self.pages.remove(number);
            self.rest_of(from, |rest| rest.undecided(number, now));
            actions.push(Action::Fail { page: number, reason });
            return;
        }
        self.pages.wait_again(number);
        match refusal {
            Refusal::Here => self.rest_of(from, |rest| rest.not_saved(number, now)),
            Refusal::Nothing => {
                self.rest_of(from, |rest| rest.refused(number, now));
                self.outage.failed(reason);
            }
        }
    }

    /// Decides all that can be decided now.
    pub fn advance(&mut self, now: Instant, actions: &mut Vec<Action>) {
        self.try_those_that_rested(now, actions);
        while let Some((page, to)) = self.next() {
            self.send(page, to, actions);
        }
        self.analysers.retain(|id, analyser| {
            let stays = analyser.standing != Standing::Gone || !analyser.is_empty();
            if !stays {
                actions.push(Action::Close(*id));
            }
            stays
        });
        self.outage.judge(self.prospect(), now);
    }

    fn send(&mut self, number: PageNumber, to: AnalyserId, actions: &mut Vec<Action>) {
        let (page, analyser) = (self.pages.leave_queue(number), self.analysers.get_mut(&to));
        let (Some(page), Some(analyser)) = (page, analyser) else { return };
        debug_assert!(page.on.is_none() && analyser.answers());
        self.given += 1;
        analyser.given_at = self.given;
        analyser.put(page.cost, page.is_suspect());
        page.on = Some(to);
        actions.push(Action::Send { to, page: number });
    }

    /// `None` for a page that is not there: what is said of it is old.
    fn take_off(&mut self, from: AnalyserId, page: PageNumber) -> Option<&mut Page> {
        let page = self.pages.on(from, page)?;
        self.analysers.get_mut(&from)?.take_off(page.cost, page.is_suspect());
        page.on = None;
        Some(page)
    }

    fn rest_of(&mut self, id: AnalyserId, change: impl FnOnce(&mut Rest)) {
        if let Some(analyser) = self.analysers.get_mut(&id) {
            change(&mut analyser.rest);
        }
    }
}

#[cfg(test)]
mod tests;
