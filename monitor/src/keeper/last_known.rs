//! How crawls were when somebody asked last: what is told while the frontier's store does not answer, with that reason.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use seine_proto::monitor::v1::CrawlStatus;

#[derive(Clone, Default)]
pub(super) struct LastKnown {
    by_name: Arc<Mutex<BTreeMap<String, CrawlStatus>>>,
}

impl LastKnown {
    pub fn keep(&self, status: &CrawlStatus) {
        self.lock().insert(name(status).to_owned(), status.clone());
    }

    /// Those that there are, in place of what was known before.
    pub fn keep_all(&self, statuses: &[CrawlStatus]) {
        *self.lock() = statuses.iter().map(|status| (name(status).to_owned(), status.clone())).collect();
    }

    pub fn of(&self, crawl: &str, reason: &str) -> Option<CrawlStatus> {
        self.lock().get(crawl).map(|status| waiting(status, reason))
    }

    pub fn all(&self, reason: &str) -> Vec<CrawlStatus> {
        self.lock().values().map(|status| waiting(status, reason)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, CrawlStatus>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(status: &CrawlStatus) -> &str {
    status.crawl.as_ref().map_or("", |crawl| &crawl.name)
}

fn waiting(status: &CrawlStatus, reason: &str) -> CrawlStatus {
    CrawlStatus { waiting_reason: format!("the frontier's store does not answer: {reason}"), ..status.clone() }
}
