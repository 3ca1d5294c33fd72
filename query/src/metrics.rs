//! What the query tier counts.

use std::time::Duration;

pub fn searched(took: Duration) {
    metrics::histogram!("seine_query_search_seconds").record(took.as_secs_f64());
}

pub fn failed(code: &'static str) {
    metrics::counter!("seine_query_failed_total", "code" => code).increment(1);
}
