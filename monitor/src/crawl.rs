//! Crawls as their owners asked for them: checking what came over the wire, and telling what changed since last time.

use std::collections::HashSet;

use seine_common::address::{AddressRules, FixedAddress};
use seine_common::admission::{Admission, AdmissionSettings, HostPattern};
use seine_common::filter::Filters;
use seine_common::host::HostKey;
use seine_common::limits::MAX_BODY_BYTES;
use seine_common::scope::{ScopeKind, ScopeRules};
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Crawl, HostSettings, Refresh, RefreshPolicy, Scope, Strategy};

use crate::MonitorError;
use crate::frontier::forget::FORGOTTEN;
use crate::frontier::place::Order;
use crate::frontier::record::{CrawlRecord, QueueEntry};

mod changes;
pub mod filters;

pub use changes::changes;

/// The longest delay that anything may ask for between two requests to a host.
pub const MAX_DELAY_MS: u32 = 300_000;
/// The longest general pause.
const MAX_PAUSE_MS: u32 = 24 * 60 * 60 * 1000;
/// More attempts help nobody.
const MAX_ATTEMPTS: u32 = 20;
/// Where the settings of a crawl say nothing.
const DEFAULT_ATTEMPTS: u32 = 3;
const DEFAULT_BREADTH_BUDGET: u32 = 1_000;
const DEFAULT_GONE_AFTER_MS: u64 = 24 * 60 * 60 * 1000;

/// A crawl that was checked: everything in it can be used as it is.
#[derive(Clone, Debug)]
pub struct CheckedCrawl {
    pub settings: Crawl,
    pub seeds: Vec<CanonicalUrl>,
    pub scope: ScopeRules,
    pub order: Order,
    pub admission: Admission,
    pub filters: Filters,
    pub refresh: Refresh,
    pub forgotten_hosts: HashSet<String>,
    /// Hosts that are treated differently, as the settings list them.
    hosts: Vec<HostPattern>,
}

impl CheckedCrawl {
    pub fn of_record(record: &CrawlRecord) -> Result<Self, MonitorError> {
        let mut checked = Self::check(record.settings.clone(), &record.joined)?;
        checked.forgotten_hosts = record.forgotten_hosts.iter().cloned().collect();
        Ok(checked)
    }

    /// `joined` are the places that seeds redirected to earlier.
    pub fn check(mut settings: Crawl, joined: &[String]) -> Result<Self, MonitorError> {
        if settings.name.trim().is_empty() || settings.name.len() > 200 {
            return Err(invalid(format!("{:?} cannot name a crawl; use 1 to 200 characters", settings.name)));
        }
        if settings.seeds.is_empty() {
            return Err(invalid("a crawl needs at least one URL to start from"));
        }
        let parse = |text: &String| CanonicalUrl::parse(text).map_err(invalid);
        let seeds = settings.seeds.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        settings.seeds = seeds.iter().map(|seed| seed.as_str().to_owned()).collect();
        fill_in(&mut settings);
        let order = match settings.strategy() {
            Strategy::DepthFirst => Order::DepthFirst,
            Strategy::BreadthFirst => Order::BreadthFirst,
            Strategy::BoundedBreadth if settings.keywords.is_empty() => {
                return Err(invalid("the strategy bounded-breadth needs keywords that make a page valuable"));
            }
            Strategy::BoundedBreadth => Order::BoundedBreadth,
            Strategy::Unspecified => return Err(invalid("the crawl names no strategy")),
        };
        let kind = match settings.scope() {
            Scope::Host => ScopeKind::Host,
            Scope::Domain => ScopeKind::Domain,
            Scope::Prefix => ScopeKind::Prefix,
            Scope::Any => ScopeKind::Any,
            Scope::Unspecified => return Err(invalid("the crawl names no scope")),
        };
        check_politeness(&settings)?;
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
        if settings.max_attempts > MAX_ATTEMPTS {
            return Err(invalid(format!("{} attempts; use 1 to {MAX_ATTEMPTS}", settings.max_attempts)));
        }
        AddressRules::parse(&settings.allow_net).map_err(invalid)?;
        for fixed in &settings.resolve {
            fixed.parse::<FixedAddress>().map_err(invalid)?;
        }
        let mut scope = ScopeRules::new(kind, &seeds);
        for place in joined.iter().map(parse) {
            scope.join(&place?);
        }
        let admission = Admission::compile(&admission_settings(&settings)).map_err(invalid)?;
        let filters = filters::compile(&settings)?;
        let seeds: Vec<_> = seeds.into_iter().map(|seed| admission.strip(seed)).collect();
        for seed in &seeds {
            let exclusion = admission.check(seed, 0).err().map(|exclusion| exclusion.to_string());
            if let Some(exclusion) = exclusion.or_else(|| filters.excludes(seed, 0)) {
                return Err(invalid(format!("the crawl cannot start from {seed}: {exclusion} keeps it out")));
            }
        }
        if !(0.0..=1.0).contains(&settings.value_threshold) {
            return Err(invalid(format!("a value threshold of {}; use 0 to 1", settings.value_threshold)));
        }
        if !(0.0..=1.0).contains(&settings.unusable_below) {
            return Err(invalid(format!("pages unusable below {}; use 0 to 1", settings.unusable_below)));
        }
        let hosts = settings.hosts.iter().map(|host| HostPattern::parse(&host.pattern).map_err(invalid));
        let hosts = hosts.collect::<Result<_, _>>()?;
        let refresh = settings.refresh.unwrap_or_default();
        let forgotten_hosts = HashSet::new();
        Ok(Self { settings, seeds, scope, order, admission, filters, refresh, hosts, forgotten_hosts })
    }

