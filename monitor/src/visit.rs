//! What a visit changes in what is known of a URL. Pure.
//!
//! A page that was saved stays saved and in the index until it is confirmed gone: missing (404, 410, redirected away, or
//! refused by robots.txt) at two visits that lie far enough apart, or excluded by a changed rule. A timeout or a server
//! error never makes it gone. A page that is gone stays so until it is there again, whatever else a visit meets.
//! Not responsible for: when the next visit is (`refresh`).

use seine_common::http_date::http_date;
use seine_proto::monitor::v1::{Outcome, OutcomeKind, Revisit, Visit};

use crate::record::{ChangeHistory, QueueEntry, UrlRecord};
use crate::refresh::{History, Seen, hurried};

/// Visits remembered for people who ask.
const VISITS_KEPT: usize = 10;

impl ChangeHistory {
    pub fn history(&self) -> History {
        History {
            visits: self.visits,
            changes: self.changes,
            first_visit_ms: self.first_visit_ms,
            last_visit_ms: self.last_visit_ms,
            last_change_ms: self.last_change_ms,
            unchanged_ms: self.unchanged_ms,
            changed_ms: self.changed_ms,
            changed_intervals: self.changed_intervals,
            dated_changes: self.dated_changes,
            intervals: self.intervals,
            last_modified_ms: self.last_modified_ms,
            expires_ms: self.expires_ms,
            sitemap_lastmod_ms: self.sitemap_lastmod_ms,
            gone_visits: self.gone_visits,
            first_gone_ms: self.first_gone_ms,
            last_gone_ms: self.last_gone_ms,
        }
    }

    fn of(history: &History, cell: Option<u32>) -> Self {
        Self {
            visits: history.visits,
            changes: history.changes,
            first_visit_ms: history.first_visit_ms,
            last_visit_ms: history.last_visit_ms,
            last_change_ms: history.last_change_ms,
            unchanged_ms: history.unchanged_ms,
            changed_ms: history.changed_ms,
            changed_intervals: history.changed_intervals,
            dated_changes: history.dated_changes,
            intervals: history.intervals,
            last_modified_ms: history.last_modified_ms,
            expires_ms: history.expires_ms,
            sitemap_lastmod_ms: history.sitemap_lastmod_ms,
            gone_visits: history.gone_visits,
            first_gone_ms: history.first_gone_ms,
            last_gone_ms: history.last_gone_ms,
            cell,
        }
    }

    /// Whether a page that is missing now is gone for good.
    fn gone_if_missing(&self, now_ms: i64, gone_after_ms: u64) -> bool {
        let mut history = self.history();
        history.gone(time(now_ms));
        history.is_gone(gone_after_ms)
    }
}

fn time(ms: i64) -> u64 {
    ms.max(0) as u64
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
    let stored = before.history.unwrap_or_default();
    let mut history = stored.history();
    let was_saved = before.outcome.kind() == OutcomeKind::Saved;
    let was_read = was_saved || before.outcome.kind() == OutcomeKind::SitemapRead;
    let kind = outcome.kind();
    if entry.sitemap_lastmod_ms > 0 {
        history.sitemap_lastmod_ms = Some(time(entry.sitemap_lastmod_ms));
    }
    match kind {
        OutcomeKind::Saved => {
            let changed = was_saved && before.outcome.fingerprint != outcome.fingerprint;
            take_hints(&mut history, &outcome);
            history.visited(time(now_ms), if changed { Seen::Changed } else { Seen::Unchanged });
        }
        OutcomeKind::NotModified if was_saved => {
            take_hints(&mut history, &outcome);
            history.visited(time(now_ms), Seen::Unchanged);
        }
        _ if is_missing(kind) && was_saved => history.gone(time(now_ms)),
        _ => {}
    }
    let outcome = match kind {
        OutcomeKind::NotModified if was_read => unchanged(before.outcome, outcome),
        OutcomeKind::Saved => outcome,
        _ if before.outcome.kind() == OutcomeKind::Gone => before.outcome,
        _ if !was_saved => outcome,
        OutcomeKind::Excluded if outcome.withdrawn => outcome,
        _ if outcome.withdrawn => Outcome { kind: OutcomeKind::Gone.into(), ..outcome },
        _ => before.outcome,
    };
    let mut visits = before.visits;
    visits.insert(0, visit);
    visits.truncate(VISITS_KEPT);
    let entry = QueueEntry { last_outcome: None, revisit: None, ..entry };
    let history = Some(ChangeHistory::of(&history, stored.cell));
    UrlRecord { entry, outcome, history, next_visit_ms: 0, visits }
}

/// What the answer says about the page's own life.
fn take_hints(history: &mut History, outcome: &Outcome) {
    let modified = http_date(&outcome.last_modified).map(|seconds| time(seconds.saturating_mul(1000)));
    history.last_modified_ms = modified.or(history.last_modified_ms);
    history.expires_ms = Some(time(outcome.expires_ms)).filter(|expires| *expires > 0);
}

