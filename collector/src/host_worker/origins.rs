//! What must be known of an origin before its pages may be fetched: its address, then its robots.txt.
//!
//! Life of an origin: finding its address → robots.txt due → under way (again for each redirect) → being parsed → open,
//! or barred with the outcome that all its URLs get.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use seine_common::address::port;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{OutcomeKind, Robots};

use super::events::Origin;
use crate::fetch::outcome::Ending;
use crate::resolve::Found;
use crate::robots::{MAX_ROBOTS_REDIRECTS, Rules, Verdict};

#[derive(Debug)]
pub enum State {
    FindingAddress,
    RobotsDue {
        url: CanonicalUrl,
        redirects: u32,
    },
    RobotsUnderWay {
        redirects: u32,
    },
    ParsingRobots,
    /// Open, but for what the rules refuse.
    Open(Option<Arc<Rules>>),
    Barred(Ending),
}

#[derive(Debug)]
pub struct Origins {
    known: HashMap<Origin, State>,
    /// Verdicts that came with the lease.
    brought: HashMap<String, Verdict>,
    crawl_delay: Duration,
}

impl Origins {
    pub fn new(brought: &[Robots]) -> Self {
        let brought =
            brought.iter().filter_map(|robots| Some((robots.origin.clone(), Verdict::from_message(robots)?))).collect();
        Self { known: HashMap::new(), brought, crawl_delay: Duration::ZERO }
    }

    pub fn state(&self, origin: &str) -> Option<&State> {
        self.known.get(origin)
    }

    /// An origin is met for the first time.
    pub fn begin(&mut self, origin: Origin) {
        self.known.insert(origin, State::FindingAddress);
    }

    /// Gives the verdict that came with the lease, if it is to be applied now.
    pub fn address_found(&mut self, origin: &Origin, found: &Found, ignore_robots: bool) -> Option<Verdict> {
        let brought = self.brought.remove(&**origin);
        let state = match found {
            Found::Use { .. } if ignore_robots => State::Open(None),
            Found::Use { .. } if brought.is_some() => {
                self.known.insert(origin.clone(), State::RobotsUnderWay { redirects: 0 });
                return brought;
            }
            Found::Use { .. } => match CanonicalUrl::parse(&format!("{origin}/robots.txt")) {
                Ok(url) => State::RobotsDue { url, redirects: 0 },
                Err(error) => State::Barred(Ending::new(OutcomeKind::RobotsUnavailable, error.to_string())),
            },
            Found::Denied(address) => State::Barred(Ending::new(
                OutcomeKind::AddressNotAllowed,
                format!("{address} is not on the public internet; allow its network with --allow-net"),
            )),
            Found::Unknown(reason) => State::Barred(Ending::new(OutcomeKind::NameNotFound, reason.clone())),
        };
        self.known.insert(origin.clone(), state);
        None
    }

    /// The request for robots.txt starts.
    pub fn take_robots_due(&mut self, origin: &str) -> Option<CanonicalUrl> {
        let state = self.known.get_mut(origin)?;
        let State::RobotsDue { redirects, .. } = state else {
            return None;
        };
        let under_way = State::RobotsUnderWay { redirects: *redirects };
        match std::mem::replace(state, under_way) {
            State::RobotsDue { url, .. } => Some(url),
            _ => None,
        }
    }

    /// The request for robots.txt was cut off: it is due again.
    pub fn cut_off(&mut self, origin: &Origin, url: CanonicalUrl) {
        if let Some(state) = self.known.get_mut(origin)
            && let State::RobotsUnderWay { redirects } = *state
        {
            *state = State::RobotsDue { url, redirects };
        }
    }

    /// robots.txt is said to be elsewhere. Gives the verdict when that is not to be followed.
    pub fn redirected(&mut self, origin: &Origin, target: CanonicalUrl) -> Option<Verdict> {
        let redirects = match self.known.get(origin) {
            Some(State::RobotsUnderWay { redirects }) => redirects + 1,
            _ => return None,
        };
        if let Some(port) = target.as_url().port().filter(|port| port::is_refused(*port)) {
            return Some(Verdict::Unavailable(format!("robots.txt redirects to port {port}, which is not asked")));
        }
        if redirects > MAX_ROBOTS_REDIRECTS {
            // RFC 9309, 2.3.1.2: as if there were none.
            return Some(Verdict::AllowAll);
        }
        self.known.insert(origin.clone(), State::RobotsDue { url: target, redirects });
        None
    }

    /// The verdict is known; when it is rules, they are still to be parsed.
    pub fn decided(&mut self, origin: &Origin, verdict: &Verdict) {
        let state = match verdict {
            Verdict::Rules(_) => State::ParsingRobots,
            Verdict::AllowAll => State::Open(None),
            Verdict::Unavailable(reason) => State::Barred(Ending::new(OutcomeKind::RobotsUnavailable, reason.clone())),
            Verdict::SlowDown { status, retry_after } => {
                let detail = format!("robots.txt was answered with {status}");
                let ending = Ending::new(OutcomeKind::SlowDown, detail).with_status(*status);
                State::Barred(Ending { retry_after: *retry_after, ..ending })
            }
        };
        self.known.insert(origin.clone(), state);
    }

    pub fn parsed(&mut self, origin: &Origin, rules: Arc<Rules>) {
        self.crawl_delay = self.crawl_delay.max(rules.crawl_delay().unwrap_or_default());
        self.known.insert(origin.clone(), State::Open(Some(rules)));
    }

    /// The longest delay that the host's robots.txt files ask for.
    pub fn crawl_delay(&self) -> Duration {
        self.crawl_delay
    }

    /// Something is under way that must end before the lease can be returned.
    pub fn has_request_under_way(&self) -> bool {
        self.known.values().any(|state| matches!(state, State::RobotsUnderWay { .. }))
    }
}