    /// What differs for this host.
    pub fn host_settings(&self, host: &HostKey) -> Option<&HostSettings> {
        let position = self.hosts.iter().position(|pattern| pattern.matches(host))?;
        self.settings.hosts.get(position)
    }

    /// The rule that keeps a URL out, in words; `None` when it may come in.
    pub fn excludes(&self, url: &CanonicalUrl, depth: u32) -> Option<String> {
        if !self.scope.admits(url) {
            return Some("scope".to_owned());
        }
        if self.is_forgotten(url) {
            return Some(FORGOTTEN.to_owned());
        }
        let exclusion = self.admission.check(url, depth).err().map(|exclusion| exclusion.to_string());
        exclusion.or_else(|| self.filters.excludes(url, depth))
    }

    /// The rule that keeps the links of a page out, in words: nothing usable came twice in a row.
    pub fn unusable(&self, page: &QueueEntry, usability: f32) -> Option<String> {
        let below = self.settings.unusable_below;
        // A seed was found on no page, so nothing is known against it.
        let is_second = below > 0.0 && usability < below && !page.seed && page.expected_usability < below;
        is_second.then(|| format!("unusable-below {below}"))
    }

    pub fn is_forgotten(&self, url: &CanonicalUrl) -> bool {
        !self.forgotten_hosts.is_empty() && self.forgotten_hosts.contains(url.host().as_str())
    }

    /// The rule that lets a URL in, in words.
    pub fn admitted_by(&self, url: &CanonicalUrl) -> String {
        match self.admission.explain(url, 0) {
            Ok(admitted) => format!("in scope; {admitted}"),
            Err(exclusion) => exclusion.to_string(),
        }
    }
}

/// What the wire left out.
fn fill_in(settings: &mut Crawl) {
    if settings.max_attempts == 0 {
        settings.max_attempts = DEFAULT_ATTEMPTS;
    }
    if settings.breadth_budget == 0 {
        settings.breadth_budget = DEFAULT_BREADTH_BUDGET;
    }
    let refresh =
        settings.refresh.get_or_insert(Refresh { gone_after_ms: DEFAULT_GONE_AFTER_MS, ..Refresh::default() });
    if refresh.policy() == RefreshPolicy::Unspecified {
        refresh.set_policy(RefreshPolicy::Freshest);
    }
}

