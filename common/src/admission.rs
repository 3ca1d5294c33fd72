//! Which URLs a crawl takes in, besides its scope: lists of hosts, URLs and suffixes, depths, and limits against traps.
//!
//! Responsible for: compiling the settings of a crawl once, removing parameters that do not change a page (`strip`),
//! and saying of each URL whether a rule excludes it and which (`check`). Pure, and run for every link found: nothing
//! is allocated for a URL that is admitted unchanged. Not responsible for: `scope`, robots.txt, or what was seen.
//!
//! A pattern is a glob, in which `*` stands for any characters, `/` and none included, and is the only wildcard (`?` is
//! common in URLs and stands for itself). A glob matches the whole text. With `re:` in front it is a regular expression
//! and matches anywhere unless anchored by `^` and `$`.
//!
//! - *hosts* are matched as [`crate::host::HostKey`] writes them, in any case: `example.org` is that host alone,
//!   `*.example.org` its subdomains and not itself, `example.org:8080` the host on that port.
//! - *URLs* are matched in canonical form as a whole, case mattering: `*/calendar/*`, `https://example.org/private*`.
//! - *suffixes* end the file name of the path: `pdf`, `.pdf`, `tar.gz`. A path without one is never excluded by them.
//!
//! Invariant: deny wins over allow. A list of `allow` patterns that is not empty excludes what none of them matches.

mod pattern;
mod host_list;
mod host_pattern;
mod shape;
mod strip;
mod verdict;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use self::host_list::HostList;
pub use self::host_pattern::HostPattern;
pub(crate) use self::pattern::as_canonical;
use self::pattern::{PatternSet, Subject};
use self::strip::Stripper;
pub use self::verdict::{AdmissionError, Admitted, Exclusion, RuleName, WrongPattern};
use crate::address::port;
use crate::host::HostKey;
use crate::url::CanonicalUrl;

/// Parameters that carry a session or an advertiser's mark and, on nearly every site, do not change the page.
pub const DEFAULT_STRIP_PARAMETERS: [&str; 12] = [
    "utm_*",
    "gclid",
    "dclid",
    "fbclid",
    "msclkid",
    "yclid",
    "mc_cid",
    "mc_eid",
    "PHPSESSID",
    "ASPSESSIONID*",
    "jsessionid",
    ";jsessionid",
];

/// What a crawl's settings say, as written. See the module for the form of patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionSettings {
    pub allow_hosts: Vec<String>,
    pub deny_hosts: Vec<String>,
    pub allow_urls: Vec<String>,
    pub deny_urls: Vec<String>,
    pub allow_suffixes: Vec<String>,
    pub deny_suffixes: Vec<String>,
    pub max_depth: Option<u32>,
    /// For pages that are made on request: with a query, or with a suffix such as `php`. They obey `max_depth` too.
    pub max_depth_dynamic: Option<u32>,
    /// 0 is no limit, here and below.
    pub max_url_bytes: u32,
    pub max_path_segments: u32,
    /// How often one path segment may occur. Cycles are covered: `/a/b/a/b/a/b` has each segment three times.
    pub max_repeated_segments: u32,
    pub max_query_parameters: u32,
    /// Names of query parameters to remove, in any case; with `;` in front, of path parameters (`;jsessionid`).
    pub strip_parameters: Vec<String>,
}

impl AdmissionSettings {
    /// No rule at all: every URL is admitted as it is.
    pub fn unlimited() -> Self {
        Self {
            allow_hosts: Vec::new(),
            deny_hosts: Vec::new(),
            allow_urls: Vec::new(),
            deny_urls: Vec::new(),
            allow_suffixes: Vec::new(),
            deny_suffixes: Vec::new(),
            max_depth: None,
            max_depth_dynamic: None,
            max_url_bytes: 0,
            max_path_segments: 0,
            max_repeated_segments: 0,
            max_query_parameters: 0,
            strip_parameters: Vec::new(),
        }
    }
}

