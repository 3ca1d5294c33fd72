//! From flags and settings to the crawl that the Monitor is asked for, and to what changes of one that it has.

use seine_common::address::{AddressRules, FixedAddress};
use seine_common::config::{Config, HostOverride, parse_delay, parse_span, with_contact};
use seine_common::filter::GENERATION_DEFAULT;
use seine_common::url::CanonicalUrl;
use seine_monitor::crawl::validate::name_for;
use seine_monitor::crawl::{admission_settings, defaults, settings};
use seine_proto::common::v1::Filter;
use seine_proto::monitor::v1::{Admission, Crawl, PausePer, Refresh, Scope, Strategy};

use crate::args::crawl::{LimitFlags, MannerFlags, RefreshFlags};
use crate::args::{CrawlFlags, Limit, PausePerFlag, ScopeFlag, SettingFlags, StrategyFlag};
use crate::failure::{Failure, Result};

/// What the flags of a list do to what is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// They come on top of those in the settings.
    Join,
    /// They are the list from now on.
    Replace,
}

/// The crawl that a command line asks for: what the flags say, and the settings where they say nothing.
pub fn crawl(flags: &CrawlFlags, config: &Config) -> Result<Crawl> {
    let mut crawl = defaults::defaults(config).map_err(Failure::usage)?;
    let parse = |text: &String| CanonicalUrl::parse(text).map_err(Failure::usage);
    let seeds = flags.urls.iter().map(parse).collect::<Result<Vec<_>>>()?;
    crawl.seeds = seeds.iter().map(|seed| seed.as_str().to_owned()).collect();
    apply(&flags.settings, &mut crawl, config, Lists::Join)?;
    crawl.name = flags.name.clone().unwrap_or_else(|| name_for(&seeds, crawl.scope()));
    Ok(crawl)
}

/// A crawl as it will be, and the fields that the flags change.
pub fn changed(current: &Crawl, flags: &SettingFlags, config: &Config) -> Result<(Crawl, Vec<String>)> {
    let mut crawl = current.clone();
    apply(flags, &mut crawl, config, Lists::Replace)?;
    let fields = settings::differing(current, &crawl).into_iter().map(|setting| setting.field.to_owned()).collect();
    Ok((crawl, fields))
}

fn apply(flags: &SettingFlags, crawl: &mut Crawl, config: &Config, lists: Lists) -> Result<()> {
    if let Some(scope) = flags.scope {
        crawl.set_scope(match scope {
            ScopeFlag::Host => Scope::Host,
            ScopeFlag::Domain => Scope::Domain,
            ScopeFlag::Prefix => Scope::Prefix,
            ScopeFlag::Any => Scope::Any,
        });
    }
    if let Some(strategy) = flags.strategy {
        crawl.set_strategy(match strategy {
            StrategyFlag::DepthFirst => Strategy::DepthFirst,
            StrategyFlag::BreadthFirst => Strategy::BreadthFirst,
            StrategyFlag::BoundedBreadth => Strategy::BoundedBreadth,
        });
    }
    limit(&mut crawl.max_depth, flags.depth);
    limit(&mut crawl.max_pages, flags.max_pages);
    if let Some(seconds) = flags.delay {
        let delay = parse_delay(seconds).map_err(|problem| Failure::usage(format!("--delay: {problem}")))?;
        crawl.delay_ms = Some(delay.as_millis() as u32);
    }
    set(&mut crawl.connections_per_host, flags.connections_per_host);
    set(&mut crawl.hosts_per_ip, flags.hosts_per_ip);
    let user_agent = flags.user_agent.as_ref().map(|name| with_contact(name, config.crawl.contact.as_deref()));
    set(&mut crawl.user_agent, user_agent);
    set(&mut crawl.ignore_robots, flags.no_robots);
    set(&mut crawl.ignore_sitemaps, flags.no_sitemaps);
    list(&mut crawl.allow_net, &flags.allow_net, lists);
    AddressRules::parse(&crawl.allow_net).map_err(|error| Failure::usage(format!("--allow-net: {error}")))?;
    list(&mut crawl.resolve, &flags.resolve, lists);
    for fixed in &crawl.resolve {
        fixed.parse::<FixedAddress>().map_err(|error| Failure::usage(format!("--resolve: {error}")))?;
    }
    apply_limits(&flags.limits, crawl, config, lists)?;
    apply_manners(&flags.manners, crawl, lists)?;
    apply_refresh(&flags.refresh, crawl.refresh.get_or_insert_default())
}

