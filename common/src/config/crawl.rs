//! What a crawl uses where its owner says nothing else: the sections `[crawl]` and `[refresh]`.

use std::time::Duration;

use serde::Deserialize;

use super::{ConfigError, seconds, value, within};
use crate::address::AddressRules;
use crate::admission::{Admission, AdmissionSettings, HostPattern};
use crate::limits::MAX_BODY_BYTES;
use crate::scope::ScopeKind;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Debug)]
pub struct CrawlDefaults {
    pub scope: ScopeKind,
    pub strategy: StrategyName,
    pub depth: Option<u32>,
    pub max_pages: Option<u64>,
    pub max_bytes: Option<u64>,
    pub max_pages_per_host: Option<u64>,
    pub max_bytes_per_host: Option<u64>,
    pub delay: Duration,
    pub requests_before_pause: u32,
    pub pause: Duration,
    pub pause_per: PausePerName,
    pub response_factor: f32,
    pub connections_per_host: Option<u32>,
    pub hosts_per_ip: u32,
    pub hosts: Vec<HostOverride>,
    /// With the contact.
    pub user_agent: String,
    pub contact: Option<String>,
    pub allow_net: Vec<String>,
    pub robots: bool,
    pub sitemaps: bool,
    pub max_body_bytes: u64,
    pub attempts: u32,
    /// Its depth is `depth`.
    pub admission: AdmissionSettings,
    pub keywords: Vec<String>,
    pub value_threshold: f32,
    pub breadth_budget: u32,
    /// Pages below the threshold are not indexed.
    pub keep_only_valuable: bool,
    pub unusable_below: f32,
    /// Names of filters.
    pub enumeration: String,
    pub generation: String,
    pub refresh: RefreshDefaults,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyName {
    DepthFirst,
    BreadthFirst,
    BoundedBreadth,
}

/// Who has a general pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausePerName {
    Host,
    Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshDefaults {
    pub policy: RefreshPolicyName,
    /// `None`: only when asked.
    pub every: Option<Duration>,
    pub gone_after: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshPolicyName {
    Freshest,
    Uniform,
    Fixed,
    Classes,
}

/// What differs for the hosts that match a pattern, written as `*.example.org delay=5 connections=1`.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOverride {
    pub pattern: String,
    pub delay: Option<Duration>,
    pub connections: Option<u32>,
    pub requests_before_pause: Option<u32>,
    pub pause: Option<Duration>,
    pub response_factor: Option<f32>,
}

#[derive(Deserialize)]
pub(super) struct RawCrawl {
    scope: String,
    strategy: String,
    depth: Option<u32>,
    depth_dynamic: Option<u32>,
    max_pages: Option<u64>,
    max_bytes: Option<u64>,
    max_pages_per_host: Option<u64>,
    max_bytes_per_host: Option<u64>,
    delay: f64,
    requests_before_pause: u32,
    pause: f64,
    pause_per: String,
    response_factor: f32,
    connections_per_host: Option<u32>,
    hosts_per_ip: u32,
    hosts: Vec<String>,
    user_agent: String,
    contact: Option<String>,
    allow_net: Vec<String>,
    robots: bool,
    sitemaps: bool,
    max_body_bytes: u64,
    attempts: u32,
    allow_hosts: Vec<String>,
    deny_hosts: Vec<String>,
    allow_urls: Vec<String>,
    deny_urls: Vec<String>,
    allow_suffixes: Vec<String>,
    deny_suffixes: Vec<String>,
    max_url_bytes: u32,
    max_path_segments: u32,
    max_repeated_segments: u32,
    max_query_parameters: u32,
    strip_parameters: Vec<String>,
    keywords: Vec<String>,
    value_threshold: f32,
    breadth_budget: u32,
    keep_only_valuable: bool,
    unusable_below: f32,
    enumeration: String,
    generation: String,
}

#[derive(Deserialize)]
pub(super) struct RawRefresh {
    policy: String,
    every: Option<String>,
    gone_after: String,
}

impl RawCrawl {
    pub fn validate(self, refresh: RawRefresh) -> Result<CrawlDefaults, ConfigError> {
        let user_agent = with_contact(&self.user_agent, self.contact.as_deref());
        AddressRules::parse(&self.allow_net).map_err(|error| value("crawl.allow_net", error))?;
        within("crawl.max_body_bytes", self.max_body_bytes, 1, MAX_BODY_BYTES as u64)?;
        within("crawl.attempts", u64::from(self.attempts), 1, 20)?;
        within("crawl.breadth_budget", u64::from(self.breadth_budget), 1, 1_000_000)?;
        if let Some(connections) = self.connections_per_host {
            within("crawl.connections_per_host", u64::from(connections), 1, 64)?;
        }
        if !(0.0..=100.0).contains(&self.response_factor) {
            return Err(value("crawl.response_factor", format!("{} is not from 0 to 100", self.response_factor)));
        }
        let shares = [("crawl.value_threshold", self.value_threshold), ("crawl.unusable_below", self.unusable_below)];
        for (key, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(value(key, format!("{share} is not from 0 to 1")));
            }
        }
        let admission = AdmissionSettings {
            allow_hosts: self.allow_hosts,
            deny_hosts: self.deny_hosts,
            allow_urls: self.allow_urls,
            deny_urls: self.deny_urls,
            allow_suffixes: self.allow_suffixes,
            deny_suffixes: self.deny_suffixes,
            max_depth: self.depth,
            max_depth_dynamic: self.depth_dynamic,
            max_url_bytes: self.max_url_bytes,
            max_path_segments: self.max_path_segments,
            max_repeated_segments: self.max_repeated_segments,
            max_query_parameters: self.max_query_parameters,
            strip_parameters: self.strip_parameters,
        };
        Admission::compile(&admission).map_err(|error| value("in [crawl]", error))?;
        let hosts = self.hosts.iter().map(|text| text.parse().map_err(|problem| value("crawl.hosts", problem)));
        Ok(CrawlDefaults {
            scope: parse_scope(&self.scope).map_err(|problem| value("crawl.scope", problem))?,
            strategy: parse_strategy(&self.strategy).map_err(|problem| value("crawl.strategy", problem))?,
            depth: self.depth,
            max_pages: self.max_pages,
            max_bytes: self.max_bytes,
            max_pages_per_host: self.max_pages_per_host,
            max_bytes_per_host: self.max_bytes_per_host,
            delay: seconds("crawl.delay", self.delay, 0.0, 300.0)?,
            requests_before_pause: self.requests_before_pause,
            pause: seconds("crawl.pause", self.pause, 0.0, DAY.as_secs_f64())?,
            pause_per: self.pause_per.parse().map_err(|problem: String| value("crawl.pause_per", problem))?,
            response_factor: self.response_factor,
            connections_per_host: self.connections_per_host,
            hosts_per_ip: self.hosts_per_ip,
            hosts: hosts.collect::<Result<_, _>>()?,
            user_agent,
            contact: self.contact,
            allow_net: self.allow_net,
            robots: self.robots,
            sitemaps: self.sitemaps,
            max_body_bytes: self.max_body_bytes,
            attempts: self.attempts,
            admission,
            keywords: self.keywords,
            value_threshold: self.value_threshold,
            breadth_budget: self.breadth_budget,
            keep_only_valuable: self.keep_only_valuable,
            unusable_below: self.unusable_below,
            enumeration: self.enumeration,
            generation: self.generation,
            refresh: refresh.validate()?,
        })
    }
}

