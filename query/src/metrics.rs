//! What the query tier counts.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_histogram, histogram};

/// What is described is there from the beginning, with 0.
pub fn describe() {
    describe_counter!("seine_query_failed_total", "Searches refused or given up, by the code of the error.");
    describe_histogram!("seine_query_search_seconds", "What a search takes.");
    counter!("seine_query_failed_total", "code" => "busy").increment(0);
    drop(histogram!("seine_query_search_seconds"));
}

pub fn searched(took: Duration) {
    histogram!("seine_query_search_seconds").record(took.as_secs_f64());
}

pub fn failed(code: &'static str) {
    counter!("seine_query_failed_total", "code" => code).increment(1);
}