fn apply_limits(flags: &LimitFlags, crawl: &mut Crawl, config: &Config, lists: Lists) -> Result<()> {
    limit(&mut crawl.max_bytes, flags.max_bytes);
    limit(&mut crawl.max_pages_per_host, flags.max_pages_per_host);
    limit(&mut crawl.max_bytes_per_host, flags.max_bytes_per_host);
    let rules: &mut Admission = crawl.admission.get_or_insert_default();
    list(&mut rules.allow_hosts, &flags.allow_host, lists);
    list(&mut rules.deny_hosts, &flags.deny_host, lists);
    list(&mut rules.allow_urls, &flags.allow_url, lists);
    list(&mut rules.deny_urls, &flags.deny_url, lists);
    list(&mut rules.allow_suffixes, &flags.allow_suffix, lists);
    list(&mut rules.deny_suffixes, &flags.deny_suffix, lists);
    list(&mut rules.strip_parameters, &flags.strip_parameter, lists);
    limit(&mut rules.max_depth_dynamic, flags.depth_dynamic);
    seine_common::admission::Admission::compile(&admission_settings(crawl)).map_err(Failure::usage)?;
    list(&mut crawl.keywords, &flags.keyword, lists);
    if crawl.strategy() == Strategy::BoundedBreadth && crawl.keywords.is_empty() {
        return Err(Failure::usage(
            "the strategy bounded-breadth needs to know what makes a page valuable; name words with --keyword",
        ));
    }
    share("value-threshold", &mut crawl.value_threshold, flags.value_threshold)?;
    share("unusable-below", &mut crawl.unusable_below, flags.unusable_below)?;
    set(&mut crawl.breadth_budget, flags.breadth_budget);
    apply_filters(flags, crawl, config)
}

/// Filters go by name; that only valuable pages are kept is part of the one for the index.
fn apply_filters(flags: &LimitFlags, crawl: &mut Crawl, config: &Config) -> Result<()> {
    let named =
        |key, name: &String| config.filters.get(key, name).cloned().map(defaults::filter).map_err(Failure::usage);
    if let Some(name) = &flags.enumeration {
        crawl.enumeration = named("enumeration", name)?;
    }
    let kept = crawl.generation.as_ref().map_or(0.0, |filter| filter.min_value) > 0.0;
    if let Some(name) = &flags.generation {
        crawl.generation = named("generation", name)?;
    }
    let keeps_only_valuable = flags.keep_only_valuable.unwrap_or(kept);
    if keeps_only_valuable && crawl.keywords.is_empty() {
        return Err(Failure::usage(
            "only valuable pages are to be kept, but nothing makes a page valuable; name words with --keyword",
        ));
    }
    let min_value = if keeps_only_valuable { crawl.value_threshold() } else { 0.0 };
    let open = || Filter { name: GENERATION_DEFAULT.to_owned(), ..Filter::default() };
    let mut filter = crawl.generation.take().unwrap_or_else(open);
    filter.min_value = min_value;
    let nothing = Filter { name: filter.name.clone(), ..Filter::default() };
    crawl.generation = Some(filter).filter(|filter| *filter != nothing);
    Ok(())
}

fn apply_manners(flags: &MannerFlags, crawl: &mut Crawl, lists: Lists) -> Result<()> {
    set(&mut crawl.requests_before_pause, flags.pause_after);
    if let Some(text) = &flags.pause {
        let pause = span("pause", text)?;
        crawl.pause_ms = Some(u32::try_from(pause).unwrap_or(u32::MAX));
    }
    if let Some(per) = flags.pause_per {
        crawl.set_pause_per(match per {
            PausePerFlag::Host => PausePer::Host,
            PausePerFlag::Address => PausePer::Address,
        });
    }
    set(&mut crawl.response_factor, flags.response_factor);
    set(&mut crawl.max_attempts, flags.attempts);
    if flags.host_settings.is_empty() {
        return Ok(());
    }
    let parse = |text: &String| {
        let parsed = text.parse::<HostOverride>();
        parsed.map_err(|problem| Failure::usage(format!("--host-settings: {problem}")))
    };
    let (empty, texts): (Vec<_>, Vec<_>) = flags.host_settings.iter().partition(|text| text.is_empty());
    let mut named = Vec::with_capacity(texts.len());
    for text in texts {
        named.push(defaults::host_settings(&parse(text)?));
    }
    // Those of the command line come first, so that they win.
    if lists == Lists::Join && empty.is_empty() {
        named.append(&mut crawl.hosts);
    }
    crawl.hosts = named;
    Ok(())
}

