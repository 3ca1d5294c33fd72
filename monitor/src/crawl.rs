//! Crawls as their owners asked for them.
//!
//! What is asked for is made complete with [`defaults`] and checked ([`validate`]); [`settings`] lists what can be set and tells
//! what changed; [`CheckedCrawl`] is a crawl ready for use, with its scope, rules and [`filters`] compiled.

use std::collections::HashSet;

use seine_common::admission::{Admission, AdmissionSettings, HostPattern};
use seine_common::filter::Filters;
use seine_common::host::HostKey;
use seine_common::scope::{ScopeKind, ScopeRules};
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Crawl, HostSettings, Refresh, Scope, Strategy};

use crate::MonitorError;
use crate::place::Order;
use crate::record::{CrawlRecord, FORGOTTEN, QueueEntry};

pub mod defaults;
pub mod validate;
pub mod settings;
pub mod filters;

use validate::wrong;

/// The longest delay that anything may ask for between two requests to a host.
pub const MAX_DELAY_MS: u32 = 300_000;

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
        let mut checked = Self::compile(record.settings.clone(), &record.joined)?;
        checked.forgotten_hosts = record.forgotten_hosts.iter().cloned().collect();
        Ok(checked)
    }

    /// `joined` are the places that seeds redirected to earlier.
    pub fn compile(settings: Crawl, joined: &[String]) -> Result<Self, MonitorError> {
        let parse = |text: &String| CanonicalUrl::parse(text).map_err(invalid);
        let seeds = settings.seeds.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let order = match settings.strategy() {
            Strategy::DepthFirst | Strategy::Unspecified => Order::DepthFirst,
            Strategy::BreadthFirst => Order::BreadthFirst,
            Strategy::BoundedBreadth => Order::BoundedBreadth,
        };
        let kind = match settings.scope() {
            Scope::Host | Scope::Unspecified => ScopeKind::Host,
            Scope::Domain => ScopeKind::Domain,
            Scope::Prefix => ScopeKind::Prefix,
            Scope::Any => ScopeKind::Any,
        };
        let mut scope = ScopeRules::new(kind, &seeds);
        for place in joined.iter().map(parse) {
            scope.join(&place?);
        }
        let admission = Admission::compile(&admission_settings(&settings)).map_err(invalid)?;
        let filters = filters::compile(&settings)?;
        let seeds: Vec<_> = seeds.into_iter().map(|seed| admission.strip(seed)).collect();
        let hosts = settings.hosts.iter().map(|host| HostPattern::parse(&host.pattern).map_err(invalid));
        let hosts = hosts.collect::<Result<_, _>>()?;
        let refresh = settings.refresh.unwrap_or_default();
        let forgotten_hosts = HashSet::new();
        Ok(Self { settings, seeds, scope, order, admission, filters, refresh, hosts, forgotten_hosts })
    }

    /// A crawl that begins at a URL which its own rules keep out would be over at once, and nobody means that.
    pub fn refuse_excluded_seeds(&self) -> Result<(), MonitorError> {
        for seed in &self.seeds {
            let exclusion = self.admission.check(seed, 0).err().map(|exclusion| exclusion.to_string());
            if let Some(exclusion) = exclusion.or_else(|| self.filters.excludes(seed, 0)) {
                return Err(wrong("seeds", format!("the crawl cannot start from {seed}: {exclusion} keeps it out")));
            }
        }
        Ok(())
    }

    /// What differs for this host.
    pub fn host_settings(&self, host: &HostKey) -> Option<&HostSettings> {
        let position = self.hosts.iter().position(|pattern| pattern.matches(host))?;
        self.settings.hosts.get(position)
    }

    /// The rule that keeps out what is known already, in words; `None` when it may stay.
    pub fn judge(&self, url: &CanonicalUrl, entry: &QueueEntry) -> Option<String> {
        if entry.sitemap_level > 0 { self.excludes_sitemap(url) } else { self.excludes(url, entry.depth) }
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

    /// The rule that keeps a sitemap out, in words. It is no page, so it only has to lie where pages may.
    pub fn excludes_sitemap(&self, url: &CanonicalUrl) -> Option<String> {
        if self.settings.ignore_sitemaps() || self.settings.ignore_robots() {
            return Some("no-sitemaps".to_owned());
        }
        if !self.scope.admits_site(url) {
            return Some("scope".to_owned());
        }
        self.excludes_host(&url.host())
    }

    /// The rule that keeps all of a host out, whatever its URLs, in words.
    pub fn excludes_host(&self, host: &HostKey) -> Option<String> {
        if self.forgotten_hosts.contains(host.as_str()) {
            return Some(FORGOTTEN.to_owned());
        }
        self.admission.check_host(host.as_str()).err().map(|exclusion| exclusion.to_string())
    }

    /// The rule that keeps the links of a page out, in words: nothing usable came twice in a row.
    pub fn unusable(&self, page: &QueueEntry, usability: f32) -> Option<String> {
        let below = self.settings.unusable_below();
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

pub fn admission_settings(settings: &Crawl) -> AdmissionSettings {
    let rules = settings.admission.clone().unwrap_or_default();
    let (url_bytes, segments) = (rules.max_url_bytes(), rules.max_path_segments());
    let (repeated, parameters) = (rules.max_repeated_segments(), rules.max_query_parameters());
    AdmissionSettings {
        allow_hosts: rules.allow_hosts,
        deny_hosts: rules.deny_hosts,
        allow_urls: rules.allow_urls,
        deny_urls: rules.deny_urls,
        allow_suffixes: rules.allow_suffixes,
        deny_suffixes: rules.deny_suffixes,
        max_depth: settings.max_depth,
        max_depth_dynamic: rules.max_depth_dynamic,
        max_url_bytes: url_bytes,
        max_path_segments: segments,
        max_repeated_segments: repeated,
        max_query_parameters: parameters,
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
    use crate::tests_support::crawl;

    #[test]
    fn a_second_unusable_page_in_a_row_gives_no_links() {
        let settings = Crawl { unusable_below: Some(0.2), ..crawl("c", &["http://example.org/"]) };
        let checked = CheckedCrawl::compile(settings, &[]).unwrap();
        let found_on = |expected_usability| QueueEntry { expected_usability, ..QueueEntry::default() };
        assert_eq!(checked.unusable(&found_on(0.0), 0.1).as_deref(), Some("unusable-below 0.2"));
        assert_eq!(checked.unusable(&found_on(0.2), 0.1), None);
        assert_eq!(checked.unusable(&found_on(0.0), 0.2), None);
        assert_eq!(checked.unusable(&QueueEntry { seed: true, ..found_on(0.0) }, 0.0), None);
        let off = CheckedCrawl::compile(crawl("c", &["http://example.org/"]), &[]).unwrap();
        assert_eq!(off.unusable(&found_on(0.0), 0.0), None);
    }

    #[test]
    fn a_url_is_kept_out_when_both_filters_deny_it_and_a_crawl_cannot_start_there() {
        let deny = || Some(Filter { name: "f".into(), rules: vec!["deny path = /x".into()], ..Filter::default() });
        let settings = Crawl { enumeration: deny(), generation: deny(), ..crawl("c", &["http://example.org/"]) };
        let url = CanonicalUrl::parse("http://example.org/x").unwrap();
        let excludes = |settings: &Crawl| CheckedCrawl::compile(settings.clone(), &[]).unwrap().excludes(&url, 1);
        assert_eq!(excludes(&settings).as_deref(), Some("filter f rule 1: deny path = /x"));
        assert_eq!(excludes(&Crawl { generation: None, ..settings.clone() }), None);
        let start = Crawl { seeds: vec!["http://example.org/x".into()], ..settings };
        let refusal = CheckedCrawl::compile(start, &[]).unwrap().refuse_excluded_seeds().unwrap_err().to_string();
        assert!(refusal.contains("rule 1"), "{refusal}");
    }
}
