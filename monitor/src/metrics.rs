//! The Monitor's metrics, described once. Never a URL or host as a label; crawls are, and their number is bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use seine_node::telemetry::families::set_gauges;
use seine_proto::monitor::v1::OutcomeKind;

/// Crawls with series of their own; the others are summed up.
const CRAWLS: usize = 50;
/// The label of their sum.
const OTHER: &str = "other";

/// What is described is there from the beginning, with 0.
pub fn describe() {
    describe_counter!("seine_monitor_leases_total", "Leases granted.");
    describe_counter!("seine_monitor_leases_expired_total", "Leases that ran out because their collector fell silent.");
    describe_counter!("seine_monitor_links_total", "Links within scope that went through the sieve.");
    describe_counter!("seine_monitor_pages_total", "Pages settled as saved.");
    describe_counter!("seine_monitor_visits_total", "Visits settled, by their outcome.");
    describe_gauge!("seine_monitor_collectors_count", "Collectors attached.");
    describe_gauge!("seine_monitor_active_leases", "Leases that are held.");
    describe_gauge!("seine_monitor_hosts_waiting", "Hosts with something to fetch and without a lease.");
    describe_histogram!("seine_monitor_lease_seconds", "From the grant of a lease to its end.");
    for name in [
        "seine_monitor_leases_total",
        "seine_monitor_leases_expired_total",
        "seine_monitor_links_total",
        "seine_monitor_pages_total",
    ] {
        counter!(name).increment(0);
    }
    counter!("seine_monitor_visits_total", "outcome" => OutcomeKind::Saved.label()).increment(0);
    gauge!("seine_monitor_collectors_count").increment(0.0);
    drop(histogram!("seine_monitor_lease_seconds"));
    Sample::default().publish();
}

pub fn visit_settled(outcome: OutcomeKind) {
    counter!("seine_monitor_visits_total", "outcome" => outcome.label()).increment(1);
}

pub fn lease_ended(lasted: Duration) {
    histogram!("seine_monitor_lease_seconds").record(lasted.as_secs_f64());
}

/// What is looked at every few seconds.
#[derive(Debug, Default)]
pub struct Sample {
    pub active_leases: usize,
    pub hosts_waiting: usize,
    /// The most important ones first.
    pub crawls: Vec<CrawlSample>,
}

#[derive(Clone, Debug)]
pub struct CrawlSample {
    pub name: String,
    pub queued: u64,
    pub pages: u64,
}

impl Sample {
    pub fn publish(&self) {
        gauge!("seine_monitor_active_leases").set(self.active_leases as f64);
        gauge!("seine_monitor_hosts_waiting").set(self.hosts_waiting as f64);
        let queued = bounded(self.crawls.iter().map(|crawl| (crawl.name.as_str(), crawl.queued)));
        set_gauges("seine_monitor_queue_urls", "URLs that wait, by crawl.", "crawl", queued);
        let pages = bounded(self.crawls.iter().map(|crawl| (crawl.name.as_str(), crawl.pages)));
        set_gauges("seine_monitor_crawl_pages", "Pages that a crawl has saved.", "crawl", pages);
    }
}

/// The first ones under their names, and what is left together.
fn bounded<'n>(crawls: impl Iterator<Item = (&'n str, u64)>) -> Vec<(String, f64)> {
    let mut series = BTreeMap::<&str, u64>::new();
    for (number, (name, count)) in crawls.enumerate() {
        // A crawl may have the name of the sum, and is part of it then.
        *series.entry(if number < CRAWLS { name } else { OTHER }).or_default() += count;
    }
    series.into_iter().map(|(name, count)| (name.to_owned(), count as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_crawls_there_are_their_series_are_few_and_nothing_is_left_out() {
        let names: Vec<String> = (0..200).map(|number| format!("crawl-{number}")).collect();
        let series = bounded(names.iter().map(|name| (name.as_str(), 2)));
        assert_eq!(series.len(), CRAWLS + 1);
        let of = |name: &str| series.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
        assert_eq!((of("crawl-0"), of("crawl-50"), of(OTHER)), (Some(2.0), None, Some(300.0)));
        assert_eq!(series.iter().map(|(_, count)| count).sum::<f64>(), 400.0);
        assert_eq!(bounded([("a", 1), (OTHER, 2)].into_iter()), [("a".to_owned(), 1.0), (OTHER.to_owned(), 2.0)]);
    }
}