impl Default for AdmissionSettings {
    /// Limits that real pages stay under and traps grow past. A title of 255 bytes is 765 bytes when percent-encoded,
    /// deep documentation trees have some 18 segments, numbered directories repeat `00` three times, and the largest
    /// search forms that are linked to have about a dozen fields.
    fn default() -> Self {
        Self {
            max_url_bytes: 2048,
            max_path_segments: 24,
            max_repeated_segments: 4,
            max_query_parameters: 16,
            strip_parameters: DEFAULT_STRIP_PARAMETERS.map(str::to_owned).to_vec(),
            ..Self::unlimited()
        }
    }
}

/// [`AdmissionSettings`] ready for use.
#[derive(Clone, Debug)]
pub struct Admission {
    stripper: Stripper,
    allow_hosts: HostList,
    deny_hosts: HostList,
    allow_urls: PatternSet,
    deny_urls: PatternSet,
    allow_suffixes: SuffixList,
    deny_suffixes: SuffixList,
    max_depth: Option<Limit>,
    max_depth_dynamic: Option<Limit>,
    max_url_bytes: Option<Limit>,
    max_path_segments: Option<Limit>,
    max_repeated_segments: Option<Limit>,
    max_query_parameters: Option<Limit>,
}

/// Suffixes in lower case without the dot, with the text they were written as.
type SuffixList = HashMap<String, Arc<str>>;

impl Admission {
    /// Fails with one sentence for each pattern that is wrong.
    pub fn compile(settings: &AdmissionSettings) -> Result<Self, AdmissionError> {
        let mut wrong = Vec::new();
        let urls = |rule, texts: &[String], wrong: &mut _| PatternSet::compile(rule, Subject::Url, texts, wrong);
        let trap = |rule, limit: u32| (limit > 0).then(|| Limit::new(rule, limit));
        let admission = Self {
            stripper: Stripper::compile(&settings.strip_parameters, &mut wrong),
            allow_hosts: HostList::compile(RuleName::AllowHosts, &settings.allow_hosts, &mut wrong),
            deny_hosts: HostList::compile(RuleName::DenyHosts, &settings.deny_hosts, &mut wrong),
            allow_urls: urls(RuleName::AllowUrls, &settings.allow_urls, &mut wrong),
            deny_urls: urls(RuleName::DenyUrls, &settings.deny_urls, &mut wrong),
            allow_suffixes: suffix_list(RuleName::AllowSuffixes, &settings.allow_suffixes, &mut wrong),
            deny_suffixes: suffix_list(RuleName::DenySuffixes, &settings.deny_suffixes, &mut wrong),
            max_depth: settings.max_depth.map(|limit| Limit::new(RuleName::MaxDepth, limit)),
            max_depth_dynamic: settings.max_depth_dynamic.map(|limit| Limit::new(RuleName::MaxDepthDynamic, limit)),
            max_url_bytes: trap(RuleName::MaxUrlBytes, settings.max_url_bytes),
            max_path_segments: trap(RuleName::MaxPathSegments, settings.max_path_segments),
            max_repeated_segments: trap(RuleName::MaxRepeatedSegments, settings.max_repeated_segments),
            max_query_parameters: trap(RuleName::MaxQueryParameters, settings.max_query_parameters),
        };
        if wrong.is_empty() { Ok(admission) } else { Err(AdmissionError { wrong }) }
    }

    /// The URL without the parameters to remove. To be done before `check` and before the URL is looked up anywhere.
    pub fn strip(&self, url: CanonicalUrl) -> CanonicalUrl {
        self.stripper.strip(url)
    }

    /// Whether the crawl takes the URL in at this depth, and if not, by which rule.
    pub fn check(&self, url: &CanonicalUrl, depth: u32) -> Result<(), Exclusion> {
        self.check_limits(url, depth)?;
        self.check_host(HostKey::text_of(url.as_url()))?;
        if let Some(pattern) = self.deny_urls.find(url.as_str()) {
            return Err(Exclusion::by_pattern(RuleName::DenyUrls, pattern));
        }
        if !self.allow_urls.is_empty() && !self.allow_urls.matches(url.as_str()) {
            return Err(Exclusion::by_no_pattern(RuleName::AllowUrls));
        }
        self.check_suffix(url)
    }

