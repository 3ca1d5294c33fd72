//! From flags and settings to the crawl that the Monitor is asked for.

use seine_common::address::{AddressRules, FixedAddress};
use seine_common::admission::{self, AdmissionSettings};
use seine_common::config::{
    Config, CrawlDefaults, HostOverride, RefreshDefaults, RefreshPolicyName, StrategyName, parse_delay, parse_span,
};
use seine_common::filter::FilterSettings;
use seine_common::fingerprint::Fingerprinter;
use seine_common::scope::ScopeKind;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::Filter;
use seine_proto::monitor::v1::{Admission, Crawl, HostSettings, Refresh, RefreshPolicy, Scope, Strategy};

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
        Some(StrategyFlag::BoundedBreadth) => Strategy::BoundedBreadth,
        None => match defaults.strategy {
            StrategyName::DepthFirst => Strategy::DepthFirst,
            StrategyName::BreadthFirst => Strategy::BreadthFirst,
            StrategyName::BoundedBreadth => Strategy::BoundedBreadth,
        },
    };
    let keywords = both(&defaults.keywords, &flags.limits.keyword);
    if strategy == Strategy::BoundedBreadth && keywords.is_empty() {
        return Err(Failure::usage(
            "the strategy bounded-breadth needs to know what makes a page valuable; name words with --keyword",
        ));
    }
    let value_threshold = flags.limits.value_threshold.unwrap_or(defaults.value_threshold);
    let mut generation = filter(config, "generation", flags.limits.generation.as_ref())?;
    if flags.limits.keep_only_valuable || defaults.keep_only_valuable {
        if keywords.is_empty() {
            return Err(Failure::usage(
                "only valuable pages are to be kept, but nothing makes a page valuable; name words with --keyword",
            ));
        }
        generation.min_value = value_threshold;
    }
    let unusable_below = flags.limits.unusable_below.unwrap_or(defaults.unusable_below);
    if !(0.0..=1.0).contains(&unusable_below) {
        return Err(Failure::usage(format!("--unusable-below: {unusable_below} is not from 0 to 1")));
    }
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
    let manners = &flags.manners;
    let pause = match &manners.pause {
        Some(text) => parse_span(text).map_err(|problem| Failure::usage(format!("--pause: {problem}")))?,
        None => defaults.pause,
    };
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
        admission: Some(admission(flags, defaults)?),
        requests_before_pause: manners.pause_after.unwrap_or(defaults.requests_before_pause),
        pause_ms: pause.as_millis().min(u128::from(u32::MAX)) as u32,
        response_factor: manners.response_factor.unwrap_or(defaults.response_factor),
        hosts: host_settings(&manners.host_settings, &defaults.hosts)?,
        max_bytes: flags.limits.max_bytes.or(defaults.max_bytes),
        max_pages_per_host: flags.limits.max_pages_per_host.or(defaults.max_pages_per_host),
        max_bytes_per_host: flags.limits.max_bytes_per_host.or(defaults.max_bytes_per_host),
        max_attempts: manners.attempts.unwrap_or(defaults.attempts),
        keywords,
        value_threshold,
        breadth_budget: flags.limits.breadth_budget.unwrap_or(defaults.breadth_budget),
        refresh: Some(refresh(flags, &defaults.refresh)?),
        ignore_sitemaps: flags.no_sitemaps || !defaults.sitemaps,
        enumeration: message(filter(config, "enumeration", flags.limits.enumeration.as_ref())?),
        generation: message(generation),
        unusable_below,
    })
}

/// The filter that the flag names, or else the settings.
fn filter(config: &Config, key: &'static str, flag: Option<&String>) -> Result<FilterSettings> {
    let default = if key == "enumeration" { &config.crawl.enumeration } else { &config.crawl.generation };
    config.filters.get(key, flag.unwrap_or(default)).cloned().map_err(Failure::usage)
}

/// A filter that allows everything need not travel.
fn message(filter: FilterSettings) -> Option<Filter> {
    let FilterSettings { name, rules, otherwise_deny, max_links, content_type, min_value } = filter;
    let message = Filter { name, rules, otherwise_deny, max_links, content_type, min_value };
    let open = Filter { name: message.name.clone(), ..Filter::default() };
    Some(message).filter(|message| *message != open)
}

/// What the settings name, and what the command line adds.
fn both(settings: &[String], flags: &[String]) -> Vec<String> {
    settings.iter().chain(flags).cloned().collect()
}

