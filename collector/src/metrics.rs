//! What the collector counts.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use seine_proto::monitor::v1::OutcomeKind;

use crate::fetch::outcome::label;

/// What is described is there from the beginning, with 0.
pub fn describe() {
    describe_counter!("seine_collector_requests_total", "URLs settled, by their outcome.");
    describe_counter!("seine_collector_bytes_total", "Bytes of the bodies that came.");
    describe_gauge!("seine_collector_in_flight", "Requests under way.");
    describe_histogram!("seine_collector_fetch_seconds", "From the start of a request to the last byte of its answer.");
    counter!("seine_collector_requests_total", "outcome" => label(OutcomeKind::Saved)).increment(0);
    counter!("seine_collector_bytes_total").increment(0);
    gauge!("seine_collector_in_flight").increment(0.0);
    drop(histogram!("seine_collector_fetch_seconds"));
}

/// A request for a page ended, with a page or without.
pub fn fetched(took: Duration) {
    histogram!("seine_collector_fetch_seconds").record(took.as_secs_f64());
}

/// A request ended (robots.txt excluded), or a URL was settled without one.
pub fn outcome(kind: OutcomeKind, bytes: u64) {
    counter!("seine_collector_requests_total", "outcome" => label(kind)).increment(1);
    counter!("seine_collector_bytes_total").increment(bytes);
}

pub fn request_started() {
    gauge!("seine_collector_in_flight").increment(1.0);
}

pub fn request_ended() {
    gauge!("seine_collector_in_flight").decrement(1.0);
}

/// Memory of this process, 0 where the system does not tell.
pub fn memory_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).map_or(0, |pages| pages * PAGE)
}

/// Runnable tasks per core over the last minute, 0 where the system does not tell.
pub fn load() -> f32 {
    let loadavg = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let runnable: f32 = loadavg.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    runnable / std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f32)
}
