//! Taking in what became of a page, under the fence of its lease's token.

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Outcome, OutcomeKind, Settle, Settled, monitor_message::Message};

use crate::frontier::{Queued, Settlement};
use crate::keeper::Keeper;
use crate::lease::table::SessionId;
use crate::place::{Class, Place};
use crate::politeness::{self, Skip};
use crate::record::{CrawlId, QueueEntry, Trouble};
use crate::visit;
use crate::{MonitorError, Result};

impl Keeper {
    pub(crate) fn settle(&mut self, session: SessionId, settle: Settle) -> Result<()> {
        let Settle { token, request_id, url, place, outcome } = settle;
        let held = self.leases.held_by(token, session).map(|lease| {
            lease.settled += 1;
            (lease.crawl, lease.host.clone())
        });
        let stale = match (held, Place::from_slice(&place), outcome) {
            (Some((crawl, host)), Some(place), Some(outcome)) => {
                crate::metrics::visit_settled(outcome.kind());
                self.apply(token, crawl, &host, &url, place, outcome)?;
                false
            }
            _ => true,
        };
        self.send_durably(session, Message::Settled(Settled { request_id, token, stale }));
        Ok(())
    }

    fn apply(
        &mut self,
        token: u64,
        crawl: CrawlId,
        host: &HostKey,
        url: &str,
        place: Place,
        outcome: Outcome,
    ) -> Result<()> {
        let now = self.clock.now_ms();
        let saved = outcome.kind() == OutcomeKind::Saved;
        let waiting = self.waiting(crawl, host, url, place)?;
        let is_retry = waiting.as_ref().is_some_and(|waiting| waiting.entry.attempts > 0);
        self.note_behaviour(token, crawl, host, &outcome, is_retry, now)?;
        let Some(Queued { place, entry }) = waiting else {
            return if saved { self.withdraw_if_forgotten(crawl, url) } else { Ok(()) };
        };
        let max_attempts = self.crawls[&crawl].record.settings.max_attempts();
        let retry = may_pass(outcome.kind())
            .then(|| politeness::retry_after_failure(entry.attempts + 1, max_attempts))
            .flatten();
        if let Some(wait) = retry {
            let settlement = Settlement::Retry { due_ms: now + wait, outcome };
            return self.frontier.settle(crawl, host, place, settlement).map(drop);
        }
        let new_page = saved && !is_saved_already(&entry);
        self.finish_visit(crawl, host, place, entry, outcome, now)?;
        if saved {
            self.stop_at_byte_limits(token, crawl, host)?;
        }
        if new_page {
            metrics::counter!("seine_monitor_pages_total").increment(1);
            if let Some(lease) = self.leases.iter_mut().find(|lease| lease.token == token) {
                lease.saved += 1;
            }
        }
        Ok(())
    }

    /// A URL that a collector works on, where it is queued. That may be another place than the collector was told: it is told
    /// of a URL before that is durable, and when the Monitor ends then, the next one finds the URL anew and may give the place
    /// to another.
    pub(super) fn waiting(&self, crawl: CrawlId, host: &HostKey, url: &str, told: Place) -> Result<Option<Queued>> {
        let at = |place| {
            let entry = self.frontier.queued(crawl, host, place)?.filter(|entry| entry.url == url);
            Ok::<_, MonitorError>(entry.map(|entry| Queued { place, entry }))
        };
        if let Some(waiting) = at(told)? {
            return Ok(Some(waiting));
        }
        let Ok(url) = CanonicalUrl::parse(url) else { return Ok(None) };
        // The next visit of a page that was settled is not the one that is settled here.
        match self.frontier.place_of(crawl, &url)?.filter(|place| place.class() != Class::Revisit) {
            Some(place) => at(place),
            None => Ok(None),
        }
    }

    /// Pages are promised to leases one by one, bytes are not: when there are enough, what is handed out is taken back.
    fn stop_at_byte_limits(&mut self, token: u64, crawl: CrawlId, host: &HostKey) -> Result<()> {
        let settings = &self.crawls[&crawl].record.settings;
        let of_host = settings.max_bytes_per_host;
        if settings.max_bytes.is_some() && self.pages_left(crawl) == Some(0) {
            let held: Vec<u64> = self.leases.of_crawl(crawl).map(|lease| lease.token).collect();
            for token in held {
                self.revoke(token, "the crawl has all its bytes");
            }
        } else if let Some(most) = of_host
            && self.frontier.host_use(crawl, host)?.bytes >= most
        {
            self.revoke(token, "the host has given all its bytes");
        }
        Ok(())
    }

