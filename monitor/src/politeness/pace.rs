//! How one host is treated by one crawl: the crawl's settings, what differs for this host, and what the host asks for.
//!
//! The *general pause*: after so many requests a host is left alone for a while. Requests are counted over leases; those
//! of a lease that was lost count as many as it was allowed, so that no crash lets a pause be skipped.

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Pace, PausePer};

use super::effective_delay_ms;
use crate::crawl::CheckedCrawl;
use crate::record::{HostRecord, Trouble};

/// Where nobody asks for a delay or says how many; otherwise it is one.
const CONNECTIONS_WITHOUT_DELAY: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostPace {
    pub delay_ms: i64,
    pub connections: u32,
    pub response_factor: f32,
    /// 0 means that there is no general pause.
    pub requests_before_pause: u32,
    pub pause_ms: i64,
    /// The pause is that of the host's address (see [`super::AddressPause`]).
    pub pauses_with_address: bool,
}

impl HostPace {
    pub fn of(crawl: &CheckedCrawl, host: &HostKey, host_asks_ms: u32) -> Self {
        let settings = &crawl.settings;
        let differing = crawl.host_settings(host);
        let delay_ms = differing.and_then(|host| host.delay_ms).unwrap_or(settings.delay_ms());
        let connections = differing.and_then(|host| host.connections).or(settings.connections_per_host);
        Self {
            delay_ms: effective_delay_ms(delay_ms, host_asks_ms),
            connections: connections.unwrap_or(if delay_ms == 0 { CONNECTIONS_WITHOUT_DELAY } else { 1 }),
            response_factor: differing.and_then(|host| host.response_factor).unwrap_or(settings.response_factor()),
            requests_before_pause: differing
                .and_then(|host| host.requests_before_pause)
                .unwrap_or(settings.requests_before_pause()),
            pause_ms: i64::from(differing.and_then(|host| host.pause_ms).unwrap_or(settings.pause_ms())),
            pauses_with_address: settings.pause_per() != PausePer::Host,
        }
    }

    /// Whether the host has a general pause of its own.
    fn pauses_alone(&self) -> bool {
        self.requests_before_pause > 0 && !self.pauses_with_address
    }

    /// Requests that may still be made before the host's own pause; `None` when there is none.
    pub fn requests_left(&self, since_pause: u32) -> Option<u32> {
        // A pause that was due and not taken is taken after the next request.
        self.pauses_alone().then(|| self.requests_before_pause.saturating_sub(since_pause).max(1))
    }

    /// Counts requests made; when that is enough, the host rests from now on.
    pub fn count_requests(&self, record: &mut HostRecord, made: u32, now_ms: i64) {
        // Also for a crawl without a pause: another one may have it.
        record.requests_since_pause = record.requests_since_pause.saturating_add(made);
        if self.pauses_alone() && record.requests_since_pause >= self.requests_before_pause {
            record.requests_since_pause = 0;
            record.rest_until(now_ms + self.pause_ms, Trouble::Pause);
        }
    }

    pub fn to_message(self, since_pause: u32) -> Pace {
        Pace {
            delay_ms: self.delay_ms as u32,
            connections: self.connections,
            response_factor: self.response_factor,
            request_allowance: self.requests_left(since_pause).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use seine_proto::monitor::v1::{Crawl, HostSettings};

    use super::*;
    use crate::tests_support::crawl;

    fn host(name: &str) -> HostKey {
        HostKey::from_stored(name.to_owned())
    }

    #[test]
    fn a_host_can_be_treated_differently_and_still_gets_what_it_asks_for() {
        let mut settings = crawl("c", &["http://a.test/"]);
        let slower = HostSettings {
            pattern: "*.a.test".into(),
            delay_ms: Some(5_000),
            connections: Some(2),
            ..HostSettings::default()
        };
        settings.hosts = vec![slower];
        let crawl = CheckedCrawl::compile(settings, &[]).unwrap();
        assert_eq!(HostPace::of(&crawl, &host("a.test"), 0).delay_ms, 1_000);
        let pace = HostPace::of(&crawl, &host("slow.a.test"), 0);
        assert_eq!((pace.delay_ms, pace.connections), (5_000, 2));
        assert_eq!(HostPace::of(&crawl, &host("slow.a.test"), 9_000).delay_ms, 9_000);
    }

    #[test]
    fn connections_follow_the_delay_unless_they_are_given() {
        let connections = |delay_ms, given| {
            let settings =
                Crawl { delay_ms: Some(delay_ms), connections_per_host: given, ..crawl("c", &["http://a.test/"]) };
            HostPace::of(&CheckedCrawl::compile(settings, &[]).unwrap(), &host("a.test"), 0).connections
        };
        assert_eq!([connections(1_000, None), connections(0, None), connections(0, Some(3))], [1, 8, 3]);
    }

    proptest! {
        /// However the requests are spread over leases, never more than the limit fall between two pauses.
        #[test]
        fn no_more_requests_than_allowed_between_two_pauses(limit in 1u32..50, leases in prop::collection::vec(0u32..60, 1..40)) {
            let pace = HostPace { delay_ms: 0, connections: 1, response_factor: 0.0, requests_before_pause: limit, pause_ms: 7, pauses_with_address: false };
            let mut record = HostRecord::default();
            let (mut now, mut since_rest) = (0, 0);
            for wanted in leases {
                if record.next_allowed_ms > now {
                    now = record.next_allowed_ms;
                    since_rest = 0;
                }
                let made = wanted.min(pace.requests_left(record.requests_since_pause).unwrap());
                since_rest += made;
                prop_assert!(since_rest <= limit);
                pace.count_requests(&mut record, made, now);
            }
        }
    }
}
