//! Every setting of a crawl, once: its name, its field in the contract, how it is told to people, and what a change of it
//! asks of those who work for the crawl. Changes, `seine crawls show` and `SetCrawl` are made from this list.

use seine_proto::common::v1::Filter;
use seine_proto::monitor::v1::{Admission, Crawl, HostSettings, Refresh, SettingChange};

pub struct Setting {
    /// As in the settings file.
    pub name: &'static str,
    /// In the message `Crawl`.
    pub field: &'static str,
    effect: Effect,
    value: fn(&Crawl) -> Value,
    copy: fn(&Crawl, &mut Crawl),
}

/// How far a change reaches while hosts are leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Those who hold a host are told.
    Terms,
    /// Besides, what waits is judged again.
    Rules,
    /// Leases are taken back: what follows from the setting was settled when they began.
    Lease,
}

/// The value of a setting, for people and for JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not set, in words.
    Unset(&'static str),
    Flag(bool),
    Count(u64),
    Share(f32),
    /// Milliseconds.
    Span(u64),
    Text(String),
    List(Vec<String>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unset(words) => f.write_str(words),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(share) => write!(f, "{share}"),
            Self::Span(ms) if *ms > 0 && *ms < 1000 => write!(f, "{ms} ms"),
            Self::Span(ms) => write!(f, "{} s", *ms as f64 / 1000.0),
            Self::Text(text) => f.write_str(text),
            Self::List(items) if items.is_empty() => f.write_str("none"),
            Self::List(items) => f.write_str(&items.join(", ")),
        }
    }
}

impl Setting {
    pub fn by_field(field: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.field == field)
    }

    pub fn value(&self, crawl: &Crawl) -> Value {
        (self.value)(crawl)
    }

    /// Takes the setting from one crawl into another.
    pub fn copy(&self, from: &Crawl, to: &mut Crawl) {
        (self.copy)(from, to);
    }

    fn change(&self, before: &Crawl, now: &Crawl) -> SettingChange {
        let [before, now] = [before, now].map(|crawl| self.value(crawl).to_string());
        SettingChange { setting: self.name.to_owned(), before, now }
    }
}

/// Settings that differ between two crawls.
pub fn differing(before: &Crawl, now: &Crawl) -> Vec<&'static Setting> {
    SETTINGS.iter().filter(|setting| setting.value(before) != setting.value(now)).collect()
}

pub fn changes(before: &Crawl, now: &Crawl) -> Vec<SettingChange> {
    differing(before, now).into_iter().map(|setting| setting.change(before, now)).collect()
}

/// The furthest that any of these reaches, and whether what waits must be judged again; `None` when nothing has changed.
pub fn effect(changed: &[&Setting]) -> Option<(Effect, bool)> {
    let furthest = changed.iter().map(|setting| setting.effect).max()?;
    Some((furthest, changed.iter().any(|setting| setting.effect == Effect::Rules)))
}

macro_rules! setting {
    ($effect:ident, $name:literal, $field:ident, $value:expr) => {
        Setting {
            name: $name,
            field: stringify!($field),
            effect: Effect::$effect,
            value: $value,
            copy: |from, to| to.$field = from.$field.clone(),
        }
    };
    // Of a message within the crawl.
    ($effect:ident, $name:literal, $message:ident.$field:ident, $value:expr) => {
        Setting {
            name: $name,
            field: concat!(stringify!($message), ".", stringify!($field)),
            effect: Effect::$effect,
            value: |crawl| $value(&crawl.$message.clone().unwrap_or_default()),
            copy: |from, to| {
                let value = from.$message.clone().unwrap_or_default().$field;
                to.$message.get_or_insert_default().$field = value;
            },
        }
    };
}

