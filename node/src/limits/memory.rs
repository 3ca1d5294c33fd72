//! Memory that this process has taken, beside what it is to get by with. What files back does not count: the system takes that
//! away by itself when somebody needs it. Where the system does not tell, nothing is short.

use std::fs::read_to_string;

/// Of the memory; less must be taken again before it is not short any more.
const EASY: f64 = 0.9;

#[derive(Debug)]
pub(super) struct OwnMemory {
    most: u64,
    is_short: bool,
}

impl OwnMemory {
    pub fn new(most: u64) -> Self {
        Self { most, is_short: false }
    }

    /// Whether too much is taken now.
    pub fn look(&mut self) -> bool {
        let taken = read_to_string("/proc/self/status").ok().and_then(|status| anonymous_bytes(&status));
        taken.is_some_and(|taken| self.judge(taken))
    }

    fn judge(&mut self, taken: u64) -> bool {
        let bound = if self.is_short { (self.most as f64 * EASY) as u64 } else { self.most };
        self.is_short = taken > bound;
        self.is_short
    }
}

fn anonymous_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_short_from_its_bound_on_until_a_tenth_is_free_again() {
        let mut memory = OwnMemory::new(100);
        let taken = [100, 101, 95, 91, 90, 95, 100];
        assert_eq!(taken.map(|taken| memory.judge(taken)), [false, true, true, true, false, false, false]);
    }

    #[test]
    fn this_process_tells() {
        assert_eq!(anonymous_bytes("Name: x\nRssAnon:\t    12 kB\nRssFile:\t 4 kB"), Some(12 << 10));
        assert!(OwnMemory::new(1).look() && !OwnMemory::new(u64::MAX).look());
    }
}
