//! Visiting known URLs again: rounds that a person asks for, and schedules.
//!
//! Every settled URL is *due* from some time on. Without a schedule that is at once, and nothing happens until somebody
//! asks for a round: then all that was due before it comes back into the queues, a batch at a time. With a schedule the
//! Monitor brings in what is due by itself, at the times that the crawl's policy plans.

use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{CrawlState, CrawlStatus, OutcomeKind};

use super::Keeper;
use crate::frontier::Candidate;
use crate::place::{Class, Place};
use crate::politeness::CLOCKS_DIFFER_MS;
use crate::record::{CrawlId, QueueEntry, UrlRecord};
use crate::visit;
use crate::{MonitorError, Result};

/// Visits brought in at once; others are served in between.
const VISITS_AT_ONCE: usize = 500;

impl Keeper {
    /// From when on the URL is due again.
    pub(crate) fn plan_visit(&mut self, crawl: CrawlId, record: &mut UrlRecord, now: i64) -> Result<()> {
        let refresh = self.crawls[&crawl].checked.refresh;
        let due = match refresh.interval_ms() {
            0 => now,
            _ => self.planning.next_visit(&self.frontier, crawl, refresh, record, now)?,
        };
        // Not before the end of the round that is under way, or it would be due in it again.
        record.next_visit_ms = due.max(self.crawls[&crawl].record.visit_due_before_ms);
        Ok(())
    }

    /// When a URL is looked at again that was not visited now.
    pub(crate) fn due_without_visit(&self, id: CrawlId) -> i64 {
        let now = self.clock.now_ms();
        let interval = self.crawls[&id].checked.refresh.interval_ms().min(i64::MAX as u64 / 2) as i64;
        now.saturating_add(interval).max(self.crawls[&id].record.visit_due_before_ms)
    }

    pub(super) fn has_schedule(&self, id: CrawlId) -> bool {
        self.crawls[&id].checked.refresh.interval_ms() > 0
    }

    /// When the Monitor itself will visit the next page; `None` without a schedule.
    pub(super) fn scheduled_visit(&self, id: CrawlId) -> Result<Option<i64>> {
        if self.has_schedule(id) { self.frontier.next_due(id) } else { Ok(None) }
    }

    pub(super) fn refresh_now(&mut self, name: &str) -> Result<CrawlStatus> {
        let id = self.crawl_named(name)?;
        self.start_round(id)?;
        self.status(id)
    }

    /// All that is due now is visited again.
    pub(super) fn start_round(&mut self, id: CrawlId) -> Result<()> {
        self.mend_times_of(id)?;
        let now = self.clock.now_ms();
        let crawl = self.crawls.get_mut(&id).expect("the caller looked the crawl up");
        // What is settled in this very millisecond is due too.
        crawl.record.visit_due_before_ms = now + 1;
        self.change_state(id, CrawlState::Running)?;
        self.bring_in_due_visits()?;
        self.finish_if_done(id)
    }

    /// Whether visits of a round, or of the schedule, are still to be brought in.
    pub(super) fn has_due_visits(&self, id: CrawlId) -> Result<bool> {
        Ok(!self.frontier.due_visits(id, self.due_before(id), 1)?.is_empty())
    }

    fn due_before(&self, id: CrawlId) -> i64 {
        let round = self.crawls[&id].record.visit_due_before_ms;
        if self.has_schedule(id) { round.max(self.clock.now_ms()) } else { round }
    }

    pub(super) fn bring_in_due_visits(&mut self) -> Result<()> {
        let ids: Vec<CrawlId> = self.crawls.keys().copied().collect();
        for id in ids {
            let state = self.crawls[&id].record.state();
            let wakes_up = state == CrawlState::Finished && self.has_schedule(id);
            if state != CrawlState::Running && !wakes_up {
                continue;
            }
            let before = self.due_before(id);
            if before == 0 {
                continue;
            }
            let due = self.frontier.due_visits(id, before, VISITS_AT_ONCE)?;
            if due.is_empty() {
                continue;
            }
            if wakes_up {
                self.change_state(id, CrawlState::Running)?;
            }
            self.queue_visits(id, due)?;
            self.grant_soon();
            self.finish_if_done(id)?;
        }
        Ok(())
    }

    pub(super) fn queue_visits(&mut self, id: CrawlId, due: Vec<UrlRecord>) -> Result<()> {
        let now = self.clock.now_ms();
        let sequence = self.frontier.next_sequence(id);
        let gone_after_ms = self.crawls[&id].checked.refresh.gone_after_ms();
        let mut visits = Vec::with_capacity(due.len());
        for (number, record) in due.into_iter().enumerate() {
            let Ok(url) = CanonicalUrl::parse(&record.entry.url) else {
                return Err(MonitorError::Corrupt("URL record"));
            };
            let excluded_by = self.crawls[&id].checked.judge(&url, &record.entry);
            let keep_document = excluded_by.is_some() && self.is_saved_by_another(id, &url)?;
            let mut revisit = visit::revisit(&record, now, gone_after_ms, excluded_by.clone());
            revisit.keep_document = keep_document;
            let changed_ms = self.crawls[&id].record.filters_changed_ms;
            // By a clock that was ahead, nobody knows before what it was.
            if record.outcome.fetched_at_ms < changed_ms || record.outcome.fetched_at_ms > now + CLOCKS_DIFFER_MS {
                // It is to be judged anew, so it is needed in full.
                (revisit.etag, revisit.last_modified) = Default::default();
            }
            if excluded_by.is_some() && !revisit.saved {
                // Nothing to withdraw and nothing to fetch; a later round may find the rule changed.
                let next_visit_ms = self.due_without_visit(id);
                self.frontier.put_record(id, &url, &UrlRecord { next_visit_ms, ..record })?;
                continue;
            }
            // What is not saved is a new page if it is there now, and stands where new ones do.
            let place = match revisit.saved {
                true => Place::in_turn(Class::Revisit, sequence, number as u32),
                false => self.crawls[&id].checked.order.place(record.entry.depth, sequence, number as u32),
            };
            let rules_generation = self.crawls[&id].record.rules_generation;
            let entry = QueueEntry { attempts: 0, revisit: Some(revisit), rules_generation, ..record.entry };
            visits.push(Candidate { host: url.host(), url, place, entry });
        }
        self.frontier.revisit(id, visits, now)
    }

    /// Whether a crawl besides this one has the page and wants it.
    pub(crate) fn is_saved_by_another(&self, id: CrawlId, url: &CanonicalUrl) -> Result<bool> {
        for (other, crawl) in self.crawls.iter().filter(|(other, _)| **other != id) {
            let known_as = crawl.checked.admission.strip(url.clone());
            // It must be the same document, which has one address.
            let record = if known_as == *url { self.frontier.record(*other, url)? } else { None };
            if record.is_some_and(|record| {
                record.outcome.kind() == OutcomeKind::Saved && crawl.checked.excludes(url, record.entry.depth).is_none()
            }) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
