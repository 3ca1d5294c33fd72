//! How fresh a page is that changes x times a day and is visited f times a day, and how to share visits out by it.
//!
//! With changes as a Poisson process, a copy taken a moment t ago is still true with probability e^(−x·t), so over an
//! interval of 1/f days it is true for the share F(r) = (1 − e^(−r)) / r of the time, r = x / f being the changes
//! between two visits. Another visit a day gains g(r) / x with g(r) = 1 − (1 + r)·e^(−r). The best way to share visits
//! out gives every page the same gain per visit, weighted: w · g(r) / x = m. As g stays below 1, a page with m·x ≥ w
//! changes so fast that no visit to it pays; it gets the fewest that the limits allow.

/// The share of time for which the copy is up to date.
#[cfg(test)]
pub(super) fn freshness(changes_per_day: f64, visits_per_day: f64) -> f64 {
    let r = changes_per_day / visits_per_day;
    if r < 1e-9 { 1.0 } else { -(-r).exp_m1() / r }
}

/// The visits a day at which one more gains `gain`. 0 when none does.
pub(super) fn visits_for_gain(changes_per_day: f64, weight: f64, gain: f64) -> f64 {
    let share = gain * changes_per_day / weight;
    if share >= 1.0 {
        return 0.0;
    }
    // g(r) = share has one solution. Below 1e-8 it is the root of r²/2; above r = 40, g is 1 in this arithmetic.
    let (mut low, mut high) = (1e-9f64.ln(), 40f64.ln());
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        let r = middle.exp();
        let g = if r < 1e-4 { r * r * (0.5 - r / 3.0) } else { 1.0 - (1.0 + r) * (-r).exp() };
        if g < share { low = middle } else { high = middle }
    }
    changes_per_day / (0.5 * (low + high)).exp()
}