fn apply_refresh(flags: &RefreshFlags, refresh: &mut Refresh) -> Result<()> {
    match flags.every.as_deref() {
        None => {}
        Some("never") => refresh.interval_ms = Some(0),
        Some(text) => {
            let every = span("every", text)?;
            if every < 1_000 {
                let seconds = every as f64 / 1000.0;
                return Err(Failure::usage(format!("--every: {seconds} s is too short; use 1s or more, or never")));
            }
            refresh.interval_ms = Some(every);
        }
    }
    if let Some(text) = &flags.gone_after {
        refresh.gone_after_ms = Some(span("gone-after", text)?);
    }
    if let Some(text) = &flags.refresh_policy {
        let policy = text.parse().map_err(|problem| Failure::usage(format!("--refresh-policy: {problem}")))?;
        refresh.set_policy(defaults::policy(policy));
    }
    Ok(())
}

fn set<T>(setting: &mut Option<T>, flag: Option<T>) {
    if flag.is_some() {
        *setting = flag;
    }
}

/// Depths fit because the command line takes none that does not.
fn limit<N: TryFrom<u64>>(setting: &mut Option<N>, flag: Option<Limit>) {
    if let Some(limit) = flag {
        *setting = limit.number().and_then(|number| N::try_from(number).ok());
    }
}

/// An empty value empties the list; what else is named follows.
fn list(setting: &mut Vec<String>, flags: &[String], lists: Lists) {
    if flags.is_empty() {
        return;
    }
    if lists == Lists::Replace || flags.iter().any(String::is_empty) {
        setting.clear();
    }
    setting.extend(flags.iter().filter(|text| !text.is_empty()).cloned());
}

fn share(flag: &str, setting: &mut Option<f32>, given: Option<f32>) -> Result<()> {
    if let Some(number) = given.filter(|number| !(0.0..=1.0).contains(number)) {
        return Err(Failure::usage(format!("--{flag}: {number} is not from 0 to 1")));
    }
    set(setting, given);
    Ok(())
}

/// Milliseconds.
fn span(flag: &str, text: &str) -> Result<u64> {
    let span = parse_span(text).map_err(|problem| Failure::usage(format!("--{flag}: {problem}")))?;
    Ok(span.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command, CrawlsCommand};

    fn settings(flags: &[&str]) -> Result<Crawl> {
        let words = ["seine", "crawl"].iter().chain(flags);
        let Command::Crawl(arguments) = Arguments::parse_from(words).command else { panic!("it is a crawl") };
        crawl(&arguments.what, &Config::from_layers(None, []).unwrap())
    }

    fn change(current: &Crawl, flags: &[&str]) -> Result<(Crawl, Vec<String>)> {
        let words = ["seine", "crawls", "set", "c"].iter().chain(flags);
        let Command::Crawls(arguments) = Arguments::parse_from(words).command else { panic!("it is about crawls") };
        let CrawlsCommand::Set { settings, .. } = arguments.command else { panic!("it sets something") };
        changed(current, &settings, &Config::from_layers(None, []).unwrap())
    }

    #[test]
    fn only_what_is_named_changes_and_a_list_that_is_named_is_replaced() {
        let flags = ["http://a.test/", "--delay", "0.5", "--deny-host", "b.test", "--max-pages", "9", "--no-robots"];
        let current = settings(&flags).unwrap();
        let (now, fields) = change(&current, &["--deny-host", "c.test", "--no-robots=false"]).unwrap();
        assert_eq!(fields, ["admission.deny_hosts", "ignore_robots"]);
        assert_eq!(now.admission.unwrap().deny_hosts, ["c.test"]);
        let (now, fields) =
            change(&current, &["--deny-host", "", "--max-pages", "unlimited", "--delay", "0.5"]).unwrap();
        assert_eq!(fields, ["admission.deny_hosts", "max_pages"], "the delay was that already");
        assert_eq!((now.admission.unwrap().deny_hosts.len(), now.max_pages), (0, None));
        assert_eq!(change(&current, &[]).unwrap().1, [""; 0]);
    }

    #[test]
    fn the_value_that_is_kept_follows_its_threshold() {
        let current = settings(&["http://a.test/", "--keyword", "river", "--keep-only-valuable"]).unwrap();
        let (now, fields) = change(&current, &["--value-threshold", "0.7"]).unwrap();
        assert_eq!(
            (fields, now.generation.unwrap().min_value),
            (vec!["generation".into(), "value_threshold".into()], 0.7)
        );
        let (now, _) = change(&current, &["--keep-only-valuable=false"]).unwrap();
        assert_eq!(now.generation, None);
        assert!(change(&current, &["--keyword", ""]).is_err(), "nothing would be valuable");
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
        assert_eq!(valuable.generation.unwrap().min_value, valuable.value_threshold.unwrap());
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
