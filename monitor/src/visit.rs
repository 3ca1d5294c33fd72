//! What a visit changes in what is known of a URL. Pure.
//!
//! A page that was saved stays saved and in the index until it is confirmed gone: missing (404, 410, redirected away, or
//! refused by robots.txt) at two visits that lie far enough apart, or excluded by a changed rule. A timeout or a server
//! error never makes it gone. Not responsible for: when the next visit is (`refresh`).

use seine_proto::monitor::v1::{Outcome, OutcomeKind, Revisit, Visit};

use crate::frontier::record::{QueueEntry, UrlRecord};

/// Visits remembered for people who ask.
const VISITS_KEPT: usize = 10;

/// When a page was visited, and what of that found it changed. Stored with its record.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ChangeHistory {
    /// Visits that found the page, and those that found it changed, the first not counted.
    #[prost(uint32, tag = "1")]
    pub visits: u32,
    #[prost(uint32, tag = "2")]
    pub changes: u32,
    #[prost(int64, tag = "3")]
    pub first_visit_ms: i64,
    #[prost(int64, tag = "4")]
    pub last_visit_ms: i64,
    #[prost(int64, tag = "5")]
    pub last_change_ms: i64,
    /// Time between visits that found it unchanged, and between those that found it changed.
    #[prost(uint64, tag = "6")]
    pub unchanged_ms: u64,
    #[prost(uint64, tag = "7")]
    pub changed_ms: u64,
    /// When the page was missing for the first time since it was last there; 0 when it was not.
    #[prost(int64, tag = "8")]
    pub missing_since_ms: i64,
}

impl ChangeHistory {
    fn found(&mut self, at_ms: i64, changed: bool) {
        if self.visits == 0 {
            self.first_visit_ms = at_ms;
            self.last_change_ms = at_ms;
        } else {
            let interval = at_ms.saturating_sub(self.last_visit_ms).max(0) as u64;
            let watched = if changed { &mut self.changed_ms } else { &mut self.unchanged_ms };
            *watched = watched.saturating_add(interval);
            self.changes = self.changes.saturating_add(u32::from(changed));
            if changed {
                self.last_change_ms = at_ms;
            }
        }
        self.visits = self.visits.saturating_add(1);
        self.last_visit_ms = at_ms;
        self.missing_since_ms = 0;
    }

    fn missing(&mut self, at_ms: i64) {
        if self.missing_since_ms == 0 {
            self.missing_since_ms = at_ms;
        }
    }

    /// Whether a page that is missing now is gone for good.
    pub fn gone_if_missing(&self, now_ms: i64, gone_after_ms: u64) -> bool {
        let since = now_ms.saturating_sub(self.missing_since_ms).max(0) as u64;
        self.missing_since_ms > 0 && since >= gone_after_ms
    }
}

/// The record after a visit. Its next visit is still to be planned.
pub fn after(before: Option<UrlRecord>, entry: QueueEntry, outcome: Outcome, now_ms: i64) -> UrlRecord {
    let visit = Visit {
        at_ms: if outcome.fetched_at_ms > 0 { outcome.fetched_at_ms } else { now_ms },
        kind: outcome.kind,
        status: outcome.status,
        detail: outcome.detail.clone(),
    };
    let before = before.unwrap_or_default();
    let mut history = before.history.unwrap_or_default();
    let was_saved = before.outcome.kind() == OutcomeKind::Saved;
    let kind = outcome.kind();
    match kind {
        OutcomeKind::Saved => {
            let changed = !was_saved || before.outcome.fingerprint != outcome.fingerprint;
            history.found(now_ms, changed);
        }
        OutcomeKind::NotModified if was_saved => history.found(now_ms, false),
        _ if is_missing(kind) => history.missing(now_ms),
        _ => {}
    }
    let outcome = match kind {
        _ if !was_saved || kind == OutcomeKind::Saved => outcome,
        OutcomeKind::NotModified => unchanged(before.outcome, outcome),
        OutcomeKind::Excluded if outcome.withdrawn => outcome,
        _ if outcome.withdrawn => Outcome { kind: OutcomeKind::Gone.into(), ..outcome },
        _ => before.outcome,
    };
    let mut visits = before.visits;
    visits.insert(0, visit);
    visits.truncate(VISITS_KEPT);
    let entry = QueueEntry { last_outcome: None, revisit: None, ..entry };
    UrlRecord { entry, outcome, history: Some(history), next_visit_ms: 0, visits }
}

/// What the next visit to a URL should find out.
pub fn revisit(record: &UrlRecord, now_ms: i64, gone_after_ms: u64, excluded_by: Option<String>) -> Revisit {
    let saved = record.outcome.kind() == OutcomeKind::Saved;
    let history = record.history.unwrap_or_default();
    Revisit {
        etag: if saved { record.outcome.etag.clone() } else { String::new() },
        last_modified: if saved { record.outcome.last_modified.clone() } else { String::new() },
        gone_if_missing: saved && history.gone_if_missing(now_ms, gone_after_ms),
        withdraw: excluded_by.filter(|_| saved).unwrap_or_default(),
        saved,
    }
}

