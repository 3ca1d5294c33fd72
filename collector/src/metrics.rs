//! What the collector counts.

use metrics::{counter, gauge};
use seine_proto::monitor::v1::OutcomeKind;

use crate::fetch::outcome::label;

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
