//! Deletes the documents of a page that stand in earlier segments than its new version.
//!
//! tantivy applies a deletion to every segment that is there at the next commit, also to one that was added after it: only
//! documents that its own writer has numbered are exempt. So each deletion knows to which segments it applies: to those that
//! are committed, and to those that were begun before the one that has the new version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, TermQuery, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, Score, SegmentReader, Term};

/// The order in which segments were begun since the last commit. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct SegmentOrder {
    begun: Arc<Mutex<Begun>>,
}

#[derive(Debug, Default)]
struct Begun {
    count: u64,
    /// Not of those that are committed.
    places: HashMap<SegmentId, u64>,
}

impl SegmentOrder {
    /// The place of a new segment behind all others.
    pub fn begin(&self, segment: SegmentId) -> u64 {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.count += 1;
        let place = begun.count;
        begun.places.insert(segment, place);
        place
    }

    /// All deletions so far have been applied.
    pub fn committed(&self) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).places.clear();
    }

    /// One that was merged has taken in all deletions that were there then, so what comes is for it as for a committed one.
    fn is_before(&self, segment: SegmentId, place: u64) -> bool {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.places.get(&segment).is_none_or(|at| *at < place)
    }
}

/// Finds the documents of a page in segments before a place.
#[derive(Clone, Debug)]
pub struct EarlierVersions {
    page: TermQuery,
    order: SegmentOrder,
    before: u64,
}

impl EarlierVersions {
    pub fn new(id: Term, order: &SegmentOrder, before: u64) -> Self {
        Self { page: TermQuery::new(id, IndexRecordOption::Basic), order: order.clone(), before }
    }
}

impl Query for EarlierVersions {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let (page, order) = (self.page.weight(scoring)?, self.order.clone());
        Ok(Box::new(EarlierVersionsWeight { page, order, before: self.before }))
    }
}

struct EarlierVersionsWeight {
    page: Box<dyn Weight>,
    order: SegmentOrder,
    before: u64,
}

impl Weight for EarlierVersionsWeight {
    fn scorer(&self, segment: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        if self.order.is_before(segment.segment_id(), self.before) {
            self.page.scorer(segment, boost)
        } else {
            Ok(Box::new(EmptyScorer))
        }
    }

    fn explain(&self, segment: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.page.explain(segment, document)
    }
}