fn admission(flags: &CrawlFlags, defaults: &CrawlDefaults) -> Result<Admission> {
    let (limits, rules) = (&flags.limits, &defaults.admission);
    let settings = AdmissionSettings {
        allow_hosts: both(&rules.allow_hosts, &limits.allow_host),
        deny_hosts: both(&rules.deny_hosts, &limits.deny_host),
        allow_urls: both(&rules.allow_urls, &limits.allow_url),
        deny_urls: both(&rules.deny_urls, &limits.deny_url),
        allow_suffixes: both(&rules.allow_suffixes, &limits.allow_suffix),
        deny_suffixes: both(&rules.deny_suffixes, &limits.deny_suffix),
        max_depth_dynamic: limits.depth_dynamic.or(rules.max_depth_dynamic),
        strip_parameters: both(&rules.strip_parameters, &limits.strip_parameter),
        ..rules.clone()
    };
    admission::Admission::compile(&settings).map_err(Failure::usage)?;
    Ok(Admission {
        allow_hosts: settings.allow_hosts,
        deny_hosts: settings.deny_hosts,
        allow_urls: settings.allow_urls,
        deny_urls: settings.deny_urls,
        allow_suffixes: settings.allow_suffixes,
        deny_suffixes: settings.deny_suffixes,
        max_depth_dynamic: settings.max_depth_dynamic,
        max_url_bytes: settings.max_url_bytes,
        max_path_segments: settings.max_path_segments,
        max_repeated_segments: settings.max_repeated_segments,
        max_query_parameters: settings.max_query_parameters,
        strip_parameters: settings.strip_parameters,
    })
}

/// Those of the command line come first, so that they win.
fn host_settings(flags: &[String], defaults: &[HostOverride]) -> Result<Vec<HostSettings>> {
    let parse = |text: &String| {
        text.parse::<HostOverride>().map_err(|problem| Failure::usage(format!("--host-settings: {problem}")))
    };
    let named = flags.iter().map(parse).collect::<Result<Vec<_>>>()?;
    let ms = |span: std::time::Duration| u32::try_from(span.as_millis()).unwrap_or(u32::MAX);
    let settings = named.iter().chain(defaults).map(|host| HostSettings {
        pattern: host.pattern.clone(),
        delay_ms: host.delay.map(ms),
        connections: host.connections,
        requests_before_pause: host.requests_before_pause,
        pause_ms: host.pause.map(ms),
        response_factor: host.response_factor,
    });
    Ok(settings.collect())
}

fn refresh(flags: &CrawlFlags, defaults: &RefreshDefaults) -> Result<Refresh> {
    let flags = &flags.refresh;
    let span =
        |flag: &str, text: &String| parse_span(text).map_err(|problem| Failure::usage(format!("--{flag}: {problem}")));
    let every = flags.every.as_ref().map(|text| span("every", text)).transpose()?.or(defaults.every);
    if let Some(every) = every.filter(|every| every.as_secs() < 1) {
        return Err(Failure::usage(format!("--every: {} s is too short; use 1s or more", every.as_secs_f64())));
    }
    let gone_after = flags.gone_after.as_ref().map(|text| span("gone-after", text)).transpose()?;
    let policy = match &flags.refresh_policy {
        Some(text) => text.parse().map_err(|problem| Failure::usage(format!("--refresh-policy: {problem}")))?,
        None => defaults.policy,
    };
    let policy = match policy {
        RefreshPolicyName::Freshest => RefreshPolicy::Freshest,
        RefreshPolicyName::Uniform => RefreshPolicy::Uniform,
        RefreshPolicyName::Fixed => RefreshPolicy::Fixed,
        RefreshPolicyName::Classes => RefreshPolicy::Classes,
    };
    Ok(Refresh {
        policy: policy.into(),
        interval_ms: every.map_or(0, |every| every.as_millis() as u64),
        gone_after_ms: gone_after.unwrap_or(defaults.gone_after).as_millis() as u64,
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
    fn filters_travel_only_where_they_deny_something() {
        let open = settings(&["http://a.test/"]).unwrap();
        assert_eq!((open.enumeration, open.generation), (None, None));
        let valuable = settings(&["http://a.test/", "--keyword", "river", "--keep-only-valuable"]).unwrap();
        assert_eq!(valuable.generation.unwrap().min_value, valuable.value_threshold);
    }

    #[test]
    fn wrong_values_are_usage_errors() {
        for flags in [
            ["http://a.test/", "--delay", "-1"],
            ["http://a.test/", "--allow-net", "somewhere"],
            ["http://a.test/", "--resolve", "a.test:80"],
            ["http://a.test/", "--strategy", "bounded-breadth"],
            ["http://a.test/", "--deny-url", "re:("],
            ["http://a.test/", "--host-settings", "a.test delay=-1"],
            ["http://a.test/", "--every", "sometimes"],
            ["http://a.test/", "--refresh-policy", "best"],
            ["http://a.test/", "--generation", "articles"],
            ["http://a.test/", "--unusable-below", "2"],
        ] {
            assert_eq!(settings(&flags).unwrap_err().exit_code(), 2, "{flags:?}");
        }
        assert!(settings(&["a.test"]).is_err());
        assert!(settings(&["http://a.test/", "--keep-only-valuable"]).is_err());
    }
}