/// In the order in which they are shown: how far, in which order, which URLs, how much, in which manner, what of it.
pub const SETTINGS: &[Setting] = &[
    setting!(Rules, "scope", scope, |c| word(c.scope().as_str_name(), "SCOPE_")),
    setting!(Terms, "strategy", strategy, |c| word(c.strategy().as_str_name(), "STRATEGY_")),
    setting!(Rules, "depth", max_depth, |c| limit(c.max_depth.map(u64::from))),
    setting!(Rules, "depth_dynamic", admission.max_depth_dynamic, |a: &Admission| {
        limit(a.max_depth_dynamic.map(u64::from))
    }),
    setting!(Rules, "allow_hosts", admission.allow_hosts, |a: &Admission| list(&a.allow_hosts)),
    setting!(Rules, "deny_hosts", admission.deny_hosts, |a: &Admission| list(&a.deny_hosts)),
    setting!(Rules, "allow_urls", admission.allow_urls, |a: &Admission| list(&a.allow_urls)),
    setting!(Rules, "deny_urls", admission.deny_urls, |a: &Admission| list(&a.deny_urls)),
    setting!(Rules, "allow_suffixes", admission.allow_suffixes, |a: &Admission| list(&a.allow_suffixes)),
    setting!(Rules, "deny_suffixes", admission.deny_suffixes, |a: &Admission| list(&a.deny_suffixes)),
    setting!(Terms, "strip_parameters", admission.strip_parameters, |a: &Admission| list(&a.strip_parameters)),
    setting!(Rules, "max_url_bytes", admission.max_url_bytes, |a: &Admission| trap(a.max_url_bytes())),
    setting!(Rules, "max_path_segments", admission.max_path_segments, |a: &Admission| trap(a.max_path_segments())),
    setting!(Rules, "max_repeated_segments", admission.max_repeated_segments, |a: &Admission| {
        trap(a.max_repeated_segments())
    }),
    setting!(Rules, "max_query_parameters", admission.max_query_parameters, |a: &Admission| {
        trap(a.max_query_parameters())
    }),
    setting!(Lease, "max_pages", max_pages, |c| limit(c.max_pages)),
    setting!(Lease, "max_bytes", max_bytes, |c| limit(c.max_bytes)),
    setting!(Lease, "max_pages_per_host", max_pages_per_host, |c| limit(c.max_pages_per_host)),
    setting!(Lease, "max_bytes_per_host", max_bytes_per_host, |c| limit(c.max_bytes_per_host)),
    setting!(Terms, "max_body_bytes", max_body_bytes, |c| Value::Count(c.max_body_bytes())),
    setting!(Terms, "delay", delay_ms, |c| Value::Span(c.delay_ms().into())),
    setting!(Lease, "requests_before_pause", requests_before_pause, |c| match c.requests_before_pause() {
        0 => Value::Unset("never"),
        requests => Value::Count(requests.into()),
    }),
    setting!(Lease, "pause", pause_ms, |c| Value::Span(c.pause_ms().into())),
    setting!(Lease, "pause_per", pause_per, |c| word(c.pause_per().as_str_name(), "PAUSE_PER_")),
    setting!(Terms, "response_factor", response_factor, |c| Value::Share(c.response_factor())),
    setting!(Terms, "connections_per_host", connections_per_host, |c| match c.connections_per_host {
        None => Value::Unset("1, or 8 when the delay is 0"),
        Some(connections) => Value::Count(connections.into()),
    }),
    setting!(Lease, "hosts_per_ip", hosts_per_ip, |c| match c.hosts_per_ip() {
        0 => Value::Unset("unlimited"),
        hosts => Value::Count(hosts.into()),
    }),
    setting!(Lease, "hosts", hosts, |c| Value::List(c.hosts.iter().map(host_in_words).collect())),
    setting!(Lease, "user_agent", user_agent, |c| Value::Text(c.user_agent().to_owned())),
    setting!(Lease, "robots", ignore_robots, |c| Value::Flag(!c.ignore_robots())),
    setting!(Rules, "sitemaps", ignore_sitemaps, |c| Value::Flag(!c.ignore_sitemaps())),
    setting!(Lease, "allow_net", allow_net, |c| list(&c.allow_net)),
    setting!(Lease, "resolve", resolve, |c| list(&c.resolve)),
    setting!(Terms, "attempts", max_attempts, |c| Value::Count(c.max_attempts().into())),
    setting!(Rules, "enumeration", enumeration, |c| filter(c.enumeration.as_ref())),
    setting!(Rules, "generation", generation, |c| filter(c.generation.as_ref())),
    setting!(Terms, "unusable_below", unusable_below, |c| Value::Share(c.unusable_below())),
    setting!(Terms, "keywords", keywords, |c| list(&c.keywords)),
    setting!(Terms, "value_threshold", value_threshold, |c| Value::Share(c.value_threshold())),
    setting!(Terms, "breadth_budget", breadth_budget, |c| Value::Count(c.breadth_budget().into())),
    setting!(Terms, "refresh_policy", refresh.policy, |r: &Refresh| word(r.policy().as_str_name(), "REFRESH_POLICY_")),
    setting!(Terms, "every", refresh.interval_ms, |r: &Refresh| match r.interval_ms() {
        0 => Value::Unset("only when asked"),
        ms => Value::Span(ms),
    }),
    setting!(Terms, "gone_after", refresh.gone_after_ms, |r: &Refresh| Value::Span(r.gone_after_ms())),
];

/// `SCOPE_HOST` as people write it: `host`.
fn word(name: &str, prefix: &str) -> Value {
    Value::Text(name.trim_start_matches(prefix).to_ascii_lowercase().replace('_', "-"))
}