    /// The URL is done with, until its next visit.
    fn finish_visit(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        place: Place,
        entry: QueueEntry,
        outcome: Outcome,
        now: i64,
    ) -> Result<()> {
        let before = match (&entry.revisit, CanonicalUrl::parse(&entry.url)) {
            (Some(_), Ok(url)) => self.frontier.record(crawl, &url)?,
            _ => None,
        };
        let mut record = visit::after(before, entry, outcome, now);
        self.plan_visit(crawl, &mut record, now)?;
        self.frontier.settle(crawl, host, place, Settlement::Done(Box::new(record))).map(drop)
    }

    /// A host that asks for patience is left alone; one that keeps failing is skipped, and at last given up.
    fn note_behaviour(
        &mut self,
        token: u64,
        crawl: CrawlId,
        host: &HostKey,
        outcome: &Outcome,
        is_retry: bool,
        now: i64,
    ) -> Result<()> {
        let mut record = self.frontier.host(host)?;
        let kind = outcome.kind();
        if kind == OutcomeKind::SlowDown {
            // Requests that were under way when the first one was refused are the same refusal.
            let is_same = now < record.blocked_until_ms;
            let known = politeness::forgive(record.blocks, record.blocked_at_ms, record.blocked_until_ms, now);
            let earlier = if is_same { known.saturating_sub(1) } else { known };
            let until = politeness::block_until(now, outcome.retry_after_s, earlier, rand::random());
            record.rest_until(until, Trouble::Blocked);
            record.blocks = earlier + 1;
            record.blocked_at_ms = now;
            record.blocked_until_ms = record.blocked_until_ms.max(until);
        } else if is_failure_of_the_host(kind) {
            let is_skipped = record.next_allowed_ms > now && record.trouble() == Trouble::Failing;
            // One page that fails again and again says little about its host.
            if is_skipped || (is_retry && record.skips == 0) {
                return Ok(());
            }
            record.failures += if outcome.status == 0 { politeness::NO_ANSWER } else { politeness::FAILED_ANSWER };
            match politeness::skip(record.failures, record.skips) {
                Skip::No => {}
                Skip::For(ms) => {
                    record.skips += 1;
                    record.rest_until(now + ms, Trouble::Failing);
                    tracing::info!(host = host.as_str(), seconds = ms / 1000, "host keeps failing and is skipped");
                    self.revoke(token, "the host keeps failing");
                }
                Skip::GiveUp => {
                    record.skips = 0;
                    record.failures = 0;
                    tracing::info!(host = host.as_str(), "host is given up");
                    self.give_up_host(crawl, host, outcome);
                    self.revoke(token, "the host is given up");
                }
            }
        } else if record.failures > 0 && outcome.status > 0 {
            record.failures = 0;
            record.skips = 0;
        } else {
            return Ok(());
        }
        self.frontier.put_host(&record)
    }

    /// All that waits on the host is settled at once.
    fn give_up_host(&mut self, crawl: CrawlId, host: &HostKey, last: &Outcome) {
        let detail = format!("its host failed again and again; the last time: {}", describe(last));
        let outcome = Outcome { kind: OutcomeKind::HostFailed.into(), detail, ..Outcome::default() };
        self.empty(crawl, host, outcome);
    }
}

/// A visit to a page that counts as saved already.
fn is_saved_already(entry: &QueueEntry) -> bool {
    entry.revisit.as_ref().is_some_and(|revisit| revisit.saved)
}

fn describe(outcome: &Outcome) -> String {
    let kind = crate::keeper::state_name(outcome.kind());
    if outcome.detail.is_empty() { kind } else { format!("{kind}, {}", outcome.detail) }
}

/// Whether the same request may succeed later.
fn may_pass(kind: OutcomeKind) -> bool {
    matches!(kind, OutcomeKind::SlowDown | OutcomeKind::NotKept) || is_failure_of_the_host(kind)
}

/// Whether it is the host that failed rather than the page.
fn is_failure_of_the_host(kind: OutcomeKind) -> bool {
    matches!(
        kind,
        OutcomeKind::ServerError
            | OutcomeKind::RobotsUnavailable
            | OutcomeKind::Timeout
            | OutcomeKind::ConnectionFailed
            | OutcomeKind::NameNotFound
    )
}
