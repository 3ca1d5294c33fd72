//! Visits that the budget owes, or that were made too many. A plan is right for the pages as they stand, but pages keep
//! the date that an older plan gave them; what is missed that way is made up for slowly by the plans that follow.

/// Never owes more, or less, than this share of one visit to every page.
const MAX_SHARE: f64 = 0.25;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Negative when too many were made. Plain, so that it can be stored.
    pub owed_visits: f64,
    pub settled_ms: u64,
}

impl Ledger {
    /// Counts a visit made.
    pub fn visited(&mut self) {
        self.owed_visits -= 1.0;
    }

    /// Credits the budget of the time since the last call. Call it before each new plan.
    pub fn settle(&mut self, now_ms: u64, pages: u64, base_ms: u64) {
        let elapsed = if self.settled_ms == 0 { 0 } else { now_ms.saturating_sub(self.settled_ms) };
        self.settled_ms = now_ms.max(1);
        self.owed_visits += pages as f64 * elapsed as f64 / base_ms.max(1) as f64;
        let most = pages as f64 * MAX_SHARE;
        self.owed_visits = if self.owed_visits.is_finite() { self.owed_visits.clamp(-most, most) } else { 0.0 };
    }
}
