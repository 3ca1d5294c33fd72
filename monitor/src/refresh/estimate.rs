//! How often a page changes, from visits that only show whether it changed at least once in between.
//!
//! Counting changes seen per time watched is biased: a page that changes hourly and is visited daily seems to change
//! daily. So the rate is the one under which what was seen is most likely, for changes as a Poisson process (the idea of
//! Cho and Garcia-Molina's estimators). With `c` intervals of mean length `t` that held an undated change, `d` changes
//! whose date is known and `u` days known to be quiet, and a belief that the logarithm of the rate lies around that of
//! `p` with standard deviation `s`, the likeliest rate x solves
//!
//! ```text
//! c·x·t / (e^(x·t) − 1) + d = x·u + ln(x / p) / s²
//! ```
//!
//! The left side falls and the right side grows with x, so there is one solution. For equal intervals and no belief this
//! is the well-known −ln(unchanged share) / t; without undated changes it is changes by time. The belief keeps it finite
//! and above zero; it is on a logarithmic scale because rates of pages differ by factors of thousands.

use super::DAY_MS;
use super::history::History;

/// No estimate lies outside: a change in about 45 years, and more than one a minute.
pub const MIN_RATE: f64 = 1.0 / 16_384.0;
pub const MAX_RATE: f64 = 2048.0;

/// What is believed of a page before it was watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    pub changes_per_day: f64,
    /// How far off it may easily be: the standard deviation of the natural logarithm of the rate.
    pub spread: f64,
}

impl Default for Prior {
    /// One change in twenty days, within a factor of four or five.
    fn default() -> Self {
        Self { changes_per_day: 0.05, spread: 1.5 }
    }
}

/// The estimated changes per day, between [`MIN_RATE`] and [`MAX_RATE`].
pub fn changes_per_day(history: &History, prior: Prior) -> f64 {
    let prior_rate = prior.changes_per_day.clamp(MIN_RATE, MAX_RATE);
    let certainty = prior.spread.clamp(0.1, 10.0).powi(-2);
    let days = |ms: u64| ms as f64 / DAY_MS as f64;
    let quiet = days(history.unchanged_ms);
    let (changed, dated) = (f64::from(history.changed_intervals), f64::from(history.dated_changes));
    // Intervals of no length happen when clocks are set back; they would divide by zero.
    let mean = (days(history.changed_ms) / changed.max(1.0)).max(1e-6);
    let excess = |log_rate: f64| {
        let rate = log_rate.exp();
        let unseen = if changed > 0.0 { changed * rate * mean / (rate * mean).exp_m1() } else { 0.0 };
        unseen + dated - rate * quiet - (log_rate - prior_rate.ln()) * certainty
    };
    let (mut low, mut high) = (MIN_RATE.ln(), MAX_RATE.ln());
    for _ in 0..28 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).exp().clamp(MIN_RATE, MAX_RATE)
}
