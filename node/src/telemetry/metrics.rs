//! Numbers for `/metrics`: counters, gauges and histograms, all named in docs/watching.md.
//!
//! Durations are histograms with one set of buckets, so that those of several processes can be added up.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::families;

/// Names of durations end so.
const DURATIONS: &str = "_seconds";
/// From a page that is read at once to a lease that is held for minutes, in seconds.
const BUCKETS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// What renders `/metrics`. Clones are the same.
#[derive(Clone)]
pub struct Metrics {
    counted: PrometheusHandle,
}

/// Starts counting. `None` when counting has been started before.
pub fn start_metrics() -> Option<Metrics> {
    let recorder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix(DURATIONS.to_owned()), &BUCKETS);
    let counted = recorder.expect("there are buckets").install_recorder().ok()?;
    Some(Metrics { counted })
}

impl Metrics {
    /// In the text format of Prometheus.
    pub fn render(&self) -> String {
        let mut text = self.counted.render();
        families::render(&mut text);
        text
    }

    /// Sorts what was measured into buckets, so that it does not gather where nobody asks.
    pub(super) fn sort_in(&self) {
        self.counted.run_upkeep();
    }
}