    /// Whether anything of a host may be taken in, by the lists of hosts alone.
    pub fn check_host(&self, host: &str) -> Result<(), Exclusion> {
        if self.deny_hosts.is_empty() && self.allow_hosts.is_empty() {
            return Ok(());
        }
        if let Some(pattern) = self.deny_hosts.find(host) {
            return Err(Exclusion::by_pattern(RuleName::DenyHosts, pattern));
        }
        if !self.allow_hosts.is_empty() && self.allow_hosts.find(host).is_none() {
            return Err(Exclusion::by_no_pattern(RuleName::AllowHosts));
        }
        Ok(())
    }

    /// Like [`Admission::check`], and tells which patterns admitted the URL.
    pub fn explain(&self, url: &CanonicalUrl, depth: u32) -> Result<Admitted, Exclusion> {
        self.check(url, depth)?;
        let by_host = self.allow_hosts.find(HostKey::text_of(url.as_url()));
        let by_url = self.allow_urls.find(url.as_str());
        let by_suffix = shape::suffixes(url.as_url().path()).find_map(|suffix| self.allow_suffixes.get(&suffix));
        let found =
            [(RuleName::AllowHosts, by_host), (RuleName::AllowUrls, by_url), (RuleName::AllowSuffixes, by_suffix)];
        let by = found.into_iter().filter_map(|(rule, pattern)| Some((rule, pattern?.clone()))).collect();
        Ok(Admitted { by })
    }

    fn check_limits(&self, url: &CanonicalUrl, depth: u32) -> Result<(), Exclusion> {
        let parts = url.as_url();
        if let Some(port) = parts.port().filter(|port| port::is_refused(*port)) {
            return Err(Exclusion::by_pattern(RuleName::RefusedPort, &port.to_string().into()));
        }
        within(&self.max_depth, || depth)?;
        within(&self.max_depth_dynamic, || if shape::is_dynamic(parts) { depth } else { 0 })?;
        within(&self.max_url_bytes, || url.as_str().len() as u32)?;
        within(&self.max_path_segments, || shape::segment_count(parts.path()))?;
        within(&self.max_query_parameters, || parts.query().map_or(0, shape::parameter_count))?;
        match &self.max_repeated_segments {
            Some(limit) if shape::repeats_a_segment(parts.path(), limit.most) => Err(limit.exclusion()),
            _ => Ok(()),
        }
    }

    fn check_suffix(&self, url: &CanonicalUrl) -> Result<(), Exclusion> {
        if self.deny_suffixes.is_empty() && self.allow_suffixes.is_empty() {
            return Ok(());
        }
        let (mut has_suffix, mut allowed) = (false, self.allow_suffixes.is_empty());
        for suffix in shape::suffixes(url.as_url().path()) {
            if let Some(pattern) = self.deny_suffixes.get(&suffix) {
                return Err(Exclusion::by_pattern(RuleName::DenySuffixes, pattern));
            }
            has_suffix = true;
            allowed |= self.allow_suffixes.contains_key(&suffix);
        }
        if has_suffix && !allowed { Err(Exclusion::by_no_pattern(RuleName::AllowSuffixes)) } else { Ok(()) }
    }
}

/// A number that a URL may not exceed, with its text ready for exclusions.
#[derive(Clone, Debug)]
struct Limit {
    rule: RuleName,
    most: u32,
    text: Arc<str>,
}

impl Limit {
    fn new(rule: RuleName, most: u32) -> Self {
        Self { rule, most, text: most.to_string().into() }
    }

    fn exclusion(&self) -> Exclusion {
        Exclusion::by_pattern(self.rule, &self.text)
    }
}

fn within(limit: &Option<Limit>, value: impl FnOnce() -> u32) -> Result<(), Exclusion> {
    match limit {
        Some(limit) if value() > limit.most => Err(limit.exclusion()),
        _ => Ok(()),
    }
}

fn suffix_list(rule: RuleName, texts: &[String], wrong: &mut Vec<WrongPattern>) -> SuffixList {
    let mut list = SuffixList::new();
    for text in texts {
        let suffix = text.trim().trim_start_matches('.').to_ascii_lowercase();
        if shape::is_suffix(&suffix) {
            list.insert(suffix, text.as_str().into());
        } else {
            wrong.push(WrongPattern::NotASuffix { rule, value: text.clone() });
        }
    }
    list
}
