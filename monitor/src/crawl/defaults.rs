//! What a crawl is where nobody says otherwise: the settings, as the command line and the service both start from them.

use seine_common::config::{Config, ConfigError, HostOverride, PausePerName, RefreshPolicyName, StrategyName};
use seine_common::filter::FilterSettings;
use seine_common::scope::ScopeKind;
use seine_proto::common::v1::Filter;
use seine_proto::monitor::v1::{Admission, Crawl, HostSettings, PausePer, Refresh, RefreshPolicy, Scope, Strategy};

/// Where records of earlier versions say nothing.
const EARLIER_ATTEMPTS: u32 = 3;
const EARLIER_BREADTH_BUDGET: u32 = 1_000;
const EARLIER_GONE_AFTER_MS: u64 = 24 * 60 * 60 * 1000;

/// A crawl without name and seeds.
pub fn defaults(config: &Config) -> Result<Crawl, ConfigError> {
    let defaults = &config.crawl;
    let rules = defaults.admission.clone();
    let refresh = &defaults.refresh;
    let mut generation = config.filters.get("generation", &defaults.generation)?.clone();
    if defaults.keep_only_valuable {
        generation.min_value = defaults.value_threshold;
    }
    Ok(Crawl {
        name: String::new(),
        seeds: Vec::new(),
        scope: scope(defaults.scope).into(),
        strategy: strategy(defaults.strategy).into(),
        max_depth: defaults.depth,
        max_pages: defaults.max_pages,
        delay_ms: Some(defaults.delay.as_millis() as u32),
        connections_per_host: defaults.connections_per_host,
        hosts_per_ip: Some(defaults.hosts_per_ip),
        user_agent: Some(defaults.user_agent.clone()),
        allow_net: defaults.allow_net.clone(),
        resolve: Vec::new(),
        ignore_robots: Some(!defaults.robots),
        max_body_bytes: Some(defaults.max_body_bytes),
        admission: Some(Admission {
            allow_hosts: rules.allow_hosts,
            deny_hosts: rules.deny_hosts,
            allow_urls: rules.allow_urls,
            deny_urls: rules.deny_urls,
            allow_suffixes: rules.allow_suffixes,
            deny_suffixes: rules.deny_suffixes,
            max_depth_dynamic: rules.max_depth_dynamic,
            max_url_bytes: Some(rules.max_url_bytes),
            max_path_segments: Some(rules.max_path_segments),
            max_repeated_segments: Some(rules.max_repeated_segments),
            max_query_parameters: Some(rules.max_query_parameters),
            strip_parameters: rules.strip_parameters,
        }),
        requests_before_pause: Some(defaults.requests_before_pause),
        pause_ms: Some(milliseconds(defaults.pause)),
        pause_per: pause_per(defaults.pause_per).into(),
        response_factor: Some(defaults.response_factor),
        hosts: defaults.hosts.iter().map(host_settings).collect(),
        max_bytes: defaults.max_bytes,
        max_pages_per_host: defaults.max_pages_per_host,
        max_bytes_per_host: defaults.max_bytes_per_host,
        max_attempts: Some(defaults.attempts),
        keywords: defaults.keywords.clone(),
        value_threshold: Some(defaults.value_threshold),
        breadth_budget: Some(defaults.breadth_budget),
        refresh: Some(Refresh {
            policy: policy(refresh.policy).into(),
            interval_ms: Some(refresh.every.map_or(0, |every| every.as_millis() as u64)),
            gone_after_ms: Some(refresh.gone_after.as_millis() as u64),
        }),
        ignore_sitemaps: Some(!defaults.sitemaps),
        enumeration: filter(config.filters.get("enumeration", &defaults.enumeration)?.clone()),
        generation: filter(generation),
        unusable_below: Some(defaults.unusable_below),
    })
}

/// Gives what is not set the value of the defaults. Limits, lists and filters that are not there are none.
pub fn fill_in(crawl: &mut Crawl, defaults: &Crawl) {
    macro_rules! fill {
        ($to:expr, $from:expr, $($field:ident),+) => { $($to.$field = $to.$field.take().or_else(|| $from.$field.clone());)+ };
    }
    if crawl.scope == Scope::Unspecified as i32 {
        crawl.scope = defaults.scope;
    }
    if crawl.strategy == Strategy::Unspecified as i32 {
        crawl.strategy = defaults.strategy;
    }
    if crawl.pause_per == PausePer::Unspecified as i32 {
        crawl.pause_per = defaults.pause_per;
    }
    fill!(crawl, defaults, delay_ms, connections_per_host, hosts_per_ip, user_agent, ignore_robots, max_body_bytes);
    fill!(crawl, defaults, requests_before_pause, pause_ms, response_factor, max_attempts, value_threshold);
    fill!(crawl, defaults, breadth_budget, ignore_sitemaps, unusable_below, admission, refresh);
    if let (Some(rules), Some(defaults)) = (&mut crawl.admission, &defaults.admission) {
        fill!(rules, defaults, max_url_bytes, max_path_segments, max_repeated_segments, max_query_parameters);
    }
    if let (Some(refresh), Some(defaults)) = (&mut crawl.refresh, &defaults.refresh) {
        fill!(refresh, defaults, interval_ms, gone_after_ms);
        if refresh.policy == RefreshPolicy::Unspecified as i32 {
            refresh.policy = defaults.policy;
        }
    }
}

