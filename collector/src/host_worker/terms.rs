//! The terms of a lease: what the Monitor granted, and what the crawl asks of every request. The second may change while the
//! lease is held.

use std::sync::Arc;
use std::time::Duration;

use seine_common::address::{AddressRules, FixedAddress};
use seine_common::limits::MAX_BODY_BYTES;
use seine_proto::common::v1::Filter;
use seine_proto::monitor::v1::{Crawl, Lease, Pace};

use crate::robots::agent_token;

/// No request starts after this share of the lease, so that few are cut off by its end.
const USABLE_SHARE: f32 = 0.8;

#[derive(Clone, Debug)]
pub struct Terms {
    pub epoch: u64,
    pub token: u64,
    pub host: Arc<str>,
    pub crawl: Arc<str>,
    /// How long after a renewal connections may be open.
    pub duration: Duration,
    /// How long after a renewal requests may start.
    pub usable: Duration,
    pub rest: Duration,
    pub delay: Duration,
    /// The next request waits at least so many times as long as the last answer took.
    pub response_factor: f32,
    /// Requests under way at once.
    pub connections: u32,
    /// Requests that may be started, robots.txt included; `None` without limit.
    pub request_allowance: Option<u64>,
    /// Only address and robots.txt are to be found out.
    pub prepare: bool,
    /// Pages that may be saved; `None` without limit.
    pub page_allowance: Option<u64>,
    pub ignore_robots: bool,
    pub user_agent: Arc<str>,
    /// The name under which robots.txt files address us.
    pub agent_token: Arc<str>,
    pub max_body_bytes: u64,
    /// What makes a page valuable.
    pub keywords: Arc<[String]>,
    /// For the analyser: what is followed and what is indexed.
    pub filters: Arc<CrawlFilters>,
    /// Links of pages with less usability may be refused there and admitted from elsewhere.
    pub unusable_below: f32,
    /// Names the lease in a trace; empty where none is kept.
    pub traceparent: Arc<str>,
}

/// Absent where everything is allowed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrawlFilters {
    pub enumeration: Option<Filter>,
    pub generation: Option<Filter>,
}

impl Terms {
    pub fn of(lease: &Lease, crawl: &Crawl) -> Self {
        let pace = lease.pace.unwrap_or_else(|| general_pace(crawl));
        let duration = Duration::from_millis(lease.duration_ms.into());
        Self {
            epoch: lease.epoch,
            token: lease.token,
            host: lease.host.as_str().into(),
            crawl: crawl.name.as_str().into(),
            duration,
            usable: duration.mul_f32(USABLE_SHARE),
            rest: Duration::from_millis(lease.rest_ms.into()),
            delay: Duration::from_millis(pace.delay_ms.into()),
            response_factor: pace.response_factor.clamp(0.0, 100.0),
            connections: pace.connections.max(1),
            request_allowance: (pace.request_allowance > 0).then_some(pace.request_allowance.into()),
            prepare: lease.prepare,
            page_allowance: (lease.page_allowance > 0).then_some(lease.page_allowance),
            ignore_robots: crawl.ignore_robots(),
            user_agent: crawl.user_agent().into(),
            agent_token: agent_token(crawl.user_agent()).into(),
            max_body_bytes: crawl.max_body_bytes().clamp(1, MAX_BODY_BYTES as u64),
            keywords: crawl.keywords.clone().into(),
            filters: Arc::new(CrawlFilters {
                enumeration: crawl.enumeration.clone(),
                generation: crawl.generation.clone(),
            }),
            unusable_below: crawl.unusable_below(),
            traceparent: lease.traceparent.as_str().into(),
        }
    }

    /// The same lease under other settings of its crawl. What was granted stays, and so does what its connections and
    /// robots.txt were chosen by: where those change, the Monitor takes the lease back.
    pub fn changed(&self, crawl: &Crawl, pace: Option<Pace>) -> Self {
        let lease = Lease { pace, ..Lease::default() };
        let now = Self::of(&lease, crawl);
        Self {
            delay: now.delay,
            response_factor: now.response_factor,
            connections: now.connections,
            max_body_bytes: now.max_body_bytes,
            keywords: now.keywords,
            filters: now.filters,
            unusable_below: now.unusable_below,
            ..self.clone()
        }
    }
}

/// For all hosts of a crawl alike.
fn general_pace(crawl: &Crawl) -> Pace {
    Pace {
        delay_ms: crawl.delay_ms(),
        connections: crawl.connections_per_host(),
        response_factor: crawl.response_factor(),
        request_allowance: 0,
    }
}

/// The networks that the crawl allows. What cannot be read allows nothing.
pub fn address_rules(crawl: &Crawl) -> AddressRules {
    AddressRules::parse(&crawl.allow_net).unwrap_or_else(|error| {
        tracing::error!(crawl = crawl.name, %error, "unreadable network in a crawl; none is allowed");
        AddressRules::default()
    })
}

pub fn fixed_addresses(crawl: &Crawl) -> Vec<FixedAddress> {
    let parse = |text: &String| {
        text.parse::<FixedAddress>()
            .inspect_err(|error| tracing::error!(crawl = crawl.name, %error, "unreadable fixed address in a crawl"))
            .ok()
    };
    crawl.resolve.iter().filter_map(parse).collect()
}
