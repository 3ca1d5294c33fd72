//! When the next request to a host may start. Pure: the caller tells the time.
//!
//! The delay is promised as the server sees it, so it is counted from when the server has the request at the latest:
//! a request that had to open its connection counts from when that was open, and from when its answer began, because the
//! server may have been slow to look at it. A server that takes longer than [`GRACE`] to answer is thinking rather than
//! not looking, so a longer delay is not counted from later than that. While a connection is being opened, nobody knows
//! when its request will go out, and no other one starts.
//!
//! A host that is slow can be asked less often: the delay is then at least a number of times as long as its last answer
//! took to begin.
//!
//! Invariant: without a delay nothing here waits, except for the rest that the lease asks for.

use std::time::{Duration, Instant};

/// Longest time for which a request is presumed to lie unread at the server.
pub const GRACE: Duration = Duration::from_millis(250);
/// Added to every delay, for clocks that tick coarsely.
const SAFETY: Duration = Duration::from_millis(1);
/// No slowness makes a host wait longer.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// What has been seen on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Connections being opened.
    pub connecting: u32,
    /// When the last connection was open, or had failed.
    pub connected_at: Option<Instant>,
    /// The latest request whose answer has begun, and when it did.
    pub answered: Option<(u64, Instant)>,
}

#[derive(Debug)]
pub struct Pacing {
    delay: Duration,
    /// What the host itself asks for.
    asked: Duration,
    response_factor: f32,
    /// What the last answer's slowness asks for.
    slowness: Duration,
    rested_at: Instant,
    requests: u64,
    /// When the last request was started.
    last: Option<Instant>,
    marks: Marks,
}

impl Pacing {
    pub fn new(delay: Duration, response_factor: f32, rested_at: Instant) -> Self {
        let (asked, slowness, marks) = (Duration::ZERO, Duration::ZERO, Marks::default());
        Self { delay, asked, response_factor, slowness, rested_at, requests: 0, last: None, marks }
    }

    /// The host asks for a longer delay; a shorter one changes nothing.
    pub fn at_least(&mut self, delay: Duration) {
        self.asked = self.asked.max(delay);
    }

    /// Another delay and factor hold from the next request on, counted from the last one.
    pub fn change(&mut self, delay: Duration, response_factor: f32) {
        (self.delay, self.response_factor) = (delay, response_factor);
        if response_factor == 0.0 {
            self.slowness = Duration::ZERO;
        }
    }

    /// A request starts. Its number comes back in [`Marks::answered`].
    pub fn start(&mut self, now: Instant) -> u64 {
        debug_assert!(self.earliest().is_some_and(|earliest| earliest <= now));
        self.requests += 1;
        self.last = Some(now);
        self.requests
    }

    pub fn observe(&mut self, marks: Marks) {
        self.marks = marks;
        if let (Some(left), Some((request, at))) = (self.left(), marks.answered)
            && request == self.requests
        {
            let took = at.saturating_duration_since(left);
            self.slowness = took.mul_f64(self.response_factor.into()).min(LONGEST_DELAY);
        }
    }

