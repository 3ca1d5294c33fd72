//! The general pause of an address: the requests to all of its hosts count together, and then all of them rest.
//!
//! Several hosts of an address can be leased at once. Each lease is promised a share of what is left before the pause, and
//! what is promised and what was made never exceed the limit together. A lease that is lost counts as if it had made all
//! that it was promised. The pause begins when nothing more is promised.

use super::HostPace;
use crate::record::AddressRecord;

/// The most that one lease is promised: others of the address wait no longer than for so many of its requests.
const LONGEST_SHARE: u32 = 256;

/// After so many requests to an address it rests so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPause {
    pub after: u32,
    pub ms: i64,
}

impl AddressPause {
    /// `None` where there is no pause, or every host has its own.
    pub fn of(pace: &HostPace) -> Option<Self> {
        let pause = Self { after: pace.requests_before_pause, ms: pace.pause_ms };
        (pause.after > 0 && pace.pauses_with_address).then_some(pause)
    }

    /// Requests that one more lease may make, when others are promised so many and so many `places` are left for leases,
    /// this one included. 0 when it has to wait.
    pub fn share(&self, record: &AddressRecord, promised: u32, places: u32) -> u32 {
        let left = self.after.saturating_sub(record.requests_since_pause).saturating_sub(promised);
        match left {
            // A pause that was due and not taken, because the limit was another one, is taken after the next request.
            0 if promised == 0 => 1,
            _ => left.div_ceil(places.max(1)).min(LONGEST_SHARE),
        }
    }

    /// Whether the address rests from now on, when other leases may still make so many requests.
    pub fn begin_if_due(&self, record: &mut AddressRecord, promised: u32, now_ms: i64) -> bool {
        let is_due = record.requests_since_pause >= self.after && promised == 0;
        if is_due {
            record.requests_since_pause = 0;
            record.rests_until_ms = now_ms + self.ms;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However hosts come and go, are lost or make less than they were promised: never more than the limit between two
        /// pauses, and the pause is as long as it should be.
        #[test]
        fn an_address_gets_no_more_requests_than_allowed_between_two_pauses(
            limit in 1u32..60,
            places in 1u32..5,
            steps in prop::collection::vec((any::<bool>(), 0u32..60), 1..120),
        ) {
            let pause = AddressPause { after: limit, ms: 1_000 };
            let (mut record, mut now) = (AddressRecord::default(), 0);
            let mut leases: Vec<u32> = Vec::new();
            let mut since_rest = 0;
            for (grants, wanted) in steps {
                now += 1;
                if record.rests_until_ms > now {
                    prop_assert!(leases.is_empty(), "nothing is promised while it rests");
                    now = record.rests_until_ms;
                    since_rest = 0;
                }
                let promised: u32 = leases.iter().sum();
                let free = places - leases.len() as u32;
                if grants && free > 0 {
                    let share = pause.share(&record, promised, free);
                    if share > 0 {
                        leases.push(share);
                    }
                } else if let Some(allowed) = leases.pop() {
                    let made = wanted.min(allowed);
                    since_rest += made;
                    prop_assert!(since_rest <= limit);
                    record.requests_since_pause += made;
                    pause.begin_if_due(&mut record, leases.iter().sum(), now);
                }
            }
        }
    }

    #[test]
    fn a_share_leaves_something_for_the_others_and_is_never_endless() {
        let pause = AddressPause { after: 100, ms: 1 };
        let fresh = AddressRecord::default();
        assert_eq!(pause.share(&fresh, 0, 1), 100);
        assert_eq!(pause.share(&fresh, 0, 2), 50);
        assert_eq!(pause.share(&fresh, 50, 1), 50);
        assert_eq!(pause.share(&fresh, 100, 1), 0, "all is promised");
        assert_eq!(AddressPause { after: 1_000_000, ms: 1 }.share(&fresh, 0, 1), LONGEST_SHARE);
        let late = AddressRecord { requests_since_pause: 300, rests_until_ms: 0 };
        assert_eq!((pause.share(&late, 0, 2), pause.share(&late, 1, 2)), (1, 0));
    }
}