impl RawRefresh {
    fn validate(self) -> Result<RefreshDefaults, ConfigError> {
        let span = |key, text: &str| parse_span(text).map_err(|problem| value(key, problem));
        let every = self.every.map(|text| span("refresh.every", &text)).transpose()?;
        if let Some(every) = every.filter(|every| *every < Duration::from_secs(1)) {
            return Err(value("refresh.every", format!("{} s is too short; use 1s or more", every.as_secs_f64())));
        }
        Ok(RefreshDefaults {
            policy: self.policy.parse().map_err(|problem: String| value("refresh.policy", problem))?,
            every,
            gone_after: span("refresh.gone_after", &self.gone_after)?,
        })
    }
}

/// A user agent that tells site owners where to ask; one that names the contact already stays as it is.
pub fn with_contact(user_agent: &str, contact: Option<&str>) -> String {
    match contact.filter(|contact| !user_agent.contains(contact)) {
        Some(contact) => format!("{user_agent} (+{contact})"),
        None => user_agent.to_owned(),
    }
}

impl std::str::FromStr for PausePerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "host" => Ok(Self::Host),
            "address" => Ok(Self::Address),
            other => Err(format!("{other:?} is not host or address")),
        }
    }
}

pub fn parse_scope(text: &str) -> Result<ScopeKind, String> {
    match text {
        "host" => Ok(ScopeKind::Host),
        "domain" => Ok(ScopeKind::Domain),
        "prefix" => Ok(ScopeKind::Prefix),
        "any" => Ok(ScopeKind::Any),
        other => Err(format!("{other:?} is not host, domain, prefix or any")),
    }
}

