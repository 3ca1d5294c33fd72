//! What is measured of a lease: how long it lasts, and the trace that begins with it.

use std::time::Instant;

use seine_node::telemetry::traces;
use tracing::Span;

use crate::metrics;

#[derive(Clone, Debug)]
pub struct LeaseWatch {
    /// `None` for one that an earlier process granted.
    granted: Option<Instant>,
    /// Ends with the lease.
    span: Span,
}

impl LeaseWatch {
    pub fn begin(crawl: &str, host: &str, lease: u64, prepares: bool) -> Self {
        let span = tracing::info_span!(parent: None, "lease", crawl, host, lease, prepares);
        Self { granted: Some(Instant::now()), span }
    }

    /// Of a lease that was granted before this process began: nothing is known of its beginning.
    pub fn unknown() -> Self {
        Self { granted: None, span: Span::none() }
    }

    /// For the collector.
    pub fn traceparent(&self) -> String {
        traces::traceparent(&self.span)
    }

    pub fn ended(&self) {
        if let Some(granted) = self.granted {
            metrics::lease_ended(granted.elapsed());
        }
    }
}
