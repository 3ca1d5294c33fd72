//! What is measured of one request for a page: the time until its last byte, and its span in the trace of the lease.

use std::time::Instant;

use seine_node::telemetry::traces;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::terms::Terms;
use crate::fetch::{NoPage, Page};
use crate::metrics;

pub(super) struct FetchSpan {
    span: Span,
    begun: Instant,
}

impl FetchSpan {
    /// Waiting for a turn is over: the request starts.
    pub fn begin(terms: &Terms, url: &str) -> Self {
        let (crawl, host, lease) = (&*terms.crawl, &*terms.host, terms.token);
        let span = tracing::info_span!(parent: None, "fetch", crawl, host, lease, url, status = Empty, outcome = Empty);
        traces::continue_from(&span, &terms.traceparent);
        Self { span, begun: Instant::now() }
    }

    /// For the tiers that get the page.
    pub fn traceparent(&self, terms: &Terms) -> String {
        traces::pass_on(&self.span, &terms.traceparent)
    }

    /// What happens meanwhile is told with the span.
    pub fn measure<F: Future>(&self, fetching: F) -> impl Future<Output = F::Output> + use<F> {
        fetching.instrument(self.span.clone())
    }

    pub fn end(self, fetched: &Result<Page, NoPage>) {
        metrics::fetched(self.begun.elapsed());
        match fetched {
            Ok(page) => self.span.record("status", page.status),
            Err(NoPage { ending, .. }) => {
                self.span.record("status", ending.status).record("outcome", ending.kind.label())
            }
        };
    }
}
