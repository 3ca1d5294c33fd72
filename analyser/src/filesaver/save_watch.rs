//! What is measured of a page that is saved: the time from its arrival to its being durable, and its span in the trace of the
//! lease.

use std::time::Instant;

use seine_node::telemetry::traces;
use seine_proto::filesaver::v1::SaveRequest;
use tracing::Span;

use crate::metrics;

pub(crate) struct SaveWatch {
    arrived: Instant,
    /// Ends when this is dropped.
    _span: Span,
}

impl SaveWatch {
    /// Leaves the name of the span in the description, by which the indexer goes on with the trace.
    pub fn begin(request: &mut SaveRequest) -> Self {
        let arrived = Instant::now();
        let Some(page) = &request.page else { return Self { arrived, _span: Span::none() } };
        let (crawl, lease) = page.lease.as_ref().map_or(("", 0), |lease| (lease.crawl.as_str(), lease.token));
        let span = tracing::info_span!(parent: None, "save", crawl, lease, url = page.url);
        traces::continue_from(&span, &page.traceparent);
        if let Some(description) = &mut request.description {
            description.traceparent = traces::pass_on(&span, &page.traceparent);
        }
        Self { arrived, _span: span }
    }

    pub fn saved(&self) {
        metrics::page_saved(self.arrived.elapsed());
    }
}
