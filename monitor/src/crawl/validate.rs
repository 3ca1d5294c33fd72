//! What a person or program asks for, made complete and checked: everything left out gets its default, and what cannot be
//! is refused with the name of its field and its value.

use seine_common::address::{AddressRules, FixedAddress};
use seine_common::admission::{Admission, HostPattern};
use seine_common::fingerprint::Fingerprinter;
use seine_common::limits::MAX_BODY_BYTES;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Crawl, RefreshPolicy, Scope, Strategy};

use super::{MAX_DELAY_MS, admission_settings, defaults, filters};
use crate::MonitorError;

/// The longest general pause.
const MAX_PAUSE_MS: u32 = 24 * 60 * 60 * 1000;
/// More attempts help nobody.
const MAX_ATTEMPTS: u32 = 20;
const MAX_CONNECTIONS: u32 = 64;
const MAX_RESPONSE_FACTOR: f32 = 100.0;
const MAX_BREADTH_BUDGET: u32 = 1_000_000;
/// No schedule is denser, and none that is longer means anything.
const MIN_INTERVAL_MS: u64 = 1_000;
const MAX_INTERVAL_MS: u64 = 10 * 366 * 24 * 60 * 60 * 1000;
const MAX_NAME_BYTES: usize = 200;
/// Longer ones are refused by many servers.
const MAX_USER_AGENT_BYTES: usize = 1_000;
/// Entries of one list; patterns have limits of their own.
const MAX_LIST: usize = 10_000;

/// The crawl that is asked for, with all that it leaves out.
pub fn complete(mut crawl: Crawl, defaults: &Crawl) -> Result<Crawl, MonitorError> {
    defaults::fill_in(&mut crawl, defaults);
    if crawl.seeds.is_empty() {
        return Err(wrong("seeds", "a crawl needs at least one URL to start from"));
    }
    within_list("seeds", crawl.seeds.len())?;
    let seeds = crawl.seeds.iter().map(|text| CanonicalUrl::parse(text).map_err(|error| wrong("seeds", error)));
    let seeds = seeds.collect::<Result<Vec<_>, _>>()?;
    crawl.seeds = seeds.iter().map(|seed| seed.as_str().to_owned()).collect();
    check_choices(&crawl)?;
    if crawl.name.is_empty() {
        crawl.name = name_for(&seeds, crawl.scope());
    }
    let is_printable = !crawl.name.trim().is_empty() && !crawl.name.chars().any(char::is_control);
    if !is_printable || crawl.name.len() > MAX_NAME_BYTES {
        let problem = format!("{:?} cannot name a crawl; use 1 to {MAX_NAME_BYTES} printable characters", crawl.name);
        return Err(wrong("name", problem));
    }
    check_manners(&crawl)?;
    check_addresses(&crawl)?;
    check_rules(&crawl)?;
    check_refresh(&crawl)?;
    Ok(crawl)
}

