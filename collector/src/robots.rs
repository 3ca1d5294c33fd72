//! robots.txt: what a host allows this robot to fetch.
//!
//! One file speaks for one origin. [`Verdict`] is what became of reading it: rules, no rules, or nothing may be fetched
//! now. Reading goes over the network in `fetch::robots`; here is only what the answer means.
//!
//! Invariant: when in doubt, less is fetched, except where RFC 9309 says otherwise (4xx means there are no rules).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use seine_proto::monitor::v1::{Robots, RobotsVerdict};

pub use seine_common::robots::{MAX_ROBOTS_BYTES, Rules, agent_token};

/// Redirects followed from `/robots.txt`.
pub const MAX_ROBOTS_REDIRECTS: u32 = 5;

/// What became of reading an origin's robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The file decides.
    Rules(Bytes),
    AllowAll,
    /// Nothing may be fetched now, for this reason.
    Unavailable(String),
    /// Nothing may be fetched now, because the host asks for patience with this status, for this long if it says so.
    SlowDown {
        status: u16,
        retry_after: Option<Duration>,
    },
}

impl Verdict {
    /// What an answer's status means, when the body is not needed to tell.
    pub fn of_status(status: u16) -> Option<Self> {
        match status {
            200..=299 => None,
            429 | 503 => Some(Self::SlowDown { status, retry_after: None }),
            500..=599 => Some(Self::Unavailable(format!("robots.txt was answered with {status}"))),
            // Redirects end here when they lead nowhere: there is no file.
            _ => Some(Self::AllowAll),
        }
    }

    pub fn to_message(&self, origin: &str, fetched_at_ms: i64) -> Robots {
        let (verdict, body) = match self {
            Self::Rules(body) => (RobotsVerdict::Rules, body.clone()),
            Self::AllowAll => (RobotsVerdict::AllowAll, Bytes::new()),
            Self::Unavailable(_) | Self::SlowDown { .. } => (RobotsVerdict::Unavailable, Bytes::new()),
        };
        Robots { origin: origin.to_owned(), fetched_at_ms, verdict: verdict.into(), body }
    }

    /// What the Monitor remembers of an earlier reading. `None` when it says nothing.
    pub fn from_message(robots: &Robots) -> Option<Self> {
        match robots.verdict() {
            RobotsVerdict::Rules => Some(Self::Rules(robots.body.slice(..robots.body.len().min(MAX_ROBOTS_BYTES)))),
            RobotsVerdict::AllowAll => Some(Self::AllowAll),
            RobotsVerdict::Unavailable => Some(Self::Unavailable("robots.txt could not be read lately".to_owned())),
            RobotsVerdict::Unspecified => None,
        }
    }
}

/// Parses off the async threads: a hostile file takes milliseconds.
pub async fn parse_elsewhere(body: Bytes, agent: Arc<str>) -> Rules {
    let parsing = tokio::task::spawn_blocking(move || Rules::parse(&body, &agent));
    // The parser does not panic; were it to, the file would forbid everything.
    parsing.await.unwrap_or_else(|_| Rules::parse(b"user-agent: *\ndisallow: /", "*"))
}

#[cfg(test)]
mod verdict_tests {
    use super::*;

    #[test]
    fn missing_files_allow_and_failing_servers_forbid() {
        for status in [400, 401, 403, 404, 410, 301] {
            assert_eq!(Verdict::of_status(status), Some(Verdict::AllowAll), "{status}");
        }
        for status in [500, 502, 599] {
            assert!(matches!(Verdict::of_status(status), Some(Verdict::Unavailable(_))), "{status}");
        }
        for status in [429, 503] {
            assert!(matches!(Verdict::of_status(status), Some(Verdict::SlowDown { .. })), "{status}");
        }
        assert_eq!(Verdict::of_status(200), None);
    }

    #[test]
    fn a_verdict_survives_the_way_through_the_monitor() {
        for verdict in [Verdict::Rules(Bytes::from_static(b"user-agent: *")), Verdict::AllowAll] {
            assert_eq!(Verdict::from_message(&verdict.to_message("http://a", 1)), Some(verdict));
        }
    }
}
