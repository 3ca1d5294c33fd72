//! Lets newer pages come before older ones that answer as well, when somebody asks for it.
//!
//! A page counts between half and whole by its age: whole when it is new, halfway between after the days that were asked
//! for. So age decides between pages that are nearly as good, and never puts a page first that hardly fits.

const MILLISECONDS_A_DAY: f64 = 86_400_000.0;
/// What the oldest page counts.
const LEAST: f32 = 0.5;

#[derive(Clone, Copy, Debug)]
pub struct Freshness {
    half_life_ms: f64,
    now_ms: i64,
}

impl Freshness {
    pub fn new(days: u32, now_ms: i64) -> Self {
        Self { half_life_ms: f64::from(days.max(1)) * MILLISECONDS_A_DAY, now_ms }
    }

    /// What the score of a page with this date is multiplied with.
    pub fn factor(&self, date_ms: Option<i64>) -> f32 {
        let Some(date_ms) = date_ms else { return LEAST };
        // A date in the future is as new as one of today.
        let age = self.now_ms.saturating_sub(date_ms).max(0) as f64;
        LEAST + (1.0 - LEAST) * (-age / self.half_life_ms).exp2() as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_less_the_older_it_is_and_never_less_than_half() {
        let now = 1_700_000_000_000;
        let freshness = Freshness::new(30, now);
        let after_days = |days: i64| freshness.factor(Some(now - days * 86_400_000));
        assert_eq!((after_days(0), after_days(-400)), (1.0, 1.0));
        assert!((after_days(30) - 0.75).abs() < 1e-4);
        assert!(after_days(365) < after_days(60) && after_days(100_000) >= LEAST);
        assert_eq!((freshness.factor(None), freshness.factor(Some(i64::MIN))), (LEAST, LEAST));
    }
}