/// A host for people, and a short sum of seeds and scope that tells crawls apart. The same crawl has the same name
/// tomorrow, in whatever order its seeds are given.
pub fn name_for(seeds: &[CanonicalUrl], scope: Scope) -> String {
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

fn check_choices(crawl: &Crawl) -> Result<(), MonitorError> {
    let unknown = |field: &str, number: i32| wrong(field, format!("{number} is none of the values there are"));
    if !Scope::try_from(crawl.scope).is_ok_and(|scope| scope != Scope::Unspecified) {
        return Err(unknown("scope", crawl.scope));
    }
    match Strategy::try_from(crawl.strategy) {
        Ok(Strategy::BoundedBreadth) if crawl.keywords.is_empty() => {
            Err(wrong("keywords", "the strategy bounded-breadth needs keywords that make a page valuable"))
        }
        Ok(Strategy::DepthFirst | Strategy::BreadthFirst | Strategy::BoundedBreadth) => Ok(()),
        Ok(Strategy::Unspecified) | Err(_) => Err(unknown("strategy", crawl.strategy)),
    }
}

fn check_manners(crawl: &Crawl) -> Result<(), MonitorError> {
    delay("delay_ms", crawl.delay_ms())?;
    pause("pause_ms", crawl.pause_ms())?;
    factor("response_factor", crawl.response_factor())?;
    crawl.connections_per_host.map_or(Ok(()), |count| connections("connections_per_host", count))?;
    within("max_attempts", crawl.max_attempts().into(), 1, MAX_ATTEMPTS.into())?;
    within("max_body_bytes", crawl.max_body_bytes(), 1, MAX_BODY_BYTES as u64)?;
    within("breadth_budget", crawl.breadth_budget().into(), 1, MAX_BREADTH_BUDGET.into())?;
    share("value_threshold", crawl.value_threshold())?;
    share("unusable_below", crawl.unusable_below())?;
    for (field, limit) in [
        ("max_pages", crawl.max_pages),
        ("max_bytes", crawl.max_bytes),
        ("max_pages_per_host", crawl.max_pages_per_host),
        ("max_bytes_per_host", crawl.max_bytes_per_host),
    ] {
        limit.map_or(Ok(()), |limit| within(field, limit, 1, u64::MAX))?;
    }
    let agent = crawl.user_agent();
    let is_header = !agent.trim().is_empty() && agent.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if !is_header || agent.len() > MAX_USER_AGENT_BYTES {
        let start: String = agent.chars().take(100).collect();
        let advice = format!("use 1 to {MAX_USER_AGENT_BYTES} characters of printable ASCII");
        return Err(wrong("user_agent", format!("{start:?} cannot be sent as a user agent; {advice}")));
    }
    within_list("hosts", crawl.hosts.len())?;
    for (number, host) in crawl.hosts.iter().enumerate() {
        let field = |name: &str| format!("hosts[{number}].{name}");
        HostPattern::parse(&host.pattern).map_err(|error| wrong(&field("pattern"), error))?;
        host.delay_ms.map_or(Ok(()), |ms| delay(&field("delay_ms"), ms))?;
        host.connections.map_or(Ok(()), |count| connections(&field("connections"), count))?;
        host.pause_ms.map_or(Ok(()), |ms| pause(&field("pause_ms"), ms))?;
        host.response_factor.map_or(Ok(()), |number| factor(&field("response_factor"), number))?;
    }
    Ok(())
}

fn check_addresses(crawl: &Crawl) -> Result<(), MonitorError> {
    within_list("allow_net", crawl.allow_net.len())?;
    within_list("resolve", crawl.resolve.len())?;
    AddressRules::parse(&crawl.allow_net).map_err(|error| wrong("allow_net", error))?;
    for fixed in &crawl.resolve {
        fixed.parse::<FixedAddress>().map_err(|error| wrong("resolve", error))?;
    }
    Ok(())
}

fn check_rules(crawl: &Crawl) -> Result<(), MonitorError> {
    Admission::compile(&admission_settings(crawl)).map_err(|error| {
        let rule = error.wrong.first().map_or("", |wrong| wrong.rule().as_str());
        wrong(&format!("admission.{}", rule.replace('-', "_")), &error)
    })?;
    within_list("keywords", crawl.keywords.len())?;
    if let Some(empty) = crawl.keywords.iter().find(|word| word.trim().is_empty()) {
        return Err(wrong("keywords", format!("{empty:?} is not a word")));
    }
    filters::check(crawl)?;
    let min_value = crawl.generation.as_ref().map_or(0.0, |filter| filter.min_value);
    if min_value > 0.0 && crawl.keywords.is_empty() {
        let problem = "only valuable pages are to be kept, but nothing makes a page valuable; name keywords";
        return Err(wrong("keywords", problem));
    }
    Ok(())
}

fn check_refresh(crawl: &Crawl) -> Result<(), MonitorError> {
    let refresh = crawl.refresh.unwrap_or_default();
    if !RefreshPolicy::try_from(refresh.policy).is_ok_and(|policy| policy != RefreshPolicy::Unspecified) {
        return Err(wrong("refresh.policy", format!("{} is none of the values there are", refresh.policy)));
    }
    if refresh.interval_ms() > 0 {
        within("refresh.interval_ms", refresh.interval_ms(), MIN_INTERVAL_MS, MAX_INTERVAL_MS)?;
    }
    within("refresh.gone_after_ms", refresh.gone_after_ms(), 0, MAX_INTERVAL_MS)
}

fn delay(field: &str, ms: u32) -> Result<(), MonitorError> {
    within(field, ms.into(), 0, MAX_DELAY_MS.into())
}

fn pause(field: &str, ms: u32) -> Result<(), MonitorError> {
    within(field, ms.into(), 0, MAX_PAUSE_MS.into())
}

fn connections(field: &str, count: u32) -> Result<(), MonitorError> {
    within(field, count.into(), 1, MAX_CONNECTIONS.into())
}

fn factor(field: &str, factor: f32) -> Result<(), MonitorError> {
    if (0.0..=MAX_RESPONSE_FACTOR).contains(&factor) {
        return Ok(());
    }
    Err(wrong(field, format!("{factor} is not from 0 to {MAX_RESPONSE_FACTOR}")))
}

pub(super) fn share(field: &str, share: f32) -> Result<(), MonitorError> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    Err(wrong(field, format!("{share} is not from 0 to 1")))
}

