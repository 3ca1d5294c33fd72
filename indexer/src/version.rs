//! Orders what is known about one URL.
//!
//! By the lease under which it was found out, not by the clock: the Monitor's epoch grows with each of its starts and the
//! token with each lease of an epoch, while a clock that was ahead would keep a page above all that are fetched later and
//! below no withdrawal. Time decides only within one lease, and between entries of versions that knew no epoch.

use std::cmp::Ordering;

use seine_proto::common::v1::{Description, Withdrawn};

/// Of a description and a withdrawal of the same fetch, the withdrawal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// 0 in entries of earlier versions, which are older than all others.
    pub epoch: u64,
    pub token: u64,
    pub fetched_at_ms: i64,
    pub gone: bool,
}

impl Version {
    /// A page that must not be indexed is as good as gone.
    pub fn of_page(page: &Description) -> Self {
        let Description { epoch, token, fetched_at_ms, .. } = *page;
        Self { epoch, token, fetched_at_ms, gone: !page.generate }
    }

    pub fn of_withdrawal(withdrawn: &Withdrawn) -> Self {
        let Withdrawn { epoch, token, at_ms, .. } = *withdrawn;
        Self { epoch, token, fetched_at_ms: at_ms, gone: true }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_time = || self.fetched_at_ms.cmp(&other.fetched_at_ms);
        let by_token = || self.token.cmp(&other.token);
        let within_epoch = || match self.epoch {
            0 => by_time().then_with(by_token),
            _ => by_token().then_with(by_time),
        };
        self.epoch.cmp(&other.epoch).then_with(within_epoch).then(self.gone.cmp(&other.gone))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(epoch: u64, token: u64, fetched_at_ms: i64) -> Version {
        Version { epoch, token, fetched_at_ms, gone: false }
    }

    #[test]
    fn a_clock_that_was_ahead_keeps_nothing_above_what_came_later() {
        assert!(version(1, 5, 9_999) < version(1, 6, 10), "a later lease");
        assert!(version(1, 50, 9_999) < version(2, 1, 10), "a later monitor");
        assert!(version(0, u64::MAX, 9_999) < version(1, 1, 10), "an entry of an earlier version");
        assert!(version(1, 5, 10) < version(1, 5, 11), "within one lease");
        assert!(version(1, 5, 10) < Version { gone: true, ..version(1, 5, 10) });
    }

    #[test]
    fn entries_of_earlier_versions_are_ordered_by_time_as_they_were() {
        assert!(version(0, 9, 10) < version(0, 1, 11));
        assert!(version(0, 1, 10) < version(0, 9, 10));
    }
}
