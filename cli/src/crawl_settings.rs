//! From flags and settings to the crawl that the Monitor is asked for.

use seine_common::address::{AddressRules, FixedAddress};
use seine_common::config::{Config, StrategyName, parse_delay};
use seine_common::fingerprint::Fingerprinter;
use seine_common::scope::ScopeKind;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Crawl, Scope, Strategy};

use crate::args::{CrawlFlags, ScopeFlag, StrategyFlag};
use crate::failure::{Failure, Result};

/// Connections per host when nobody said otherwise.
const CONNECTIONS_WITH_DELAY: u32 = 1;
const CONNECTIONS_WITHOUT_DELAY: u32 = 8;

pub fn crawl(flags: &CrawlFlags, config: &Config) -> Result<Crawl> {
    let defaults = &config.crawl;
    let parse = |text: &String| CanonicalUrl::parse(text).map_err(Failure::usage);
    let seeds = flags.urls.iter().map(parse).collect::<Result<Vec<_>>>()?;
    let scope = match flags.scope {
        Some(ScopeFlag::Host) => Scope::Host,
        Some(ScopeFlag::Domain) => Scope::Domain,
        Some(ScopeFlag::Prefix) => Scope::Prefix,
        Some(ScopeFlag::Any) => Scope::Any,
        None => match defaults.scope {
            ScopeKind::Host => Scope::Host,
            ScopeKind::Domain => Scope::Domain,
            ScopeKind::Prefix => Scope::Prefix,
            ScopeKind::Any => Scope::Any,
        },
    };
    let strategy = match flags.strategy {
        Some(StrategyFlag::DepthFirst) => Strategy::DepthFirst,
        Some(StrategyFlag::BreadthFirst) => Strategy::BreadthFirst,
        Some(StrategyFlag::BoundedBreadth) => {
            return Err(Failure::usage(
                "the strategy bounded-breadth is not available yet; use depth-first or breadth-first",
            ));
        }
        None => match defaults.strategy {
            StrategyName::DepthFirst => Strategy::DepthFirst,
            StrategyName::BreadthFirst => Strategy::BreadthFirst,
        },
    };
    let delay = match flags.delay {
        Some(seconds) => parse_delay(seconds).map_err(|problem| Failure::usage(format!("--delay: {problem}")))?,
        None => defaults.delay,
    };
    let connections = flags.connections_per_host.or(defaults.connections_per_host);
    let allow_net: Vec<String> = defaults.allow_net.iter().chain(&flags.allow_net).cloned().collect();
    AddressRules::parse(&allow_net).map_err(|error| Failure::usage(format!("--allow-net: {error}")))?;
    for fixed in &flags.resolve {
        fixed.parse::<FixedAddress>().map_err(|error| Failure::usage(format!("--resolve: {error}")))?;
    }
    Ok(Crawl {
        name: flags.name.clone().unwrap_or_else(|| default_name(&seeds, scope)),
        seeds: seeds.iter().map(|seed| seed.as_str().to_owned()).collect(),
        scope: scope.into(),
        strategy: strategy.into(),
        max_depth: flags.depth.or(defaults.depth),
        max_pages: flags.max_pages.or(defaults.max_pages),
        delay_ms: delay.as_millis() as u32,
        connections_per_host: connections.unwrap_or(if delay.is_zero() {
            CONNECTIONS_WITHOUT_DELAY
        } else {
            CONNECTIONS_WITH_DELAY
        }),
        hosts_per_ip: flags.hosts_per_ip.unwrap_or(defaults.hosts_per_ip),
        user_agent: flags.user_agent.clone().unwrap_or_else(|| defaults.user_agent.clone()),
        allow_net,
        resolve: flags.resolve.clone(),
        ignore_robots: flags.no_robots || !defaults.robots,
        max_body_bytes: defaults.max_body_bytes,
    })
}

/// A host for people, and a short sum of seeds and scope that tells crawls apart. The same crawl has the same name
/// tomorrow, in whatever order its seeds are given.
fn default_name(seeds: &[CanonicalUrl], scope: Scope) -> String {
    let mut seeds: Vec<&CanonicalUrl> = seeds.iter().collect();
    seeds.sort_unstable();
    seeds.dedup();
    let fingerprinter = Fingerprinter::public();
    let mut sum = fingerprinter.of(scope.as_str_name().as_bytes());
    for seed in &seeds {
        sum = fingerprinter.extend(sum, seed.as_str().as_bytes());
        sum = fingerprinter.extend(sum, b"\n");
    }
    let host = seeds.first().map(|seed| seed.host().as_str().to_owned()).unwrap_or_default();
    format!("{host}-{:06x}", sum & 0xff_ffff)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    fn settings(flags: &[&str]) -> Result<Crawl> {
        let words = ["seine", "crawl"].iter().chain(flags);
        let Command::Crawl(arguments) = Arguments::parse_from(words).command else { panic!("it is a crawl") };
        crawl(&arguments.what, &Config::from_layers(None, []).unwrap())
    }

    #[test]
    fn connections_follow_the_delay_unless_given() {
        assert_eq!(settings(&["http://a.test/"]).unwrap().connections_per_host, 1);
        assert_eq!(settings(&["http://a.test/", "--delay", "0"]).unwrap().connections_per_host, 8);
        let given = settings(&["http://a.test/", "--delay", "0", "--connections-per-host", "3"]);
        assert_eq!(given.unwrap().connections_per_host, 3);
    }

    #[test]
    fn the_name_depends_on_seeds_and_scope_and_not_on_their_order() {
        let name = |flags: &[&str]| settings(flags).unwrap().name;
        assert_eq!(name(&["http://a.test/", "http://b.test/"]), name(&["http://b.test/", "http://a.test/"]));
        assert_ne!(name(&["http://a.test/"]), name(&["http://a.test/x"]));
        assert_ne!(name(&["http://a.test/"]), name(&["http://a.test/", "--scope", "any"]));
        assert_eq!(name(&["http://a.test/", "--depth", "3"]), name(&["http://A.test"]));
    }

    #[test]
    fn wrong_values_are_usage_errors() {
        for flags in [
            ["http://a.test/", "--delay", "-1"],
            ["http://a.test/", "--allow-net", "somewhere"],
            ["http://a.test/", "--resolve", "a.test:80"],
            ["http://a.test/", "--strategy", "bounded-breadth"],
        ] {
            assert_eq!(settings(&flags).unwrap_err().exit_code(), 2, "{flags:?}");
        }
        assert!(settings(&["a.test"]).is_err());
    }
}
