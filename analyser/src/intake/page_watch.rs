//! What is measured of a page that is read: the time from its arrival to what it says, and its span in the trace of the lease.

use std::time::Instant;

use seine_node::telemetry::traces;
use seine_proto::common::v1::FetchedPage;
use tracing::Span;

use crate::metrics;

pub(super) struct PageWatch {
    arrived: Instant,
    span: Span,
}

impl PageWatch {
    /// Waiting for its turn is part of it.
    pub fn begin(page: &FetchedPage) -> Self {
        let (crawl, lease) = page.lease.as_ref().map_or(("", 0), |lease| (lease.crawl.as_str(), lease.token));
        let span = tracing::info_span!(parent: None, "analyse", crawl, lease, url = page.url);
        traces::continue_from(&span, &page.traceparent);
        Self { arrived: Instant::now(), span }
    }

    /// For what is not read.
    pub fn none() -> Self {
        Self { arrived: Instant::now(), span: Span::none() }
    }

    /// For what happens meanwhile.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// Ends it, and names it to the filesaver.
    pub fn read(&mut self, page: &mut FetchedPage) {
        metrics::page_read(self.arrived.elapsed());
        let span = std::mem::replace(&mut self.span, Span::none());
        page.traceparent = traces::pass_on(&span, &page.traceparent);
    }
}
