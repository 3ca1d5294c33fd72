//! The spans of pages that are being indexed: from when an entry is applied to the commit that makes it searchable.
//!
//! Only of pages that were saved lately: a rebuild reads what was traced long ago, which is nobody's trace any more.

use seine_common::clock::Clock;
use seine_node::telemetry::traces;
use seine_proto::filesaver::v1::LogEntry;
use seine_proto::filesaver::v1::log_entry::Entry;
use tracing::Span;

/// What was fetched before that is not traced again.
const LATELY_MS: i64 = 60 * 60 * 1000;
/// Spans between two commits; entries beyond are indexed without.
const MAX_SPANS: usize = 10_000;

#[derive(Default)]
pub struct Traced {
    spans: Vec<Span>,
}

impl Traced {
    /// To be called before the entry is applied.
    pub fn note(&mut self, entry: &LogEntry) {
        let Some(Entry::Description(page)) = &entry.entry else { return };
        if page.traceparent.is_empty() || !traces::is_on() || self.spans.len() >= MAX_SPANS {
            return;
        }
        if Clock::System.now_ms() - page.fetched_at_ms > LATELY_MS {
            return;
        }
        let (crawl, lease) = (&page.crawl, page.token);
        let span = tracing::info_span!(parent: None, "index", crawl, lease, url = page.url);
        traces::continue_from(&span, &page.traceparent);
        self.spans.push(span);
    }

    /// All that was applied can be found.
    pub fn committed(&mut self) {
        self.spans.clear();
    }
}