/// What an earlier version stored: there, what is not set was 0 and not a default.
pub fn as_stored_earlier(crawl: &mut Crawl) {
    let attempts = Some(crawl.max_attempts()).filter(|attempts| *attempts > 0).unwrap_or(EARLIER_ATTEMPTS);
    let budget = Some(crawl.breadth_budget()).filter(|budget| *budget > 0).unwrap_or(EARLIER_BREADTH_BUDGET);
    let nothing = Crawl {
        delay_ms: Some(0),
        hosts_per_ip: Some(0),
        user_agent: Some(String::new()),
        ignore_robots: Some(false),
        max_body_bytes: Some(0),
        requests_before_pause: Some(0),
        pause_ms: Some(0),
        pause_per: PausePer::Address.into(),
        response_factor: Some(0.0),
        value_threshold: Some(0.0),
        ignore_sitemaps: Some(false),
        unusable_below: Some(0.0),
        admission: Some(Admission {
            max_url_bytes: Some(0),
            max_path_segments: Some(0),
            max_repeated_segments: Some(0),
            max_query_parameters: Some(0),
            ..Admission::default()
        }),
        ..Crawl::default()
    };
    let gone_after_ms = if crawl.refresh.is_some() { 0 } else { EARLIER_GONE_AFTER_MS };
    let refresh =
        Refresh { policy: RefreshPolicy::Freshest.into(), interval_ms: Some(0), gone_after_ms: Some(gone_after_ms) };
    fill_in(crawl, &Crawl { refresh: Some(refresh), ..nothing });
    (crawl.max_attempts, crawl.breadth_budget) = (Some(attempts), Some(budget));
}

fn pause_per(name: PausePerName) -> PausePer {
    match name {
        PausePerName::Host => PausePer::Host,
        PausePerName::Address => PausePer::Address,
    }
}

pub fn host_settings(host: &HostOverride) -> HostSettings {
    HostSettings {
        pattern: host.pattern.clone(),
        delay_ms: host.delay.map(milliseconds),
        connections: host.connections,
        requests_before_pause: host.requests_before_pause,
        pause_ms: host.pause.map(milliseconds),
        response_factor: host.response_factor,
    }
}

/// A filter that allows everything need not travel.
pub fn filter(filter: FilterSettings) -> Option<Filter> {
    let FilterSettings { name, rules, otherwise_deny, max_links, content_type, min_value } = filter;
    let message = Filter { name, rules, otherwise_deny, max_links, content_type, min_value };
    let open = Filter { name: message.name.clone(), ..Filter::default() };
    Some(message).filter(|message| *message != open)
}

pub fn scope(scope: ScopeKind) -> Scope {
    match scope {
        ScopeKind::Host => Scope::Host,
        ScopeKind::Domain => Scope::Domain,
        ScopeKind::Prefix => Scope::Prefix,
        ScopeKind::Any => Scope::Any,
    }
}

pub fn strategy(strategy: StrategyName) -> Strategy {
    match strategy {
        StrategyName::DepthFirst => Strategy::DepthFirst,
        StrategyName::BreadthFirst => Strategy::BreadthFirst,
        StrategyName::BoundedBreadth => Strategy::BoundedBreadth,
    }
}

pub fn policy(policy: RefreshPolicyName) -> RefreshPolicy {
    match policy {
        RefreshPolicyName::Freshest => RefreshPolicy::Freshest,
        RefreshPolicyName::Uniform => RefreshPolicy::Uniform,
        RefreshPolicyName::Fixed => RefreshPolicy::Fixed,
        RefreshPolicyName::Classes => RefreshPolicy::Classes,
    }
}

fn milliseconds(span: std::time::Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in() -> Crawl {
        defaults(&Config::from_layers(None, []).unwrap()).unwrap()
    }

    #[test]
    fn an_almost_empty_crawl_is_as_polite_as_the_command_line() {
        let mut crawl = Crawl { seeds: vec!["http://a.test/".into()], ..Crawl::default() };
        fill_in(&mut crawl, &built_in());
        assert_eq!((crawl.delay_ms, crawl.hosts_per_ip, crawl.ignore_robots), (Some(1_000), Some(2), Some(false)));
        assert_eq!(crawl.admission.unwrap().max_url_bytes, Some(2048));
        assert_eq!(crawl.connections_per_host, None, "it follows the delay");
    }

    #[test]
    fn what_is_set_stays_also_where_it_is_nothing() {
        let admission = Admission { max_url_bytes: Some(0), ..Admission::default() };
        let mut crawl = Crawl { delay_ms: Some(0), admission: Some(admission), ..Crawl::default() };
        fill_in(&mut crawl, &built_in());
        let rules = crawl.admission.clone().unwrap();
        assert_eq!((crawl.delay_ms, rules.max_url_bytes, rules.max_path_segments), (Some(0), Some(0), Some(24)));
    }

    #[test]
    fn what_an_earlier_version_stored_keeps_its_meaning() {
        let mut crawl = Crawl { refresh: Some(Refresh::default()), ..Crawl::default() };
        as_stored_earlier(&mut crawl);
        assert_eq!((crawl.delay_ms, crawl.hosts_per_ip, crawl.max_attempts), (Some(0), Some(0), Some(3)));
        assert_eq!(crawl.refresh.unwrap().gone_after_ms, Some(0), "it said so");
    }
}