fn check_politeness(settings: &Crawl) -> Result<(), MonitorError> {
    let delay =
        |ms: u32| (ms > MAX_DELAY_MS).then(|| invalid(format!("a delay of {ms} ms is longer than {MAX_DELAY_MS} ms")));
    let connections = |count: u32| {
        (!(1..=64).contains(&count)).then(|| invalid(format!("{count} connections per host; use 1 to 64")))
    };
    let pause =
        |ms: u32| (ms > MAX_PAUSE_MS).then(|| invalid(format!("a general pause of {ms} ms is longer than a day")));
    let factor = |factor: f32| {
        (!(0.0..=100.0).contains(&factor)).then(|| invalid(format!("a response factor of {factor}; use 0 to 100")))
    };
    let mut problems = vec![
        delay(settings.delay_ms),
        connections(settings.connections_per_host),
        pause(settings.pause_ms),
        factor(settings.response_factor),
    ];
    for host in &settings.hosts {
        problems.push(host.delay_ms.and_then(delay));
        problems.push(host.connections.and_then(connections));
        problems.push(host.pause_ms.and_then(pause));
        problems.push(host.response_factor.and_then(factor));
    }
    problems.into_iter().flatten().next().map_or(Ok(()), Err)
}

fn admission_settings(settings: &Crawl) -> AdmissionSettings {
    let rules = settings.admission.clone().unwrap_or_default();
    AdmissionSettings {
        allow_hosts: rules.allow_hosts,
        deny_hosts: rules.deny_hosts,
        allow_urls: rules.allow_urls,
        deny_urls: rules.deny_urls,
        allow_suffixes: rules.allow_suffixes,
        deny_suffixes: rules.deny_suffixes,
        max_depth: settings.max_depth,
        max_depth_dynamic: rules.max_depth_dynamic,
        max_url_bytes: rules.max_url_bytes,
        max_path_segments: rules.max_path_segments,
        max_repeated_segments: rules.max_repeated_segments,
        max_query_parameters: rules.max_query_parameters,
        strip_parameters: rules.strip_parameters,
    }
}

fn invalid(problem: impl std::fmt::Display) -> MonitorError {
    MonitorError::Invalid(problem.to_string())
}

#[cfg(test)]
mod tests {
    use seine_proto::common::v1::Filter;

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
    fn a_second_unusable_page_in_a_row_gives_no_links() {
        let settings = Crawl { unusable_below: 0.2, ..crawl("c", &["http://example.org/"]) };
        let checked = CheckedCrawl::check(settings, &[]).unwrap();
        let found_on = |expected_usability| QueueEntry { expected_usability, ..QueueEntry::default() };
        assert_eq!(checked.unusable(&found_on(0.0), 0.1).as_deref(), Some("unusable-below 0.2"));
        assert_eq!(checked.unusable(&found_on(0.2), 0.1), None);
        assert_eq!(checked.unusable(&found_on(0.0), 0.2), None);
        assert_eq!(checked.unusable(&QueueEntry { seed: true, ..found_on(0.0) }, 0.0), None);
        let off = CheckedCrawl::check(crawl("c", &["http://example.org/"]), &[]).unwrap();
        assert_eq!(off.unusable(&found_on(0.0), 0.0), None);
    }

    #[test]
    fn a_url_is_kept_out_when_both_filters_deny_it_and_a_crawl_cannot_start_there() {
        let deny = || Some(Filter { name: "f".into(), rules: vec!["deny path = /x".into()], ..Filter::default() });
        let settings = Crawl { enumeration: deny(), generation: deny(), ..crawl("c", &["http://example.org/"]) };
        let url = CanonicalUrl::parse("http://example.org/x").unwrap();
        let excludes = |settings: &Crawl| CheckedCrawl::check(settings.clone(), &[]).unwrap().excludes(&url, 1);
        assert_eq!(excludes(&settings).as_deref(), Some("filter f rule 1: deny path = /x"));
        assert_eq!(excludes(&Crawl { generation: None, ..settings.clone() }), None);
        let start = Crawl { seeds: vec!["http://example.org/x".into()], ..settings.clone() };
        assert!(CheckedCrawl::check(start, &[]).unwrap_err().to_string().contains("rule 1"));
        let wrong = Some(Filter { name: "f".into(), rules: vec!["deny colour = red".into()], ..Filter::default() });
        let refusal = CheckedCrawl::check(Crawl { enumeration: wrong, ..settings }, &[]).unwrap_err().to_string();
        assert!(refusal.contains("colour"), "{refusal}");
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
