//! What the visits to one page have shown. Fixed in size and made of plain numbers, so that it can be stored with the page.
//!
//! Life: the hints of an answer are set, then `visited` counts it; `gone` counts an answer 404 or 410. Timeouts, refusals
//! and 5xx say nothing about the page and are not told to the history.
//!
//! Invariant: no sequence of times, in whatever order, overflows or panics.

use super::DAY_MS;

/// How far apart two answers 404 or 410 must be to confirm that a page is gone.
pub const DEFAULT_GONE_AFTER_MS: u64 = DAY_MS;

/// After so many intervals the older half of what was learnt is forgotten: pages change their habits.
const MAX_INTERVALS: u32 = 128;
/// A Last-Modified this close to the visit is the time when the page was made for us.
const MADE_ON_REQUEST_MS: u64 = 60_000;

/// What a visit showed, compared with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Changed,
    Unchanged,
}

/// Times are milliseconds since 1970; 0 where nothing happened yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub visits: u32,
    /// Visits that found a change. The first visit finds none.
    pub changes: u32,
    pub first_visit_ms: u64,
    pub last_visit_ms: u64,
    /// When a change was last found, or dated by Last-Modified.
    pub last_change_ms: u64,

    /// What the estimate needs, of the last [`MAX_INTERVALS`] at most. Time known to be without a change:
    pub unchanged_ms: u64,
    /// Time between visits of which the later found a change of unknown date, and the number of such intervals.
    pub changed_ms: u64,
    pub changed_intervals: u32,
    /// Changes whose date was told. Of their intervals only the quiet time afterwards counts, in `unchanged_ms`.
    pub dated_changes: u32,
    pub intervals: u32,

    /// Hints of the last answer, and of the sitemap.
    pub last_modified_ms: Option<u64>,
    pub expires_ms: Option<u64>,
    pub sitemap_lastmod_ms: Option<u64>,

    /// Answers 404 or 410 since the page was last there.
    pub gone_visits: u32,
    pub first_gone_ms: u64,
    pub last_gone_ms: u64,
}

impl History {
    /// Counts a visit that found the page. Set `last_modified_ms` and `expires_ms` from its answer first.
    pub fn visited(&mut self, now_ms: u64, seen: Seen) {
        (self.gone_visits, self.first_gone_ms, self.last_gone_ms) = (0, 0, 0);
        let dated = self.last_modified_ms.filter(|date| date.saturating_add(MADE_ON_REQUEST_MS) < now_ms);
        if self.visits == 0 {
            self.first_visit_ms = now_ms;
            // A page that has been quiet since a known change: as good as having watched it since.
            if let Some(date) = dated.filter(|date| *date > 0) {
                self.dated_change(now_ms, date);
            }
        } else {
            let interval = now_ms.saturating_sub(self.last_visit_ms);
            match (seen, dated.filter(|date| *date > self.last_visit_ms)) {
                (Seen::Unchanged, _) => self.unchanged_ms = self.unchanged_ms.saturating_add(interval),
                (Seen::Changed, Some(date)) => self.dated_change(now_ms, date),
                (Seen::Changed, None) => {
                    self.changed_ms = self.changed_ms.saturating_add(interval);
                    self.changed_intervals = self.changed_intervals.saturating_add(1);
                    self.last_change_ms = now_ms;
                }
            }
            self.changes = self.changes.saturating_add(u32::from(seen == Seen::Changed));
            self.intervals = self.intervals.saturating_add(1);
            self.forget_the_older_half();
        }
        self.visits = self.visits.saturating_add(1);
        self.last_visit_ms = now_ms;
    }

    /// Counts an answer 404 or 410.
    pub fn gone(&mut self, now_ms: u64) {
        // One that was seen in the future was seen by a clock that was ahead; the count begins anew.
        if self.gone_visits == 0 || self.first_gone_ms > now_ms {
            (self.gone_visits, self.first_gone_ms, self.last_gone_ms) = (0, now_ms, now_ms);
        }
        self.gone_visits = self.gone_visits.saturating_add(1);
        self.last_gone_ms = self.last_gone_ms.max(now_ms);
    }

    /// Whether the page is confirmed gone: two answers at least this far apart, and no success between.
    pub fn is_gone(&self, gone_after_ms: u64) -> bool {
        self.gone_visits >= 2 && self.last_gone_ms.saturating_sub(self.first_gone_ms) >= gone_after_ms
    }

    /// Whether a sitemap tells of a change since the last visit.
    pub fn has_changed_by_sitemap(&self) -> bool {
        self.visits > 0 && self.sitemap_lastmod_ms.is_some_and(|lastmod| lastmod > self.last_visit_ms)
    }

    fn dated_change(&mut self, now_ms: u64, date_ms: u64) {
        self.unchanged_ms = self.unchanged_ms.saturating_add(now_ms.saturating_sub(date_ms));
        self.dated_changes = self.dated_changes.saturating_add(1);
        self.last_change_ms = date_ms;
    }

    fn forget_the_older_half(&mut self) {
        if self.intervals < MAX_INTERVALS {
            return;
        }
        self.intervals /= 2;
        self.unchanged_ms /= 2;
        self.dated_changes /= 2;
        // Time and number together, so that the mean interval stays.
        let kept = self.changed_intervals / 2;
        let share = f64::from(kept) / f64::from(self.changed_intervals.max(1));
        self.changed_ms = (self.changed_ms as f64 * share) as u64;
        self.changed_intervals = kept;
    }
}