pub fn parse_strategy(text: &str) -> Result<StrategyName, String> {
    match text {
        "depth-first" => Ok(StrategyName::DepthFirst),
        "breadth-first" => Ok(StrategyName::BreadthFirst),
        "bounded-breadth" => Ok(StrategyName::BoundedBreadth),
        other => Err(format!("{other:?} is not depth-first, breadth-first or bounded-breadth")),
    }
}

impl std::str::FromStr for RefreshPolicyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "freshest" => Ok(Self::Freshest),
            "uniform" => Ok(Self::Uniform),
            "fixed" => Ok(Self::Fixed),
            "classes" => Ok(Self::Classes),
            other => Err(format!("{other:?} is not freshest, uniform, fixed or classes")),
        }
    }
}

/// A stretch of time as people write it: `90s`, `15m`, `12h`, `7d`, or seconds without a letter.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3_600.0),
        Some((at, 'd')) => (&text[..at], 86_400.0),
        _ => (text, 1.0),
    };
    let seconds = number.trim().parse::<f64>().ok().map(|number| number * unit);
    match seconds.filter(|seconds| (0.0..=10.0 * 366.0 * 86_400.0).contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs_f64(seconds)),
        None => Err(format!("{text:?} is not a stretch of time; write it as 90s, 15m, 12h or 7d")),
    }
}

impl std::str::FromStr for HostOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let pattern = words.next().unwrap_or_default().to_owned();
        HostPattern::parse(&pattern).map_err(|error| error.to_string())?;
        let mut parsed = Self {
            pattern,
            delay: None,
            connections: None,
            requests_before_pause: None,
            pause: None,
            response_factor: None,
        };
        for word in words {
            let (key, number) = word.split_once('=').ok_or_else(|| format!("{word:?} is not written as key=value"))?;
            let wrong = || format!("{word:?} has no usable number");
            match key {
                "delay" => parsed.delay = Some(super::parse_delay(number.parse().map_err(|_| wrong())?)?),
                "connections" => {
                    let connections = number.parse().ok().filter(|count| (1..=64).contains(count));
                    parsed.connections = Some(connections.ok_or_else(wrong)?);
                }
                "requests_before_pause" => parsed.requests_before_pause = Some(number.parse().map_err(|_| wrong())?),
                "pause" => parsed.pause = Some(parse_span(number)?),
                "response_factor" => parsed.response_factor = Some(number.parse().map_err(|_| wrong())?),
                _ => {
                    return Err(format!(
                        "{key:?} is not delay, connections, requests_before_pause, pause or response_factor"
                    ));
                }
            }
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_time_are_written_with_a_letter() {
        assert_eq!(parse_span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_span(" 1.5h "), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse_span("7d"), Ok(7 * DAY));
        assert_eq!(parse_span("0"), Ok(Duration::ZERO));
        for nonsense in ["", "d", "-1d", "soon", "1w", "inf", "99999999999d"] {
            assert!(parse_span(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn a_contact_stands_behind_any_name_and_only_once() {
        let page = Some("https://example.org/robot");
        assert_eq!(with_contact("bot/1", page), "bot/1 (+https://example.org/robot)");
        assert_eq!(with_contact("bot/1 (+https://example.org/robot)", page), "bot/1 (+https://example.org/robot)");
        assert_eq!(with_contact("bot/1", None), "bot/1");
    }

    #[test]
    fn settings_for_some_hosts_are_one_line() {
        let parsed: HostOverride = "*.example.org delay=5 connections=2 pause=1m".parse().unwrap();
        assert_eq!((parsed.delay, parsed.connections), (Some(Duration::from_secs(5)), Some(2)));
        assert_eq!(parsed.pause, Some(Duration::from_secs(60)));
        for wrong in ["", "re:( delay=1", "a.test delay", "a.test speed=9", "a.test delay=-1", "a.test connections=0"] {
            assert!(wrong.parse::<HostOverride>().is_err(), "{wrong}");
        }
    }
}