/// What the next visit to a URL should find out.
pub fn revisit(record: &UrlRecord, now_ms: i64, gone_after_ms: u64, excluded_by: Option<String>) -> Revisit {
    let saved = record.outcome.kind() == OutcomeKind::Saved;
    let was_read = saved || record.outcome.kind() == OutcomeKind::SitemapRead;
    let history = record.history.unwrap_or_default();
    Revisit {
        etag: if was_read { record.outcome.etag.clone() } else { String::new() },
        last_modified: if was_read { record.outcome.last_modified.clone() } else { String::new() },
        gone_if_missing: saved && history.gone_if_missing(now_ms, gone_after_ms),
        withdraw: excluded_by.filter(|_| saved).unwrap_or_default(),
        saved,
        keep_document: false,
        archive: record.outcome.archive.clone().filter(|_| saved),
    }
}

/// The record after a sitemap has told when the page was last changed; `None` when that is known already. Where visits are
/// planned, a change since the last one brings the next one forward.
pub fn dated(record: UrlRecord, lastmod_ms: i64, is_planned: bool, now_ms: i64) -> Option<UrlRecord> {
    let stored = record.history.unwrap_or_default();
    if stored.sitemap_lastmod_ms == Some(time(lastmod_ms)) {
        return None;
    }
    let history = ChangeHistory { sitemap_lastmod_ms: Some(time(lastmod_ms)), ..stored };
    let due = match is_planned && record.next_visit_ms > 0 {
        true => hurried(&history.history(), time(record.next_visit_ms), time(now_ms)) as i64,
        false => record.next_visit_ms,
    };
    Some(UrlRecord { history: Some(history), next_visit_ms: due, ..record })
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
    use seine_proto::common::v1::ArchivePosition;

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
    fn a_page_that_is_gone_stays_gone_until_it_is_there_again() {
        let missing_once = visit(saved(1, 10), OutcomeKind::NotFound, 20);
        let mut record = visit(missing_once, OutcomeKind::NotFound, 20 + DAY);
        for (day, kind) in [
            OutcomeKind::NotFound,
            OutcomeKind::Redirected,
            OutcomeKind::RefusedByRobots,
            OutcomeKind::ServerError,
            OutcomeKind::Timeout,
            OutcomeKind::HostFailed,
        ]
        .into_iter()
        .enumerate()
        {
            record = visit(record, kind, (day as i64 + 3) * DAY);
            assert_eq!(record.outcome.kind(), OutcomeKind::Gone, "after {kind:?}");
            assert_eq!(record.visits[0].kind(), kind, "the visit itself is told as it was");
        }
        assert_eq!(visit(record, OutcomeKind::Saved, 20 * DAY).outcome.kind(), OutcomeKind::Saved);
    }

    #[test]
    fn an_unchanged_page_keeps_where_it_is_archived_and_takes_a_new_tag() {
        let record = visit(saved(7, 10), OutcomeKind::NotModified, 20);
        assert_eq!((record.outcome.kind(), record.outcome.fingerprint), (OutcomeKind::Saved, 7));
        assert_eq!(record.outcome.etag, "\"1\"");
        assert_eq!(record.history.unwrap().visits, 2);
        assert_eq!(record.visits.len(), 2);
    }

    #[test]
    fn a_visit_is_told_where_the_archive_has_the_page_also_after_it_was_unchanged() {
        let archive =
            Some(ArchivePosition { file: "a.warc.gz".into(), offset: 7, length: 9, ..ArchivePosition::default() });
        let mut record = saved(7, 10);
        record.outcome.archive = archive.clone();
        let again = visit(record, OutcomeKind::NotModified, 20);
        assert_eq!(revisit(&again, 30, DAY as u64, None).archive, archive);
        let gone = visit(visit(again, OutcomeKind::NotFound, 30), OutcomeKind::NotFound, 40 + DAY);
        assert_eq!((gone.outcome.kind(), revisit(&gone, 50, 0, None).archive), (OutcomeKind::Gone, None));
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
        fn a_history_survives_being_stored(numbers: [u64; 6], counts: [u32; 5], dates: [Option<u64>; 3]) {
            let history = History {
                visits: counts[0],
                changes: counts[1],
                first_visit_ms: numbers[0],
                last_visit_ms: numbers[1],
                last_change_ms: numbers[2],
                unchanged_ms: numbers[3],
                changed_ms: numbers[4],
                changed_intervals: counts[2],
                dated_changes: counts[3],
                intervals: counts[4],
                last_modified_ms: dates[0],
                expires_ms: dates[1],
                sitemap_lastmod_ms: dates[2],
                gone_visits: counts[0],
                first_gone_ms: numbers[5],
                last_gone_ms: numbers[0],
            };
            let stored = prost::Message::encode_to_vec(&ChangeHistory::of(&history, Some(7)));
            let read: ChangeHistory = prost::Message::decode(stored.as_slice()).unwrap();
            prop_assert_eq!((read.history(), read.cell), (history, Some(7)));
        }
    }
}
