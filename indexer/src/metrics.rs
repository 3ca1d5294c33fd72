//! What the indexer counts.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use seine_node::telemetry::families::set_gauges;

/// What is described is there from the beginning, with 0.
pub fn describe() {
    describe_counter!("seine_indexer_entries_total", "Entries of description logs applied.");
    describe_gauge!("seine_indexer_documents", "Documents in the index.");
    describe_histogram!("seine_indexer_commit_seconds", "What a commit takes.");
    counter!("seine_indexer_entries_total").increment(0);
    gauge!("seine_indexer_documents").increment(0.0);
    drop(histogram!("seine_indexer_commit_seconds"));
    set_committed(Vec::new());
    set_lag(Vec::new());
}

pub fn applied(entries: usize) {
    counter!("seine_indexer_entries_total").increment(entries as u64);
}

pub fn committed(took: Duration, documents: u64) {
    histogram!("seine_indexer_commit_seconds").record(took.as_secs_f64());
    gauge!("seine_indexer_documents").set(documents as f64);
}

/// By log.
pub fn set_committed(logs: Vec<(String, f64)>) {
    set_gauges("seine_indexer_committed_bytes", "How far of each log the index has come.", "log", logs);
}

/// By log.
pub fn set_lag(logs: Vec<(String, f64)>) {
    set_gauges("seine_indexer_lag_bytes", "What of each log is not in the index yet.", "log", logs);
}
