//! Which segments of the index are merged, and when.
//!
//! Merging rewrites documents that were just written, on the cores that a hot crawl needs for new ones. So while the worker says
//! that it is [hot](Merging::set_hot), merges wait until it is not, or until there are so many segments that searches would
//! notice; then segments of like size become one, layer by layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tantivy::SegmentMeta;
use tantivy::indexer::{LogMergePolicy, MergeCandidate, MergePolicy};

/// Segments of like size that are merged into one: fewer would rewrite documents more often, more would slow searches.
const SEGMENTS_PER_MERGE: usize = 10;
/// Segments of fewer documents than this count as of like size.
const SMALL_SEGMENT_DOCUMENTS: u32 = 500;
/// Larger segments are left alone: rewriting them costs more than searching them apart.
const LARGEST_MERGED_DOCUMENTS: usize = 100_000;
/// A segment with a larger share of dead documents is rewritten.
const DEAD_SHARE_BEFORE_REWRITE: f32 = 0.4;
/// Segments that a search can bear while a crawl is hot.
const SEGMENTS_WHILE_HOT: usize = 30;

/// Clones are one.
#[derive(Clone, Debug, Default)]
pub struct Merging {
    is_hot: Arc<AtomicBool>,
}

impl Merging {
    pub fn set_hot(&self, is_hot: bool) {
        self.is_hot.store(is_hot, Ordering::Relaxed);
    }

    /// Whether anything would be merged if it were not hot.
    pub fn has_work(&self, segments: &[SegmentMeta]) -> bool {
        !by_size().compute_merge_candidates(segments).is_empty()
    }
}

impl MergePolicy for Merging {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        if self.is_hot.load(Ordering::Relaxed) && segments.len() <= SEGMENTS_WHILE_HOT {
            return Vec::new();
        }
        by_size().compute_merge_candidates(segments)
    }
}

fn by_size() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(SEGMENTS_PER_MERGE);
    policy.set_min_layer_size(SMALL_SEGMENT_DOCUMENTS);
    policy.set_max_docs_before_merge(LARGEST_MERGED_DOCUMENTS);
    policy.set_del_docs_ratio_before_merge(DEAD_SHARE_BEFORE_REWRITE);
    policy
}

#[cfg(test)]
mod tests {
    use tantivy::index::SegmentId;
    use tantivy::{Index, schema};

    use super::*;

    fn segments(count: usize) -> Vec<SegmentMeta> {
        let index = Index::create_in_ram(schema::Schema::builder().build());
        (0..count).map(|_| index.new_segment_meta(SegmentId::generate_random(), 100)).collect()
    }

    #[test]
    fn segments_of_a_hot_crawl_are_merged_when_it_is_over_or_when_they_are_too_many() {
        let merging = Merging::default();
        let merges = |count| !merging.compute_merge_candidates(&segments(count)).is_empty();
        assert!(merges(SEGMENTS_PER_MERGE) && !merges(SEGMENTS_PER_MERGE - 1));
        merging.set_hot(true);
        assert!(!merges(SEGMENTS_WHILE_HOT) && merges(SEGMENTS_WHILE_HOT + 1));
        assert!(merging.has_work(&segments(SEGMENTS_PER_MERGE)));
        merging.set_hot(false);
        assert!(merges(SEGMENTS_WHILE_HOT));
    }
}
