//! Of pages that are alike, which one is shown.
//!
//! The rule: **a page is shown unless a preferred page that is like it is shown**. It gives one answer for any set of
//! pages, whatever order they came in, also where likeness is not transitive; of a group of equal pages exactly the
//! preferred one is shown. A folded page names a shown one as its *leader*: a search that both match shows the leader;
//! words that only the folded page has still find it.
//!
//! [`Uncommitted`] decides about each page as it comes, by what is known then, and notes around which pages the rule may
//! be broken by that. [`settle`] mends it after the commit, when every page can be read again. What is noted is part of
//! that commit, so a kill in between only delays it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use seine_common::document_id::DocumentId;
use tantivy::DocAddress;

use crate::known_pages::{Form, Known, KnownPages, Neighbour};
use crate::likeness::{Likeness, Signature};
use crate::schema::Fields;

/// What was written since the last commit.
#[derive(Default)]
pub struct Uncommitted {
    pages: HashMap<DocumentId, Known>,
    /// By the terms of their signatures.
    alike: HashMap<u64, Vec<DocumentId>>,
    /// Committed documents that are deleted by the next commit.
    superseded: HashSet<DocAddress>,
}

impl Uncommitted {
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub fn get(&self, id: &DocumentId) -> Option<Known> {
        self.pages.get(id).copied()
    }

    /// What is known of this page no longer counts.
    pub fn supersede(&mut self, id: &DocumentId, old: &Known) {
        self.pages.remove(id);
        self.superseded.extend(old.address);
    }

    /// The form for a page. Notes it where others must now give way to it.
    pub fn decide(
        &self,
        likeness: Option<Likeness>,
        committed: &KnownPages,
        fields: &Fields,
        unsettled: &mut BTreeSet<Likeness>,
    ) -> tantivy::Result<Form> {
        let mut form = Form::Shown(likeness);
        if let Some(likeness) = likeness {
            let mut shows_worse = false;
            let mut leader = None;
            self.visit(likeness.signature, false, committed, fields, |shown| {
                if shown.rank < likeness.rank {
                    leader = Some(leader.map_or(shown.rank, |known: u64| known.min(shown.rank)));
                }
                shows_worse |= shown.rank > likeness.rank;
                true
            })?;
            match leader {
                Some(leader) => form = Form::Folded { likeness, leader },
                None if shows_worse => {
                    unsettled.insert(likeness);
                }
                None => {}
            }
        }
        Ok(form)
    }

    /// A page changes its form. Notes it where others may have been folded because of it.
    pub fn change(
        &self,
        old: Form,
        new: Form,
        committed: &KnownPages,
        fields: &Fields,
        unsettled: &mut BTreeSet<Likeness>,
    ) -> tantivy::Result<()> {
        if let Form::Shown(Some(shown)) = old
            && new != old
        {
            let mut was_folding = false;
            self.visit(shown.signature, true, committed, fields, |folded| {
                was_folding = folded.rank > shown.rank;
                !was_folding
            })?;
            if was_folding {
                unsettled.insert(shown);
            }
        }
        Ok(())
    }

    pub fn insert(&mut self, id: DocumentId, known: Known) {
        if let Form::Shown(Some(likeness)) | Form::Folded { likeness, .. } = known.form {
            for term in likeness.signature.terms() {
                self.alike.entry(term).or_default().push(id);
            }
        }
        self.pages.insert(id, known);
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Every page of one form that is like this one, committed or not, until `each` answers false.
    fn visit(
        &self,
        signature: Signature,
        folded: bool,
        committed: &KnownPages,
        fields: &Fields,
        mut each: impl FnMut(Likeness) -> bool,
    ) -> tantivy::Result<()> {
        for id in signature.terms().filter_map(|term| self.alike.get(&term)).flatten() {
            // One that was replaced since may stand under terms that it no longer has.
            let likeness = match self.pages.get(id).map(|known| known.form) {
                Some(Form::Shown(Some(likeness))) if !folded => likeness,
                Some(Form::Folded { likeness, .. }) if folded => likeness,
                _ => continue,
            };
            if signature.is_like(likeness.signature) && !each(likeness) {
                return Ok(());
            }
        }
        committed.alike(signature, folded, fields, |neighbour| {
            self.superseded.contains(&neighbour.address) || each(neighbour.likeness)
        })
    }
}

/// A committed page that must change its form.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub address: DocAddress,
    pub likeness: Likeness,
    /// `None` where it is to be shown.
    pub leader: Option<u64>,
}

/// The changes after which the rule holds around these likenesses, and everywhere if it held elsewhere before.
///
/// Pages are looked at from the preferred to the least: whether one is shown depends on preferred ones only, so each is
/// looked at once, and a change is passed on to the less preferred pages that are like it.
pub fn settle(unsettled: &BTreeSet<Likeness>, pages: &KnownPages, fields: &Fields) -> tantivy::Result<Vec<Change>> {
    let mut settling = Settling { pages, fields, queue: BinaryHeap::new(), met: HashMap::new() };
    for likeness in unsettled {
        settling.enqueue_less_preferred(likeness)?;
    }
    let mut changes = HashMap::<DocAddress, Change>::new();
    let mut promoted: Vec<Likeness> = Vec::new();
    while let Some(Reverse((_, address))) = settling.queue.pop() {
        let Some(Neighbour { likeness, leader: before, .. }) = settling.met.get(&address).copied() else { continue };
        let mut leaders: Vec<u64> =
            promoted.iter().filter(|shown| shown.folds(&likeness)).map(|shown| shown.rank).collect();
        pages.alike(likeness.signature, false, fields, |shown| {
            if shown.likeness.rank < likeness.rank && !changes.contains_key(&shown.address) {
                leaders.push(shown.likeness.rank);
            }
            true
        })?;
        // One that still stands is as good as any, and nothing has to be written.
        let leader = before.filter(|before| leaders.contains(before)).or(leaders.into_iter().min());
        if leader != before {
            changes.insert(address, Change { address, likeness, leader });
        }
        if leader.is_some() != before.is_some() {
            if leader.is_none() {
                promoted.push(likeness);
            }
            settling.enqueue_less_preferred(&likeness)?;
        }
    }
    Ok(changes.into_values().collect())
}

struct Settling<'a> {
    pages: &'a KnownPages,
    fields: &'a Fields,
    queue: BinaryHeap<Reverse<(u64, DocAddress)>>,
    /// All that were ever in the queue.
    met: HashMap<DocAddress, Neighbour>,
}

impl Settling<'_> {
    fn enqueue_less_preferred(&mut self, likeness: &Likeness) -> tantivy::Result<()> {
        for folded in [false, true] {
            self.pages.alike(likeness.signature, folded, self.fields, |neighbour| {
                let is_new = neighbour.likeness.rank > likeness.rank && !self.met.contains_key(&neighbour.address);
                if is_new {
                    self.met.insert(neighbour.address, neighbour);
                    self.queue.push(Reverse((neighbour.likeness.rank, neighbour.address)));
                }
                true
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
