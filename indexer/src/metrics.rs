//! What the indexer counts.

use std::time::Duration;

pub fn applied(entries: usize) {
    metrics::counter!("seine_indexer_entries_total").increment(entries as u64);
}

pub fn committed(took: Duration, documents: u64) {
    metrics::histogram!("seine_indexer_commit_seconds").record(took.as_secs_f64());
    metrics::gauge!("seine_indexer_documents").set(documents as f64);
}