fn limit(limit: Option<u64>) -> Value {
    limit.map_or(Value::Unset("unlimited"), Value::Count)
}

fn trap(limit: u32) -> Value {
    if limit == 0 { Value::Unset("unlimited") } else { Value::Count(limit.into()) }
}

fn list(items: &[String]) -> Value {
    Value::List(items.to_vec())
}

/// As it is written in the settings.
fn host_in_words(host: &HostSettings) -> String {
    let seconds = |ms: u32| f64::from(ms) / 1000.0;
    let parts = [
        host.delay_ms.map(|ms| format!("delay={}", seconds(ms))),
        host.connections.map(|connections| format!("connections={connections}")),
        host.requests_before_pause.map(|requests| format!("requests_before_pause={requests}")),
        host.pause_ms.map(|ms| format!("pause={}", seconds(ms))),
        host.response_factor.map(|factor| format!("response_factor={factor}")),
    ];
    std::iter::once(host.pattern.clone()).chain(parts.into_iter().flatten()).collect::<Vec<_>>().join(" ")
}

fn filter(filter: Option<&Filter>) -> Value {
    let Some(filter) = filter else { return Value::Unset("everything") };
    let mut parts = filter.rules.clone();
    if !filter.content_type.is_empty() {
        parts.push(format!("only {}", filter.content_type));
    }
    if filter.max_links > 0 {
        parts.push(format!("at most {} links of a page", filter.max_links));
    }
    if filter.min_value > 0.0 {
        parts.push(format!("only pages of value {} or more", filter.min_value));
    }
    parts.push(format!("otherwise {}", if filter.otherwise_deny { "deny" } else { "allow" }));
    Value::Text(format!("{}: {}", filter.name, parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use seine_proto::monitor::v1::Scope;

    use super::*;
    use crate::tests_support::crawl;

    /// Names of the fields of a message, from how it prints.
    fn fields(message: &impl std::fmt::Debug, prefix: &str) -> BTreeSet<String> {
        let printed = format!("{message:#?}");
        let field = |line: &str| {
            let rest = line.strip_prefix("    ").filter(|rest| !rest.starts_with([' ', ']', '}', ')']))?;
            Some(format!("{prefix}{}", rest.split_once(':')?.0))
        };
        printed.lines().filter_map(field).collect()
    }

    #[test]
    fn every_field_of_a_crawl_but_its_name_and_seeds_is_a_setting() {
        let mut expected = fields(&Crawl::default(), "");
        for not_a_setting in ["name", "seeds", "admission", "refresh"] {
            assert!(expected.remove(not_a_setting), "{not_a_setting}");
        }
        expected.extend(fields(&Admission::default(), "admission."));
        expected.extend(fields(&Refresh::default(), "refresh."));
        let known: BTreeSet<String> = SETTINGS.iter().map(|setting| setting.field.to_owned()).collect();
        assert_eq!(known, expected);
    }

    #[test]
    fn changed_settings_are_told_in_words_and_unchanged_ones_are_not() {
        let before = crawl("c", &["http://example.org/"]);
        let mut now = before.clone();
        now.set_scope(Scope::Domain);
        now.max_pages = Some(5);
        now.delay_ms = Some(50);
        now.admission = Some(Admission { deny_hosts: vec!["a.test".into(), "b.test".into()], ..Admission::default() });
        let told: Vec<_> = changes(&before, &now).into_iter().map(|c| (c.setting, c.before, c.now)).collect();
        let expected = [
            ("scope", "host", "domain"),
            ("deny_hosts", "none", "a.test, b.test"),
            ("max_pages", "unlimited", "5"),
            ("delay", "1 s", "50 ms"),
        ];
        assert_eq!(told, expected.map(|(name, before, now)| (name.to_owned(), before.to_owned(), now.to_owned())));
        assert_eq!(effect(&differing(&before, &now)), Some((Effect::Lease, true)));
        assert_eq!(effect(&differing(&before, &before.clone())), None);
    }

    #[test]
    fn a_setting_is_taken_over_alone() {
        let mut to = crawl("c", &["http://example.org/"]);
        let from = Crawl {
            delay_ms: Some(7),
            max_pages: Some(9),
            admission: Some(Admission { deny_hosts: vec!["x".into()], max_url_bytes: Some(3), ..Admission::default() }),
            ..Crawl::default()
        };
        let before = to.clone();
        for field in ["delay_ms", "admission.deny_hosts"] {
            Setting::by_field(field).unwrap().copy(&from, &mut to);
        }
        let changed: Vec<_> = differing(&before, &to).into_iter().map(|setting| setting.name).collect();
        assert_eq!(changed, ["deny_hosts", "delay"]);
        assert!(Setting::by_field("seeds").is_none());
    }
}
