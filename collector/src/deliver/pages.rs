//! The pages that no analyser has answered for: those that wait, and those that are on one.
//!
//! A page that met a break is a *suspect*. Suspects wait in a queue of their own and go first; how many of them are on one stream
//! is limited, and others pass them meanwhile.

use std::collections::{HashMap, VecDeque};

use super::dispatch::{AnalyserId, PageNumber};

/// What a page costs besides its bytes.
const COST_OF_A_PAGE: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct Page {
    pub cost: usize,
    pub on: Option<AnalyserId>,
    /// Where it was not saved the last time.
    pub avoids: Option<AnalyserId>,
    pub breaks: u32,
    pub refusals: u32,
    /// Pages saved before its first refusal.
    pub saved_before: u64,
    pub is_parsed: bool,
}

impl Page {
    pub fn is_suspect(&self) -> bool {
        self.breaks > 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Pages {
    all: HashMap<PageNumber, Page>,
    /// Those that are on no analyser, in the order in which they go.
    suspects: VecDeque<PageNumber>,
    others: VecDeque<PageNumber>,
    last: PageNumber,
}

impl Pages {
    pub fn take(&mut self, bytes: usize) -> PageNumber {
        self.last += 1;
        self.all.insert(self.last, Page { cost: bytes + COST_OF_A_PAGE, ..Page::default() });
        self.others.push_back(self.last);
        self.last
    }

    pub fn get(&self, number: PageNumber) -> Option<&Page> {
        self.all.get(&number)
    }

    /// The page, if it is there: what others say of it is old.
    pub fn on(&mut self, analyser: AnalyserId, number: PageNumber) -> Option<&mut Page> {
        self.all.get_mut(&number).filter(|page| page.on == Some(analyser))
    }

    /// All that are there, the oldest first.
    pub fn all_on(&self, analyser: AnalyserId) -> Vec<PageNumber> {
        let there = self.all.iter().filter(|(_, page)| page.on == Some(analyser));
        let mut there: Vec<PageNumber> = there.map(|(number, _)| *number).collect();
        there.sort_unstable();
        there
    }

    pub fn waiting(&self) -> impl Iterator<Item = PageNumber> {
        self.suspects.iter().chain(&self.others).copied()
    }

    /// The first of each queue.
    pub fn heads(&self) -> impl Iterator<Item = PageNumber> {
        [self.suspects.front(), self.others.front()].into_iter().flatten().copied()
    }

    /// Not counting suspects, which have been in here before.
    pub fn count_waiting(&self) -> usize {
        self.others.len()
    }

    /// It waits no longer.
    pub fn leave_queue(&mut self, number: PageNumber) -> Option<&mut Page> {
        let page = self.all.get_mut(&number)?;
        let queue = if page.is_suspect() { &mut self.suspects } else { &mut self.others };
        match queue.front() {
            Some(first) if *first == number => drop(queue.pop_front()),
            _ => queue.retain(|waiting| *waiting != number),
        }
        Some(page)
    }

    /// It waits again, behind those that do.
    pub fn wait_again(&mut self, number: PageNumber) {
        let Some(page) = self.all.get(&number) else { return };
        debug_assert!(page.on.is_none());
        let queue = if page.is_suspect() { &mut self.suspects } else { &mut self.others };
        queue.push_back(number);
    }

    /// It is answered for good, and in no queue.
    pub fn remove(&mut self, number: PageNumber) {
        self.all.remove(&number);
    }
}
