//! Crawls as their owners asked for them: checking what came over the wire, and telling what changed since last time.

use seine_common::address::{AddressRules, FixedAddress};
use seine_common::limits::MAX_BODY_BYTES;
use seine_common::scope::{ScopeKind, ScopeRules};
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Crawl, Scope, Strategy};

use crate::MonitorError;
use crate::frontier::place::Order;

/// The longest delay that anything may ask for between two requests to a host.
pub const MAX_DELAY_MS: u32 = 300_000;

/// A crawl that was checked: everything in it can be used as it is.
#[derive(Clone, Debug)]
pub struct CheckedCrawl {
    pub settings: Crawl,
    pub seeds: Vec<CanonicalUrl>,
    pub scope: ScopeRules,
    pub order: Order,
}

impl CheckedCrawl {
    /// `joined` are the places that seeds redirected to earlier.
    pub fn check(mut settings: Crawl, joined: &[String]) -> Result<Self, MonitorError> {
        let invalid = |text: String| MonitorError::Invalid(text);
        if settings.name.trim().is_empty() || settings.name.len() > 200 {
            return Err(invalid(format!("{:?} cannot name a crawl; use 1 to 200 characters", settings.name)));
        }
        if settings.seeds.is_empty() {
            return Err(invalid("a crawl needs at least one URL to start from".to_owned()));
        }
        let parse = |text: &String| CanonicalUrl::parse(text).map_err(|error| MonitorError::Invalid(error.to_string()));
        let seeds = settings.seeds.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        settings.seeds = seeds.iter().map(|seed| seed.as_str().to_owned()).collect();
        let order = match settings.strategy() {
            Strategy::DepthFirst => Order::DepthFirst,
            Strategy::BreadthFirst => Order::BreadthFirst,
            Strategy::BoundedBreadth => {
                return Err(invalid("strategy bounded-breadth is not available yet".to_owned()));
            }
            Strategy::Unspecified => return Err(invalid("the crawl names no strategy".to_owned())),
        };
        let kind = match settings.scope() {
            Scope::Host => ScopeKind::Host,
            Scope::Domain => ScopeKind::Domain,
            Scope::Prefix => ScopeKind::Prefix,
            Scope::Any => ScopeKind::Any,
            Scope::Unspecified => return Err(invalid("the crawl names no scope".to_owned())),
        };
        if settings.delay_ms > MAX_DELAY_MS {
            return Err(invalid(format!("a delay of {} ms is longer than {MAX_DELAY_MS} ms", settings.delay_ms)));
        }
        if !(1..=64).contains(&settings.connections_per_host) {
            return Err(invalid(format!("{} connections per host; use 1 to 64", settings.connections_per_host)));
        }
        if settings.user_agent.is_empty() || !settings.user_agent.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            return Err(invalid(format!(
                "{:?} cannot be sent as a user agent; use printable ASCII",
                settings.user_agent
            )));
        }
        if settings.max_body_bytes == 0 || settings.max_body_bytes > MAX_BODY_BYTES as u64 {
            return Err(invalid(format!(
                "a body limit of {} bytes; use 1 to {MAX_BODY_BYTES}",
                settings.max_body_bytes
            )));
        }
        AddressRules::parse(&settings.allow_net).map_err(|error| invalid(error.to_string()))?;
        for fixed in &settings.resolve {
            fixed.parse::<FixedAddress>().map_err(|error| invalid(error.to_string()))?;
        }
        let mut scope = ScopeRules::new(kind, &seeds);
        for place in joined.iter().map(parse) {
            scope.join(&place?);
        }
        Ok(Self { settings, seeds, scope, order })
    }
}

/// What differs from last time, a sentence each. Seeds are not settings: new ones simply join.
pub fn changes(before: &Crawl, now: &Crawl) -> Vec<String> {
    let limit = |value: Option<u64>| value.map_or("unlimited".to_owned(), |value| value.to_string());
    let list = |values: &[String]| if values.is_empty() { "none".to_owned() } else { values.join(", ") };
    let pairs = [
        ("scope", before.scope().as_str_name().to_owned(), now.scope().as_str_name().to_owned()),
        ("strategy", before.strategy().as_str_name().to_owned(), now.strategy().as_str_name().to_owned()),
        ("depth", limit(before.max_depth.map(u64::from)), limit(now.max_depth.map(u64::from))),
        ("max pages", limit(before.max_pages), limit(now.max_pages)),
        ("delay", format!("{} ms", before.delay_ms), format!("{} ms", now.delay_ms)),
        ("connections per host", before.connections_per_host.to_string(), now.connections_per_host.to_string()),
        ("hosts per IP", before.hosts_per_ip.to_string(), now.hosts_per_ip.to_string()),
        ("user agent", before.user_agent.clone(), now.user_agent.clone()),
        ("allowed networks", list(&before.allow_net), list(&now.allow_net)),
        ("fixed addresses", list(&before.resolve), list(&now.resolve)),
        ("robots.txt ignored", before.ignore_robots.to_string(), now.ignore_robots.to_string()),
        ("body limit", before.max_body_bytes.to_string(), now.max_body_bytes.to_string()),
    ];
    pairs
        .into_iter()
        .filter(|(_, before, now)| before != now)
        .map(|(what, before, now)| format!("{what} was {}, now {}", plain(&before), plain(&now)))
        .collect()
}

/// `SCOPE_HOST` as people write it: `host`.
fn plain(value: &str) -> String {
    match value.strip_prefix("SCOPE_").or_else(|| value.strip_prefix("STRATEGY_")) {
        Some(name) => name.to_ascii_lowercase().replace('_', "-"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::tests_support::crawl;

    #[test]
    fn a_wrong_setting_is_refused_with_its_value() {
        let mut settings = crawl("c", &["http://example.org/"]);
        settings.connections_per_host = 65;
        let refusal = CheckedCrawl::check(settings, &[]).unwrap_err().to_string();
        assert!(refusal.contains("65"), "{refusal}");
        let mut settings = crawl("c", &["ftp://example.org/"]);
        settings.connections_per_host = 1;
        assert!(CheckedCrawl::check(settings, &[]).is_err());
    }

    #[test]
    fn changed_settings_are_told_in_words() {
        let before = crawl("c", &["http://example.org/"]);
        let mut now = before.clone();
        now.set_scope(Scope::Domain);
        now.max_pages = Some(5);
        assert_eq!(changes(&before, &now), ["scope was host, now domain", "max pages was unlimited, now 5"]);
    }
}
