//! The Monitor's metrics, described once. Never a URL or host as a label.

use metrics::{describe_counter, describe_gauge};

pub fn describe() {
    describe_counter!("seine_monitor_leases_total", "Leases granted.");
    describe_counter!("seine_monitor_leases_expired_total", "Leases that ran out because their collector fell silent.");
    describe_counter!("seine_monitor_links_total", "Links within scope that went through the sieve.");
    describe_counter!("seine_monitor_pages_total", "Pages settled as saved.");
    describe_gauge!("seine_monitor_collectors_count", "Collectors attached.");
}
