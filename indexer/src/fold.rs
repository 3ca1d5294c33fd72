//! Of pages that are alike, which one is shown.
//!
//! The rule: **a page is shown unless a preferred page that is like it is shown**. It gives one answer for any set of
//! pages, whatever order they came in, also where likeness is not transitive; of a group of equal pages exactly the
//! preferred one is shown.
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
            self.visit(likeness.signature, false, committed, fields, |shown| {
                if shown.rank < likeness.rank {
                    form = Form::Folded(likeness);
                }
                shows_worse |= shown.rank > likeness.rank;
                !matches!(form, Form::Folded(_))
            })?;
            if shows_worse && form == Form::Shown(Some(likeness)) {
                unsettled.insert(likeness);
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
        if let Form::Shown(Some(likeness)) | Form::Folded(likeness) = known.form {
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
                Some(Form::Folded(likeness)) if folded => likeness,
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
    pub was_folded: bool,
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
        let Some(Neighbour { likeness, folded, .. }) = settling.met.get(&address).copied() else { continue };
        let mut is_folded = promoted.iter().any(|shown| shown.folds(&likeness));
        if !is_folded {
            pages.alike(likeness.signature, false, fields, |shown| {
                is_folded = shown.likeness.rank < likeness.rank && !changes.contains_key(&shown.address);
                !is_folded
            })?;
        }
        if is_folded != folded {
            changes.insert(address, Change { address, likeness, was_folded: folded });
            if !is_folded {
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