fn within(field: &str, number: u64, least: u64, most: u64) -> Result<(), MonitorError> {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    Err(wrong(field, format!("{number} is not from {least} to {most}")))
}

fn within_list(field: &str, length: usize) -> Result<(), MonitorError> {
    if length <= MAX_LIST {
        return Ok(());
    }
    Err(wrong(field, format!("{length} entries are too many; at most {MAX_LIST} are allowed")))
}

pub(super) fn wrong(field: &str, problem: impl std::fmt::Display) -> MonitorError {
    MonitorError::Field { field: field.to_owned(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use seine_common::config::Config;
    use seine_proto::common::v1::Filter;
    use seine_proto::monitor::v1::{Admission, HostSettings, Refresh};

    use super::*;
    use crate::tests_support::crawl;

    fn completed(crawl: Crawl) -> Result<Crawl, MonitorError> {
        complete(crawl, &defaults::defaults(&Config::from_layers(None, []).unwrap()).unwrap())
    }

    /// The field that the refusal names.
    fn refused(change: impl FnOnce(&mut Crawl)) -> String {
        let mut crawl = crawl("c", &["http://example.org/"]);
        change(&mut crawl);
        match completed(crawl) {
            Err(MonitorError::Field { field, .. }) => field,
            other => panic!("it was not refused by its field: {other:?}"),
        }
    }

    #[test]
    fn a_crawl_of_nothing_but_a_url_is_complete() {
        let crawl = completed(Crawl { seeds: vec!["http://Example.org".into()], ..Crawl::default() }).unwrap();
        assert_eq!((crawl.seeds[0].as_str(), crawl.delay_ms()), ("http://example.org/", 1_000));
        assert!(crawl.name.starts_with("example.org-"), "{}", crawl.name);
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_name_of_its_field() {
        assert_eq!(refused(|c| c.seeds.clear()), "seeds");
        assert_eq!(refused(|c| c.seeds = vec!["ftp://a.test/".into()]), "seeds");
        assert_eq!(refused(|c| c.name = "a\nb".into()), "name");
        assert_eq!(refused(|c| c.scope = 99), "scope");
        assert_eq!(refused(|c| c.strategy = -1), "strategy");
        assert_eq!(refused(|c| c.set_strategy(Strategy::BoundedBreadth)), "keywords");
        assert_eq!(refused(|c| c.delay_ms = Some(300_001)), "delay_ms");
        assert_eq!(refused(|c| c.pause_ms = Some(u32::MAX)), "pause_ms");
        assert_eq!(refused(|c| c.connections_per_host = Some(65)), "connections_per_host");
        assert_eq!(refused(|c| c.connections_per_host = Some(0)), "connections_per_host");
        assert_eq!(refused(|c| c.response_factor = Some(f32::NAN)), "response_factor");
        assert_eq!(refused(|c| c.response_factor = Some(-1.0)), "response_factor");
        assert_eq!(refused(|c| c.unusable_below = Some(f32::INFINITY)), "unusable_below");
        assert_eq!(refused(|c| c.value_threshold = Some(-0.1)), "value_threshold");
        assert_eq!(refused(|c| c.max_attempts = Some(0)), "max_attempts");
        assert_eq!(refused(|c| c.max_body_bytes = Some(u64::MAX)), "max_body_bytes");
        assert_eq!(refused(|c| c.breadth_budget = Some(0)), "breadth_budget");
        assert_eq!(refused(|c| c.max_pages = Some(0)), "max_pages");
        assert_eq!(refused(|c| c.user_agent = Some("bot\r\nX: y".into())), "user_agent");
        assert_eq!(refused(|c| c.user_agent = Some("b".repeat(1_001))), "user_agent");
        assert_eq!(refused(|c| c.allow_net = vec!["localnet".into()]), "allow_net");
        assert_eq!(refused(|c| c.resolve = vec!["a.test".into()]), "resolve");
        let rules = |rules: Admission| refused(|c| c.admission = Some(rules));
        assert_eq!(rules(Admission { deny_urls: vec!["re:(".into()], ..Admission::default() }), "admission.deny_urls");
        assert_eq!(
            rules(Admission { allow_hosts: vec!["http://a/".into()], ..Admission::default() }),
            "admission.allow_hosts"
        );
        let host = |host: HostSettings| refused(|c| c.hosts = vec![HostSettings { pattern: "a.test".into(), ..host }]);
        assert_eq!(host(HostSettings { delay_ms: Some(u32::MAX), ..HostSettings::default() }), "hosts[0].delay_ms");
        assert_eq!(host(HostSettings { connections: Some(0), ..HostSettings::default() }), "hosts[0].connections");
        let factor = HostSettings { response_factor: Some(f32::NAN), ..HostSettings::default() };
        assert_eq!(host(factor), "hosts[0].response_factor");
        assert_eq!(refused(|c| c.hosts = vec![HostSettings::default()]), "hosts[0].pattern");
        let refresh = |refresh: Refresh| refused(|c| c.refresh = Some(refresh));
        assert_eq!(refresh(Refresh { policy: 77, ..Refresh::default() }), "refresh.policy");
        assert_eq!(refresh(Refresh { interval_ms: Some(5), ..Refresh::default() }), "refresh.interval_ms");
        assert_eq!(refresh(Refresh { gone_after_ms: Some(u64::MAX), ..Refresh::default() }), "refresh.gone_after_ms");
        let colour = Filter { name: "f".into(), rules: vec!["deny colour = red".into()], ..Filter::default() };
        assert_eq!(refused(|c| c.enumeration = Some(colour.clone())), "enumeration");
        assert_eq!(refused(|c| c.generation = Some(colour)), "generation");
        let nan = Filter { name: "f".into(), min_value: f32::NAN, ..Filter::default() };
        assert_eq!(refused(|c| c.generation = Some(nan)), "generation.min_value");
    }

    #[test]
    fn a_refusal_tells_the_value_too() {
        let crawl = Crawl { connections_per_host: Some(65), ..crawl("c", &["http://example.org/"]) };
        let refusal = completed(crawl).unwrap_err().to_string();
        assert_eq!(refusal, "connections_per_host: 65 is not from 1 to 64");
    }
}