/// Whether the answer says that there is no such page here.
pub fn is_missing(kind: OutcomeKind) -> bool {
    matches!(kind, OutcomeKind::NotFound | OutcomeKind::RefusedByRobots | OutcomeKind::Redirected)
}

/// A 304 may renew what it answers about.
fn unchanged(before: Outcome, answer: Outcome) -> Outcome {
    let or = |new: String, old: String| if new.is_empty() { old } else { new };
    Outcome {
        etag: or(answer.etag, before.etag.clone()),
        last_modified: or(answer.last_modified, before.last_modified.clone()),
        expires_ms: answer.expires_ms,
        ..before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 24 * 60 * 60 * 1000;

    fn outcome(kind: OutcomeKind, fingerprint: u64) -> Outcome {
        Outcome { kind: kind.into(), fingerprint, etag: format!("\"{fingerprint}\""), ..Outcome::default() }
    }

    fn saved(fingerprint: u64, at_ms: i64) -> UrlRecord {
        after(None, QueueEntry::default(), outcome(OutcomeKind::Saved, fingerprint), at_ms)
    }

    fn visit(record: UrlRecord, kind: OutcomeKind, at_ms: i64) -> UrlRecord {
        let revisit = revisit(&record, at_ms, DAY as u64, None);
        let withdrawn = is_missing(kind) && revisit.gone_if_missing;
        let entry = QueueEntry { revisit: Some(revisit), ..record.entry.clone() };
        after(Some(record), entry, Outcome { withdrawn, ..outcome(kind, 1) }, at_ms)
    }

    #[test]
    fn a_page_is_gone_only_after_missing_at_two_visits_a_day_apart() {
        let once = visit(saved(1, 10), OutcomeKind::NotFound, 20);
        assert_eq!(once.outcome.kind(), OutcomeKind::Saved);
        let soon = visit(once.clone(), OutcomeKind::NotFound, 20 + DAY - 1);
        assert_eq!(soon.outcome.kind(), OutcomeKind::Saved);
        let later = visit(soon, OutcomeKind::NotFound, 20 + DAY);
        assert_eq!(later.outcome.kind(), OutcomeKind::Gone);
        let back = visit(once, OutcomeKind::Saved, 20 + DAY);
        assert_eq!(
            visit(back, OutcomeKind::NotFound, 20 + 3 * DAY).outcome.kind(),
            OutcomeKind::Saved,
            "it was there between"
        );
    }

    #[test]
    fn an_unchanged_page_keeps_where_it_is_archived_and_takes_a_new_tag() {
        let before = saved(7, 10);
        let record = visit(before.clone(), OutcomeKind::NotModified, 20);
        assert_eq!((record.outcome.kind(), record.outcome.fingerprint), (OutcomeKind::Saved, 7));
        assert_eq!(record.outcome.etag, "\"1\"");
        assert_eq!(record.history.unwrap().visits, 2);
        assert_eq!(record.visits.len(), 2);
    }

    proptest! {
        #[test]
        fn trouble_never_makes_a_page_gone(kinds in prop::collection::vec(prop::sample::select(vec![
            OutcomeKind::Timeout, OutcomeKind::ServerError, OutcomeKind::ConnectionFailed, OutcomeKind::SlowDown,
            OutcomeKind::RobotsUnavailable, OutcomeKind::NameNotFound, OutcomeKind::ClientError, OutcomeKind::HostFailed,
            OutcomeKind::TooLarge,
        ]), 0..30)) {
            let mut record = saved(1, 10);
            for (day, kind) in kinds.into_iter().enumerate() {
                record = visit(record, kind, (day as i64 + 1) * 2 * DAY);
                prop_assert_eq!(record.outcome.kind(), OutcomeKind::Saved);
                prop_assert!(record.visits.len() <= VISITS_KEPT);
            }
        }

        #[test]
        fn the_time_watched_adds_up_to_the_time_between_first_and_last_visit(gaps in prop::collection::vec((1i64..DAY, any::<bool>()), 1..40)) {
            let mut record = saved(0, 5);
            let mut now = 5;
            for (number, (gap, changed)) in gaps.iter().enumerate() {
                now += gap;
                let fingerprint = if *changed { number as u64 + 1 } else { record.outcome.fingerprint };
                let entry = record.entry.clone();
                record = after(Some(record), entry, outcome(OutcomeKind::Saved, fingerprint), now);
            }
            let history = record.history.unwrap();
            prop_assert_eq!(history.changed_ms + history.unchanged_ms, (now - 5) as u64);
            prop_assert_eq!(history.visits as usize, gaps.len() + 1);
            prop_assert_eq!(history.changes as usize, gaps.iter().filter(|(_, changed)| *changed).count());
        }
    }
}