    /// Requests started so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    fn delay(&self) -> Duration {
        self.delay.max(self.asked).max(self.slowness)
    }

    /// When the next request may start. `None` while that cannot be said.
    pub fn earliest(&self) -> Option<Instant> {
        if self.delay().is_zero() {
            return Some(self.rested_at);
        }
        if self.marks.connecting > 0 {
            return None;
        }
        let after_last = self.presumed_arrival().map(|arrival| arrival + self.delay() + SAFETY);
        Some(after_last.map_or(self.rested_at, |after| after.max(self.rested_at)))
    }

    /// How long ago the last request reached the host.
    pub fn since_last(&self, now: Instant) -> Option<Duration> {
        self.presumed_arrival().map(|arrival| now.saturating_duration_since(arrival))
    }

    /// When the last request went out.
    fn left(&self) -> Option<Instant> {
        let started = self.last?;
        Some(self.marks.connected_at.map_or(started, |connected| connected.max(started)))
    }

    fn presumed_arrival(&self) -> Option<Instant> {
        let left = self.left()?;
        let latest = left + GRACE;
        match self.marks.answered {
            // Next to a short delay, waiting for the answer costs little and is certain.
            Some((request, at)) if request == self.requests && self.delay() <= GRACE => Some(at.max(left)),
            Some((request, at)) if request == self.requests => Some(at.clamp(left, latest)),
            _ => Some(latest),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_first_request_waits_for_the_rest_only() {
        let now = Instant::now();
        assert_eq!(Pacing::new(ms(100), 0.0, now).earliest(), Some(now));
        assert_eq!(Pacing::new(ms(0), 0.0, now + ms(70)).earliest(), Some(now + ms(70)));
    }

    #[test]
    fn without_a_delay_requests_follow_at_once() {
        let now = Instant::now();
        let mut pacing = Pacing::new(ms(0), 0.0, now);
        pacing.start(now);
        pacing.observe(Marks { connecting: 1, ..Marks::default() });
        assert!(pacing.earliest().is_some_and(|earliest| earliest <= now));
    }

    #[test]
    fn the_delay_counts_from_the_answer_when_it_comes_soon() {
        let now = Instant::now();
        let mut pacing = Pacing::new(ms(1000), 0.0, now);
        let request = pacing.start(now);
        assert_eq!(pacing.earliest(), Some(now + GRACE + ms(1000) + SAFETY));
        pacing.observe(Marks { answered: Some((request, now + ms(2))), ..Marks::default() });
        assert_eq!(pacing.earliest(), Some(now + ms(1002) + SAFETY));
        pacing.observe(Marks { answered: Some((request, now + GRACE + ms(500))), ..Marks::default() });
        assert_eq!(pacing.earliest(), Some(now + GRACE + ms(1000) + SAFETY));
    }

    #[test]
    fn a_short_delay_counts_from_the_answer_whenever_it_comes() {
        let now = Instant::now();
        let mut pacing = Pacing::new(ms(20), 0.0, now);
        let request = pacing.start(now);
        pacing.observe(Marks { answered: Some((request, now + ms(700))), ..Marks::default() });
        assert_eq!(pacing.earliest(), Some(now + ms(720) + SAFETY));
    }

    #[test]
    fn a_slow_host_is_asked_less_often() {
        let now = Instant::now();
        let mut pacing = Pacing::new(ms(100), 5.0, now);
        let request = pacing.start(now);
        pacing.observe(Marks { answered: Some((request, now + ms(10))), ..Marks::default() });
        assert_eq!(pacing.earliest(), Some(now + ms(110) + SAFETY), "the delay is longer");
        pacing.observe(Marks { answered: Some((request, now + ms(200))), ..Marks::default() });
        assert_eq!(pacing.earliest(), Some(now + ms(200 + 1000) + SAFETY));
        let mut pacing = Pacing::new(ms(0), 2.0, now);
        let request = pacing.start(now);
        pacing.observe(Marks { answered: Some((request, now + ms(50))), ..Marks::default() });
        assert_eq!(pacing.earliest(), Some(now + ms(150) + SAFETY), "also without a delay");
    }

    #[test]
    fn opening_a_connection_holds_the_next_request_back() {
        let now = Instant::now();
        let mut pacing = Pacing::new(ms(20), 0.0, now);
        pacing.start(now);
        pacing.observe(Marks { connecting: 1, ..Marks::default() });
        assert_eq!(pacing.earliest(), None);
        pacing.observe(Marks { connected_at: Some(now + ms(300)), ..Marks::default() });
        assert!(pacing.earliest().unwrap() >= now + ms(320));
    }

    #[test]
    fn a_longer_wish_of_the_host_holds_and_a_shorter_does_not() {
        let now = Instant::now();
        let mut pacing = Pacing::new(ms(100), 0.0, now);
        pacing.at_least(ms(20));
        pacing.at_least(ms(500));
        pacing.start(now);
        assert!(pacing.earliest().unwrap() > now + ms(500));
    }

    #[test]
    fn a_changed_delay_counts_from_the_last_request_and_never_undercuts_the_host() {
        let now = Instant::now();
        let mut pacing = Pacing::new(ms(50), 0.0, now);
        let request = pacing.start(now);
        pacing.observe(Marks { answered: Some((request, now + ms(1))), ..Marks::default() });
        assert_eq!(pacing.earliest(), Some(now + ms(51) + SAFETY));
        pacing.change(ms(2_000), 0.0);
        assert_eq!(pacing.earliest(), Some(now + ms(2_001) + SAFETY));
        pacing.change(ms(10), 0.0);
        assert_eq!(pacing.earliest(), Some(now + ms(11) + SAFETY));
        pacing.at_least(ms(300));
        pacing.change(ms(20), 0.0);
        assert_eq!(pacing.earliest(), Some(now + ms(301) + SAFETY));
    }

    proptest! {
        /// A server looks at a request somewhere between its leaving and its answer; beside a long delay within the grace.
        #[test]
        fn the_server_never_sees_less_than_the_delay(
            delay in 1u64..2000,
            requests in prop::collection::vec((0u64..30, 0u64..900, 0u64..5), 1..30),
        ) {
            let mut now = Instant::now();
            let mut pacing = Pacing::new(ms(delay), 0.0, now);
            let mut seen_before: Option<Instant> = None;
            for (connect, answer, late) in requests {
                now = now.max(pacing.earliest().unwrap()) + ms(late);
                let request = pacing.start(now);
                let left = now + ms(connect);
                if let Some(before) = seen_before {
                    prop_assert!(left >= before + ms(delay), "{:?}", left - before);
                }
                seen_before = Some(left + if ms(delay) <= GRACE { ms(answer) } else { ms(answer).min(GRACE) });
                let answered = Some((request, left + ms(answer)));
                pacing.observe(Marks { connecting: 0, connected_at: Some(left), answered });
            }
        }
    }
}
